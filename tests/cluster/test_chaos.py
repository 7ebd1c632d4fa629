"""Processes killed at random moments, by the code of benchmarks/chaos.py, which does it with twenty seeds."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import pytest

ROWS = 96
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@pytest.fixture(scope="module")
def chaos() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / "chaos.py"
    spec = importlib.util.spec_from_file_location("chaos_of_benchmarks", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where its dataclass looks for the names of its types
    spec.loader.exec_module(module)
    return module


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
