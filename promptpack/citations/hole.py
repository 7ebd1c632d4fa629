"""What goes together with a mark that is taken out of a sentence, so that no hole is left where it stood.

With it go the blanks before it, brackets and emphasis that would be empty, words that only point at it (`(see [S9])`,
`; see [S9].`, `Source: [S9]`), and the sign of a list item that would be empty.
"""

from __future__ import annotations

import re
from functools import lru_cache

from promptpack.citations.grammar import POINTING

Span = tuple[int, int]

_BLANKS = " \t\u00a0\u202f"
_CLOSING = ".,;:!?)]}…。，、；：！？）】」』”’»\"'"
_PAIRS = {"(": ")", "[": "]", "（": "）"}
_LEAD = 60  # characters before a mark in which words that point at it, or the sign of its list item, are looked for


def hole(answer: str, start: int, end: int) -> tuple[int, int, str]:
    """Return the change that takes answer[start:end] out: what to cut, and what to put there.

    >>> hole("It is free (see [S9]).", 16, 20)
    (10, 21, '')
    """
    while True:
        low, high = _around(answer, start, end)
        if low and high < len(answer) and _PAIRS.get(answer[low - 1]) == answer[high]:
            start, end = low - 1, high + 1
            continue
        around = _patterns()["emphasis"].match(answer, end)
        if around and answer.endswith(around[0], 0, start):  # `**[S9]**`
            start, end = start - len(around[0]), around.end()
            continue
        pointed = _pointed(answer, low, high)
        if pointed is None:
            break
        start, end = pointed
    line = _line(answer, low, high)
    if line is not None:
        return *line, ""
    after, before = answer[end:end + 1], answer[low - 1:low]
    if low < start and (shut := _patterns()["emphasis"].match(answer, end)) is not None:  # `*It is [S9]*`: closes here
        after = answer[shut.end():shut.end() + 1]
        after = "" if not after.isalnum() else after
    if before in "*_~" and not answer[max(0, start - 4):start].rstrip("*_~")[-1:].isalnum():
        before = "("  # `**[S9] So it is**`: it opens here
    if before in ("", "\n") or (low == start and before in "([{（“„«「『\"'" and after in _BLANKS):
        return start, high, ""
    if not after or after.isspace() or after in _CLOSING:
        return low, end, ""
    return start, end, " " if low == start and before.isalnum() and after.isalnum() and before < "\u2e80" else ""


def word_kept(answer: str, start: int, end: int, *, last: bool) -> bool:
    """Tell whether a blank has to stay for answer[start:end], since two words would become one; last: of its group."""
    left = answer[start - 1:start].isalnum() and not _ended(answer, end)
    right = last and answer[end:end + 1].isalnum()
    return (left or right) and any(sign in _BLANKS for sign in answer[start:end])


def joined(answer: str, start: int, end: int) -> bool:
    """Tell whether two marks are one group: what stands between them is a comma, an "and", blanks or nothing."""
    return end - start <= 8 and _patterns()["joint"].fullmatch(answer, start, end) is not None


def _around(answer: str, start: int, end: int) -> Span:
    while start and answer[start - 1] in _BLANKS:
        start -= 1
    while end < len(answer) and answer[end] in _BLANKS:
        end += 1
    return start, end


def _pointed(answer: str, low: int, high: int) -> Span | None:
    """Return the span of words that only point at what stands in answer[low:high], with it; None without such words."""
    sign = answer[high:high + 1]
    if sign and sign not in _CLOSING and not sign.isspace():
        return None
    match = _patterns()["pointing"].search(answer, max(0, low - _LEAD), low)
    if match is None:
        return None
    start = match.start("words")
    before = answer[_around(answer, start, start)[0] - 1:start].rstrip(_BLANKS) if start else ""
    if before in _PAIRS:
        return (start, high) if _PAIRS[before] == sign else None
    if before and before in ",;–—":  # `It is free, see [S9].`
        return answer.rindex(before, 0, start), high
    if before and before not in ".!?…。！？\n" and not _item(answer, start):
        return None
    # A sentence of its own: it goes with its full stop.
    return start, high + (1 if sign and sign in ".。" else 0)


def _item(answer: str, at: int) -> re.Match[str] | None:
    """Return the sign of a list item, if there is nothing else before a place in its line."""
    start = answer.rfind("\n", max(0, at - _LEAD), at) + 1
    return _patterns()["item"].fullmatch(answer, start, at) if start or at <= _LEAD else None


def _line(answer: str, low: int, high: int) -> Span | None:
    """Return the span of the list item that has nothing but answer[low:high]; None where there is more."""
    item = _item(answer, low)
    rest = _patterns()["rest"].match(answer, high) if item else None
    if item is None or rest is None:
        return None
    last = rest.end() == len(answer) and not rest[0].endswith("\n")
    return item.start() - (last and item.start() > 0), rest.end()


def _ended(answer: str, at: int) -> bool:
    """Tell whether white space or a closing sign that is not followed by more stands here."""
    first, second = answer[at:at + 1], answer[at + 1:at + 2]
    return not first or first.isspace() or (first in _CLOSING and (not second or _ended(second, 0)))


@lru_cache(maxsize=1)
def _patterns() -> dict[str, re.Pattern[str]]:
    item = r"(?:[-*+•]|[0-9]{1,9}[.)])"
    return {
        "emphasis": re.compile(r"(?P<sign>[*_~])(?P=sign)*+"),
        "joint": re.compile(rf"[{_BLANKS}]*+(?:[,;，；、&]|and|und|et|y)?[{_BLANKS}]*+"),
        "pointing": re.compile(rf"(?<!\w)(?P<words>{POINTING})\Z"),
        "item": re.compile(rf"[ \t>]*+{item}(?:[ \t]++\[[ xX]\])?+[ \t]*+"),
        # Up to the end of the line, if the item does not go on in the next one.
        "rest": re.compile(rf"[.;,。]?+[ \t\r]*+(?:\Z|\n(?=[ \t\r]*+(?:\n|\Z)|[ \t>]*+(?:{item}[ \t]|[#|])))"),
    }
