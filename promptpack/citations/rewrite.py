"""An answer with its citations changed: those that are wrong taken out, or all of them numbered anew.

Marks are changed in place and in their own spelling; everything else stays as it is. The result is a text that knows
its edits, so that a place in the answer leads to one in the result and back.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple, Self

from promptpack.citations.parse import Citation, Malformed
from promptpack.errors import OptionError, quote

_BLANKS = " \t\u00a0\u202f"
_CLOSING = ".,;:!?)]}…。，、；：！？）】」』”’»\"'"
_PAIRS = {"(": ")", "[": "]", "（": "）"}
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


class Edit(NamedTuple):
    """One change: result[out_start:out_end] stands for answer[start:end]."""

    start: int
    end: int
    out_start: int
    out_end: int


class Rewritten(str):
    """A changed answer: a plain text that also knows its `edits`, in order, and the `labels` that it now cites.

    labels: each label of the result with the chunk ids that it stands for. What the methods of a text return (slices,
    `replace`) is a plain text again.
    """

    __slots__ = ("edits", "labels")
    edits: tuple[Edit, ...]
    labels: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, text: str, edits: tuple[Edit, ...], labels: Mapping[str, tuple[str, ...]]) -> Self:
        """Make one from finished text."""
        made = str.__new__(cls, text)
        made.edits, made.labels = edits, dict(labels)
        return made

    def __reduce__(self) -> tuple[object, ...]:
        return type(self).of, (str(self), self.edits, self.labels)

    def after(self, at: int) -> int:
        """Return where a place in the answer is in this text; a place inside an edit, where the edit begins."""
        return _mapped(self.edits, at, 0)

    def before(self, at: int) -> int:
        """Return where a place in this text was in the answer; a place inside an edit, where the edit began.

        >>> from promptpack.citations import verify_citations
        >>> text = verify_citations("Free [S9], yes.", {"S1": "a"}).strip()
        >>> str(text), text.before(text.index("yes"))
        ('Free, yes.', 11)
        """
        return _mapped(self.edits, at, 2)


class Item(NamedTuple):
    """A label, a range or a fault between the separators of a mark; faults have no labels."""

    start: int
    end: int
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unit:
    """A mark with its items; marks inside another one belong to it, and then it is nested."""

    start: int
    end: int
    form: str
    items: tuple[Item, ...]
    nested: bool = False

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that it cites, each once, in order."""
        return tuple(dict.fromkeys(label for item in self.items for label in item.labels))


def units(citations: Iterable[Citation], malformed: Iterable[Malformed] = ()) -> list[Unit]:
    """Return the marks of an answer in order, without those that came beside the text."""
    found: list[Unit] = []
    read = [one for one in citations if one.form != "native"]
    for (start, end), group in groupby(read, key=lambda one: (one.start, one.end)):
        several = list(group)
        items = [
            Item(inner[0], inner[1], tuple(one.label for one in same))
            for inner, same in groupby(several, key=lambda one: one.inner)
        ]
        if found and start < found[-1].end:
            last = found[-1]
            found[-1] = Unit(last.start, max(last.end, end), last.form, (*last.items, *items), nested=True)
        else:
            found.append(Unit(start, end, several[0].form, tuple(items)))
    faults = list(malformed)
    at = 0
    for index, unit in enumerate(found):
        while at < len(faults) and faults[at].end <= unit.start:
            at += 1
        inside = []
        while at < len(faults) and faults[at].start < unit.end:
            inside.append(Item(faults[at].start, faults[at].end, ()))
            at += 1
        if inside:
            found[index] = Unit(unit.start, unit.end, unit.form, tuple(sorted({*unit.items, *inside})), unit.nested)
    return found


def edited(
    answer: str, changes: Iterable[tuple[int, int, str]], labels: Mapping[str, tuple[str, ...]]
) -> Rewritten:
    """Make changes, each a span and what to put there, which do not overlap."""
    pieces: list[str] = []
    edits: list[Edit] = []
    at = length = 0
    for start, end, text in sorted(changes):
        pieces += (answer[at:start], text)
        length += start - at
        edits.append(Edit(start, end, length, length + len(text)))
        length, at = length + len(text), end
    return Rewritten.of("".join(pieces) + answer[at:], tuple(edits), labels)


def dropped(answer: str, marks: Sequence[Unit], drop: Callable[[str], bool]) -> list[tuple[int, int, str]]:
    """Return the changes that take labels out of an answer without leaving holes in its sentences.

    A mark that cites nothing any more goes with the blanks before it, with brackets that would be empty, and with the
    comma or "and" that joined it to another mark; of other marks only the labels in question go.
    """
    changes: list[tuple[int, int, str]] = []
    at = 0
    while at < len(marks):
        last = at + 1
        while last < len(marks) and _joined(answer, marks[last - 1].end, marks[last].start):
            last += 1
        cluster = marks[at:last]
        gone = [all(item.labels and all(map(drop, item.labels)) for item in unit.items) for unit in cluster]
        if all(gone):
            changes.append(_hole(answer, cluster[0].start, cluster[-1].end))
        else:
            spans = [(unit.start, unit.end) for unit in cluster]
            for start, end in _without(spans, gone):
                # A blank stays where two words would become one.
                before = answer[start - 1:start]
                left = before.isalnum() and not _ended(answer, end)
                right = end == spans[-1][1] and answer[end:end + 1].isalnum()
                name = answer[end:end + 1].isalnum() and before in tuple("._/<>@#-`")  # `source_2` would be none behind
                blank = name or ((left or right) and any(sign in _BLANKS for sign in answer[start:end]))
                changes.append((start, end, " " if blank else ""))
            for unit, is_gone in zip(cluster, gone, strict=True):
                changes += [] if is_gone else _thinned(answer, unit, drop)
        at = last
    return changes


def renumbered(answer: str, marks: Sequence[Unit], new: Mapping[str, str]) -> list[tuple[int, int, str]]:
    """Return the changes that give labels other names, each mark in its own spelling."""
    changes = []
    for unit in marks:
        for item in unit.items:
            labels = [new.get(label, label) for label in item.labels]
            if labels != list(item.labels):
                changes.append((item.start, item.end, _spelled(answer[item.start:item.end], unit.form, labels)))
    return changes


def _spelled(text: str, form: str, labels: list[str]) -> str:
    if form == "superscript":
        numbers = [re.sub("[^0-9]", "", label).translate(_SUPERSCRIPTS) for label in labels]
        return f"{numbers[0]}⁻{numbers[-1]}" if len(labels) > 1 and _in_a_row(labels) else " ".join(numbers)
    if form == "name":
        return re.sub("[0-9]+", lambda match: re.sub("[^0-9]", "", labels[0]), text)
    place = text[text.index("†"):] if "†" in text else ""
    if len(labels) > 2 and _in_a_row(labels):
        return f"{labels[0]}-{labels[-1]}{place}"
    return ("\ue202" if form == "marker" else ", ").join(labels) + place


def _in_a_row(labels: list[str]) -> bool:
    numbers = [int(re.sub("[^0-9]", "", label)) for label in labels]
    return numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def _thinned(answer: str, unit: Unit, drop: Callable[[str], bool]) -> list[tuple[int, int, str]]:
    kept = [tuple(label for label in item.labels if not drop(label)) for item in unit.items]
    if all(rest == item.labels for rest, item in zip(kept, unit.items, strict=True)):
        return []
    if unit.nested:
        return [(unit.start, unit.end, f"[{', '.join(label for label in unit.labels if not drop(label))}]")]
    gone = [bool(item.labels) and not rest for rest, item in zip(kept, unit.items, strict=True)]
    changes = [(start, end, "") for start, end in _without([(item.start, item.end) for item in unit.items], gone)]
    leads = True
    for rest, item in zip(kept, unit.items, strict=True):
        bare = leads and answer[item.start:item.start + 1].isdigit()  # a number alone would be no label any more
        leads = leads and not rest
        if rest and (bare or rest != item.labels):
            changes.append((item.start, item.end, ("\ue202" if unit.form == "marker" else ", ").join(rest)))
    return changes


def _without(spans: Sequence[tuple[int, int]], gone: Sequence[bool]) -> list[tuple[int, int]]:
    """Return what to cut so that some members of a list go, each with one of the separators beside it."""
    first = gone.index(False)  # what stands before the first that stays goes with the separator behind it
    cuts = [(spans[at][0], spans[at + 1][0]) for at in range(first)]
    for at in range(first + 1, len(spans)):
        if gone[at]:  # neighbours go in one cut
            start = cuts.pop()[0] if gone[at - 1] else spans[at - 1][1]
            cuts.append((start, spans[at][1]))
    return cuts


def _hole(answer: str, start: int, end: int) -> tuple[int, int, str]:
    """Return the change that takes answer[start:end] out, with the blanks and brackets that it leaves behind."""
    while True:
        low, high = start, end
        while low and answer[low - 1] in _BLANKS:
            low -= 1
        while high < len(answer) and answer[high] in _BLANKS:
            high += 1
        if low and high < len(answer) and _PAIRS.get(answer[low - 1]) == answer[high]:
            start, end = low - 1, high + 1
            continue
        around = _emphasis().match(answer, end)
        if around and answer.endswith(around[0], 0, start):  # `**[S9]**`
            start, end = start - len(around[0]), around.end()
            continue
        break
    after, before = answer[end:end + 1], answer[low - 1:low]
    if low < start and (shut := _emphasis().match(answer, end)) is not None:  # `*It is so [S9]*`: it closes here
        after = answer[shut.end():shut.end() + 1]
        after = "" if not after.isalnum() else after
    if before in "*_~" and not answer[max(0, start - 4):start].rstrip("*_~")[-1:].isalnum():
        before = "("  # `**[S9] So it is**`: it opens here
    if before in ("", "\n") or (low == start and before in "([{（“„«「『\"'" and after in _BLANKS):
        return start, high, ""
    if not after or after.isspace() or after in _CLOSING:
        return low, end, ""
    return start, end, " " if low == start and before.isalnum() and after.isalnum() and before < "\u2e80" else ""


def _ended(answer: str, at: int) -> bool:
    """Tell whether white space or a closing sign that is not followed by more stands here."""
    first, second = answer[at:at + 1], answer[at + 1:at + 2]
    return not first or first.isspace() or (first in _CLOSING and (not second or _ended(second, 0)))


def _joined(answer: str, start: int, end: int) -> bool:
    return end - start <= 8 and _joint().fullmatch(answer, start, end) is not None


def _mapped(edits: tuple[Edit, ...], at: int, side: int) -> int:
    if not isinstance(at, int) or at < 0:
        raise OptionError(f"offset: expected a whole number from 0, got {quote(at)}", name="offset", given=at)
    index = bisect_right(edits, at, key=lambda edit: edit[side]) - 1
    if index < 0:
        return at
    edit = edits[index]
    here, there = (edit[2], edit[0]) if side else (edit[0], edit[2])
    here_end, there_end = (edit[3], edit[1]) if side else (edit[1], edit[3])
    return there if here <= at < here_end else there_end + at - here_end


@lru_cache(maxsize=1)
def _emphasis() -> re.Pattern[str]:
    return re.compile(r"(?P<sign>[*_~])(?P=sign)*+")


@lru_cache(maxsize=1)
def _joint() -> re.Pattern[str]:
    return re.compile(rf"[{_BLANKS}]*+(?:[,;，；、&]|and|und|et|y)?[{_BLANKS}]*+")
