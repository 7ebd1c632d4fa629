"""The shapes that a curve over the position can have, as plain functions of x, and the fit of a quadratic."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from math import isfinite


def parabolas(start: float, middle: float, inner: float, end: float) -> Callable[[float], float]:
    """Return the curve of two parabolas from `start` at x = 0 and `end` at x = 1, level where they meet.

    p = inner + (edge - inner) * ((x - middle) / (x_edge - middle))^2, with 0 < middle < 1.

    >>> curve = parabolas(0.75, 0.5, 0.55, 0.65)
    >>> curve(0.0), curve(0.5), curve(1.0)
    (0.75, 0.55, 0.65)
    """

    def p(x: float) -> float:
        if x < middle:
            return inner + (start - inner) * ((x - middle) / middle) ** 2
        return inner + (end - inner) * ((x - middle) / (1.0 - middle)) ** 2

    return p


def linear(places: Sequence[float], values: Sequence[float]) -> Callable[[float], float]:
    """Return the curve that goes straight from point to point, and level outside of them; places ascend strictly.

    >>> linear([0.25, 0.75], [0.5, 1.0])(0.5)
    0.75
    """
    last = len(places) - 1

    def p(x: float) -> float:
        at = bisect_right(places, x) - 1
        if at < 0:
            return values[0]
        if at >= last:
            return values[last]
        return values[at] + (values[at + 1] - values[at]) * (x - places[at]) / (places[at + 1] - places[at])

    return p


def least_squares(places: Sequence[float], values: Sequence[float]) -> tuple[float, float, float] | None:
    """Return a, b, c of the parabola a + b x + c x^2 with the least sum of squared distances to the points.

    By numpy, over the places scaled to -1 to 1, which keeps the rounding small. None where the places (three or more
    different ones) lie so close that the numbers do not tell them apart.

    >>> [round(one, 9) for one in least_squares([0, 0.5, 1], [1, 0.25, 0])]
    [1.0, -2.0, 1.0]
    """
    from numpy.polynomial import Polynomial

    fitted, (_, rank, _, _) = Polynomial.fit(places, values, 2, full=True)
    found = [float(one) for one in fitted.convert().coef]
    constant, slope, bend = found + [0.0] * (3 - len(found))  # numpy leaves out zeros at the end
    return (constant, slope, bend) if rank == 3 and isfinite(constant + slope + bend) else None
