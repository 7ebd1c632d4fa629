"""The months that a question names, and the months of the documents: minutes, reports and news are asked for by date.

Near-duplicates that differ by their date share all other words. A month counts with its year only: "May" alone is a
word like any other, and so is a year. "2001-02" may be a season, and does not count.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from promptpack.packing.dates import instant
from promptpack.packing.similarity import folded
from promptpack.packing.spans_text import titled

Month = tuple[int, int]

_YEAR = "1[0-9]{3}|20[0-9]{2}"
# January 2004, January 28, 2004, 28 de enero de 2004; 2004-01-28, 2004/1/28; 2004年1月, 2004년 1월.
_NAMED = re.compile(
    rf"([^\W\d_][^\s\d,.;:()]*)\.?\s+(?:[0-9]{{1,2}}(?:st|nd|rd|th)?,?\s+)?(?:(?:of|de|del|di)\s+)?({_YEAR})(?![0-9])"
)
_NUMBERED = re.compile(rf"(?<![0-9])({_YEAR})(?:[-/](?=[0-9]{{1,2}}[-/][0-9])|年\s?|년\s?)(1[0-2]|0?[1-9])(?![0-9])")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@functools.cache
def _months() -> dict[str, int]:
    from importlib.resources import files

    path = files("promptpack.packing").joinpath("spans_months.json")
    data: dict[str, str] = json.loads(path.read_text(encoding="utf-8").casefold())
    return {
        name: number for key, row in data.items() if key != "about" for number, name in enumerate(row.split(), 1)
    }


def months_in(text: str) -> frozenset[Month]:
    """Return the months that a text names with their year, as (year, month). Linear.

    >>> sorted(months_in("Between 28 January 2004 and 2005-03-01, not in May"))
    [(2004, 1), (2005, 3)]
    """
    text = folded(text).casefold()
    found = {(int(year), int(month)) for year, month in _NUMBERED.findall(text)}
    known = _months()
    found.update((int(year), known[name]) for name, year in _NAMED.findall(text) if name in known)
    return frozenset(found)


def months_of(metadata: Mapping[str, Any], updated: object) -> frozenset[Month]:
    """Return the months of a document: those that its title or section names, or else that of its date.

    >>> months_of({"title": "Minutes, March 2004"}, "2004-05-01"), months_of({}, "2004-05-01")
    (frozenset({(2004, 3)}), frozenset({(2004, 5)}))
    """
    named = months_in(titled(metadata))
    seconds = None if named else instant(updated)
    if seconds is None:
        return named
    try:
        day = _EPOCH + timedelta(seconds=seconds)
    except OverflowError:  # a year that no calendar has
        return named
    return frozenset({(day.year, day.month)})
