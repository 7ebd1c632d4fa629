"""The most that any order could reach under a position curve: an upper bound, by rearranging the curve itself.

Sizes are shares of the whole, so that all sources together end at x = 1; `start` is what stands before them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import sqrt

from promptpack.curves import PositionCurve

Knots = list[tuple[float, float]]
_CELLS = 128    # in which a parabola is taken for straight
_FLAT = 1e-6    # differences of p within which a stretch counts as level, at its upper end
_ROUNDING = 1e-8  # of p: more than the sums can lose


def knots(curve: PositionCurve) -> Knots:
    """Return corners (x, p) from x = 0 to 1; the straight lines between them are nowhere below the curve.

    Exact for points; a parabola is followed closely: chords are above it where it is convex, and where it is concave
    they are lifted by what they can miss, curvature * width^2 / 8.

    >>> knots(PositionCurve([(0.25, 0.5), (0.75, 1.0)]))
    [(0.0, 0.5), (0.25, 0.5), (0.75, 1.0), (1.0, 1.0)]
    """
    if curve.kind == "points":
        points = [(point.x, point.p) for point in curve.points]
        before = [(0.0, points[0][1])] if points[0][0] > 0 else []
        return before + points + ([(1.0, points[-1][1])] if points[-1][0] < 1 else [])
    p, places = curve.function(), [k / _CELLS for k in range(_CELLS + 1)]
    if curve.coefficients is not None:
        a, b, c = curve.coefficients
        lift = max(0.0, -2 * c) / (8 * _CELLS**2)
        corners = {x: min(1.0, max(0.0, a + x * (b + x * c)) + lift) for x in places}
        # Where it meets 1 it bends down, which no chord may cut off; where it meets 0, chords pass above it.
        corners |= dict.fromkeys(_at_one(a + lift, b, c), 1.0)
        return sorted(corners.items())
    start, inner, end = curve.points
    places = sorted({*places, inner.x})
    bend = max(0.0, 2 * (inner.p - start.p) / inner.x**2, 2 * (inner.p - end.p) / (1 - inner.x) ** 2)
    lift = min(1.0, bend / (8 * _CELLS**2))  # p is at most 1 anyway
    return [(x, p(x) + lift) for x in places]


def _at_one(a: float, b: float, c: float) -> list[float]:
    """Return where a + b x + c x^2 passes 1 between x = 0 and 1."""
    inside = b * b - 4 * c * (a - 1)
    if inside <= 0:  # nowhere, or it only touches
        return []
    half = -(b + (sqrt(inside) if b >= 0 else -sqrt(inside))) / 2  # without a difference of two like numbers
    found = [half / c] if c else []
    found += [(a - 1) / half] if half else []
    return [x for x in found if 0 < x < 1]


def upper_bound(corners: Knots, sizes: Sequence[float], values: Sequence[float], start: float = 0.0) -> float:
    """Return a number that the sum of value * p(middle) reaches in no order of the sources; n log n.

    Where p is convex over a source, its middle has at most the mean of p there, so that the sum is at most
    the integral of p times the density value / size. That is largest where both descend together (the rearrangement
    inequality), as if sources could be divided. Where the slope of p drops by d inside a source, its middle can have
    d * size / 8 more than the mean; no two sources are at one place, so that the largest drops are paired with
    the largest value * size, as often as a source of that size can hold a drop.

    >>> round(upper_bound([(0.0, 1.0), (1.0, 0.0)], [0.5, 0.5], [1.0, 0.2]), 6)
    0.8
    """
    corners = _from(corners, start)
    order = sorted(range(len(sizes)), key=lambda i: -values[i] / sizes[i] if sizes[i] else -float("inf"))
    pieces = _descending(corners)
    total = 0.0
    piece = iter(pieces)
    length, high, low = next(piece)
    used = 0.0  # of the piece
    peak = max(p for _, p in corners)
    for i in order:
        size = sizes[i]
        if not size:
            total += values[i] * peak
            continue
        area, left = 0.0, size
        while left > 0:
            step = min(left, length - used)
            slope = (high - low) / length if length else 0.0
            area += step * (high - slope * (used + step / 2))
            used += step
            left -= step
            if used >= length and left > 0:
                following = next(piece, None)
                if following is None:  # rounding: the sizes sum to a hair more than 1
                    area += left * low
                    break
                (length, high, low), used = following, 0.0
        total += values[i] * area / size
    return total + _for_drops(corners, sizes, values) + _ROUNDING * sum(map(abs, values))


def _from(corners: Knots, start: float) -> Knots:
    if start <= 0:
        return corners
    for (x0, p0), (x1, p1) in pairwise(corners):
        if x0 <= start < x1:
            first = (start, p0 + (p1 - p0) * (start - x0) / (x1 - x0))
            return [first, *(corner for corner in corners if corner[0] > start)]
    return [corners[-1]]


def _descending(corners: Knots) -> list[tuple[float, float, float]]:
    """Return the same stretches of p sorted: (length, p at its beginning, p at its end), descending throughout."""
    level: dict[float, float] = {}   # how long p is level at a height
    change: dict[float, float] = {}  # how the length for each unit of p changes at a height, going down
    for (x0, p0), (x1, p1) in pairwise(corners):
        high, low = max(p0, p1), min(p0, p1)
        if high - low < _FLAT:
            level[high] = level.get(high, 0.0) + x1 - x0
            continue
        rate = (x1 - x0) / (high - low)
        change[high] = change.get(high, 0.0) + rate
        change[low] = change.get(low, 0.0) - rate
    pieces = []
    rate, above = 0.0, 0.0
    for height in sorted({*level, *change}, reverse=True):
        if rate > 0 and above > height:
            pieces.append((rate * (above - height), above, height))
        if height in level:
            pieces.append((level[height], height, height))
        rate, above = max(0.0, rate + change.get(height, 0.0)), height
    return pieces or [(0.0, corners[-1][1], corners[-1][1])]


def _for_drops(corners: Knots, sizes: Sequence[float], values: Sequence[float]) -> float:
    slopes = [(p1 - p0) / (x1 - x0) for (x0, p0), (x1, p1) in pairwise(corners)]
    drops = [(corners[k + 1][0], before - after) for k, (before, after) in enumerate(pairwise(slopes))]
    drops = [(x, drop) for x, drop in drops if drop > 1e-9]
    if not drops:
        return 0.0
    apart = min((x1 - x0 for (x0, _), (x1, _) in pairwise(drops)), default=1.0)
    heavy: list[float] = []
    for i in sorted(range(len(sizes)), key=lambda i: -values[i] * sizes[i]):
        heavy += [values[i] * sizes[i]] * min(len(drops), int(sizes[i] / apart) + 1)
        if len(heavy) >= len(drops):
            break
    largest = sorted((drop for _, drop in drops), reverse=True)
    return sum(drop * weight / 8 for drop, weight in zip(largest, heavy, strict=False))
