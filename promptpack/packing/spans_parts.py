"""The parts of a text that are sent in part: how they are put together, with marks for what is left out, and where a
stretch of what was sent stands in the text it came from.
"""

from __future__ import annotations

from collections.abc import Sequence

from promptpack.packing.trim import MARKERS

Range = tuple[int, int]

# What stands for what was left out: behind a heading, behind a sentence; and, where asked for, at both ends.
BELOW, GAP = "\n… ", MARKERS["relevant"]
BEFORE, BEHIND = MARKERS["end"], MARKERS["start"]


def bounds(text: str) -> Range:
    """Return where a text begins and ends, white space around it left out.

    >>> bounds(" One. ")
    (1, 5)
    """
    return len(text) - len(text.lstrip()), len(text.rstrip())


def joined(text: str, ranges: Sequence[Range], mark: str = GAP, within: Range | None = None) -> str:
    """Return the parts of a text with a mark between them.

    within: the `bounds` of the text, for a mark before the first part and one behind the last where text was left out
    there; None for no such marks.

    >>> joined("One. Two. Three.", [(0, 4), (10, 16)])
    'One. … Three.'
    >>> joined("One. Two. Three.", [(5, 9)], within=(0, 16))
    '… Two. …'
    """
    parts = text[slice(*ranges[0])] if len(ranges) == 1 else mark.join([text[start:end] for start, end in ranges])
    if within is None:
        return parts
    before = BEFORE if ranges[0][0] > within[0] else ""
    return before + parts + (BEHIND if ranges[-1][1] < within[1] else "")


def places(sent: str, text: str, ranges: Sequence[Range], start: int, end: int) -> tuple[Range, ...]:
    """Return where the stretch from start to end of what was sent stands in its text, a range for each part it touches.

    sent: what `joined` made of these ranges, or the whole text, without ranges. Exact; a mark stands nowhere, and
    nothing does where the text was changed otherwise: cut, merged or freed of repeats.

    >>> places("One. … Three.", "One. Two. Three.", [(0, 4), (10, 16)], 0, 10)
    ((0, 4), (10, 13))
    """
    if not ranges:
        ranges = ((0, len(text)),) if sent == text else ()
    gap = len(GAP)  # as long as BELOW
    marks = len(sent) - sum(end - start for start, end in ranges) - gap * (len(ranges) - 1)
    at = len(BEFORE) if ranges and marks > 0 and ranges[0][0] > bounds(text)[0] else 0
    found = []
    for first, last in ranges:
        low, high = max(start, at), min(end, at + last - first)
        if low < high:
            found.append((first + low - at, first + high - at))
        at += last - first + gap
    return tuple(found)
