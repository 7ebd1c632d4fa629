"""Values as plain data that JSON can hold, and back: dates, tuples, odd numbers and texts, objects by their type."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from numbers import Integral, Real
from typing import Any

from promptpack.errors import SourceError, quote
from promptpack.wellformed import encodes

_DEEPEST = 64
_WIDE = 10**18
_LONGEST = 10**4000  # a whole number that Python's JSON still reads and writes as digits


def flat(value: Any, leave: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the fields of a dataclass as plain data; those to leave keep their places, for the caller to fill."""
    names = _names(value.__class__)
    return {name: None if name in leave else as_plain(getattr(value, name)) for name in names}


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(one.name for one in fields(kind))


def as_plain(value: Any, around: tuple[int, ...] = ()) -> Any:
    """Return a value as JSON can hold it; what it cannot hold is tagged. `around`: the ids of what encloses it."""
    kind = type(value)  # nearly every value is of a kind that is told at once
    if value is None or kind is bool or (kind is str and value.isascii()):
        return value
    if (kind is int and -_WIDE < value < _WIDE) or (kind is float and -math.inf < value < math.inf):
        return value
    if isinstance(value, str):
        text = str.__str__(value)
        return text if encodes(text) else {"$text": text.encode("utf-8", "surrogatepass").hex()}
    if isinstance(value, datetime):
        return {"$datetime": value.isoformat()}
    if isinstance(value, date):
        return {"$date": value.isoformat()}
    if isinstance(value, Integral):
        number = int(value)
        return number if abs(number) < _LONGEST else {"$int": hex(number)}
    if isinstance(value, Real) and _is_float(value):
        return float(value) if math.isfinite(value) else {"$float": str(float(value))}
    if isinstance(value, Decimal):
        return {"$decimal": str(value)}
    if isinstance(value, bytes):
        return {"$bytes": value.hex()}
    if len(around) < _DEEPEST and id(value) not in around:  # what holds itself has no end
        inside = (*around, id(value))
        if isinstance(value, Mapping):
            return _plain_mapping(value, inside)
        if isinstance(value, list | tuple):
            plain = [as_plain(one, inside) for one in value]
            return plain if isinstance(value, list) else {"$tuple": plain}
    return {"$object": f"{type(value).__module__}.{type(value).__qualname__}"}


def _plain_mapping(value: Mapping[Any, Any], around: tuple[int, ...]) -> dict[str, Any]:
    """Return a mapping as it is, or as pairs where a key is no text, has a lone surrogate or looks like a tag."""
    if len(value) == 1 and isinstance(value.get("$object"), str):
        return {"$object": as_plain(value["$object"])}  # read back from such a tag: it is written as it was
    pairs = [(as_plain(key, around), as_plain(one, around)) for key, one in value.items()]
    if all(isinstance(key, str) and not key.startswith("$") for key, _ in pairs):
        return dict(pairs)
    return {"$mapping": [list(pair) for pair in pairs]}


def _is_float(value: Real) -> bool:
    try:
        return bool(float(value) == value) or value != value
    except OverflowError:  # a fraction beyond the range of a float
        return False


_TAGS: Mapping[str, Callable[[Any], Any]] = {
    "$float": float,
    "$int": lambda digits: int(digits, 16),
    "$decimal": Decimal,
    "$bytes": bytes.fromhex,
    "$text": lambda digits: bytes.fromhex(digits).decode("utf-8", "surrogatepass"),
    "$datetime": datetime.fromisoformat,
    "$date": date.fromisoformat,
    "$object": lambda name: {"$object": restored(name)},
    "$tuple": lambda inner: tuple(restored(one) for one in inner),
    "$mapping": lambda pairs: {restored(key): restored(one) for key, one in pairs},
}


def restored(data: Any) -> Any:
    """Return the value that plain data stands for."""
    if isinstance(data, Mapping):
        if len(data) == 1:
            ((key, inner),) = data.items()
            if key in _TAGS:
                return _TAGS[key](inner)
        return {key: restored(one) for key, one in data.items()}
    if isinstance(data, list | tuple):
        return [restored(one) for one in data]
    return data


def listed(data: Mapping[str, Any], name: str) -> list[Any]:
    """Return a list of mappings, which is what every part with several members is."""
    found = data[name]
    if not isinstance(found, list | tuple) or not all(isinstance(one, Mapping) for one in found):
        raise wrong(name, "a list of mappings", found)
    return list(found)


def typed(data: Mapping[str, Any], name: str, kind: Any, *, known: tuple[str, ...] = ()) -> Any:
    """Return a field, checked; an integer is also a float, a truth value is neither."""
    found = restored(data[name])
    right = isinstance(found, kind | int if kind is float else kind) and (kind is bool or not isinstance(found, bool))
    if not right or (known and found not in known):
        raise wrong(name, f"one of {', '.join(known)}" if known else getattr(kind, "__name__", str(kind)), found)
    return found


def wrong(name: str, expected: str, got: object) -> SourceError:
    """Return the error for a field of a stored payload that cannot be read."""
    return SourceError(f"payload: {name}: expected {expected}, got {quote(got)}", field=name)


def texts(data: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return a field that holds a list of texts, checked."""
    found = typed(data, name, list)
    if not all(isinstance(one, str) for one in found):
        raise wrong(name, "a list of texts", found)
    return tuple(found)
