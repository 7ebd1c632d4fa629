"""What a field looks like in the prompt: one line of text, or nothing at all."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

from promptpack.errors import OptionError, SourceError, quote
from promptpack.packing.dates import instant
from promptpack.source import Source

OWN = ("document", "position", "updated", "reliability", "priority", "score")
LONGEST = 10**40  # from here on a whole number is no fact that a reader could use
RESERVED = ("id", "n", "label", "text", "attributes", "block")  # written by the library itself


def shown_field(source: Source, name: str, value: Any) -> str:
    """Return the value of a field of a source as text; empty where there is nothing to show.

    The values of a list stand with ", " between. SourceError names the source where a value cannot be shown in one line
    (a mapping, an object, a list in a list).

    >>> shown_field(Source("a#1", "x"), "page", 7.0), shown_field(Source("a#1", "x"), "section", ["Lamps", 7])
    ('7', 'Lamps, 7')
    """
    shown = shown_date if name == "updated" else shown_value
    try:
        if isinstance(value, list | tuple):
            return ", ".join([text for one in value if (text := shown(one))])
        return shown(value)
    except OptionError as error:
        raise SourceError(f"source {quote(source.id)}: field {name}: {error}", id=source.id, field=name) from None


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
    moment = instant(_unix(value) if isinstance(value, Real) else value)
    if moment is None:
        return shown_value(value)
    try:
        when = datetime.fromtimestamp(moment, UTC)
    except (ValueError, OverflowError, OSError):  # beyond the years that a date can have
        return shown_value(value)
    return when.date().isoformat() if _midnight(when) else when.isoformat(timespec="seconds").replace("+00:00", "Z")


def visible(text: str) -> str:
    """Return a text for one line of a report: what a terminal would obey or could not write is shown as an escape.

    >>> visible("a\\n\\x1b[31mb\\ud800")
    'a\\\\n\\\\x1b[31mb\\\\ud800'
    """
    if text.isprintable():
        return text
    return "".join([char if char.isprintable() else repr(char)[1:-1] for char in text])


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


def _unix(value: Real) -> int | float | None:
    try:
        return int(value) if isinstance(value, Integral) else float(value)
    except OverflowError:  # a fraction beyond the range of a float
        return None


def _kind(value: object) -> str:
    return "a very long number" if isinstance(value, Real) else f"a value of type {type(value).__name__}"


def _midnight(when: datetime) -> bool:
    return (when.hour, when.minute, when.second, when.microsecond) == (0, 0, 0, 0) and when.tzinfo in (None, UTC)
