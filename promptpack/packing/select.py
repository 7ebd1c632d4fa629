"""Which candidates are sent: strategies on plain numbers.

A selector maps costs and values, both in rank order, and a budget to indices. The greedy ones differ
in the order in which they try the candidates, and in whether they go on after the first misfit.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from itertools import accumulate, takewhile
from math import log2
from operator import attrgetter
from typing import Any

from promptpack.errors import OptionError, TokenizerError, quote
from promptpack.packing.candidate import Candidate
from promptpack.packing.knapsack import check_numbers
from promptpack.protocols import Cost, Selector
from promptpack.quick import maker
from promptpack.source import Source

_FIELDS = tuple(one.name for one in fields(Source))
_TOKENS = _FIELDS.index("tokens")
_source = maker(Source, checked=True)
_HOPELESS = 4  # characters for each token: no bound by words is that tight
_before_tokens, _behind_tokens = attrgetter(*_FIELDS[2:_TOKENS]), attrgetter(*_FIELDS[_TOKENS + 1:])


def greedy(order: Iterable[int], costs: Sequence[int], budget: int, stop: bool = False) -> list[int]:
    """Return the indices that fit when tried in this order, in the order in which they were taken.

    stop: end at the first that does not fit, instead of skipping it. An exact fit is taken.

    >>> greedy([0, 1, 2], [3, 9, 2], 5)
    [0, 2]
    >>> greedy([0, 1, 2], [3, 9, 2], 5, stop=True)
    [0]
    """
    taken: list[int] = []
    for index in order:
        if costs[index] <= budget:
            budget -= costs[index]
            taken.append(index)
        elif stop:
            break
    return taken


def by_density(costs: Sequence[int], values: Sequence[float]) -> list[int]:
    """Return the indices by value per token, descending; ties in rank order.

    What costs nothing has its value as density, so that a worthless text does not come first.

    >>> by_density([4, 1, 2], [1.0, 0.5, 1.0])
    [1, 2, 0]
    """
    density = [value / cost if cost else value for cost, value in zip(costs, values, strict=True)]
    return sorted(range(len(costs)), key=lambda i: -density[i])


def outside_in(n: int) -> list[int]:
    """Return 0, n - 1, 1, n - 2, ...: from both edges to the middle.

    >>> outside_in(5)
    [0, 4, 1, 3, 2]
    """
    order = [0] * n
    order[0::2] = range((n + 1) // 2)
    order[1::2] = range(n - 1, (n + 1) // 2 - 1, -1)
    return order


def top(costs: Sequence[int], values: Sequence[float], budget: int) -> list[int]:
    """Take in rank order, skip what does not fit and go on.

    >>> top([5, 9, 4], [1.0, 0.6, 0.5], 10)
    [0, 2]
    """
    check_numbers(costs, values, budget)
    return greedy(range(len(costs)), costs, budget)


def prefix(costs: Sequence[int], values: Sequence[float], budget: int) -> list[int]:
    """Take in rank order and stop at the first that does not fit: no source outlives a better one.

    >>> prefix([5, 9, 4], [1.0, 0.6, 0.5], 10)
    [0]
    """
    check_numbers(costs, values, budget)
    return greedy(range(len(costs)), costs, budget, stop=True)


def density(costs: Sequence[int], values: Sequence[float], budget: int) -> list[int]:
    """Take by value per token, skip what does not fit and go on.

    >>> density([9, 4, 5], [1.0, 0.6, 0.5], 10)
    [1, 2]
    """
    check_numbers(costs, values, budget)
    return greedy(by_density(costs, values), costs, budget)


def edges(costs: Sequence[int], values: Sequence[float], budget: int) -> list[int]:
    """Take front, back, front, ...: for items in prompt order; skip what does not fit and go on.

    >>> edges([4, 4, 4], [1.0, 0.6, 0.5], 8)
    [0, 2]
    """
    check_numbers(costs, values, budget)
    return greedy(outside_in(len(costs)), costs, budget)


class Prices:
    """Asks what candidates cost, each at most once, and the cheap lower bound where that is enough.

    cost: prices a source; it may carry `floor(source, limit)`, a lower bound that may stop early once
    it passes the limit. Raises TokenizerError where one of them answers anything but a whole number
    of 0 or more.
    """

    __slots__ = ("_ahead", "_cost", "_first", "_floor", "_known", "cost")

    def __init__(self, cost: Cost) -> None:
        if not callable(cost):
            message = f"cost: expected a function of a Source, got {quote(cost)}"
            raise OptionError(message, name="cost", given=cost)
        self.cost = cost
        self._cost: Callable[[Source], int] = cost
        self._floor = part_of(cost, "floor")
        # Asked only of a cost that says so: on any other, these names mean something of its own.
        foresees = getattr(cost, "foresees", None) is True
        self._ahead: Callable[[Source], int | None] | None = part_of(cost, "known_price") if foresees else None
        self._first: Callable[[list[Source]], list[int]] | None = (
            part_of(cost, "first_known_prices") if foresees else None
        )
        self._known: dict[int, int] = {}

    def ahead(self, candidates: Sequence[Candidate], budget: int | None) -> None:
        """Tell a cost that wants to know beforehand which sources there are, in rank order."""
        told = part_of(self.cost, "ahead")
        if told is not None and budget is not None:
            told([candidate.source for candidate in candidates], budget)

    def whole(self, candidate: Candidate) -> int:
        """Return what the candidate costs as it is."""
        known = self._known.get(candidate.index)
        if known is None:
            known = self._checked(self._cost(as_source(candidate)), candidate)
            self._known[candidate.index] = known
        return known

    def all(self, candidates: Sequence[Candidate]) -> list[int]:
        """Return what the candidates cost as they are."""
        if self._known:
            return [self.whole(candidate) for candidate in candidates]
        costs = list(map(self._cost, map(as_source, candidates)))
        if costs and (set(map(type, costs)) != {int} or min(costs) < 0):
            costs = [self._checked(cost, candidate) for cost, candidate in zip(costs, candidates, strict=True)]
        self._known = {candidate.index: cost for candidate, cost in zip(candidates, costs, strict=True)}
        return costs

    def fitting(self, candidates: Sequence[Candidate], budget: int) -> list[int]:
        """Return what the first candidates cost: as many as are known without asking, and fit together."""
        if self._first is None:
            return []
        whole = list(takewhile(_is_whole, candidates))
        costs = self._first([one.source for one in whole])
        sums = list(accumulate(costs))
        del costs[bisect(sums, budget):]
        return costs

    def bound(self, candidate: Candidate, limit: int) -> tuple[int, bool]:
        """Return the cost, or a lower bound where one passes the limit; and whether it is the cost.

        What a cost knows beforehand depends on what was rendered before; it shows where a candidate fits, and in no
        refusal.
        """
        known = self._known.get(candidate.index)
        if known is not None:
            return known, True
        source, text = candidate.source, candidate.text
        ahead = self._ahead(source) if self._ahead is not None and text is source.text else None
        if ahead is not None and ahead <= limit:
            self._known[candidate.index] = ahead
            return ahead, True
        # A shorter text is likely to fit: a bound would tell nothing.
        if self._floor is not None and len(text) > _HOPELESS * limit:
            floor = self._floor(source if text is source.text else as_source(candidate), limit)
            if type(floor) is not int or floor < 0:
                floor = self._checked(floor, candidate)
            if floor > limit:
                return floor, False
        return self.whole(candidate), True

    def size(self, candidate: Candidate, limit: int) -> tuple[int, bool]:
        """Return a size to report: the cost if it is known or there is no bound (none above 0), else the bound."""
        if self._floor is None or candidate.index in self._known:
            return self.whole(candidate), True
        floor = self.floor(candidate, limit)
        return (floor, False) if floor else (self.whole(candidate), True)

    def floor(self, candidate: Candidate, limit: int) -> int:
        """Return a lower bound of the cost, 0 where there is none to ask."""
        known = self._known.get(candidate.index)
        if known is not None:
            return known
        if self._floor is None:
            return 0
        return self._checked(self._floor(as_source(candidate), limit), candidate)

    def piece(self, candidate: Candidate, text: str) -> int:
        """Return what the candidate would cost with this text."""
        return self._checked(self._cost(as_source(candidate, text)), candidate)

    def _checked(self, price: object, candidate: Candidate) -> int:
        if type(price) is int and price >= 0:
            return price
        try:
            whole = int(price.__index__())  # type: ignore[attr-defined]  # numpy integers
        except (AttributeError, TypeError):  # an array has an index, too, and refuses to give it
            whole = -1
        if isinstance(price, bool) or whole < 0:
            name = getattr(self._cost, "name", None) or getattr(self._cost, "__name__", "cost")
            raise TokenizerError(
                f"cost {quote(name)}: expected a whole number of 0 or more for source "
                f"{quote(candidate.source.id)}, got {quote(price)}",
                name=str(name),
            )
        return whole


def part_of(cost: Cost, name: str) -> Callable[..., Any] | None:
    """Return what a cost may carry under this name; None where there is nothing, or what cannot be called.

    >>> part_of(len, "floor") is None
    True
    """
    part = getattr(cost, name, None)
    return part if callable(part) else None


def _is_whole(candidate: Candidate) -> bool:
    return candidate.text is candidate.source.text


def as_source(candidate: Candidate, text: str | None = None) -> Source:
    """Return the source to price: the one that came in, with the text that would be sent."""
    source = candidate.source
    if text is None:
        text = candidate.text
    return source if text is source.text or text == source.text else _piece(source, text)


def _piece(source: Source, text: str) -> Source:
    """Return `replace(source, text=text, tokens=None)`; its other fields were checked when it was made."""
    return _source(source.id, text, *_before_tokens(source), None, *_behind_tokens(source))


def value_of(candidate: Candidate) -> float:
    """Return what the candidate is worth to the selection: its value, else `1 / log2(rank + 1)`."""
    return 1.0 / log2(candidate.rank + 1) if candidate.value is None else candidate.value


def ask(selector: Selector, costs: Sequence[int], values: Sequence[float], budget: int) -> list[int]:
    """Ask a selector and check its answer: different indices whose costs fit the budget.

    Raises OptionError for anything else, with the index or the sum at fault.

    >>> ask(lambda costs, values, budget: [2, 0], [1, 1, 1], [1.0, 0.6, 0.5], 2)
    [2, 0]
    """
    answer = selector(costs, values, budget)
    if isinstance(answer, str | bytes) or not isinstance(answer, Iterable):
        message = f"select: the selector must return indices, got {quote(answer)}"
        raise OptionError(message, name="select", given=answer)
    indices: list[int] = []
    for index in answer:
        if isinstance(index, bool) or not hasattr(index, "__index__") or not 0 <= index < len(costs):
            message = f"select: expected indices from 0 to {len(costs) - 1}, got {quote(index)}"
            raise OptionError(message, name="select", given=index)
        indices.append(int(index))
    used = sum(costs[index] for index in indices)
    if len(set(indices)) < len(indices) or used > budget:
        wrong = f"its choice costs {used} of {budget}" if used > budget else "an index occurs twice"
        message = f"select: the selector's answer cannot be used: {wrong}"
        raise OptionError(message, name="select", given=indices)
    return indices
