"""The data of packing: what goes through the stages, and what comes out on either side.

A `Candidate` is a source on its way through the stages. In the end each source is either in a
`Placed` (sent) or in a `Dropped` (not sent, with the reason); `Packed` holds both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from promptpack.source import Source

if TYPE_CHECKING:
    from promptpack.packing.curve import Use

Region = Literal["start", "middle", "end"]


class DropReason(StrEnum):
    """Why a source was not sent: a stable code, also a plain text (`reason == "top_k"` works).

    >>> DropReason.OVER_BUDGET == "over_budget"
    True
    """

    EMPTY = "empty"                            # nothing but white space (the builder only)
    MIN_SCORE = "min_score"                    # its score is below `Packing.min_score`, or missing
    DUPLICATE = "duplicate"                    # the same text as a source that stays
    NEAR_DUPLICATE = "near_duplicate"          # almost the same text as a source that stays
    REPEATED_SENTENCES = "repeated_sentences"  # every sentence of it is in better sources
    MERGED = "merged"                          # its text is inside another source, under the same label
    PER_DOCUMENT = "per_document"              # its document has had `max_per_document` sources
    TOP_K = "top_k"                            # `top_k` sources were chosen before it
    OVER_BUDGET = "over_budget"                # it needs more than what was left
    AFTER_CUT = "after_cut"                    # `prefix` had stopped before it
    NOT_SELECTED = "not_selected"              # it would fit, but others were worth more


@dataclass(frozen=True, slots=True)
class Candidate:
    """A source on its way through the stages.

    source: the source as it came in; never changed.
    index: its place in the input, from 0.
    rank: its place in the ranking, from 1. At admission that of the input scores; the pipeline sets
        it anew, by order, after scoring and diversity.
    score: the score that ranks it (None ranks last); the input score until a scorer changes it.
    text: what would be sent: `source.text`, or a version that was cut, merged or freed of repeats.
    chunk_ids: the ids that it stands for, its own first; more than one after a merge.
    value: what it is worth to the selection; None means `1 / log2(rank + 1)`.
    """

    source: Source
    index: int
    rank: int
    score: float | None
    text: str
    chunk_ids: tuple[str, ...]
    value: float | None = None

    @classmethod
    def of(cls, source: Source, index: int = 0, rank: int = 1) -> Candidate:
        """Return the candidate of an untouched source.

        >>> Candidate.of(Source("a", "Some text.", 0.5)).chunk_ids
        ('a',)
        """
        return cls(source, index, rank, source.score, source.text, (source.id,))


@dataclass(frozen=True, slots=True)
class Dropped:
    """A source that is not sent, and why.

    rank: its rank (from 1); for a duplicate that of the copy that stays.
    cost: its price in tokens, None where it was not asked for. Where `detail` says "at least" it is
        a lower bound: a source that could not fit anyway was not counted to the end.
    reason: the code; stage: which stage dropped it (admit, dedup, select, ...); detail: one plain
        sentence with the numbers.
    of: the id of the source that it repeats or went into, for duplicates and merges.
    """

    source: Source
    rank: int
    cost: int | None
    reason: DropReason
    stage: str
    detail: str
    of: str | None = None


@dataclass(frozen=True, slots=True)
class Placed:
    """A source that is sent, in its place.

    text: what is sent of it (whole, cut, merged or freed of repeats).
    rank: from 1; it survives the drops, so there may be gaps.
    position: its place in the prompt order, from 0; region: which third of the order that is.
    value: what the selection took it to be worth; cost: its price in tokens, enclosure included.
    chunk_ids: the ids that its label stands for.
    ranges: the (start, end) offsets in `source.text` that are sent, where the selection took a part; empty otherwise.
    """

    source: Source
    text: str
    rank: int
    position: int
    region: Region
    value: float
    cost: int
    chunk_ids: tuple[str, ...]
    ranges: tuple[tuple[int, int], ...] = ()

    @property
    def id(self) -> str:
        """The id of the source."""
        return self.source.id

    @property
    def cut(self) -> bool:
        """Whether the text differs from the source's: cut, merged or freed of repeats."""
        return self.text != self.source.text


@dataclass(frozen=True, slots=True)
class Packed:
    """What `pack()` decided: the sources in prompt order, and the others with their reasons.

    sources: in prompt order. dropped: by rank, equal ranks by place in the input.
    budget: the tokens that there were, None for no limit; used: the sum of the costs.
    notes: what was repaired or bounded on the way, one plain sentence each; empty is the normal case.
    flagged: ids of sources that `min_sources` kept although they pass the budget.
    sentences_sent, sentences_total: the counts of `dedup="sentences"`, else 0.
    select: what `select="auto"` came to, and why: "spans: a question is given, and 812 of 4,210 tokens fit".
    use: what the order is worth, where a `Curve` placed the sources; else None.
    """

    sources: tuple[Placed, ...]
    dropped: tuple[Dropped, ...]
    budget: int | None
    used: int
    notes: tuple[str, ...] = field(default=())
    flagged: tuple[str, ...] = field(default=())
    sentences_sent: int = 0
    sentences_total: int = 0
    select: str = ""
    use: Use | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the sources that are sent, in prompt order."""
        return tuple(placed.source.id for placed in self.sources)

    @property
    def left(self) -> int | None:
        """What is left of the budget; None without one, negative only where `flagged` says why."""
        return None if self.budget is None else self.budget - self.used

    def __iter__(self) -> Iterator[Placed]:
        return iter(self.sources)

    def __len__(self) -> int:
        return len(self.sources)

    def render(self, separator: str = "\n\n") -> str:
        """Return the texts in prompt order, joined; an empty text has its place too.

        The separators are text as well: they are in `used` only if the cost callable counts them; what they
        cost is `overhead`.

        >>> a, b = Source("a", "One."), Source("b", "Two.")
        >>> placed = [Placed(s, s.text, i + 1, i, "start", 1.0, 1, (s.id,)) for i, s in enumerate((a, b))]
        >>> Packed(tuple(placed), (), None, 2).render(" | ")
        'One. | Two.'
        """
        return separator.join(placed.text for placed in self.sources)

    def overhead(self, count: Callable[[str], int], separator: str = "\n\n") -> int:
        """Return what the joined text costs beyond the texts in it, in tokens: mostly the separators.

        count: the counter that priced the bare texts. May be below 0 where texts cost less together.

        >>> a, b = Source("a", "One."), Source("b", "Two.")
        >>> placed = [Placed(s, s.text, i + 1, i, "start", 1.0, 4, (s.id,)) for i, s in enumerate((a, b))]
        >>> Packed(tuple(placed), (), None, 8).overhead(len, " | ")
        3
        """
        return count(self.render(separator)) - sum(count(placed.text) for placed in self.sources)
