"""What a field looks like in the prompt: one line of text, or nothing at all."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

from promptpack.errors import OptionError, SourceError
from promptpack.packing.dates import instant
from promptpack.source import Source

_OWN = ("document", "position", "updated", "reliability", "priority", "score")
LONGEST = 10**40  # from here on a whole number is no fact that a reader could use
RESERVED = ("id", "n", "label", "text", "attributes", "block")  # written by the library itself


def shown_fields(source: Source, names: tuple[str, ...], chunk: str) -> dict[str, str]:
    """Return the fields of a source that have something to show, in the order of `names`.

    `chunk` is what the field of that name shows. A field of the source itself comes before metadata of its name.
    SourceError names the source where a value cannot be shown in one line (a list, a mapping, an object).

    >>> shown_fields(Source("a#1", "x", metadata={"title": "Returns", "page": None}), ("chunk", "title", "page"), "a#1")
    {'chunk': 'a#1', 'title': 'Returns'}
    """
    found: dict[str, str] = {}
    for name in names:
        if name == "chunk":
            found[name] = chunk
            continue
        value = getattr(source, name) if name in _OWN else None
        if value is None:
            value = source.metadata.get(name)
        if value is None:
            continue
        if type(value) is str and name != "updated":
            text = value.strip()
        else:
            try:
                text = shown_date(value) if name == "updated" else shown_value(value)
            except OptionError as error:
                raise SourceError(
                    f"source {source.id[:80]!r}: field {name}: {error}", id=source.id, field=name
                ) from None
        if text:
            found[name] = text
    return found


def shown_value(value: Any) -> str:
    """Return a value as text; empty for None, NaN and infinities; OptionError for what has more than one line.

    >>> shown_value(3.0), shown_value(date(2026, 3, 1)), shown_value(float("nan"))
    ('3', '2026-03-01', '')
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return str.strip(value)  # plain text, also where a subclass came in
    if isinstance(value, date):
        return shown_date(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Real):
        text = _number(value)
        if text is not None:
            return text
    elif isinstance(value, Decimal):
        return str(value) if value.is_finite() else ""
    raise OptionError(
        f"{_kind(value)} cannot be shown in one line; "
        "turn it into a text, or leave the field out of `fields`",
        name="fields", given=value,
    )


def shown_date(value: Any) -> str:
    """Return a date as ISO text: a text as it is, a date or midnight as the day, a Unix time in UTC.

    >>> shown_date("2026-03-01"), shown_date(datetime(2026, 3, 1, 9, 30)), shown_date(1_772_323_200_000)
    ('2026-03-01', '2026-03-01T09:30:00', '2026-03-01')
    """
    if isinstance(value, str):
        return str.strip(value)
    if isinstance(value, date) and value != value:  # pandas' "not a time" is a date, too
        return ""
    if isinstance(value, datetime):
        return value.date().isoformat() if _midnight(value) else value.isoformat(timespec="seconds")
    if isinstance(value, date):
        return value.isoformat()
    moment = instant(float(value) if isinstance(value, Real) and not isinstance(value, int) else value)
    if moment is None:
        return shown_value(value)
    try:
        when = datetime.fromtimestamp(moment, UTC)
    except (ValueError, OverflowError, OSError):  # beyond the years that a date can have
        return shown_value(value)
    return when.date().isoformat() if _midnight(when) else when.isoformat(timespec="seconds").replace("+00:00", "Z")


def _number(value: Real) -> str | None:
    """Return a number as text, empty for NaN and infinities; None for one that no line has room for."""
    if isinstance(value, Integral):
        return str(int(value)) if abs(int(value)) < LONGEST else None
    try:
        number = float(value)
    except OverflowError:  # a fraction beyond the range of a float
        return None
    if not math.isfinite(number):
        return ""
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else str(number)


def _kind(value: object) -> str:
    return "a very long number" if isinstance(value, Real) else f"a value of type {type(value).__name__}"


def _midnight(when: datetime) -> bool:
    return (when.hour, when.minute, when.second, when.microsecond) == (0, 0, 0, 0) and when.tzinfo in (None, UTC)
