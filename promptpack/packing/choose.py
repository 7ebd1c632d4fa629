"""The selection over candidates: required ones first, then by strategy, with cuts and limits.

The strategies themselves are in `select` and `knapsack`; here is what surrounds them: prices that are
asked late, limits per document and in number, shortening, and the reason for each refusal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from promptpack.errors import BudgetError, quote
from promptpack.packing.candidate import Candidate, DropReason
from promptpack.packing.choice import Choice, Limits, tokens_told
from promptpack.packing.knapsack import optimal
from promptpack.packing.select import Prices, ask, by_density, outside_in, part_of, value_of
from promptpack.packing.spans_auto import resolve
from promptpack.packing.trim import shorten
from promptpack.protocols import Selector

if TYPE_CHECKING:
    from promptpack.packing.spans import Spans

SELECTS = ("top", "prefix", "density", "optimal", "priority", "edges", "spans", "auto")

_LACKING_ROOM = frozenset({DropReason.OVER_BUDGET, DropReason.AFTER_CUT, DropReason.NOT_SELECTED})


def choose(
    ranked: Sequence[Candidate],
    budget: int | None,
    *,
    select: str | Selector | Spans,
    limits: Limits,
    prices: Prices,
    question: str | None = None,
    required: AbstractSet[str] = frozenset(),
    diverse: bool = False,
    prompt_order: Callable[[Sequence[Candidate]], Sequence[int]] | None = None,
) -> Choice:
    """Choose among candidates in rank order, all of which end up chosen (in rank order) or refused.

    Candidates with a chunk id in `required` are taken first, whatever the strategy; BudgetError if they
    cannot be. Greedy strategies shorten what does not fit where its `cut` allows; `optimal` and
    selectors of your own take whole sources, from those that `max_per_document` and `top_k` admit in
    rank order. "auto" is "top" or "spans" (`spans_auto`); diverse: whether a diversity ordered them.
    prompt_order: for "edges", the order in which candidates would stand, where that is not by rank;
    placements by rank keep the best ranks.
    """
    choice = Choice(prices, budget, limits, question)
    optional: Sequence[Candidate] = list(ranked)
    if required:
        _reserve([c for c in ranked if not required.isdisjoint(c.chunk_ids)], choice, budget)
        optional = [c for c in ranked if required.isdisjoint(c.chunk_ids)]
    if select == "auto":
        select, optional = resolve(optional, choice, diverse=diverse)
    if select == "spans" or not (isinstance(select, str) or callable(select)):
        from promptpack.packing.spans import choose_spans

        choose_spans(optional, choice, select)
    elif not isinstance(select, str) or select == "optimal":
        _whole(optional, choice, select)
    else:
        _fill(_tried(optional, select, prices, prompt_order), choice, select)
    _at_least(choice)
    choice.rank()
    return choice


def by_priority(candidates: Sequence[Candidate], prices: Prices) -> list[Candidate]:
    """Return the candidates by priority, then priority per token, both descending, then input order.

    What costs nothing has its priority as density.
    """

    def key(candidate: Candidate) -> tuple[float, float, int]:
        priority, cost = candidate.source.priority, prices.whole(candidate)
        return -priority, -(priority / cost if cost else priority), candidate.index

    return sorted(candidates, key=key)


def _tried(
    candidates: Sequence[Candidate],
    select: str,
    prices: Prices,
    prompt_order: Callable[[Sequence[Candidate]], Sequence[int]] | None,
) -> Sequence[Candidate]:
    if select == "density":
        order = by_density([prices.whole(c) for c in candidates], [value_of(c) for c in candidates])
        return [candidates[i] for i in order]
    if select == "edges" and prompt_order is not None:
        placed = prompt_order(candidates)
        return [candidates[placed[i]] for i in outside_in(len(placed))]
    return candidates


def _fill(candidates: Sequence[Candidate], choice: Choice, select: str) -> None:
    prices, stopped = choice.prices, ""
    limited = choice.limits.top_k is not None or choice.limits.max_per_document is not None
    if choice.left is None and not limited:
        choice.take_all(candidates, prices.all(candidates))
        return
    if choice.left is not None and not limited and select != "priority":
        costs = prices.fitting(candidates, choice.left)
        choice.take_all(candidates[: len(costs)], costs)
        candidates = candidates[len(costs):]
    for candidate in candidates:
        if stopped:
            choice.refuse(candidate, DropReason.AFTER_CUT, stopped)
            continue
        limit = choice.limited(candidate) if limited else None
        if limit:
            choice.refuse(candidate, *limit)
            continue
        left = choice.left
        if left is None:
            choice.take(candidate, candidate.text, prices.whole(candidate))
            continue
        cost, exact = prices.bound(candidate, left)
        # By priority nothing is taken once nothing is left, not even a text that costs nothing.
        if cost <= left and not (left == 0 and select == "priority"):
            choice.take(candidate, candidate.text, cost)
            continue
        short, uncut = None, ""
        if candidate.source.cut is not None:
            short, uncut = _cut(candidate, cost, left, choice), _uncut(candidate, left)
        if short:
            choice.take(candidate, *short)
        else:
            detail = f"needs {tokens_told(cost, exact)}, {left} left{uncut}"
            choice.refused.append((candidate, DropReason.OVER_BUDGET, cost, detail))
        if select == "prefix":
            what = "was cut" if short else "did not fit"
            stopped = f"prefix stopped at rank {candidate.rank}, which {what}"


def _whole(candidates: Sequence[Candidate], choice: Choice, select: str | Selector) -> None:
    prices, left = choice.prices, choice.left
    pool: list[Candidate] = []
    before = choice.documents.copy()
    for candidate in candidates:
        if left is not None:
            cost, exact = prices.bound(candidate, left)
            if cost > left:
                detail = f"needs {tokens_told(cost, exact)}, {left} left"
                choice.refused.append((candidate, DropReason.OVER_BUDGET, cost, detail))
                continue
        limit = choice.limited(candidate, len(pool))
        if limit:
            choice.refuse(candidate, *limit)
            continue
        pool.append(candidate)
        if choice.limits.max_per_document is not None and candidate.source.document is not None:
            choice.documents[candidate.source.document] += 1
    choice.documents = before
    costs, values = [prices.whole(c) for c in pool], [value_of(c) for c in pool]
    selector: Selector = optimal if isinstance(select, str) else select
    taken = set(ask(selector, costs, values, sum(costs) if left is None else left))
    for index, candidate in enumerate(pool):
        if index in taken:
            choice.take(candidate, candidate.text, costs[index])
        else:
            why = f"worth {values[index]:.3g}; the {len(taken)} chosen are worth more together"
            choice.refuse(candidate, DropReason.NOT_SELECTED, why if selector is optimal else "not selected")


def _cut(candidate: Candidate, whole: int, left: int, choice: Choice) -> tuple[str, int] | None:
    cut = candidate.source.cut
    if cut is None or left < max(1, cut.min_tokens):
        return None
    cost = choice.prices.cost
    # The whole text is known not to fit; it is not priced again, and not at all if a bound told.
    priced = {str.__str__(candidate.text): whole}

    def count(text: str) -> int:
        plain = str.__str__(text)  # a text of a type of its own need not have a hash
        if plain not in priced:
            priced[plain] = choice.prices.piece(candidate, text)
        return priced[plain]

    text = shorten(
        candidate.text, left, cut, count, prefix=part_of(cost, "prefix"),
        suffix=part_of(cost, "suffix"), question=choice.question,
    )
    return (text, count(text)) if text else None


def _uncut(candidate: Candidate, left: int) -> str:
    cut = candidate.source.cut
    if cut is None:
        return ""
    few = f"; a cut needs at least {cut.min_tokens}"
    return few if left < cut.min_tokens else "; no part of it fits"


def _reserve(required: Sequence[Candidate], choice: Choice, budget: int | None) -> None:
    """Take the required candidates: whole where all fit, else those with a cut shortened in rank order."""
    costs = [choice.prices.whole(candidate) for candidate in required]
    if budget is None or sum(costs) <= budget:
        for candidate, cost in zip(required, costs, strict=True):
            choice.take(candidate, candidate.text, cost)
        return
    # What each needs at the least; better ranks get their room first, later ones keep their least.
    least = [
        min(cost, candidate.source.cut.min_tokens) if candidate.source.cut else cost
        for candidate, cost in zip(required, costs, strict=True)
    ]
    kept = sum(least)
    for candidate, cost, few in zip(required, costs, least, strict=True):
        kept -= few
        room = (choice.left or 0) - kept
        short = (candidate.text, cost) if cost <= room else _cut(candidate, cost, room, choice)
        if short is None:
            raise _too_many(required, costs, budget)
        choice.take(candidate, *short)


def _too_many(required: Sequence[Candidate], costs: Sequence[int], budget: int) -> BudgetError:
    needed = sum(costs)
    listed = ", ".join(f"{quote(c.source.id)} {cost}" for c, cost in zip(required[:8], costs, strict=False))
    more = f" and {len(required) - 8} more" if len(required) > 8 else ""
    return BudgetError(
        f"required sources need {needed} tokens, the budget is {budget} ({needed - budget} too few): "
        f"{listed}{more}. Raise the budget, let them be shortened (Source.cut), or require fewer.",
        budget=budget, needed=needed,
    )


def _at_least(choice: Choice) -> None:
    """Take the best of what found no room until there are `min_sources`; flag what passes the budget."""
    missing = (choice.limits.min_sources or 0) - len(choice.chosen)
    if missing <= 0:
        return
    lacking = [refusal for refusal in choice.refused if refusal[1] in _LACKING_ROOM]
    lacking.sort(key=lambda refusal: refusal[0].rank)
    added = {id(refusal) for refusal in lacking[:missing]}
    for refusal in lacking[:missing]:
        candidate = refusal[0]
        choice.take(candidate, candidate.text, choice.prices.whole(candidate))
        if choice.left is not None and choice.left < 0:
            choice.flagged.append(candidate.source.id)
    choice.refused = [refusal for refusal in choice.refused if id(refusal) not in added]
