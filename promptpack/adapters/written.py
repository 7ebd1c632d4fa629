"""A builder as plain data and back, for frameworks that store their pipelines as YAML or JSON."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

from promptpack.builder import PromptBuilder
from promptpack.errors import OptionError, PromptpackError, quote

MARK = "$"
_DEEPEST = 64
# The values that a builder is made of; nothing else is ever made from stored data.
_HOMES = {
    "PromptBuilder": "builder", "Content": "builder", "Window": "window", "Labels": "labels", "Profile": "profiles",
    "TemplateSet": "templates", "TemplateSettings": "settings", "Source": "source", "Cut": "source",
    "Message": "message", "Native": "native_form", "Packing": "packing.pipeline", "Dedup": "packing.dedup",
    "Diversity": "packing.diversity", "Scoring": "packing.scoring", "Overlap": "packing.scorers",
    "Recency": "packing.scorers", "Weighted": "packing.scorers", "Spread": "packing.by_rank",
    "ByRank": "packing.by_rank", "DocumentOrder": "packing.place", "Chronological": "packing.place",
    "ByKey": "packing.place", "Auto": "packing.route", "Curve": "packing.curve", "PositionCurve": "curves",
    "CurvePoint": "curves",
}
_PLAIN: Mapping[str, Callable[[Any], Any]] = {
    "date": date.fromisoformat, "datetime": datetime.fromisoformat, "path": Path,
    "tuple": lambda inner: tuple(_read(one) for one in inner),
}


def write_builder(builder: PromptBuilder) -> dict[str, Any]:
    """Return a builder as plain data: texts, numbers, lists and mappings, for YAML or JSON.

    A value of the library is a mapping with its name under "$" and the fields that differ from their defaults. What a
    source came from (`origin`) is not written.

    Raises OptionError naming the field that cannot be written: a function, an object, the secret of a Spotlight.

    >>> from promptpack import Window
    >>> write_builder(PromptBuilder(Window(1000, answer=200), escape="strict"))
    {'$': 'PromptBuilder', 'window': {'$': 'Window', 'size': 1000, 'answer': 200}, 'escape': 'strict'}
    """
    return dict(_write(builder, "builder", 0))


def read_builder(data: Mapping[str, Any]) -> PromptBuilder:
    """Return the builder that plain data describes; OptionError where it is something else.

    >>> read_builder({"$": "PromptBuilder", "window": 1000}) == PromptBuilder(1000)
    True
    """
    try:
        found = _read(data)
    except PromptpackError:
        raise
    except Exception as error:  # data from outside can be wrong in any way
        raise OptionError(
            f"builder: not what was written of one ({type(error).__name__}: {quote(str(error))})", name="builder"
        ) from error
    if not isinstance(found, PromptBuilder):
        raise OptionError(f"builder: expected a builder as it was written, got {quote(data)}", name="builder")
    return found


def builder_of(given: object) -> PromptBuilder:
    """Return the builder that a component was given: one, what was written of one, or a window.

    >>> builder_of(1000) == PromptBuilder(1000)
    True
    """
    if isinstance(given, PromptBuilder):
        return given
    if isinstance(given, Mapping):
        return read_builder(given)
    if given is None or isinstance(given, str):
        raise OptionError(f"builder: expected a PromptBuilder or a window, got {quote(given)}", name="builder")
    return PromptBuilder(given)  # type: ignore[arg-type]  # says itself what a window is


def _write(value: Any, where: str, depth: int) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, datetime):
        return {MARK: "datetime", "value": value.isoformat()}
    if isinstance(value, date):
        return {MARK: "date", "value": value.isoformat()}
    if isinstance(value, Path):
        return {MARK: "path", "value": str(value)}
    if depth < _DEEPEST:
        if type(value).__name__ in _HOMES and is_dataclass(value):
            return _write_fields(value, where, depth)
        if isinstance(value, list):
            return [_write(one, where, depth + 1) for one in value]
        if isinstance(value, tuple):
            return {MARK: "tuple", "value": [_write(one, where, depth + 1) for one in value]}
        if isinstance(value, Mapping) and all(isinstance(key, str) and key != MARK for key in value):
            return {key: _write(one, f"{where}.{key}", depth + 1) for key, one in value.items()}
    raise OptionError(
        f"{where}: {quote(value)} cannot be written; give what has a name or plain values, or make the component in "
        "code",
        name=where, given=value,
    )


def _write_fields(value: Any, where: str, depth: int) -> dict[str, Any]:
    found = {MARK: type(value).__name__}
    for one in fields(value):
        held = getattr(value, one.name)
        if one.init and one.name != "origin" and not _is_default(one, held):
            found[one.name] = _write(held, f"{where}.{one.name}".removeprefix("builder."), depth + 1)
    return found


def _is_default(field: Field[Any], value: object) -> bool:
    default = field.default_factory() if field.default_factory is not MISSING else field.default
    return type(value) is type(default) and bool(value == default)


def _read(data: Any) -> Any:
    if isinstance(data, list):
        return [_read(one) for one in data]
    if not isinstance(data, Mapping):
        return data
    if MARK not in data:
        return {key: _read(one) for key, one in data.items()}
    kind = data[MARK]
    if kind in _PLAIN:
        return _PLAIN[kind](data["value"])
    if kind not in _HOMES:
        raise OptionError.unknown("builder", kind, (*_HOMES, *_PLAIN))
    made = getattr(importlib.import_module(f"promptpack.{_HOMES[kind]}"), kind)
    return made(**{key: _read(one) for key, one in data.items() if key != MARK})
