"""At most one option of each group: the multiple-choice knapsack, exactly.

Values are whole numbers, so that sums are exact and the same on every machine. Options that no best choice can hold
are taken out first, by dominance and by a bound from the linear relaxation (Dyer, 1984; Zemel, 1984); what is left is
solved by dynamic programming over the budget.

numpy is loaded on first use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_INT16 = 1 << 15
# A cost and a value, both whole numbers of 0 or more.
Option = tuple[int, int]
# A step up the hull of a group, from an option, or none, to the next one: density, cost, value.
Step = tuple[float, int, int]


@dataclass(frozen=True, slots=True)
class Group:
    """What is left of a group's options for a budget: those worth more than every cheaper one, by cost, as
    (index, cost, value), and the steps of their upper convex hull, from nothing on.
    """

    options: tuple[tuple[int, int, int], ...]
    steps: tuple[Step, ...]

    @classmethod
    def of(cls, options: Sequence[Option], budget: int) -> Group:
        """Return a group that is made ready.

        >>> Group.of([(5, 10), (2, 6), (3, 6), (9, 99)], 6).options
        ((1, 2, 6), (0, 5, 10))
        """
        kept: list[tuple[int, int, int]] = []
        most = 0
        for cost, less, index in sorted([(c, -v, i) for i, (c, v) in enumerate(options) if c <= budget]):
            if -less > most:
                most = -less
                kept.append((index, cost, most))
        return cls(tuple(kept), tuple(_hull(kept)))


def best_options(groups: Sequence[Sequence[Option]], budget: int) -> list[int | None]:
    """Return for each group the index of its option in a choice of the greatest value within the budget, or None.

    Exact. An option without value is never chosen. Of several best choices it is one that takes the earlier groups
    where later ones add nothing, and of equal options the cheaper, then the earlier.
    Time: sorting the options, then those that remain times the budget; few do.

    >>> best_options([[(5, 10), (2, 6)], [(4, 7)]], 6)
    [1, 0]
    """
    return best_of([Group.of(group, budget) for group in groups], budget)


def best_of(groups: Sequence[Group], budget: int) -> list[int | None]:
    """Return what `best_options` does, for groups that are ready for this budget."""
    if sum(group.options[-1][1] for group in groups if group.options) <= budget:
        return [group.options[-1][0] if group.options else None for group in groups]
    return _solved(_reduced(groups, budget), budget)


def _hull(kept: Sequence[tuple[int, int, int]]) -> list[Step]:
    points = [(0, 0)]
    for _, cost, value in kept:
        while len(points) > 1:
            (c0, v0), (c1, v1) = points[-2:]
            if (v1 - v0) * (cost - c1) > (value - v1) * (c1 - c0):
                break
            points.pop()
        points.append((cost, value))
    return [
        ((v1 - v0) / (c1 - c0) if c1 > c0 else float("inf"), c1 - c0, v1 - v0)
        for (c0, v0), (c1, v1) in pairwise(points)
    ]


# Of an open group: (index, cost, value) of the options that a best choice may hold; index -1 stands for none of them.
Open = list[tuple[int, int, int]]


def _reduced(groups: Sequence[Group], budget: int) -> list[Open]:
    """Return the options that a best choice may hold.

    With price p for each token no choice is worth more than p * budget + the sum over groups of the best value less
    price. What an option loses against the best of its group has to stay below the distance of that bound to a choice
    that is known; ties stay.
    """
    steps = sorted([
        (-density, k, level, cost, value)
        for k, group in enumerate(groups) for level, (density, cost, value) in enumerate(group.steps)
    ])
    left, floor = budget, 0
    reached = [0] * len(groups)
    price = 0.0
    for density, k, level, cost, value in steps:
        if level == reached[k] and cost <= left:
            left -= cost
            floor += value
            reached[k] += 1
        elif price == 0.0:
            price = -density
    net = [[value - price * cost for _, cost, value in group.options] for group in groups]
    best = [max(0.0, max(values, default=0.0)) for values in net]
    bound = price * budget + sum(best)
    slack = bound - floor
    slack += 1e-9 * max(1.0, abs(bound)) + 1.0  # rounding may only keep more
    reduced: list[Open] = []
    for top, group, values in zip(best, groups, net, strict=True):
        options: Open = [(-1, 0, 0)] if top <= slack else []
        least = top - slack
        options += [option for option, value in zip(group.options, values, strict=True) if value >= least]
        reduced.append(options)
    return reduced


def _solved(reduced: Sequence[Open], budget: int) -> list[int | None]:
    import numpy as np

    chosen = [options[0] if len(options) == 1 else (-1, 0, 0) for options in reduced]
    room = budget - sum(cost for _, cost, _ in chosen)
    opened = [k for k, options in enumerate(reduced) if len(options) > 1]
    row = np.zeros(room + 1, dtype=np.int64)
    picks = []
    for k in opened:
        row, pick = _advanced(row, reduced[k])
        picks.append(pick)
    for k, pick in zip(reversed(opened), reversed(picks), strict=True):
        chosen[k] = reduced[k][int(pick[room])]
        room -= chosen[k][1]
    return [None if index < 0 else index for index, _, _ in chosen]


def _advanced(row: NDArray[np.int64], options: Open) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the best values with one more group, and which of its options gives each, by its place.

    Below the cost of its cheapest option a group that has to be served cannot be: such cells count as far below 0.
    """
    import numpy as np

    size = len(row)
    best = np.full(size, np.iinfo(np.int64).min // 2, dtype=np.int64)
    pick = np.zeros(size, dtype=np.int16 if len(options) <= _INT16 else np.int32)
    for place, (_, cost, value) in enumerate(options):
        if cost >= size:
            continue
        taking = row[:size - cost] + value
        more = taking > best[cost:]
        np.maximum(best[cost:], taking, out=best[cost:])
        pick[cost:][more] = place
    return best, pick
