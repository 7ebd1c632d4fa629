"""The policies that are compared, and what each of them sends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from promptpack.packing.dedup import Dedup
from promptpack.packing.diversity import Diversity
from promptpack.packing.intake import admit, keep_apart
from promptpack.packing.pipeline import Packing, pack
from promptpack.source import Source

Cost = Callable[[Source], int]

# Each policy is a packing; "retrieved" sends the sources as they came.
POLICIES: Mapping[str, Packing | None] = {
    "retrieved": None,
    "best_first": Packing(dedup="off", place="best_first", tie="input"),
    "fold": Packing(dedup="off", place="fold", tie="input"),
    "near": Packing(dedup=Dedup(threshold=0.9), place="fold", tie="input"),
    "diverse": Packing(dedup="exact", diversity=Diversity(0.7, 0.15), place="fold", tie="input"),
    "auto": Packing(dedup="exact", place="auto", tie="input"),
    "spans": Packing(dedup="exact", select="spans", tie="input"),
    "default": Packing(select="auto", tie="input"),
}
MEANINGS: Mapping[str, str] = {
    "retrieved": "the sources as they came, without a packing",
    "best_first": "the best source first",
    "fold": "the best at both ends, the weakest in the middle",
    "near": "like fold, without near duplicates",
    "diverse": "like fold, without exact duplicates, and ranked for variety (MMR)",
    "auto": "without exact duplicates; placed by date or by document where question and sources ask for it",
    "spans": "the sentences that are worth most for the question, instead of whole sources; needs a budget to choose",
    "default": "what PromptBuilder does without settings: spans where they pay, else fold, without exact duplicates",
}


@dataclass(frozen=True, slots=True)
class Sent:
    """What a policy sends for a question, in prompt order.

    texts: of each source what is sent. ids: the ids that each stands for. tokens: their price.
    """

    texts: tuple[str, ...]
    ids: tuple[tuple[str, ...], ...]
    tokens: int


def sent(
    sources: Sequence[Source], question: str | None, policy: Packing | None, *,
    top_k: int | None, budget: int | None, cost: Cost,
) -> Sent:
    """Return what a policy sends: at most `top_k` sources within the budget (None: no limit).

    An id that occurs twice stands for both. Raises SourceError for a source that cannot be used, whatever the policy,
    and BudgetError where required sources do not fit.

    >>> hits = [Source("a", "a lamp", 0.2), Source("b", "a pot", 0.9)]
    >>> sent(hits, None, POLICIES["fold"], top_k=1, budget=None, cost=lambda source: 1).ids
    (('b',),)
    """
    apart = admit(keep_apart(sources)).sources
    own = {new.id: old.id for new, old in zip(apart, sources, strict=True)}
    if policy is None:
        kept = _as_they_came(apart[:top_k], budget, cost)
        return Sent(
            tuple(source.text for source, _ in kept), tuple((own[source.id],) for source, _ in kept),
            sum(price for _, price in kept),
        )
    packed = pack(apart, budget, packing=replace(policy, top_k=top_k), cost=cost, question=question)
    return Sent(
        tuple(placed.text for placed in packed.sources),
        tuple(tuple(own[one] for one in placed.chunk_ids) for placed in packed.sources), packed.used,
    )


def _as_they_came(sources: Sequence[Source], budget: int | None, cost: Cost) -> list[tuple[Source, int]]:
    kept: list[tuple[Source, int]] = []
    left = budget
    for source in sources:
        price = cost(source)
        if left is None or price <= left:
            left = None if left is None else left - price
            kept.append((source, price))
    return kept
