"""How much of an unfinished answer is settled: the text before the first place that may still become a citation.

Every mark is bounded: 400 characters between brackets, 200 labels in round ones, 100 parts of a private-use
marker, 2,000 characters of code or of an address (`promptpack.citations.code`). What is longer is none, so a
stream never waits for more than a few thousand characters.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import lru_cache

from promptpack.citations.code import STOP, partial_start
from promptpack.citations.grammar import BODY, PAIRS, Grammar
from promptpack.citations.scan import Mark, patterns

_LONGEST_SUPERSCRIPT = 9  # ¹²³⁴⁻¹²³⁴
_LONGEST_LIST = 6_000  # more than 201 labels and what stands between them can take


def settled(text: str, undecided: Sequence[int], marks: Sequence[Mark], rules: Grammar, *, superscripts: bool) -> int:
    """Return up to where no further text can change what a text cites.

    text: with its code blanked out as far as it is known. undecided: where each part begins that may turn out to
    be code, ascending: more text may hide all that follows, or leave it as it is. marks: those of the text.
    """
    hold = min(_waiting(text, undecided, rules, superscripts=superscripts), default=len(text))
    begun = [*undecided, partial_start(text)]
    for mark in marks:
        if mark.start >= begun[0] or (mark.form == "name" and _touches(mark, begun)):
            hold = min(hold, mark.start)
    if text.endswith("\\"):  # `\[S1\]` is one mark
        hold = min(hold, len(text) - 1)
    for mark in reversed(marks):  # the rest of a mark may decide what stands in it
        if mark.start < hold < mark.end:
            hold = mark.start
    return hold


def _waiting(text: str, undecided: Sequence[int], rules: Grammar, *, superscripts: bool) -> Iterator[int]:
    """Yield where something begins that more text may make a citation of, or a longer or no citation."""
    rest = _patterns()
    for match in rest["opener"].finditer(text):
        at = match.start()
        if match[0] in "(（":
            if len(text) - at <= _LONGEST_LIST and rules.begun.match(text, at):
                yield at
        else:
            end = _marker_end(text, at) if match[0] == "\ue200" else _bracket_end(text, at, rules)
            part = bisect_left(undecided, at)
            if not end or (part < len(undecided) and undecided[part] < end):
                yield at - 1 if text[at - 1:at] == "\\" else at
    name = rest["name"].search(text, max(0, len(text) - 16))
    if name:
        yield name.start()
    if superscripts:
        run = rest["superscript"].search(text, max(0, len(text) - _LONGEST_SUPERSCRIPT - 1))
        if run and len(run[0]) <= _LONGEST_SUPERSCRIPT:
            yield run.start()


def _touches(name: Mark, undecided: Sequence[int]) -> bool:
    """Tell whether a name, which is known by what follows it, stands right before a part not decided yet."""
    part = bisect_left(undecided, name.end)
    return part < len(undecided) and undecided[part] < name.end + 2


def _bracket_end(text: str, at: int, rules: Grammar) -> int:
    """Return how far one has to read to know what the bracket at `at` is; 0 where the text is too short for that."""
    length = len(text)
    found = _next_bracket(text, at + 1)
    if found < 0:
        return at + 2 + BODY if length - at - 1 > BODY else 0
    if text[at:at + 2] == "[[":
        second = _next_bracket(text, at + 2)
        if second < 0:
            return at + 3 + BODY if length - at - 2 > BODY else 0
        if text[second] != "]":
            return second + 1
        if second + 1 == length:
            return 0
        if text[second + 1] != "]":
            return second + 2
        return second + 3 if second + 2 < length else 0
    if text[found] in PAIRS or text[found] == STOP:
        return found + 1
    body = text[at + 1:found]
    if "(" not in body and not rules.items(body, 0):
        return found  # plain writing, whatever follows
    return found + 2 if found + 1 < length else 0


def _next_bracket(text: str, at: int) -> int:
    match = _patterns()["bracket"].search(text, at, at + BODY + 1)
    return match.start() if match else -1


def _marker_end(text: str, at: int) -> int:
    """Return where a private-use marker ends, or where it turns out to be none; 0 where that is not known yet."""
    if _patterns()["marker_begun"].match(text, at):
        return 0
    match = patterns()["marker"].match(text, at)
    return match.end() + 1 if match else at + 1


@lru_cache(maxsize=1)
def _patterns() -> dict[str, re.Pattern[str]]:
    brackets = "".join("\\" + sign if sign in "[]" else sign for pair in PAIRS.items() for sign in pair)
    openers = "".join("\\" + sign if sign == "[" else sign for sign in PAIRS)
    return {
        "opener": re.compile(f"[(（{openers}\ue200]"),
        "bracket": re.compile(f"[{brackets}{STOP}]"),
        # One sign more than the reader allows: by then it is known to be none.
        "marker_begun": re.compile("\ue200[a-z]{0,16}(?:\ue202[^\ue200-\ue202]{0,64}+){0,100}+\\Z"),
        "name": re.compile(
            r"(?<![0-9A-Za-z_<>/.@#\x00-])[Ss](?:o(?:u(?:r(?:c(?:e(?:_(?:[0-9]{1,4}\.?)?)?)?)?)?)?)?\Z"
        ),
        "superscript": re.compile("[⁰¹²³⁴-⁹⁻]+\\Z"),
    }
