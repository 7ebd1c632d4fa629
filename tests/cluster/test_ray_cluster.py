"""Ray, on a cluster of processes: a worker, a node and the driver killed in the middle cost no row and double none."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import (
    ENVIRONMENT,
    HERE,
    Cluster,
    contents,
    finish,
    kill_some_worker,
    parts_done,
    rows,
    start,
    wait_for,
    write,
)

pytest.importorskip("ray", reason="the extra ray is not installed")

pytestmark = [pytest.mark.ray, pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")]
COUNT = 240


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    made = Cluster(2)
    yield made
    made.close()


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What the local engine makes of the rows."""
    folder = tmp_path_factory.mktemp("local")
    write(folder / "in.jsonl", rows(COUNT))
    finish(start(folder / "in.jsonl", folder / "out.jsonl", "--engine", "local"))
    found = contents(folder)
    assert len(found["out.jsonl"].splitlines()) == len(found["out.labels.jsonl"].splitlines()) == COUNT - 2
    assert len(found["out.dead.jsonl"].splitlines()) == 2
    return found


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    return write(tmp_path / "in.jsonl", rows(COUNT)), tmp_path / "out.jsonl"


def test_a_cluster_gives_what_the_local_engine_gives(
    cluster: Cluster, expected: dict[str, bytes], files: tuple[Path, Path]
) -> None:
    """And a worker that is killed in between changes nothing."""
    process = start(*files, "--address", cluster.address)
    kill_some_worker(cluster, process, random.Random(1))
    finish(process)
    assert contents(files[1].parent) == expected


def test_a_row_that_kills_its_process_is_all_that_is_lost(
    cluster: Cluster, expected: dict[str, bytes], files: tuple[Path, Path]
) -> None:
    given = rows(COUNT)
    given[101]["sources"][2]["text"] = "POISON101 2"  # as long as before: places name rows without ids
    write(files[0], given)
    finish(start(*files, "--address", cluster.address))
    found = contents(files[1].parent)
    dead = [json.loads(line) for line in found["out.dead.jsonl"].splitlines()]
    assert [(one["line"], one["error"]["type"]) for one in dead] == [
        (81, "SourceError"), (102, "WorkerDied"), (239, "DuplicateIdError")]
    whole = expected["out.jsonl"].splitlines()
    assert found["out.jsonl"].splitlines() == whole[:100] + whole[101:]


def test_a_killed_driver_goes_on_with_what_is_there(
    cluster: Cluster, expected: dict[str, bytes], files: tuple[Path, Path]
) -> None:
    process = start(*files, "--address", cluster.address)
    wait_for(lambda: parts_done(files[1]) >= 2, process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    there = parts_done(files[1])
    assert there >= 2
    assert not files[1].exists()
    process = start(*files, "--address", cluster.address)
    wait_for(lambda: parts_done(files[1]) > there, process)
    finish(process)
    assert contents(files[1].parent) == expected


def test_a_stopped_job_leaves_a_connection_of_the_caller_whole_and_its_tasks_undone(
    cluster: Cluster, expected: dict[str, bytes], files: tuple[Path, Path]
) -> None:
    """Cancelling its tasks ended the whole process, about once in eight times."""
    done = subprocess.run(
        [sys.executable, HERE / "stopper.py", *files, cluster.address, "60"], env=ENVIRONMENT, capture_output=True,
        timeout=240, check=False,
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-3000:]
    told = json.loads(done.stdout)
    assert len(told["stops"]) == 60
    assert told["later"] <= told["stops"][0] + 2  # one for each processor: what had begun
    assert contents(files[1].parent) == expected  # and nothing of the jobs before it


def test_a_killed_node_costs_nothing(
    cluster: Cluster, expected: dict[str, bytes], files: tuple[Path, Path]
) -> None:
    process = start(*files, "--address", cluster.address)
    wait_for(lambda: parts_done(files[1]) >= 2 and cluster.workers(), process)
    cluster.kill_node(1)
    finish(process)
    assert contents(files[1].parent) == expected


def test_a_cluster_that_is_not_there_is_an_error(files: tuple[Path, Path]) -> None:
    process = start(*files, "--address", "127.0.0.1:1")
    _, said = process.communicate(timeout=120)
    assert process.returncode == 1
    assert b"StoppedError" in said
    assert b"cannot be used" in said
