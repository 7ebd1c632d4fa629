"""The choice while it is made: what is taken, what is refused and why, and what is left of the budget."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from promptpack.errors import quote
from promptpack.packing.candidate import Candidate, DropReason
from promptpack.packing.select import Prices, value_of

# What is not sent, and why; the cost is a lower bound where the detail says "at least".
Refused = tuple[Candidate, DropReason, int, str]


@dataclass(frozen=True, slots=True)
class Limits:
    """How many may be taken: in all, and of one document; and how many must be."""

    top_k: int | None = None
    max_per_document: int | None = None
    min_sources: int | None = None


@dataclass(slots=True)
class Choice:
    """The choice so far: what is taken, at which text and cost, what is refused, and what is left of the budget."""

    prices: Prices
    left: int | None
    limits: Limits
    question: str | None
    chosen: list[Candidate] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    costs: list[int] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    flagged: list[str] = field(default_factory=list)
    documents: Counter[str] = field(default_factory=Counter)
    by_value: bool = False  # what is worth most comes first, whatever its rank
    ranges: dict[int, tuple[tuple[int, int], ...]] = field(default_factory=dict)  # of what is sent in part, by index
    select: str = ""  # the selection that "auto" came to, and why

    def take(self, candidate: Candidate, text: str, cost: int) -> None:
        """Take a candidate."""
        self.chosen.append(candidate)
        self.texts.append(text)
        self.costs.append(cost)
        if self.left is not None:
            self.left -= cost
        if self.limits.max_per_document is not None and candidate.source.document is not None:
            self.documents[candidate.source.document] += 1

    def take_all(self, candidates: Sequence[Candidate], costs: Sequence[int]) -> None:
        """Take candidates as they are, where neither budget nor limits can refuse one."""
        self.chosen += candidates
        self.texts += [candidate.text for candidate in candidates]
        self.costs += costs
        if self.left is not None:
            self.left -= sum(costs)

    def rank(self) -> None:
        """Bring what is taken into the order of the ranks, or of what it is worth."""
        ranks = [-value_of(one) if self.by_value else one.rank for one in self.chosen]
        order = sorted(range(len(ranks)), key=ranks.__getitem__)
        if order != list(range(len(ranks))):
            self.chosen = [self.chosen[at] for at in order]
            self.texts = [self.texts[at] for at in order]
            self.costs = [self.costs[at] for at in order]

    def refuse(self, candidate: Candidate, reason: DropReason, why: str) -> None:
        """Refuse a candidate for another reason than its size."""
        cost, exact = self.prices.size(candidate, self.left or 0)
        self.refused.append((candidate, reason, cost, f"{why} ({tokens_told(cost, exact)})"))

    def limited(self, candidate: Candidate, ahead: int = 0) -> tuple[DropReason, str] | None:
        """Return the limit that keeps the candidate out whatever it costs, if there is one."""
        limits, document = self.limits, candidate.source.document
        if limits.top_k is not None and len(self.chosen) + ahead >= limits.top_k:
            return DropReason.TOP_K, f"top_k={limits.top_k} sources were chosen before it"
        most = limits.max_per_document
        if most is not None and document is not None and self.documents[document] >= most:
            return DropReason.PER_DOCUMENT, f"max_per_document={most}: document {quote(document)} has as many"
        return None


def tokens_told(cost: int, exact: bool) -> str:
    """Return a cost in words.

    >>> tokens_told(7, False)
    'at least 7 tokens'
    """
    return f"{cost} tokens" if exact else f"at least {cost} tokens"
