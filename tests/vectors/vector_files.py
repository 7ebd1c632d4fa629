"""Reads the vector files of one kind: every *.jsonl of the folder that PROMPTPACK_VECTORS names."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
Vector = Mapping[str, Any]


def folder(kind: str) -> Path:
    """Return the subfolder of a kind; it need not exist."""
    return Path(os.environ.get("PROMPTPACK_VECTORS") or HERE) / kind


def read(kind: str) -> list[Vector]:
    """Return the vectors of a kind, files by name, lines in order; a line that is no vector is an error."""
    vectors: list[Vector] = []
    for path in sorted(folder(kind).glob("*.jsonl")):
        for number, line in enumerate(path.read_text(encoding="utf-8-sig").split("\n"), 1):
            if not line.strip():
                continue
            try:
                vector = json.loads(line)
            except ValueError as error:
                raise ValueError(f"{path.name}, line {number}: {error}") from error
            if not isinstance(vector, dict) or not isinstance(vector.get("id"), str):
                raise ValueError(f"{path.name}, line {number}: a vector is an object with an id")
            vectors.append(vector)
    return vectors


def params(kind: str, later: Callable[[Vector], int | None]) -> list[Any]:
    """Return one pytest parameter a vector, its id in the name; a later issue's is skipped, saying so."""
    found = []
    for vector in read(kind):
        issue = later(vector)
        marks = [pytest.mark.skip(reason=f"belongs to issue {issue}")] if issue is not None else []
        found.append(pytest.param(vector, id=vector["id"], marks=marks))
    return found


def message_text(message: Any) -> str:
    """Return what a model reads of a message: its text, or the texts of its parts."""
    content = message.content
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(part["text"] for part in content if part["type"] == "text")


def family(vector: Vector) -> str:
    """Return a golden vector's system without its version: "u-pack-2.0.0" is "u-pack"."""
    return re.sub(r"-\d+(\.\d+)*\Z", "", vector.get("system") or "")


def same(actual: Any, expected: Any) -> bool:
    """Compare by the stated tolerance: floats within 1e-9 (1e-12 near zero), all else exactly.

    Keys that only the actual mapping has are ignored; every expected key must be there.
    """
    if isinstance(expected, Mapping):
        return isinstance(actual, Mapping) and all(
            key in actual and same(actual[key], value) for key, value in expected.items()
        )
    if isinstance(expected, list):
        return (
            isinstance(actual, list | tuple)
            and len(actual) == len(expected)
            and all(same(one, other) for one, other in zip(actual, expected, strict=True))
        )
    if isinstance(expected, bool) or isinstance(actual, bool):
        return actual is expected
    if isinstance(expected, float) or isinstance(actual, float):
        if not isinstance(expected, int | float) or not isinstance(actual, int | float):
            return False
        return bool(actual == pytest.approx(expected, rel=1e-9, abs=1e-12))
    return bool(actual == expected)
