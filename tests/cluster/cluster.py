"""A cluster of processes on this computer: prints its address, and its nodes' processes; ends with its input.

    python cluster.py NODES

A line "add" on standard input adds a node. Each answer is a line of JSON: {"address": ..., "nodes": [[pid, ...], ...]},
of the nodes that live. They have one processor each; one more has none, and no task runs there.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from ray.cluster_utils import Cluster


def told(cluster: Any, nodes: list[Any]) -> None:
    found = [
        [one.process.pid for name, many in node.all_processes.items() if "raylet" in name for one in many
         if one.process.poll() is None]
        for node in nodes
    ]
    sys.stdout.write(json.dumps({"address": cluster.address, "nodes": [one for one in found if one]}) + "\n")
    sys.stdout.flush()


def main(count: int) -> None:
    less = {"object_store_memory": 80_000_000}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **less})
    nodes = [cluster.add_node(num_cpus=1, wait=False, **less) for _ in range(count)]
    cluster.wait_for_nodes()
    told(cluster, nodes)
    for line in sys.stdin:
        if line.strip() == "add":
            nodes.append(cluster.add_node(num_cpus=1, **less))
            told(cluster, nodes)
    cluster.shutdown()


if __name__ == "__main__":
    main(int(sys.argv[1]))
