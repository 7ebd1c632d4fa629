"""The order with the largest expected use under a position curve: exact for few sources, closely for many.

Sizes are shares of the whole, so that all sources together end at x = 1; `start` is what stands before them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from promptpack.packing.by_rank import BY_RANK
from promptpack.packing.curve_bound import Knots

Function = Callable[[float], float]
EXACT = 12          # sources up to which all orders are compared, by sets: n * 2^(n - 1) places are looked at
_PEAKS = 16         # of the curve around which sources are gathered
_STEPS = 12_000     # places looked at while improving
_SEVERAL = 40       # sources up to which several orders are improved
_TIE = 1e-12


def middles(sizes: Sequence[float], start: float = 0.0, total: float = 1.0) -> list[float]:
    """Return where the middle of each source is, as a share of the whole: x = (before it + size / 2) / total.

    sizes: in prompt order, in the unit of `start` (what stands before them) and `total`.

    >>> middles([100, 200, 100], total=400)
    [0.125, 0.5, 0.875]
    """
    found = []
    for size in sizes:
        found.append(min(1.0, (start + size / 2) / total))
        start += size
    return found


def use_of(order: Sequence[int], p: Function, sizes: Sequence[float], values: Sequence[float], start: float) -> float:
    """Return the sum of value * p(middle) for an order of the sources."""
    places = middles([sizes[i] for i in order], start)
    return sum([values[i] * p(x) for i, x in zip(order, places, strict=True)])


def best_order(
    p: Function, corners: Knots, sizes: Sequence[float], values: Sequence[float], start: float
) -> tuple[list[int], bool]:
    """Return the order as indices, and whether no other order is better; sources come in rank order.

    Equal sizes: the best values at the highest places, at once. Up to `EXACT` sources: over all sets that can stand
    last. More: sources, densest first (value / size), are gathered around the peaks of the curve, each where p at its
    middle is highest; then neighbours, and sources that are next to each other in density, change places while that
    helps, within a fixed number of steps. The result is no worse than any placement by rank. Ties by rank.
    """
    n = len(sizes)
    if n < 2:
        return list(range(n)), True
    if max(sizes) - min(sizes) <= _TIE * max(sizes):
        return _equal(p, sizes, values, start), True
    if n <= EXACT:
        return _exact(p, sizes, values, start), True
    orders = [_gathered(p, _peaks(corners, start), sizes, values, start)]
    orders += [list(by_rank(range(n))) for by_rank in BY_RANK.values()]
    if n > _SEVERAL:  # what is left to gain is small
        orders = [max(orders, key=lambda order: use_of(order, p, sizes, values, start))]
    improved = [_improved(order, _STEPS // len(orders), p, sizes, values, start) for order in orders]
    return max(improved, key=lambda order: use_of(order, p, sizes, values, start)), False


def _equal(p: Function, sizes: Sequence[float], values: Sequence[float], start: float) -> list[int]:
    heights = [p(x) for x in middles(sizes, start)]
    best_places = sorted(range(len(heights)), key=lambda k: -heights[k])
    at = 0
    while at < len(best_places):  # both arms of a U are alike, but for rounding
        end = at + 1
        while end < len(best_places) and heights[best_places[end - 1]] - heights[best_places[end]] < _TIE:
            end += 1
        best_places[at:end] = sorted(best_places[at:end])
        at = end
    ranked = sorted(range(len(values)), key=lambda i: -values[i])
    order = [0] * len(sizes)
    for place, item in zip(best_places, ranked, strict=True):
        order[place] = item
    return order


def _exact(p: Function, sizes: Sequence[float], values: Sequence[float], start: float) -> list[int]:
    n = len(sizes)
    end = start + sum(sizes)
    items = [(1 << i, sizes[i] / 2, values[i]) for i in range(n)]
    begins = [end] * (1 << n)  # where a set begins that stands last
    best = [0.0] * (1 << n)
    for members in range(1, 1 << n):
        lowest = members & -members
        begin = begins[members ^ lowest] - sizes[lowest.bit_length() - 1]
        begins[members] = begin
        best[members] = max(
            [value * p(begin + half) + best[members ^ bit] for bit, half, value in items if members & bit]
        )
    left, order = (1 << n) - 1, []
    while left:
        begin = begins[left]
        for i, (bit, half, value) in enumerate(items):
            if left & bit and value * p(begin + half) + best[left ^ bit] >= best[left] - _TIE:
                order.append(i)
                left ^= bit
                break
    return order


def _peaks(corners: Knots, start: float) -> list[float]:
    """Return where the curve is higher than on either side, from left to right; a level stretch counts at its left."""
    places = [x for x, _ in corners]
    found = []
    rising = True
    for (x0, p0), (_, p1) in pairwise(corners):
        if rising and p1 < p0:
            found.append((p0, x0))
        if p1 != p0:
            rising = p1 > p0
    if rising:
        found.append((corners[-1][1], places[-1]))
    found = [(height, max(x, start)) for height, x in found if x >= start] or [(0.0, start)]
    if found[0][1] > start:
        found.insert(0, (0.0, start))
    highest = sorted(found, key=lambda peak: (-peak[0], peak[1]))[:_PEAKS]
    return sorted({x for _, x in highest})


def _gathered(
    p: Function, peaks: Sequence[float], sizes: Sequence[float], values: Sequence[float], start: float
) -> list[int]:
    dense = sorted(range(len(sizes)), key=lambda i: -values[i] / sizes[i] if sizes[i] else -float("inf"))
    begins, ends = list(peaks), list(peaks)  # what is taken around each peak
    before: list[list[int]] = [[] for _ in peaks]  # from the peak to the left
    after: list[list[int]] = [[] for _ in peaks]
    last = len(peaks) - 1
    for i in dense:
        size = sizes[i]
        best: tuple[float, int, bool, float] | None = None
        widest = (-1.0, 0, False, start)
        for k in range(last + 1):
            low = ends[k - 1] if k else start
            high = begins[k + 1] if k < last else 1.0
            if begins[k] == ends[k]:
                x = min(max(begins[k] - size / 2, low), max(low, high - size))
                options = [(False, x, high - low)]
            else:
                options = [(True, begins[k] - size, begins[k] - low), (False, ends[k], high - ends[k])]
            for left, x, room in options:
                if room >= size - _TIE:
                    height = round(p(min(1.0, max(0.0, x + size / 2))), 12)
                    if best is None or height > best[0]:
                        best = (height, k, left, x)
                if room > widest[0]:
                    widest = (room, k, left, x)
        _, k, left, x = best or widest  # where none has the room, the widest: places are only nearly known here
        if left:
            before[k].append(i)
            begins[k] = max(x, ends[k - 1] if k else start)
        else:
            after[k].append(i)
            if begins[k] == ends[k]:
                begins[k] = x
            ends[k] = min(x + size, begins[k + 1] if k < last else 1.0)
    return [i for k in range(last + 1) for i in (*reversed(before[k]), *after[k])]


def _improved(
    order: list[int], steps: int, p: Function, sizes: Sequence[float], values: Sequence[float], start: float
) -> list[int]:
    """Let sources change places while the use grows, until no change helps or the steps are spent."""
    n = len(order)
    reach = max(1, min(n - 1, steps // (8 * n)))
    places = middles([sizes[i] for i in order], start)
    begins = [x - sizes[i] / 2 for i, x in zip(order, places, strict=True)]
    uses = [values[i] * p(x) for i, x in zip(order, places, strict=True)]

    def better(a: int, new: list[int]) -> bool:
        """Put `new` at the places from `a` on, if that helps."""
        nonlocal steps
        steps -= len(new)
        begin = begins[a]
        fresh, gained = [], []
        for i in new:
            size = sizes[i]
            fresh.append(begin)
            gained.append(values[i] * p(min(1.0, begin + size / 2)))
            begin += size
        b = a + len(new)
        if sum(gained) <= sum(uses[a:b]) + _TIE:
            return False
        order[a:b], begins[a:b], uses[a:b] = new, fresh, gained
        return True

    helped = True
    while helped and steps > 0:
        helped = False
        for apart in range(1, reach + 1):
            for a in range(n - apart):
                old = order[a:a + apart + 1]
                for new in _changed(old):
                    if steps > 0 and better(a, new):
                        helped = True
                        break
    return order


def _changed(old: list[int]) -> list[list[int]]:
    first, *inner, last = old
    swapped = [last, *inner, first]
    return [swapped, [*inner, last, first], [last, first, *inner]] if inner else [swapped]
