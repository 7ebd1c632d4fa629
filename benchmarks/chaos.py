"""Chaos: kill -9 of workers, of the parent and of Ray nodes at random moments; what is lost, what comes twice?

    python benchmarks/chaos.py [--runs 20] [--rows 240] [--engine both|ray|local]

Each run is seeded, and kills one kind of process one to three times while it works: a worker, the parent (which is
started again, and goes on), or on Ray a node with all that is on it (another takes its place). The output, the label
maps and the dead letters have to be those of a run in which nothing dies, byte for byte. Needs Linux, and for Ray the
extra ray; the cluster is two nodes of processes on this computer. The tests do the same with a few seeds.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "cluster"))

from processes import Cluster, children, contents, rows, start, wait_for, write


@dataclass
class Totals:
    """What the runs of one kind came to."""

    runs: int = 0
    kills: int = 0
    starts: int = 0
    lost: int = 0
    twice: int = 0
    different: int = 0
    seconds: list[float] = field(default_factory=list)


def local_workers(pid: int) -> list[int]:
    """The workers of a local run: children of its fork server."""
    return [one for child in children(pid) for one in children(child)]


def run(kind: str, seed: int, folder: Path, cluster: Cluster | None, took: float, totals: Totals) -> None:
    """One run; `took` is how long one takes in which nothing dies."""
    rng = random.Random(seed)
    source, target = folder / "in.jsonl", folder / "out.jsonl"
    how = ["--engine", "local"] if cluster is None else ["--address", cluster.address, "--size", "3000"]
    process = start(source, target, *how)
    totals.starts += 1
    for _ in range(rng.randint(1, 3)):
        with suppress(subprocess.TimeoutExpired):
            process.wait(rng.uniform(0.2, 0.9) * took)
        if process.poll() is not None:
            break
        if kind == "parent":
            process.send_signal(signal.SIGKILL)
            process.communicate()
            process = start(source, target, *how, "--resume")
            totals.starts += 1
        elif kind == "node":
            assert cluster is not None
            cluster.kill_node(rng.randrange(len(cluster.nodes)))
            time.sleep(0.5)
            cluster.add()
        else:
            def workers(pid: int = process.pid) -> list[int]:
                return cluster.workers() if cluster is not None else local_workers(pid)

            if not wait_for(workers, process):
                break
            at = workers()
            if not at:
                continue
            with suppress(ProcessLookupError):
                os.kill(rng.choice(at), signal.SIGKILL)
        totals.kills += 1
    _, said = process.communicate(timeout=600)
    if process.returncode and b"is complete" not in said:
        told = said.decode(errors="replace")[-3000:]
        raise SystemExit(f"{kind}, seed {seed}: exit code {process.returncode}\n{told}")


def ids(data: bytes) -> Counter[str]:
    return Counter(json.loads(line)["custom_id"] for line in data.splitlines())


def chaos(engine: str, seeds: Sequence[int], count: int, root: Path) -> dict[str, Totals]:
    """Runs of an engine, of `count` rows each; a seed says what is killed, and when. Returns the totals by that."""
    plain = root / f"{engine}-plain"
    plain.mkdir()
    write(plain / "in.jsonl", rows(count))
    cluster = Cluster(2) if engine == "ray" else None
    kinds = ("worker", "parent", "node") if cluster is not None else ("worker", "parent")
    found = {kind: Totals() for kind in kinds}
    begun = time.monotonic()
    how = ["--engine", "local"] if cluster is None else ["--address", cluster.address, "--size", "3000"]
    process = start(plain / "in.jsonl", plain / "out.jsonl", *how)
    process.communicate()
    took = time.monotonic() - begun
    expected = contents(plain)
    try:
        for seed in seeds:
            kind = kinds[seed % len(kinds)]
            folder = root / f"{engine}-{seed}"
            folder.mkdir()
            write(folder / "in.jsonl", rows(count))
            begun = time.monotonic()
            run(kind, seed, folder, cluster, took, found[kind])
            made, totals = contents(folder), found[kind]
            right, there = ids(expected["out.jsonl"]), ids(made["out.jsonl"])
            totals.runs += 1
            totals.lost += sum((right - there).values())
            totals.twice += sum((there - right).values())
            totals.different += made != expected
            totals.seconds.append(time.monotonic() - begun)
            sys.stderr.write(f"{engine} {seed}: {kind}, {totals.seconds[-1]:.0f} s\n")
    finally:
        if cluster is not None:
            cluster.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--rows", type=int, default=240)
    parser.add_argument("--engine", choices=["both", "local", "ray"], default="both")
    given = parser.parse_args()
    engines = ["local", "ray"] if given.engine == "both" else [given.engine]
    with tempfile.TemporaryDirectory() as name:
        found = {engine: chaos(engine, range(given.runs), given.rows, Path(name)) for engine in engines}
    print(f"{given.runs} seeded runs of {given.rows} rows for each engine\n")
    print("| engine | killed | runs | kills | starts | rows lost | rows twice | output different |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for engine, kinds in found.items():
        for kind, one in kinds.items():
            print(f"| {engine} | {kind} | {one.runs} | {one.kills} | {one.starts} | {one.lost} | {one.twice} "
                  f"| {one.different} |")


if __name__ == "__main__":
    main()
