"""The runs of one candidate: what they are worth and what they cost; and the choice among the runs of all.

A run from further down a text is there by itself and, where it needs it, once more with what goes along
(`spans_context`): the same units, worth more and dearer. The knapsack takes the one that pays.

A tokenizer is far slower than all else here, so each text is counted about once: the whole, and each unit. A run is
estimated from those; the runs that the knapsack wants are priced exactly, and the knapsack is solved again until it
wants none that is not. So the choice is exact for what it takes, and what it takes fits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import accumulate

from promptpack.packing.candidate import Candidate
from promptpack.packing.select import Prices
from promptpack.packing.spans_choice import Group, Option, best_of
from promptpack.packing.spans_context import Lead, context
from promptpack.packing.spans_parts import GAP, Range, joined
from promptpack.packing.spans_repeats import HALF
from promptpack.packing.spans_scores import constants

# What a probability of 1 is worth, as a whole number.
SCALE = 2 * HALF
# Runs of every length up to so many units are looked at, and longer ones in steps of an eighth of their length: some
# dozens of options for each unit of a long text instead of as many as it has units.
LONGEST = 24
# So often the knapsack is solved again where estimates were off; mostly two or three times.
ROUNDS = 24

# The first and the last unit, both included, and which of what goes along is with them: its number from 1, or 0.
Run = tuple[int, int, int]


class Runs:
    """The runs of the units of one candidate.

    units: their places in the text. worth: their values as whole numbers. prices: what a piece costs. edges: whether
    what is left out before and behind a run is marked.
    """

    __slots__ = (
        "_each", "_exact", "_leads", "_leaning", "_sums", "_tokens", "_within", "candidate", "prices", "units", "whole",
        "worth",
    )

    def __init__(
        self, candidate: Candidate, units: Sequence[Range], worth: Sequence[int], prices: Prices, *,
        edges: bool = False,
    ) -> None:
        self.candidate = candidate
        self.units = units
        self.worth = worth
        self.prices = prices
        self._within = (units[0][0], units[-1][1]) if edges else None
        self.whole = prices.whole(candidate)
        self._sums = [0, *accumulate(worth)]
        self._exact: dict[Run, int] = {(0, len(units) - 1, 0): self.whole}
        around = context(candidate.text, units, candidate.source.metadata)
        self._leaning = around.leaning
        self._leads = self._needed(around.leads)
        if len(units) > 1:
            costs = [self._piece([unit]) for unit in units]
            self._exact.update(((i, i, 0), cost) for i, cost in enumerate(costs))
            # Each unit alone has an enclosure of its own; the whole has one, so that tells what an enclosure costs.
            self._each = max(0.0, (sum(costs) - self.whole) / (len(units) - 1))
            self._tokens = [0, *accumulate(costs)]
        else:
            self._each, self._tokens = 0.0, [0, self.whole]

    def _needed(self, found: Mapping[int, tuple[Lead, ...]]) -> dict[int, tuple[Lead, ...]]:
        """Return what may go along, by the first unit: where a run misses something, and that is not a repeat."""
        needed = {
            first: tuple([lead for lead in own if self.worth[0] or not lead.opening])
            for first, own in found.items() if self._less(first, 0)
        }
        return {first: own for first, own in needed.items() if own}

    def all(self) -> Sequence[Run]:
        """Return every run: all of up to 24 units, longer ones in steps, those with something along, and the whole."""
        n = len(self.units)
        runs = _runs(n)
        if n > LONGEST:
            runs = [*runs, *[(i, i + length - 1, 0) for length in _lengths(n) for i in range(n - length + 1)]]
        if self._leads:
            runs = [*runs, *[
                (first, last, number) for first, own in self._leads.items() for number in range(1, len(own) + 1)
                for last in range(first, min(n, first + LONGEST))
            ]]
        return runs

    def value(self, first: int, last: int, along: int) -> int:
        """Return what a run is worth: its units, less a share of the first if it may rest on what is missing.

        What is missing before it is known where the run opens the text, and where the unit before it is a repeat.
        """
        return self._sums[last + 1] - self._sums[first] - self._less(first, along)

    def _less(self, first: int, along: int) -> int:
        """Return what a run loses by its start: more where that leans, less with what goes along, a unit or not."""
        if not (first and self.worth[first - 1]):
            return 0
        given = constants()
        share = given.leaning if first in self._leaning else given.opening
        if not along:
            return round(self.worth[first] * share)
        unit = self.worth[0] if self._leads[first][along - 1].opening else 0
        return round(self.worth[first] * (share - given.opening)) - unit

    def options(self) -> list[Option]:
        """Return what each of `all` costs, as far as that is known without counting it, and what it is worth."""
        n, sums, each = len(self.units), self._sums, self._each
        # What a run costs and is worth is the difference of what is known at its ends.
        upto = [count - at * each for at, count in enumerate(self._tokens)]
        found: list[Option] = []
        for first in range(n):
            before, less = upto[first] - each, sums[first] + self._less(first, 0)
            found.append((self._exact[first, first, 0], sums[first + 1] - less))
            end = min(n, first + LONGEST) + 1
            found += [
                (cost if (cost := int(count - before)) > 0 else 0, value - less)
                for count, value in zip(upto[first + 2:end], sums[first + 2:end], strict=True)
            ]
        for length in _lengths(n)[:-1]:
            found += [
                (max(0, int(upto[i + length] - upto[i] + each)), sums[i + length] - sums[i] - self._less(i, 0))
                for i in range(n - length + 1)
            ]
        whole = (self.whole, sums[n])
        if n > LONGEST:
            found.append(whole)
        else:
            found[n - 1] = whole
        for first, own in self._leads.items():
            end = min(n, first + LONGEST) + 1
            for number, lead in enumerate(own, 1):
                extra = self._tokens[1] if lead.opening else self._piece([(lead.start, lead.end)])
                before, less = upto[first] - extra, sums[first] + self._less(first, number)
                found += [
                    (cost if (cost := int(count - before)) > 0 else 0, value - less)
                    for count, value in zip(upto[first + 1:end], sums[first + 1:end], strict=True)
                ]
        return found

    def known(self, run: Run) -> bool:
        """Tell whether the cost of a run was counted."""
        return run in self._exact

    def cost(self, run: Run) -> int:
        """Return what a run costs, counted."""
        if run not in self._exact:
            self._exact[run] = self.prices.piece(self.candidate, self.text(run))
        return self._exact[run]

    def least(self) -> int:
        """Return the cost of the cheapest run of one unit, or of the whole."""
        return min(self._exact.values())

    def ranges(self, run: Run) -> tuple[Range, ...]:
        """Return where the parts of a run stand in the text; the whole text has its ends, white space and all."""
        first, last, along = run
        if (first, last) == (0, len(self.units) - 1):
            return ((0, len(self.candidate.text)),)
        own = (self.units[first][0], self.units[last][1])
        if not along:
            return (own,)
        lead = self._leads[first][along - 1]
        return ((lead.start, lead.end), own)

    def text(self, run: Run) -> str:
        """Return the text of a run, with a mark behind what goes along."""
        first, _, along = run
        mark = self._leads[first][along - 1].mark if along else GAP
        return joined(self.candidate.text, self.ranges(run), mark, self._within)

    def _piece(self, ranges: Sequence[Range]) -> int:
        return self.prices.piece(self.candidate, joined(self.candidate.text, ranges, GAP, self._within))


@lru_cache(maxsize=64)
def _short(n: int) -> tuple[Run, ...]:
    return tuple((i, j, 0) for i in range(n) for j in range(i, n))


@lru_cache(maxsize=64)
def _lengths(n: int) -> tuple[int, ...]:
    """Return the lengths above 24 that runs of a text of n units have, the whole last.

    >>> _lengths(24), _lengths(30), _lengths(40)
    ((), (27, 30), (27, 30, 33, 37, 40))
    """
    found = []
    length = LONGEST + LONGEST // 8
    while length < n:
        found.append(length)
        length += length // 8
    return (*found, n) if n > LONGEST else ()


def _runs(n: int) -> Sequence[Run]:
    """Return the runs of up to 24 of n units; those of most chunks are known already."""
    return _short(n) if n <= LONGEST else [(i, j, 0) for i in range(n) for j in range(i, min(n, i + LONGEST))]


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
            cost = runs[k].cost(listed[k][i])
            if cost != options[k][i][0]:
                options[k][i] = (cost, options[k][i][1])
                groups[k] = Group.of(options[k], budget)
    taken = [None if i is None else listed[k][i] for k, i in enumerate(picked)]
    return _fitting(runs, taken, budget)


def _fitting(runs: Sequence[Runs], taken: list[Run | None], budget: int) -> list[Run | None]:
    """Leave out the runs of the least value per token until the rest fits: for counts that no estimate comes near."""
    held = {k: run for k, run in enumerate(taken) if run is not None}
    costs = {k: runs[k].cost(run) for k, run in held.items()}
    order = sorted(held, key=lambda k: (runs[k].value(*held[k]) / max(1, costs[k]), -k))
    total = sum(costs.values())
    for k in order:
        if total <= budget:
            break
        total -= costs[k]
        taken[k] = None
    return taken
