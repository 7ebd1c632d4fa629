"""Citations that stand beside the text of an answer: which of its sentences they back."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from promptpack.citations.claims import Sentence, sentences_of
from promptpack.citations.parse import Citation, Malformed, Marks

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Extra:
    """What a response says beside its text.

    marks: the spans of citations that mark a claim and are none, such as a link behind it. malformed: citations that
    are not in order. refused: whether the model declined to answer; refusals: the spans where the text says so,
    in order.
    """

    citations: tuple[Citation, ...] = ()
    marks: frozenset[Span] = frozenset()
    malformed: tuple[Malformed, ...] = ()
    refused: bool = False
    refusals: tuple[Span, ...] = ()

    def sentences(self, answer: str, read: Marks) -> tuple[list[Sentence], dict[int, dict[str, None]]]:
        """Return the sentences of an answer, and by the index of a sentence the labels that it cites.

        read: the marks in the text, whose citations count, too.
        """
        spans = mark_spans(read.citations, self)
        found, owners = sentences_of(answer, spans, read.blocks)
        if self.refusals:
            starts = [start for start, _ in self.refusals]
            for index, one in enumerate(found):
                at = bisect_right(starts, one.start) - 1
                if at >= 0 and one.start < self.refusals[at][1]:
                    found[index] = replace(one, kind="refusal")
        every = Extra((*read.citations, *self.citations), self.marks.union(spans))
        cited: dict[int, dict[str, None]] = {}
        for index, label in backed(found, dict(zip(spans, owners, strict=True)), every):
            cited.setdefault(index, {})[label] = None
        return found, cited


def mark_spans(read: Sequence[Citation], extra: Extra) -> list[Span]:
    """Return the spans of the marks in an answer, in order, those of `extra` too; one inside another is left out.

    >>> mark_spans((), Extra(marks=frozenset({(9, 12), (10, 11), (3, 4)})))
    [(3, 4), (9, 12)]
    """
    spans: list[Span] = []
    for span in sorted({*((one.start, one.end) for one in read), *extra.marks}, key=lambda one: (one[0], -one[1])):
        if span[0] < span[1] and (not spans or span[0] >= spans[-1][1]):
            spans.append(span)
    return spans


def backed(sentences: Sequence[Sentence], owners: Mapping[Span, int], extra: Extra) -> Iterator[tuple[int, str]]:
    """Yield the index of a sentence and a label that it cites, for each citation beside the text.

    owners: the sentence of each mark. A citation backs every sentence that its span touches; a mark, and a point in the
    text, the sentence that it stands in or behind. A mark inside another one counts for that. The work is that of
    naming every pair.
    """
    starts, ends = [one.start for one in sentences], [one.end for one in sentences]
    outer = sorted(owners)
    for one in extra.citations:
        span = (one.start, one.end)
        if span in extra.marks:
            place = bisect_left(outer, (one.start + 1, 0)) - 1
            around = outer[place] if place >= 0 and outer[place][1] >= one.end > one.start else None
            index = owners[around] if around else bisect_left(starts, max(one.start, 1)) - 1
            if index >= 0:
                yield index, one.label
        else:
            for index in range(bisect_right(ends, one.start), bisect_left(starts, one.end)):
                yield index, one.label
