"""Reading a date in any of the forms that sources carry, as one number to compare."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from math import isfinite

# A Unix time of this size or more is in milliseconds: as seconds it would be after the year 5000, as
# milliseconds it is 1973 or later.
MILLISECONDS_FROM = 1e11

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_YEAR_MONTH = re.compile(r"(\d{4})(?:[-/](\d{1,2})(?:/(\d{1,2}))?)?")
_NUMBER = re.compile(r"[-+]?\d{5,}(?:\.\d+)?")


def instant(value: object) -> float | None:
    """Return the moment as seconds since 1970 in UTC, or None where there is none to read.

    Numbers are Unix times, in milliseconds from 1e11 on. Dates and texts without a zone are UTC, a
    date without a time is its midnight. Texts: ISO 8601, `2024`, `2024-03`, `2024/3/1`, Unix times, and
    the form of mail headers. Dates with month and day in doubt (`03/04/2024`) are not guessed.

    >>> instant("2024-03-01T10:30:00+02:00") == instant("2024-03-01 08:30")
    True
    >>> instant(1_709_281_800) == instant(1_709_281_800_000) == instant("2024-03-01T08:30:00Z")
    True
    >>> instant("last spring") is None
    True
    """
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return _unix(value)
    if isinstance(value, datetime):
        aware = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        return (aware - _EPOCH).total_seconds()
    if isinstance(value, date):
        return (datetime(value.year, value.month, value.day, tzinfo=UTC) - _EPOCH).total_seconds()
    return _read(value.strip()) if isinstance(value, str) else None


def _unix(value: int | float) -> float | None:
    try:
        number = float(value)
    except OverflowError:  # a whole number beyond the range of a float
        return None
    if not isfinite(number):
        return None
    return number / 1000.0 if abs(number) >= MILLISECONDS_FROM else number


def _read(text: str) -> float | None:
    if not text or len(text) > 64:
        return None
    short = _YEAR_MONTH.fullmatch(text)
    try:
        if short:
            year, month, day = short.groups()
            return instant(date(int(year), int(month or 1), int(day or 1)))
        try:
            return instant(datetime.fromisoformat(text))
        except ValueError:
            if _NUMBER.fullmatch(text):
                return _unix(float(text))
            from email.utils import parsedate_to_datetime  # loads the sockets, so only where it is needed

            return instant(parsedate_to_datetime(text))
    except (ValueError, TypeError, IndexError, OverflowError):
        return None  # not a date; the caller says so
