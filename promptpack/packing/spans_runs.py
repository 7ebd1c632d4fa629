"""The runs of one candidate: what they are worth and what they cost; and the choice among the runs of all.

A tokenizer is far slower than all else here, so each text is counted about once: the whole, and each unit. A run is
estimated from those; the runs that the knapsack wants are priced exactly, and the knapsack is solved again until it
wants none that is not. So the choice is exact for what it takes, and what it takes fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

from promptpack.packing.candidate import Candidate
from promptpack.packing.select import Prices
from promptpack.packing.spans_choice import Group, Option, best_of
from promptpack.packing.spans_repeats import HALF
from promptpack.packing.spans_values import constants

# What a probability of 1 is worth, as a whole number.
SCALE = 2 * HALF
# A run has at most so many units, unless it is the whole: no more than 24 options for each unit of a long text.
LONGEST = 24
# So often the knapsack is solved again where estimates were off; mostly two or three times.
ROUNDS = 24

Run = tuple[int, int]


class Runs:
    """The runs of the units of one candidate; a run is its first and last unit, both included.

    units: their places in the text. worth: their values as whole numbers. prices: what a piece costs.
    """

    __slots__ = ("_each", "_exact", "_sums", "_tokens", "candidate", "prices", "units", "whole", "worth")

    def __init__(self, candidate: Candidate, units: Sequence[Run], worth: Sequence[int], prices: Prices) -> None:
        self.candidate = candidate
        self.units = units
        self.worth = worth
        self.prices = prices
        self.whole = prices.whole(candidate)
        self._sums = [0, *accumulate(worth)]
        self._exact: dict[Run, int] = {(0, len(units) - 1): self.whole}
        if len(units) > 1:
            costs = [prices.piece(candidate, candidate.text[a:b]) for a, b in units]
            self._exact.update(((i, i), cost) for i, cost in enumerate(costs))
            # Each unit alone has an enclosure of its own; the whole has one, so that tells what an enclosure costs.
            self._each = max(0.0, (sum(costs) - self.whole) / (len(units) - 1))
            self._tokens = [0, *accumulate(costs)]
        else:
            self._each, self._tokens = 0.0, [0, self.whole]

    def all(self) -> Sequence[Run]:
        """Return every run: all of up to 24 units, and the whole."""
        n = len(self.units)
        return _runs(n) if n <= LONGEST else [*_runs(n), (0, n - 1)]

    def value(self, first: int, last: int) -> int:
        """Return what a run is worth: its units, less half of the first if it may rest on what is missing.

        What is missing before it is known where the run opens the text, and where the unit before it is a repeat.
        """
        return self._sums[last + 1] - self._sums[first] - self._missing(first)

    def _missing(self, first: int) -> int:
        return round(self.worth[first] * constants().opening) if first and self.worth[first - 1] else 0

    def options(self) -> list[Option]:
        """Return what each of `all` costs, as far as that is known without counting it, and what it is worth."""
        n, sums, each = len(self.units), self._sums, self._each
        # What a run costs and is worth is the difference of what is known at its ends.
        upto = [count - at * each for at, count in enumerate(self._tokens)]
        found: list[Option] = []
        for first in range(n):
            before, less = upto[first] - each, sums[first] + self._missing(first)
            found.append((self._exact[first, first], sums[first + 1] - less))
            end = min(n, first + LONGEST) + 1
            found += [
                (cost if (cost := int(count - before)) > 0 else 0, value - less)
                for count, value in zip(upto[first + 2:end], sums[first + 2:end], strict=True)
            ]
        whole = (self.whole, sums[n])
        if n > LONGEST:
            found.append(whole)
        else:
            found[n - 1] = whole
        return found

    def known(self, run: Run) -> bool:
        """Tell whether the cost of a run was counted."""
        return run in self._exact

    def cost(self, first: int, last: int) -> int:
        """Return what a run costs, counted."""
        run = (first, last)
        if run not in self._exact:
            start, end = self.range(first, last)
            self._exact[run] = self.prices.piece(self.candidate, self.candidate.text[start:end])
        return self._exact[run]

    def least(self) -> int:
        """Return the cost of the cheapest run of one unit, or of the whole."""
        return min(self._exact.values())

    def range(self, first: int, last: int) -> tuple[int, int]:
        """Return where a run stands in the text; the whole text has its ends, white space and all."""
        if (first, last) == (0, len(self.units) - 1):
            return 0, len(self.candidate.text)
        return self.units[first][0], self.units[last][1]


@lru_cache(maxsize=64)
def _short(n: int) -> tuple[Run, ...]:
    return tuple((i, j) for i in range(n) for j in range(i, n))


def _runs(n: int) -> Sequence[Run]:
    """Return the runs of up to 24 of n units; those of most chunks are known already."""
    return _short(n) if n <= LONGEST else [(i, j) for i in range(n) for j in range(i, min(n, i + LONGEST))]


def chosen_runs(runs: Sequence[Runs], budget: int) -> list[Run | None]:
    """Return the best run of each candidate, or None, so that their counted costs stay within the budget."""
    listed = [one.all() for one in runs]
    options = [one.options() for one in runs]
    groups = [Group.of(own, budget) for own in options]
    picked: list[int | None] = []
    for _ in range(ROUNDS):
        picked = best_of(groups, budget)
        unknown = [(k, i) for k, i in enumerate(picked) if i is not None and not runs[k].known(listed[k][i])]
        if not unknown:
            break
        for k, i in unknown:
            cost = runs[k].cost(*listed[k][i])
            if cost != options[k][i][0]:
                options[k][i] = (cost, options[k][i][1])
                groups[k] = Group.of(options[k], budget)
    taken = [None if i is None else listed[k][i] for k, i in enumerate(picked)]
    return _fitting(runs, taken, budget)


def _fitting(runs: Sequence[Runs], taken: list[Run | None], budget: int) -> list[Run | None]:
    """Leave out the runs of the least value per token until the rest fits: for counts that no estimate comes near."""
    held = {k: run for k, run in enumerate(taken) if run is not None}
    costs = {k: runs[k].cost(*run) for k, run in held.items()}
    order = sorted(held, key=lambda k: (runs[k].value(*held[k]) / max(1, costs[k]), -k))
    total = sum(costs.values())
    for k in order:
        if total <= budget:
            break
        total -= costs[k]
        taken[k] = None
    return taken
