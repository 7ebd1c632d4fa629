"""Processes killed at random moments, by the code of benchmarks/chaos.py, which does it with twenty seeds."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

import pytest
from scripts import script

ROWS = 96
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@pytest.fixture(scope="module")
def chaos() -> Iterator[ModuleType]:
    with script("chaos") as module:
        yield module


def check(chaos: ModuleType, engine: str, seeds: Sequence[int], root: Path) -> None:
    """Nothing lost, nothing twice, the output that of a run in which nothing dies; and something has died."""
    found = chaos.chaos(engine, seeds, ROWS, root)
    assert sum(one.runs for one in found.values()) == len(seeds)
    for kind, one in found.items():
        assert one.kills, kind
        assert (one.lost, one.twice, one.different) == (0, 0, 0), kind


def test_a_killed_worker_and_a_killed_parent_change_nothing(chaos: ModuleType, tmp_path: Path) -> None:
    check(chaos, "local", (4, 21), tmp_path)


@pytest.mark.ray
def test_a_killed_worker_driver_and_node_of_ray_change_nothing(chaos: ModuleType, tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="the extra ray is not installed")
    check(chaos, "ray", (18, 22, 8), tmp_path)
