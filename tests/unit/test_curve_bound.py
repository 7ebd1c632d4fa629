"""The bound that a position curve sets: of a fit that passes 1, where p is kept to 1."""

from __future__ import annotations

from itertools import pairwise
from math import log2

import pytest

from promptpack import Curve, PositionCurve
from promptpack.curve_shapes import linear
from promptpack.evaluation import expected_use
from promptpack.packing.curve_bound import _at_one, knots, upper_bound

PAST_ENDS = PositionCurve([(0.06, 1.0), (0.28, 0.7), (0.5, 0.55), (0.72, 0.7), (0.94, 1.0)], kind="quadratic")
PAST_MIDDLE = PositionCurve([(0, 0.3), (0.3, 1.0), (0.5, 1.0), (0.7, 1.0), (1, 0.3)], kind="quadratic")


@pytest.mark.parametrize("curve", [PAST_ENDS, PAST_MIDDLE])
def test_the_bound_of_a_fit_that_passes_1_closes_with_the_number_of_passages(curve: PositionCurve) -> None:
    """If this fails, p counts for more than 1 in the bound, and the report tells of room that no order has."""
    gaps = []
    for n in (13, 50, 200, 1000):
        values = [1 / log2(rank + 1) for rank in range(1, n + 1)]
        order = Curve(curve).by_cost([100] * n, values, 0, 100 * n)
        reached = expected_use([100] * n, [values[i] for i in order], curve)
        gaps.append(upper_bound(knots(curve), [1 / n] * n, values) / sum(values) - reached)
    assert all(0 <= later < before / 1.5 for before, later in pairwise(gaps))
    assert gaps[-1] < 1e-4 < gaps[0] < 0.01


@pytest.mark.parametrize("curve", [PAST_ENDS, PAST_MIDDLE])
def test_the_corners_of_a_fit_that_passes_1_follow_it(curve: PositionCurve) -> None:
    """If this fails, the bound is none (corners below the curve), or too high to tell anything (far above)."""
    above = linear(*zip(*knots(curve), strict=True))
    for i in range(5001):
        assert -1e-12 <= above(i / 5000) - curve(i / 5000) < 1e-3


def test_a_fit_within_0_and_1_has_no_corners_of_its_own() -> None:
    """If this fails, what was found under such a curve changes."""
    curve = PositionCurve([(0, 0.8), (0.5, 0.4), (1, 0.95)], kind="quadratic")
    assert [x for x, _ in knots(curve)] == [k / 128 for k in range(129)]
    assert all(p == curve(x) for x, p in knots(curve))


@pytest.mark.parametrize(("coefficients", "wanted"), [
    ((1.5, -2.0, 2.0), []), ((1.375, -2.0, 2.0), [0.25, 0.75]), ((0.625, 2.0, -2.0), [0.25, 0.75]),
    ((2.0, -2.0, 0.0), [0.5]), ((0.5, 0.0, 0.0), []), ((1.0, 0.0, -1.0), []), ((0.5, 0.1, 0.1), []),
])
def test_where_a_parabola_passes_1(coefficients: tuple[float, float, float], wanted: list[float]) -> None:
    """If this fails, a corner of the kept fit lies inside a cell, and a chord cuts it off."""
    assert sorted(_at_one(*coefficients)) == pytest.approx(wanted)
