"""Loads the scripts of `benchmarks/`, which are no package, as modules."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import util
from pathlib import Path
from types import ModuleType

BENCHMARKS = Path(__file__).parent.parent.parent / "benchmarks"


@contextmanager
def script(name: str) -> Iterator[ModuleType]:
    """Load a script by its name, for as long as it is needed: its dataclasses look for it among the modules."""
    spec = util.spec_from_file_location(f"benchmark_{name}", BENCHMARKS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]
