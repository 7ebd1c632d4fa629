"""Plain nested data: copying it, changing the texts in it, and making it of the typed objects of an SDK."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from math import isfinite
from typing import Any

from promptpack.errors import SourceError, quote

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
DEEPEST = 64  # levels of nesting inside a content part or a tool call; JSON readers give up soon after


def fault(name: str, why: str) -> SourceError:
    """Build the error for one field of a message; whoever knows the message's index adds it.

    >>> str(fault("role", "missing"))
    'role: missing'
    """
    return SourceError(f"{name}: {why}", field=name)


def check_line(name: str, value: str | None, of: str = "") -> None:
    """SourceError for a name or an id with a line break or another control character, which no provider takes.

    A chat template writes it beside the role, where a line break could begin a message of its own.
    """
    if value is not None and not value.isprintable() and _CONTROL.search(value):
        raise fault(name, f"{of}a line break or another control character is refused, got {quote(value)}")


def copied(value: Any, name: str, depth: int = 0) -> Any:
    """Return a copy of plain nested data; SourceError where it is nested deeper than 64 levels.

    >>> copied({"a": [1, (2,)]}, "content")
    {'a': [1, (2,)]}
    """
    if depth > DEEPEST:
        raise fault(name, f"nested deeper than {DEEPEST} levels")
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise fault(name, f"expected names as keys, got {quote(key)}")
        return {key: copied(one, name, depth + 1) for key, one in value.items()}
    if isinstance(value, list | tuple):
        inner = [copied(one, name, depth + 1) for one in value]
        return inner if isinstance(value, list) else tuple(inner)
    return value


def not_finite(value: Any, place: str = "") -> tuple[str, float] | None:
    """Return where plain nested data holds the first NaN or infinity, which JSON has no form for, and which of them.

    >>> not_finite({"a": [1.5, {"b c": float("inf")}]}, "tools")
    ("tools['a'][1]['b c']", inf)
    """
    if isinstance(value, float):
        return None if isfinite(value) else (place, float(value))
    inner: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, Mapping):
        inner = ((quote(key, 40), one) for key, one in value.items())
    elif isinstance(value, list | tuple):
        inner = enumerate(value)
    return next((found for key, one in inner if (found := not_finite(one, f"{place}[{key}]"))), None)


def plain(value: Any, name: str = "content", depth: int = 0) -> Any:
    """Return nested data with mappings for the typed objects in it: those with `model_dump`, and dataclasses.

    What such an object leaves at None is left out, since providers refuse many of these fields when they are
    sent back; a mapping is kept as it is. An enumeration becomes its value. SourceError beyond 64 levels.

    >>> from types import SimpleNamespace
    >>> plain([SimpleNamespace(model_dump=lambda exclude_none: {"type": "text", "text": "a"})])
    [{'type': 'text', 'text': 'a'}]
    """
    if value is None or isinstance(value, str | bytes | int | float):
        return value.value if isinstance(value, Enum) else value
    if depth > DEEPEST:
        raise fault(name, f"nested deeper than {DEEPEST} levels")
    if isinstance(value, Mapping):
        return {key: plain(one, name, depth + 1) for key, one in value.items()}
    if isinstance(value, list | tuple):
        inner = [plain(one, name, depth + 1) for one in value]
        return inner if isinstance(value, list) else tuple(inner)
    if isinstance(value, Enum):
        return plain(value.value, name, depth + 1)
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return plain(dump(exclude_none=True), name, depth + 1)
    if is_dataclass(value) and not isinstance(value, type):
        found = {one.name: getattr(value, one.name) for one in fields(value)}
        return {key: plain(one, name, depth + 1) for key, one in found.items() if one is not None}
    return value


def is_empty(value: object) -> bool:
    """Tell whether a field says nothing; a value is not compared, since an array gives no plain answer to that.

    >>> is_empty([]), is_empty(0)
    (True, False)
    """
    return value is None or (isinstance(value, str | list | tuple | Mapping) and not value)


def map_strings(value: Any, change: Callable[[str], str]) -> Any:
    """Return plain data with every text in it changed, the keys of mappings included.

    >>> map_strings({"a": ["b", 3]}, str.upper)
    {'A': ['B', 3]}
    """
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {change(key): map_strings(one, change) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map_strings(one, change) for one in value)
    return value


def map_json(text: str, change: Callable[[str], str]) -> str:
    """Return a JSON text with every text in it changed; it stays valid JSON.

    It stays byte for byte where `change` alters nothing; what nobody could read as JSON is an ordinary text.

    >>> map_json('{"q":"a"}', lambda text: text.replace("a", "<"))
    '{"q": "<"}'
    """
    changed = change(text)
    if changed == text:
        return text
    try:
        values = copied(json.loads(text), "arguments")
    except (ValueError, RecursionError, SourceError):
        return changed
    return json.dumps(map_strings(values, change), ensure_ascii=False)


def as_json(value: Any) -> str:
    """Return a text as it is, and other data as JSON; what JSON has no form for is written as its own text.

    >>> as_json({"q": 1}), as_json("q")
    ('{"q": 1}', 'q')
    """
    # `default=str`: a field may hold an object of an SDK; its own text is the best measure of it.
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
