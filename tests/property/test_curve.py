"""Placement by a curve over random curves, sizes and values: a permutation, the best for few, never below others."""

from __future__ import annotations

import json
from itertools import pairwise, permutations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from promptpack import Curve, Packing, PositionCurve, Source, pack
from promptpack.evaluation import expected_use
from promptpack.packing import fold
from promptpack.packing.curve_bound import knots
from promptpack.packing.route import PLACERS

SHARE = st.integers(0, 100).map(lambda hundredth: hundredth / 100)
INNER = st.integers(1, 99).map(lambda hundredth: hundredth / 100)
CURVE = st.one_of(
    st.lists(st.tuples(SHARE, SHARE), min_size=1, max_size=9, unique_by=lambda point: point[0]).map(
        lambda points: PositionCurve(sorted(points))
    ),
    st.lists(st.tuples(SHARE, SHARE), min_size=3, max_size=9, unique_by=lambda point: point[0]).map(
        lambda points: PositionCurve(sorted(points), kind="quadratic")
    ),
    st.tuples(SHARE, INNER, SHARE, SHARE).map(
        lambda parts: PositionCurve([(0, parts[0]), (parts[1], parts[2]), (1, parts[3])], kind="parabolas")
    ),
)
COST = st.integers(0, 300)
VALUE = st.integers(0, 50).map(lambda fiftieth: fiftieth / 50)


def items(most: int) -> st.SearchStrategy[list[tuple[int, float]]]:
    return st.lists(st.tuples(COST, VALUE), min_size=1, max_size=most).map(
        lambda pairs: sorted(pairs, key=lambda pair: -pair[1])
    )


def worth(curve: PositionCurve, order: list[int] | tuple[int, ...], found: list[tuple[int, float]]) -> float:
    return expected_use([found[i][0] for i in order], [found[i][1] for i in order], curve)


@given(CURVE, items(6))
@settings(max_examples=60, deadline=None)
def test_few_sources_have_the_best_order(curve: PositionCurve, found: list[tuple[int, float]]) -> None:
    costs, values = [cost for cost, _ in found], [value for _, value in found]
    order = Curve(curve).by_cost(costs, values, 0, sum(costs))
    best = max(worth(curve, other, found) for other in permutations(range(len(found))))
    assert abs(worth(curve, order, found) - best) < 1e-9


@given(CURVE, items(7))
@settings(max_examples=40, deadline=None)
def test_the_exact_search_agrees_with_all_orders_of_seven(curve: PositionCurve, found: list[tuple[int, float]]) -> None:
    order = Curve(curve).by_cost([one[0] for one in found], [one[1] for one in found], 0, sum(one[0] for one in found))
    reached = worth(curve, order, found)
    for other in permutations(range(len(found))):
        assert worth(curve, other, found) <= reached + 1e-9


@given(CURVE, items(40))
@settings(max_examples=60, deadline=None)
def test_it_is_a_permutation_that_no_placement_by_rank_beats(
    curve: PositionCurve, found: list[tuple[int, float]]
) -> None:
    costs, values = [cost for cost, _ in found], [value for _, value in found]
    order = Curve(curve).by_cost(costs, values, 0, sum(costs))
    assert sorted(order) == list(range(len(found)))
    use = Curve(curve).use([costs[i] for i in order], [values[i] for i in order])
    assert use.gap >= 0
    assert abs(use.expected - worth(curve, order, found)) < 1e-9
    ranked = [Source(str(i), "x") for i in range(len(found))]
    for name in ("fold", "best_first", "best_last", "buried", "spread"):
        other = list(PLACERS[name](ranked))  # type: ignore[operator]
        assert worth(curve, other, found) <= use.expected + 1e-9, name
        assert worth(curve, other, found) <= use.bound + 1e-9, name


@given(CURVE, items(30), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_no_order_passes_the_bound(curve: PositionCurve, found: list[tuple[int, float]], rng: object) -> None:
    costs, values = [cost for cost, _ in found], [value for _, value in found]
    order = Curve(curve).by_cost(costs, values, 0, sum(costs))
    bound = Curve(curve).use([costs[i] for i in order], [values[i] for i in order]).bound
    shuffled = list(range(len(found)))
    for _ in range(20):
        rng.shuffle(shuffled)  # type: ignore[attr-defined]
        assert worth(curve, shuffled, found) <= bound + 1e-9


@given(CURVE)
@settings(max_examples=100, deadline=None)
def test_corners_lie_on_or_above_the_curve(curve: PositionCurve) -> None:
    p, corners = curve.function(), knots(curve)
    assert corners[0][0] == 0
    assert corners[-1][0] == 1
    for (x0, p0), (x1, p1) in pairwise(corners):
        for k in range(5):
            assert p0 + (p1 - p0) * k / 4 >= p(min(1.0, x0 + (x1 - x0) * k / 4)) - 1e-9


@given(st.integers(0, 60), SHARE, SHARE)
@example(41, 0.0, 0.33)  # the arms of the U differ by rounding
@settings(max_examples=60, deadline=None)
def test_equal_sizes_fold_under_a_u_and_are_sorted_under_a_slope(n: int, low: float, high: float) -> None:
    sources = [Source(f"{i:02d}", f"{i:02d}", 1 - i / 100) for i in range(n)]
    low, high = min(low, high), max(low, high) + 0.01
    low, high = low * 0.99, high * 0.99

    def order(curve: PositionCurve) -> list[int]:
        return [int(id_) for id_ in pack(sources, packing=Packing(place=Curve(curve))).ids]

    assert order(PositionCurve.illustrative(high, low, high)) == fold(range(n))
    assert order(PositionCurve([(0, high), (1, low)])) == list(range(n))
    assert order(PositionCurve([(0, low), (1, high)])) == list(range(n))[::-1]


@given(CURVE, items(20), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_the_order_of_the_input_does_not_matter(
    curve: PositionCurve, found: list[tuple[int, float]], rng: object
) -> None:
    sources = [Source(f"{i:02d}", "w " * cost + str(i), value) for i, (cost, value) in enumerate(found)]
    packing = Packing(place=Curve(curve), dedup="off")
    packed = pack(sources, packing=packing)
    rng.shuffle(sources)  # type: ignore[attr-defined]
    again = pack(sources, packing=packing)
    assert again.ids == packed.ids
    assert again.use == packed.use


@given(CURVE)
@settings(max_examples=60, deadline=None)
def test_a_curve_is_equal_after_the_file(curve: PositionCurve) -> None:
    again = PositionCurve.from_dict(json.loads(json.dumps(curve.to_dict())))
    assert again == curve
    assert [again(i / 16) for i in range(17)] == [curve(i / 16) for i in range(17)]
