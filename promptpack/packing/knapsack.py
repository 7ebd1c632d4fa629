"""The exact 0/1 knapsack: the most value that fits, and which set it is.

numpy is loaded on first use.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt
from typing import TYPE_CHECKING

from promptpack.errors import OptionError, quote
from promptpack.packing.ranking import is_finite

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def optimal(costs: Sequence[int], values: Sequence[float], budget: int) -> list[int]:
    """Return the indices, ascending, of the set with the most value whose costs fit the budget.

    The recurrence of Bellman (1957): row i copies row i - 1 and takes item i only where that is
    strictly more; the set is read by walking back from the last row at the full budget. Of several
    best sets that gives the one with the earlier, better ranked items; an item of value 0 or less is
    never taken. Sums are of floats, in the order of the items.

    costs: whole numbers of 0 or more; values: finite numbers, of the same length; budget: 0 or more.
    Time grows with items times budget (2,000 items at 100,000 take about half a second), memory with
    the square root of the items times the budget. What fits as a whole takes linear time.
    Raises OptionError for anything else.

    >>> optimal([6, 5, 5], [7.0, 5.0, 5.0], 10)
    [1, 2]
    """
    check_numbers(costs, values, budget)
    fitting = [i for i, cost in enumerate(costs) if cost <= budget and values[i] > 0]
    if sum(costs[i] for i in fitting) <= budget:
        return _all_that_add(fitting, values)
    return [fitting[i] for i in _best_set([costs[i] for i in fitting], [values[i] for i in fitting], budget)]


def table(costs: Sequence[int], values: Sequence[float], budget: int) -> list[list[float]]:
    """Return every row of the recurrence, row 0 first: the best value for each budget from 0 on.

    (len(costs) + 1) x (budget + 1) numbers, for teaching and tests.

    >>> table([2], [1.5], 3)
    [[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.5, 1.5]]
    """
    check_numbers(costs, values, budget)
    rows = [[0.0] * (budget + 1)]
    for cost, value in zip(costs, values, strict=True):
        above = rows[-1]
        below = above[:cost]
        below += [max(above[b], above[b - cost] + value) for b in range(cost, budget + 1)]
        rows.append(below)
    return rows


def check_numbers(costs: Sequence[int], values: Sequence[float], budget: int) -> None:
    """Raise OptionError unless the three are what a selector takes."""
    if len(costs) != len(values):
        message = f"costs and values must have one length, got {len(costs)} and {len(values)}"
        raise OptionError(message, name="values", given=len(values))
    for name, numbers in (("budget", (budget,)), ("costs", costs)):
        for number in numbers:
            if isinstance(number, bool) or not isinstance(number, int) or number < 0:
                message = f"{name}: expected whole numbers of 0 or more, got {quote(number)}"
                raise OptionError(message, name=name, given=number)
    for value in values:
        if not is_finite(value):
            message = f"values: expected finite numbers, got {quote(value)}"
            raise OptionError(message, name="values", given=value)


def _all_that_add(items: Sequence[int], values: Sequence[float]) -> list[int]:
    # Where all fits, the last cell of each row is the sum so far. A value too small to change that
    # sum is not strictly more, so it is left out here as the table would leave it out.
    total, taken = 0.0, []
    for i in items:
        if total + values[i] > total:
            total += values[i]
            taken.append(i)
    return taken


def _best_set(
    costs: Sequence[int], values: Sequence[float], budget: int, rows: int | None = None
) -> list[int]:
    """Walk back through the table, which is kept as bits, block of rows by block of rows.

    A row is kept whole only at the start of each block; the bits of a block are computed again when the
    walk reaches it, from the budget that is then left. With blocks of about 8 sqrt(n) rows, rows and bits
    take the same room. rows: the length of a block, for tests.
    """
    import numpy as np

    n = len(costs)
    size = rows or (n if n * budget <= 1 << 28 else max(1, 8 * isqrt(n)))
    starts = [(np.zeros(budget + 1), 0)]
    for first in range(0, n - size, size):
        row, before = starts[-1][0].copy(), starts[-1][1]
        weights = costs[first:first + size]
        _advance(row, before, weights, values[first:first + size])
        starts.append((row, before + sum(weights)))
    taken: list[int] = []
    left = budget
    for block in reversed(range(len(starts))):
        first = block * size
        weights = costs[first:first + size]
        row, before = starts.pop()
        bits = _advance(row, before, weights, values[first:first + size], left)
        for i in reversed(range(len(weights))):
            low, high, mask = bits[i]
            at = min(left, high) - low
            if at >= 0 and mask[at >> 3] >> (7 - (at & 7)) & 1:
                taken.append(first + i)
                left -= weights[i]
    return taken[::-1]


def _advance(
    row: NDArray[np.float64],
    before: int,
    costs: Sequence[int],
    values: Sequence[float],
    goal: int | None = None,
) -> list[tuple[int, int, NDArray[np.uint8]]]:
    """Bring a row of the table forward over some items, in place.

    before: what the items of the row cost together; from there on all its cells are equal, so they are
    filled in only as far as the next item reaches. With a goal, return for each item (low, high, bits):
    whether it is taken at each budget from `low` to `high`, and at the goal as at `high`. Only those cells
    are computed from which the walk back can pass: from `goal` less all that later items may cost.
    """
    import numpy as np

    top = len(row) - 1 if goal is None else goal
    low = 0 if goal is None else top - sum(costs)
    bits: list[tuple[int, int, NDArray[np.uint8]]] = []
    more, better = np.empty(top + 1), np.empty(top + 1, dtype=bool)
    for cost, value in zip(costs, values, strict=True):
        low += 0 if goal is None else cost
        if cost > top:
            bits.append((0, -1, np.empty(0, dtype=np.uint8)))
            continue
        last = min(before + cost, top)
        first = min(max(cost, low), last)
        if before < top:
            row[before + 1:last + 1] = row[before]
        before += cost
        kept, taking = row[first:last + 1], more[:last + 1 - first]
        np.add(row[first - cost:last + 1 - cost], value, out=taking)
        if goal is not None:
            gains = better[:last + 1 - first]
            np.greater(taking, kept, out=gains)
            bits.append((first, last, np.packbits(gains)))
        np.maximum(kept, taking, out=kept)  # the same as a copy where it is more, without a branch for each cell
    if goal is None and before < top:
        row[before + 1:] = row[before]
    return bits
