"""Packages that load the modules behind their names when these are first asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any


def lazily(
    package: str, homes: Mapping[str, str], names: Iterable[str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and the `__dir__` of a package; homes: the module of it in which each name stands.

    A name is looked up once; then it is in the package. AttributeError for any other name, as Python has it. names: its
    public names, for `dir()`.

    >>> get, _ = lazily("promptpack.evaluation", {"ndcg": "metrics"}, ["ndcg"])
    >>> get("ndgc")
    Traceback (most recent call last):
    AttributeError: module 'promptpack.evaluation' has no attribute 'ndgc'
    """
    def get(name: str) -> Any:
        module = homes.get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{module}"), name)
        setattr(sys.modules[package], name, value)
        return value

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[package]), *names})

    return get, listed
