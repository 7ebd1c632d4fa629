"""An answer with its citations changed: those that are wrong taken out, or all of them numbered anew.

Marks are changed in place and in their own spelling; everything else stays as it is. The result is a text that knows
its edits, so that a place in the answer leads to one in the result and back.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple, Self

from promptpack.citations.parse import Citation, Malformed
from promptpack.errors import OptionError, quote

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

    __slots__ = ("_edits", "_labels")
    _edits: tuple[Edit, ...]
    _labels: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, text: str, edits: tuple[Edit, ...], labels: Mapping[str, tuple[str, ...]]) -> Self:
        """Make one from finished text."""
        made = str.__new__(cls, text)
        made._edits, made._labels = edits, dict(labels)
        return made

    @property
    def edits(self) -> tuple[Edit, ...]:
        """The changes, in order."""
        return self._edits

    @property
    def labels(self) -> Mapping[str, tuple[str, ...]]:
        """The labels of the result, with the chunk ids that they stand for."""
        return self._labels

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
            if unit.start <= faults[at].start and faults[at].end <= unit.end:  # not one that came beside the text
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


def renumbered(answer: str, marks: Sequence[Unit], new: Mapping[str, str]) -> list[tuple[int, int, str]]:
    """Return the changes that give labels other names, each mark in its own spelling."""
    changes = []
    for unit in marks:
        for item in unit.items:
            labels = [new.get(label, label) for label in item.labels]
            if labels != list(item.labels):
                changes.append((item.start, item.end, spelled(answer[item.start:item.end], unit.form, labels)))
    return changes


def spelled(text: str, form: str, labels: list[str]) -> str:
    """Return how an item that read `text` is written with other labels, in a mark of this form."""
    if form == "superscript":
        numbers = [re.sub("[^0-9]", "", label).translate(_SUPERSCRIPTS) for label in labels]
        return f"{numbers[0]}⁻{numbers[-1]}" if len(labels) > 1 and _in_a_row(labels) else " ".join(numbers)
    if form == "name":
        return re.sub("[0-9]+", lambda match: re.sub("[^0-9]", "", labels[0]), text)
    place = text[text.index("†"):] if "†" in text else ""
    if len(labels) > 2 and _in_a_row(labels):
        dash = " - " if re.search(r"\s", text) else "-"  # without blanks `[x]([S5 - S7])` would be a link
        return f"{labels[0]}{dash}{labels[-1]}{place}"
    return ("\ue202" if form == "marker" else ", ").join(labels) + place


def _in_a_row(labels: list[str]) -> bool:
    numbers = [int(re.sub("[^0-9]", "", label)) for label in labels]
    return numbers == list(range(numbers[0], numbers[0] + len(numbers)))


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
