"""Taking wrong labels out of an answer so that its sentences stay whole, and so that all its other marks stay marks.

Taking something out can change what the text around it is: `[S1]([S1, S9])` without S9 would be one link, and
`source_2 [S9].It` without its mark would be a file name. So every change knows three ways to be made. The first leaves
the best sentence, the second keeps a blank in place, the third leaves a sign of omission as long as what it stands for
(`[……]`), which changes nothing around it. The result is read again, and where it does not cite what was to stay, the
changes next to that place are made in the next way. There are at most `ROUNDS` readings, so the work stays linear.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from promptpack.citations.hole import Span, hole, joined, word_kept
from promptpack.citations.parse import TOO_MANY, Citation, Malformed, Marks, read_marks
from promptpack.citations.rewrite import Rewritten, Unit, edited, spelled, units
from promptpack.labels import prefix_of

ROUNDS = 8  # readings of the result; after the last one every change is made in the third way
_NEAR = 8  # changes on each side of a place that are looked at for one that can still be made in another way

Drop = Callable[[str], bool]


class Change(NamedTuple):
    """A span of the answer, and what may stand there instead: the best text first, the safest last."""

    start: int
    end: int
    ways: tuple[str, str, str]


def stripped(
    answer: str, citations: Sequence[Citation], malformed: Sequence[Malformed], blocks: Iterable[Span], drop: Drop,
    labels: Mapping[str, tuple[str, ...]],
) -> Rewritten:
    """Return the answer without the labels that `drop` tells; `labels` are those that stay.

    blocks: the spans of its fenced code. Where something has to go, the marks that stay are the same in the result, in
    the same order, and no other one comes up; only a mark that could not be read before stays as it is. See
    `promptpack.citations.hole` for what goes together with a mark.
    """
    marks = units(citations, malformed)
    changes = list(_clipped(_changes(answer, marks, drop)))
    ways = [0] * len(changes)
    reading = _Reading(citations)
    result = _made(answer, changes, ways, labels)
    for _ in range(ROUNDS if changes else 0):
        again = reading.marks(result)
        wrong = _differences(result, marks, drop, malformed, blocks, again)
        if not wrong:
            return result
        if not _blame(result, wrong, changes, ways):
            break
        result = _made(answer, changes, ways, labels)
    if changes:
        result = _made(answer, changes, [2] * len(changes), labels)
    return result


class _Reading:
    """Reads a text as the answer was read: how that was shows in the citations that were found."""

    def __init__(self, citations: Sequence[Citation]) -> None:
        read = [one for one in citations if one.form != "native"]
        self._prefix = prefix_of(read[0].label) if read else "S"
        self._superscripts = any(one.form == "superscript" for one in read)
        inner = (one.text[one.inner[0] - one.start:one.inner[1] - one.start] for one in read)
        self._padded = any(re.search("(?<![0-9])0[0-9]", text) for text in dict.fromkeys(inner))

    def marks(self, text: str) -> Marks:
        return read_marks(text, prefix=self._prefix, zero_padded=self._padded, superscripts=self._superscripts)


def _made(
    answer: str, changes: Sequence[Change], ways: Sequence[int], labels: Mapping[str, tuple[str, ...]]
) -> Rewritten:
    texts = ((one.start, one.end, one.ways[way]) for one, way in zip(changes, ways, strict=True))
    return edited(answer, texts, labels)


def _differences(
    result: Rewritten, marks: Sequence[Unit], drop: Drop, malformed: Sequence[Malformed], blocks: Iterable[Span],
    again: Marks,
) -> list[int]:
    """Return the places in the result, in order, where it does not cite what was to stay."""
    place = _Places(result)
    wanted: dict[int, tuple[str, ...]] = {}
    for unit in marks:
        kept = tuple(label for label in unit.labels if not drop(label))
        if kept:
            at = place.after(unit.start)
            wanted[at] = (*wanted.get(at, ()), *kept)
    found: dict[int, tuple[str, ...]] = {}
    for unit in units(again.citations):
        at = place.start_of(unit.start)
        found[at] = (*found.get(at, ()), *unit.labels)
    # With fewer labels in ranges, one more of those beyond the limit can be read; it stays as it is all the same.
    beyond = {place.after(one.start) for one in malformed if one.why == TOO_MANY}
    wrong = {at for at in {*wanted, *found} if wanted.get(at) != found.get(at) and at not in beyond}
    if beyond:  # and such a one can stand behind the bracket of its mark
        inner = {place.after(unit.start) for unit in marks if any(not item.labels for item in unit.items)}
        wrong -= {at for at in wrong - set(wanted) if found[at]} | inner
    fences = {place.after(start) for start, _ in blocks} ^ {place.start_of(start) for start, _ in again.blocks}
    if fences:  # all that follows is only wrong because of it
        first = min(fences)
        wrong = {at for at in wrong if at < first} | {first}
    return sorted(wrong)


class _Places:
    """Places in the result: those inside what a change put there count as its beginning."""

    def __init__(self, result: Rewritten) -> None:
        self._result = result
        self._starts = [edit.out_start for edit in result.edits]

    def after(self, at: int) -> int:
        return self.start_of(self._result.after(at))

    def start_of(self, at: int) -> int:
        index = bisect_right(self._starts, at) - 1
        inside = index >= 0 and at < self._result.edits[index].out_end
        return self._starts[index] if inside else at


def _blame(result: Rewritten, wrong: Iterable[int], changes: Sequence[Change], ways: list[int]) -> bool:
    """Let the changes on both sides of each place be made in the next way; tell whether there was one."""
    starts = [edit.out_start for edit in result.edits]
    chosen: set[int] = set()
    for at in wrong:
        index = bisect_right(starts, at)
        for near in (range(index - 1, max(-1, index - 1 - _NEAR), -1), range(index, min(len(ways), index + _NEAR))):
            chosen.update([one for one in near if changes[one].ways[ways[one]] != changes[one].ways[2]][:1])
    for one in chosen:
        ways[one] += 1
    return bool(chosen)


def _clipped(changes: Iterable[Change]) -> Iterator[Change]:
    """Yield the changes in order; where two would take the same blanks, the first one does."""
    at = 0
    for one in sorted(changes):
        start = max(one.start, at)
        at = max(at, one.end)
        if start <= one.end:
            yield one._replace(start=start)


def _changes(answer: str, marks: Sequence[Unit], drop: Drop) -> Iterator[Change]:
    at = 0
    while at < len(marks):
        last = at + 1
        while last < len(marks) and joined(answer, marks[last - 1].end, marks[last].start):
            last += 1
        cluster = marks[at:last]
        at = last
        gone = [all(item.labels and all(map(drop, item.labels)) for item in unit.items) for unit in cluster]
        if all(gone):
            start, end, text = hole(answer, cluster[0].start, cluster[-1].end)
            yield Change(start, end, (text, text + " ", _omitted(answer, start, end, cluster)))
            continue
        spans = [(unit.start, unit.end) for unit in cluster]
        for start, end in _without(spans, gone):
            text = " " if word_kept(answer, start, end, last=end == spans[-1][1]) else ""
            yield Change(start, end, (text, text + " ", _omitted(answer, start, end, cluster)))
        for unit, is_gone in zip(cluster, gone, strict=True):
            if not is_gone:
                yield from _thinned(answer, unit, drop)


def _omitted(answer: str, start: int, end: int, cluster: Iterable[Unit]) -> str:
    """Return answer[start:end] with a sign of omission for each of the marks, at the same length."""
    pieces: list[str] = []
    at = start
    for unit in cluster:
        if unit.start >= at and unit.end <= end:
            pieces += (answer[at:unit.start], _omission(answer[unit.start:unit.end], unit.form))
            at = unit.end
    return "".join(pieces) + answer[at:end]


def _omission(mark: str, form: str) -> str:
    if form in ("name", "marker", "superscript"):
        return "…".ljust(len(mark))
    opening = re.match(r"\\?(?P<sign>[^\w\s])(?P=sign)?+", mark)
    lead = opening[0] if opening else ""
    if form == "link":
        return (lead + "…" + "]" * (len(lead) - lead.count("\\"))).ljust(len(mark))
    return lead + "…" * (len(mark) - 2 * len(lead)) + mark[len(mark) - len(lead):]


def _thinned(answer: str, unit: Unit, drop: Drop) -> Iterator[Change]:
    """Yield the changes that take labels out of a mark that stays."""
    kept = [tuple(label for label in item.labels if not drop(label)) for item in unit.items]
    if all(rest == item.labels for rest, item in zip(kept, unit.items, strict=True)):
        return
    if unit.nested:
        text = ", ".join(label for label in unit.labels if not drop(label))
        wide = f"[{text.ljust(unit.end - unit.start - 2)}]"
        yield Change(unit.start, unit.end, (f"[{text}]", f"[{text} ]", wide))
        return
    gone = [bool(item.labels) and not rest for rest, item in zip(kept, unit.items, strict=True)]
    for start, end in _without([(item.start, item.end) for item in unit.items], gone):
        blank = "" if unit.form == "marker" else " "  # a blank is no part of a label there
        yield Change(start, end, ("", blank, blank * (end - start)))
    leads = True
    for rest, item in zip(kept, unit.items, strict=True):
        text = answer[item.start:item.end]
        bare = leads and text[:1].isdigit()  # a number alone would be no label any more
        leads = leads and not rest
        if rest and (bare or rest != item.labels):
            new = spelled(text, unit.form, list(rest)) if unit.form == "superscript" else ", ".join(rest)
            if unit.form == "marker":
                yield Change(item.start, item.end, ("\ue202".join(rest),) * 3)
            else:
                yield Change(item.start, item.end, (new, new + " ", new.ljust(len(text))))


def _without(spans: Sequence[Span], gone: Sequence[bool]) -> list[Span]:
    """Return what to cut so that some members of a list go, each with one of the separators beside it."""
    first = gone.index(False)  # what stands before the first that stays goes with the separator behind it
    cuts = [(spans[at][0], spans[at + 1][0]) for at in range(first)]
    for at in range(first + 1, len(spans)):
        if gone[at]:  # neighbours go in one cut
            start = cuts.pop()[0] if gone[at - 1] else spans[at - 1][1]
            cuts.append((start, spans[at][1]))
    return cuts
