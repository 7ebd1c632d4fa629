"""The functions that rag-chunk-reorder's vectors name, and their options as calls of the library take them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from golden_calls import NUMBERS
from golden_notation import COMPARATORS, DETECTORS, TAGS
from vector_files import Vector


def utf16(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def throws(*_: Any) -> Any:
    raise TypeError("the scripted function fails")


COUNTERS: dict[str, Callable[[str], Any]] = {
    "char4": lambda text: -(-len(text) // 4), "whitespace": lambda text: len(text.split()), "chars": utf16,
    "codepoints": len, "one": lambda text: 1, "zero": lambda text: 0, "half": lambda text: 0.5,
    "returns_nan": lambda text: NUMBERS["NaN"], "returns_negative": lambda text: -1,
    "returns_string": lambda text: "3", "throws": throws,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {**COUNTERS, **COMPARATORS, **DETECTORS}


def cycle(_: Vector) -> dict[str, Any]:
    found: dict[str, Any] = {}
    found["self"] = found
    return found


def function(value: Vector) -> Callable[..., Any]:
    return (lambda *_: value["value"]) if value["$fn"] == "const" else FUNCTIONS[value["$fn"]]


def read(value: Any, undefined: bool = False) -> Any:
    """Return a value with its tags resolved; what is undefined is left out of mappings, or None if it is told.

    A symbol has no counterpart and counts as undefined.
    """
    if isinstance(value, list):
        return [read(one, undefined) for one in value]
    if not isinstance(value, Mapping):
        return value
    if "$undefined" in value or "$symbol" in value:
        return None
    if "$fn" in value:
        return function(value)
    if "$cycle" in value:
        return cycle(value)
    if any(key.startswith("$") for key in value):
        tag = next(iter(value))
        return TAGS[tag](value)
    return {key: read(one, undefined) for key, one in value.items() if undefined or not is_undefined(one)}


def is_undefined(value: Any) -> bool:
    return isinstance(value, Mapping) and ("$undefined" in value or "$symbol" in value)


def config(vector: Vector, name: str = "config") -> Any:
    """Return a configuration of the vector, in the reference's spelling."""
    return read((vector.get("options") or {}).get(name) or {})


def keywords(options: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return options given for one call; an explicit undefined takes an option away, which None does here."""
    found: dict[str, Any] = read(options or {}, undefined=True)
    return found


def camel_keys(value: Any) -> Any:
    """Return a result with its names in the reference's spelling, at any depth."""
    from promptpack.reorder.options import camel

    if isinstance(value, Mapping):
        return {camel(key): camel_keys(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [camel_keys(one) for one in value]
    return value
