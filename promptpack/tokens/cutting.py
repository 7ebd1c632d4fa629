"""Cutting a text where a reader sees no damage: between grapheme clusters, never inside one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache
from typing import Any

from promptpack.errors import OptionError, SourceError, quote

_NEAR = 64
# A cluster longer than this (a letter with thousands of marks) may be cut: the search has to end.
LONGEST_CLUSTER = 4096


@cache
def _cluster() -> Any:
    import regex  # loaded on the first cut, not when the library is imported

    return regex.compile(r"\X")


def _sticky(char: str) -> bool:
    # whether a cluster may go on across the left edge of this character, or of the one after it
    if char < "\u0300":
        return char == "\xad"
    return unicodedata.category(char) in ("Mn", "Me", "Mc", "Cf", "Sk") or (
        "\U0001f1e6" <= char <= "\U0001f1ff" or "\u1100" <= char <= "\u11ff"
        or "\ua960" <= char <= "\ua97c" or "\uac00" <= char <= "\ud7fb"
    )


def _spread(text: str, index: int) -> tuple[int, int]:
    # the cluster around index, as (start, end) with start <= index < end
    low = max(0, index - _NEAR)
    floor = max(0, index - LONGEST_CLUSTER)
    while low > floor and (_sticky(text[low]) or _sticky(text[low - 1]) or text[low] == "\n"):
        low -= 1
    start = end = low
    for found in _cluster().finditer(text, low, min(len(text), index + LONGEST_CLUSTER)):
        start, end = found.span()
        if end > index:
            break
    return start, end


def grapheme_floor(text: str, index: int) -> int:
    r"""Return the largest grapheme boundary at or before `index` (a character offset).

    Boundaries are those of UAX 29, found in a window around the index; a cluster of more than 4096
    characters may be cut.

    >>> grapheme_floor("cafe\u0301s", 4), grapheme_floor("cafe\u0301s", 5)
    (3, 5)
    """
    if index <= 0:
        return 0
    if index >= len(text):
        return len(text)
    if "\r" < text[index - 1] < "\x7f" and text[index] < "\x7f":
        return index
    return _spread(text, index)[0]


def grapheme_ceil(text: str, index: int) -> int:
    r"""Return the smallest grapheme boundary at or after `index` (a character offset).

    >>> grapheme_ceil("cafe\u0301s", 4), grapheme_ceil("cafe\u0301s", 5)
    (5, 5)
    """
    if index <= 0:
        return 0
    if index >= len(text):
        return len(text)
    if "\r" < text[index - 1] < "\x7f" and text[index] < "\x7f":
        return index
    start, end = _spread(text, index)
    return index if start == index else end


def origin(text: str, clean: str, index: int) -> int:
    r"""Return where in `text` the character at `index` of its repaired form (`wellformed.repaired`) comes from.

    >>> origin("\ud83d\ude80b", "\U0001f680b", 1)
    2
    """
    if len(text) == len(clean):
        return index
    joined = 0
    for pair in re.finditer("[\ud800-\udbff][\udc00-\udfff]", text):
        if pair.start() - joined >= index:
            break
        joined += 1
    return index + joined


def check_text(text: object) -> None:
    """Raise SourceError unless the value is a text.

    >>> check_text("a")
    """
    if not isinstance(text, str):
        raise SourceError(f"count: expected a text, got {quote(text)}", field="text")


def check_limit(limit: object) -> int:
    """Return the limit, 0 for one below: less than nothing is left where room is computed by subtraction.

    Raises OptionError unless it is a whole number.

    >>> check_limit(3), check_limit(-3)
    (3, 0)
    """
    if isinstance(limit, bool) or not isinstance(limit, int):
        raise OptionError(
            f"limit: expected a whole number of tokens, got {quote(limit)}", name="limit", given=limit
        )
    return max(limit, 0)


def longest_start(text: str, limit: int, count: Callable[[str], int]) -> str:
    """Return the longest start of the text that `count` puts at `limit` or less, by bisection.

    Cuts fall between grapheme clusters. Takes about 2 log2(len(text)) counts of starts near the answer.
    Where a longer start can cost less than a shorter one the result still fits, but need not be the longest.

    >>> longest_start("one two three", 2, lambda text: len(text.split()))
    'one two '
    """
    return text[: _bisect(text, limit, lambda kept: count(text[:kept]), grapheme_floor, grapheme_ceil)]


def longest_end(text: str, limit: int, count: Callable[[str], int]) -> str:
    """Return the longest end of the text that `count` puts at `limit` or less, by bisection.

    >>> longest_end("one two three", 2, lambda text: len(text.split()))
    ' two three'
    """
    size = len(text)

    def shorter(text: str, kept: int) -> int:
        return size - grapheme_ceil(text, size - kept)

    def longer(text: str, kept: int) -> int:
        return size - grapheme_floor(text, size - kept)

    return text[size - _bisect(text, limit, lambda kept: count(text[size - kept :]), shorter, longer) :]


def _bisect(
    text: str,
    limit: int,
    cost: Callable[[int], int],
    shorter: Callable[[str, int], int],
    longer: Callable[[str, int], int],
) -> int:
    # how many characters can be kept; `good` always fits, `bad` does not
    if limit <= 0:
        return 0
    good, bad, reach = 0, len(text) + 1, 4 * limit + 16
    while bad > len(text):
        kept = shorter(text, reach)
        if kept > good and cost(kept) > limit:
            bad = kept
        elif kept == len(text):
            return kept
        else:
            good, reach = max(good, kept), 2 * reach
    while True:
        middle = (good + bad) // 2
        kept = shorter(text, middle)
        if kept <= good:
            kept = longer(text, max(middle, good + 1))
            if kept >= bad:
                return good
        if cost(kept) <= limit:
            good = kept
        else:
            bad = kept
