"""The budget: how many of the placed chunks stay, by tokens or characters, and by number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from promptpack.errors import OptionError, quote
from promptpack.packing.ranking import is_finite
from promptpack.packing.select import greedy, outside_in
from promptpack.reorder.chunks import token_count
from promptpack.reorder.ordering import Placed
from promptpack.reorder.settings import Limits, Strategy


@dataclass(frozen=True, slots=True)
class Kept:
    """What the limits leave, in its order; the unit of the budget, and what is used of it.

    unit: none, tokens or chars. stated: the part of `used` that the chunks themselves state.
    """

    placed: list[Placed]
    packing: str
    unit: str
    used: float
    stated: float


def limit(placed: Sequence[Placed], limits: Limits, strategy: Strategy) -> Kept:
    """Return what stays: first by the budget, then at least `min_top_k`, then at most `top_k`.

    packing: "prefix" stops at the first that does not fit; "edgeAware" takes front, back, front, ... and skips what
    does not fit; "auto" is edgeAware for scoreSpread. Where scoreSpread was given both counts, the strength does
    not fall towards the middle, so edgeAware goes by priority there (but not across groups). An exact fit is
    taken. The floor chooses by place and may pass the budget.
    """
    packing = limits.packing
    if packing == "auto":
        packing = "edgeAware" if strategy.name == "scoreSpread" else "prefix"
    unit, budget, price = _unit(limits)
    costs = [price(one) for one in placed]
    kept = list(range(len(placed)))
    if packing == "prefix":
        order = list(kept)
    elif _has_counts(strategy, len(placed)):
        order = sorted(kept, key=lambda at: placed[at].rank)
    else:
        order = outside_in(len(placed))
    if budget is not None:
        kept = sorted(greedy(order, costs, budget, stop=packing == "prefix"))  # type: ignore[arg-type]
    if limits.min_top_k is not None and len(kept) < min(limits.min_top_k, len(placed)):
        kept = sorted(order[:limits.min_top_k])
    if limits.top_k is not None and len(kept) > limits.top_k:
        kept = _top(kept, placed, packing, limits.top_k, strategy)
    return Kept(
        [placed[at] for at in kept], packing, unit, sum(costs[at] for at in kept),
        sum(token_count(placed[at].source) or 0 for at in kept) if unit == "tokens" else 0,
    )


def _has_counts(strategy: Strategy, n: int) -> bool:
    start, end = strategy.spread.start, strategy.spread.end
    counted = start is not None and end is not None and start + end < n
    return counted and strategy.name == "scoreSpread" and strategy.group_by is None


def _top(kept: list[int], placed: Sequence[Placed], packing: str, k: int, strategy: Strategy) -> list[int]:
    if packing == "prefix":
        return kept[:k]
    if _has_counts(strategy, len(placed)):
        return sorted(sorted(kept, key=lambda at: placed[at].rank)[:k])
    return sorted(kept[at] for at in outside_in(len(kept))[:k])


def _unit(limits: Limits) -> tuple[str, float | None, Callable[[Placed], float]]:
    if limits.max_tokens is not None and limits.token_counter is not None:
        counter = limits.token_counter

        def tokens(one: Placed) -> float:
            stated = token_count(one.source)
            return _counted("token_counter", counter, one) if stated is None else stated

        return "tokens", limits.max_tokens, tokens
    if limits.max_chars is not None:
        return "chars", limits.max_chars, lambda one: _counted("char_counter", limits.char_counter, one)
    return "none", None, lambda one: 0


def _counted(name: str, counter: Callable[[str], Any], one: Placed) -> float:
    count = counter(one.source.text)
    if not is_finite(count) or count < 0:
        raise OptionError(
            f"{name}: expected a number of 0 or more for {quote(one.source.id)}, got {quote(count)}",
            name=name, given=count,
        )
    found: float = count
    return found
