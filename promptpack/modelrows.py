"""Rows of a models file: patterns of model names with what is known of the models, read and checked.

A models file is TOML with one `[[model]]` table for each family. The package's own is `templates/models.toml`; users
add files, or mappings, of the same form, whose rows are tried first.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import date
from math import isfinite
from pathlib import Path
from typing import Any

from promptpack.errors import OptionError, TemplateLookupError, quote
from promptpack.escape.markers import families
from promptpack.templates import TemplateSet
from promptpack.tokens import COUNTER_FILE, counter_names

LARGEST = 10**9  # tokens of a window


@dataclass(frozen=True, slots=True)
class Row:
    """One family of models; the keys of a `[[model]]` table are these fields.

    match: patterns of names (`*` and `?`), matched against the name in lower case, without what stands before the
    last "/" and after the first ":". window: tokens, input and output together. counter: a counter's name, or the path
    of a tokenizer.json. exact_counter: the counter of an extra that counts exactly, where `counter` estimates.
    template: a template set, or the folder of one. message, reply: tokens that a message and the start of the reply
    cost beyond their text. margin: the share of the window to keep free because `counter` estimates. system_role:
    False where the chat format has no system message. markers: the families of chat markers that the model reads
    (`promptpack.escape.markers.families`). source: where the figures come from. checked: when they were.
    """

    match: tuple[str, ...]
    window: int
    counter: str = "estimate"
    exact_counter: str | None = None
    template: str | None = None
    message: int = 3
    reply: int = 3
    margin: float = 0.0
    system_role: bool = True
    markers: tuple[str, ...] = field(default=(), kw_only=True)
    source: str | None = field(default=None, kw_only=True)
    checked: date | None = field(default=None, kw_only=True)


def read_file(path: str | Path) -> tuple[Row, ...]:
    """Read a models file; paths in it are relative to its folder.

    Raises OptionError naming the file, and the row and the key at fault.
    """
    file = Path(path)
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:  # not there, not UTF-8, a NUL in the path, or no TOML
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise OptionError(
            f"models: {quote(str(file), 200)} cannot be read as a TOML file: {why}", name="models", given=str(path)
        ) from error
    return read_rows(data, str(file), file.parent)


def read_rows(data: Mapping[str, Any], where: str = "models", folder: Path | None = None) -> tuple[Row, ...]:
    """Read what a models file holds; `where` names it in errors, paths in it are relative to `folder`.

    >>> read_rows({"model": [{"match": ["our-*"], "window": 8192}]})[0].counter
    'estimate'
    """
    for key in data:
        if key not in ("model", "updated"):
            raise _fault(where, f"unknown key {quote(key)}; known: model, updated", key, data[key])
    tables = data.get("model", ())
    if isinstance(tables, str | Mapping) or not isinstance(tables, Sequence) or not tables:
        raise _fault(where, "expected at least one [[model]] table", "model", tables)
    return tuple(_row(table, f"{where}: model {number}", folder) for number, table in enumerate(tables, 1))


def _row(table: object, where: str, folder: Path | None) -> Row:
    if not isinstance(table, Mapping):
        raise _fault(where, f"expected a table, got {quote(table)}", "model", table)
    names = [one.name for one in fields(Row)]
    given = dict(table)
    patterns = given.get("match")
    first = patterns[0] if isinstance(patterns, Sequence) and not isinstance(patterns, str) and patterns else None
    where = f"{where} ({quote(first)})" if isinstance(first, str) else where
    for key in given:
        if key not in names:
            error = OptionError.unknown("key", key, names)
            raise _fault(where, str(error), str(key), given[key])
    for key in ("match", "window"):
        if key not in given:
            raise _fault(where, f"{key} is missing", key, None)
    return Row(
        match=_patterns(given["match"], where),
        window=_whole(given, "window", where, 1),
        counter=_counter(given, "counter", where, folder) or "estimate",
        exact_counter=_counter(given, "exact_counter", where, folder),
        template=_template(given.get("template"), where, folder),
        message=_whole(given, "message", where, 0, 3),
        reply=_whole(given, "reply", where, 0, 3),
        margin=_share(given.get("margin", 0.0), where),
        system_role=_flag(given.get("system_role", True), where),
        markers=_families(given.get("markers", ()), where),
        source=_text(given.get("source"), "source", where),
        checked=_date(given.get("checked"), where),
    )


def _families(value: object, where: str) -> tuple[str, ...]:
    known = families()
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise _fault(where, f"markers: expected a list of families, got {quote(value)}", "markers", value)
    for one in value:
        if one not in known:
            raise _fault(where, str(OptionError.unknown("markers", one, known)), "markers", value)
    return tuple(value)


def _patterns(value: object, where: str) -> tuple[str, ...]:
    listed = (value,) if isinstance(value, str) else value
    if not isinstance(listed, Sequence) or not listed:
        raise _fault(where, f"match: expected a list of patterns, got {quote(value)}", "match", value)
    for one in listed:
        if not isinstance(one, str) or not one.strip():
            raise _fault(where, f"match: expected a pattern of a name, got {quote(one)}", "match", one)
    return tuple(one.strip().lower() for one in listed)


def _whole(given: Mapping[str, Any], key: str, where: str, least: int, default: int = 0) -> int:
    value = given.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= LARGEST:
        expected = f"a whole number of {least} to {LARGEST:,} tokens"
        raise _fault(where, f"{key}: expected {expected}, got {quote(value)}", key, value)
    return value


def _share(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or not 0 <= value < 1:
        raise _fault(where, f"margin: expected a share of 0.0 to below 1.0, got {quote(value)}", "margin", value)
    return float(value)


def _flag(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise _fault(where, f"system_role: expected true or false, got {quote(value)}", "system_role", value)
    return value


def _text(value: object, key: str, where: str) -> str | None:
    if value is not None and (not isinstance(value, str) or not value.strip()):
        raise _fault(where, f"{key}: expected a text, got {quote(value)}", key, value)
    return value


def _date(value: object, where: str) -> date | None:
    if value is not None and type(value) is not date:
        raise _fault(where, f"checked: expected a date like 2026-11-30, got {quote(value)}", "checked", value)
    return value


def _counter(given: Mapping[str, Any], key: str, where: str, folder: Path | None) -> str | None:
    name = _text(given.get(key), key, where)
    if name is None or name in counter_names():
        return name
    if name.endswith(COUNTER_FILE):
        return str((folder or Path()) / name)
    raise _fault(where, str(OptionError.unknown(key, name, counter_names())), key, name)


def _template(value: object, where: str, folder: Path | None) -> str | None:
    name = _text(value, "template", where)
    if name is None:
        return None
    if "/" in name or "\\" in name:
        name = str((folder or Path()) / name)
    try:
        TemplateSet.of(name)
    except TemplateLookupError as error:
        raise _fault(where, str(error), "template", name) from error
    return name


def _fault(where: str, what: str, key: str, given: object) -> OptionError:
    return OptionError(f"{where}: {what}", name=key, given=given)
