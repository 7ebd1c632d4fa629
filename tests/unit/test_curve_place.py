"""Placement by a position curve: the best order, what it is worth, and where the payload says so."""

from __future__ import annotations

import json
import pickle
import random
from collections.abc import Sequence
from itertools import permutations
from math import log2
from typing import Any

import pytest

from promptpack import Curve, OptionError, Packing, Payload, PositionCurve, PromptBuilder, Source, SourceError, pack
from promptpack.adapters.written import read_builder, write_builder
from promptpack.evaluation import expected_use
from promptpack.packing import curve_order, fold
from promptpack.packing.by_rank import BY_RANK
from promptpack.packing.curve_bound import knots, upper_bound

U = PositionCurve.illustrative(0.7, 0.5, 0.7)
ILLUSTRATIVE = PositionCurve.illustrative()
FALLING = PositionCurve([(0, 0.9), (0.3, 0.7), (1, 0.2)])
RISING = PositionCurve([(0, 0.2), (1, 0.8)])
HILL = PositionCurve.illustrative(0.4, 0.8, 0.5)
FITTED = PositionCurve([(0, 0.8), (0.5, 0.4), (1, 0.95)], kind="quadratic")
MEASURED = PositionCurve([
    ((i + 0.5) / 9, p / 100) for i, p in enumerate((74, 66, 70, 63, 66, 64, 71, 80, 95))
])
# Both fits pass 1, where p is kept: at both ends, and in the middle.
PAST_ENDS = PositionCurve([(0.06, 1.0), (0.28, 0.7), (0.5, 0.55), (0.72, 0.7), (0.94, 1.0)], kind="quadratic")
PAST_MIDDLE = PositionCurve([(0, 0.3), (0.3, 1.0), (0.5, 1.0), (0.7, 1.0), (1, 0.3)], kind="quadratic")
TWO_PEAKS = PositionCurve([(0, 0.5), (0.25, 0.9), (0.5, 0.3), (0.75, 0.8), (1, 0.4)])
CURVES = {
    "u": U, "illustrative": ILLUSTRATIVE, "falling": FALLING, "rising": RISING, "hill": HILL, "fitted": FITTED,
    "measured": MEASURED, "two peaks": TWO_PEAKS, "past 1 at the ends": PAST_ENDS, "past 1 in the middle": PAST_MIDDLE,
}


def gains(n: int) -> list[float]:
    return [1 / log2(rank + 1) for rank in range(1, n + 1)]


def use(curve: PositionCurve, order: Sequence[int], costs: Sequence[int], values: Sequence[float]) -> float:
    """By the public measure, which shares nothing with the search but where a middle is."""
    return expected_use([costs[i] for i in order], [values[i] for i in order], curve)


def instance(seed: int, n: int, equal: bool = False) -> tuple[list[int], list[float]]:
    rng = random.Random(seed)
    costs = [100] * n if equal else [int(rng.choice([20, 60, 100, 200, 400]) * rng.uniform(0.8, 1.2)) for _ in range(n)]
    return costs, gains(n) if seed % 2 else sorted((rng.random() ** 3 for _ in range(n)), reverse=True)


def placed(curve: PositionCurve, costs: Sequence[int], values: Sequence[float]) -> list[int]:
    return Curve(curve).by_cost(costs, values, 0, sum(costs))


@pytest.mark.parametrize("n", [*range(14), 30, 101])
def test_equal_sizes_under_a_symmetric_u_give_the_fold(n: int) -> None:
    assert placed(U, [80] * n, gains(n)) == fold(range(n))


@pytest.mark.parametrize("n", range(8))
def test_equal_sizes_under_the_illustrative_curve_give_the_fold_up_to_seven(n: int) -> None:
    assert placed(ILLUSTRATIVE, [80] * n, gains(n)) == fold(range(n))


@pytest.mark.parametrize("n", [8, 9, 12, 20, 50])
def test_from_eight_on_the_second_place_of_the_illustrative_curve_beats_the_last(n: int) -> None:
    """p(1.5/8) = 0.628 is above p(7.5/8) = 0.627: the higher start of the curve is wide enough for two."""
    assert ILLUSTRATIVE(1.5 / n) > ILLUSTRATIVE((n - 0.5) / n)
    order = placed(ILLUSTRATIVE, [80] * n, gains(n))
    assert order[:2] == [0, 1]
    assert use(ILLUSTRATIVE, order, [80] * n, gains(n)) > use(ILLUSTRATIVE, fold(range(n)), [80] * n, gains(n))


@pytest.mark.parametrize("n", range(2, 30))
def test_where_the_fold_ends_does_not_hang_on_how_places_are_counted(n: int) -> None:
    """By middles in tokens, (i + 0.5) / n, or by numbers, i / (n - 1): the second beats the last from eight on."""
    by_tokens = ILLUSTRATIVE(1.5 / n) > ILLUSTRATIVE((n - 0.5) / n)
    by_number = ILLUSTRATIVE(1 / (n - 1)) > ILLUSTRATIVE(1)
    assert by_tokens == by_number == (n >= 8)


@pytest.mark.parametrize("n", [1, 2, 5, 12, 13, 40])
def test_equal_sizes_under_falling_and_rising_curves(n: int) -> None:
    assert placed(FALLING, [80] * n, gains(n)) == list(range(n))
    assert placed(RISING, [80] * n, gains(n)) == list(range(n))[::-1]


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("seed", range(6))
def test_few_sources_are_placed_as_well_as_any_order(name: str, seed: int) -> None:
    costs, values = instance(seed, 2 + seed)
    best = max(use(CURVES[name], order, costs, values) for order in permutations(range(len(costs))))
    order = placed(CURVES[name], costs, values)
    assert use(CURVES[name], order, costs, values) == pytest.approx(best, abs=1e-12)
    found = Curve(CURVES[name]).use([costs[i] for i in order], [values[i] for i in order])
    assert found.expected == pytest.approx(best, abs=1e-12)
    assert found.gap == 0.0


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("n", [7, 9])
def test_the_search_for_many_is_close_to_the_best(name: str, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the exact search switched off, on sizes where it can be compared: within 1 %, and 0.2 % on the whole."""
    gaps = []
    for seed in range(5):
        costs, values = instance(seed, n)
        sizes = [cost / sum(costs) for cost in costs]
        arguments = CURVES[name].function(), knots(CURVES[name]), sizes, values, 0.0
        exact, sure = curve_order.best_order(*arguments)
        assert sure
        monkeypatch.setattr(curve_order, "EXACT", 1)
        near, sure = curve_order.best_order(*arguments)
        assert not sure
        assert sorted(near) == list(range(n))
        monkeypatch.undo()
        best = use(CURVES[name], exact, costs, values)
        gaps.append((best - use(CURVES[name], near, costs, values)) / best)
    assert min(gaps) > -1e-12
    assert max(gaps) < 0.01
    assert sum(gaps) / len(gaps) < 0.002


@pytest.mark.parametrize(("n", "most"), [(13, 0.06), (20, 0.04), (50, 0.012), (300, 0.001)])
@pytest.mark.parametrize("name", CURVES)
def test_the_bound_holds_and_is_close_for_many(name: str, n: int, most: float) -> None:
    """The gap, as a share of what is reached, shrinks with the number of sources, which the docstring promises."""
    for seed in (1, 2):
        costs, values = instance(seed, n)
        order = placed(CURVES[name], costs, values)
        found = Curve(CURVES[name]).use([costs[i] for i in order], [values[i] for i in order])
        assert found.expected == pytest.approx(use(CURVES[name], order, costs, values))
        assert 0 <= found.gap < most * found.expected
        for by_rank in BY_RANK.values():
            assert found.expected >= use(CURVES[name], list(by_rank(range(n))), costs, values) - 1e-12


@pytest.mark.parametrize("name", CURVES)
def test_no_order_passes_the_upper_bound(name: str) -> None:
    """With one large source over several corners of the curve, and something pinned ahead."""
    for seed, start in ((1, 0.0), (2, 0.0), (3, 0.3), (4, 0.05)):
        costs, values = instance(seed, 6)
        costs[seed % 6] *= 9
        sizes = [(1 - start) * cost / sum(costs) for cost in costs]
        p = CURVES[name].function()
        best = max(
            curve_order.use_of(order, p, sizes, values, start) for order in permutations(range(len(costs)))
        )
        assert upper_bound(knots(CURVES[name]), sizes, values, start) >= best - 1e-9


@pytest.mark.parametrize("name", CURVES)
def test_the_corners_are_nowhere_below_the_curve(name: str) -> None:
    """Otherwise the bound would be none."""
    above = PositionCurve([(x, min(1.0, p)) for x, p in knots(CURVES[name])])
    for i in range(2001):
        assert above(i / 2000) >= CURVES[name](i / 2000) - 1e-12


def test_short_sources_take_the_best_places_for_their_value() -> None:
    """Value per token decides what comes first, as in scheduling by weight and length."""
    assert placed(FALLING, [400, 50], [1.0, 0.6]) == [1, 0]


def test_what_costs_or_is_worth_nothing_is_placed_all_the_same() -> None:
    assert placed(U, [0, 0, 0], [1.0, 0.6, 0.5]) == [0, 2, 1]
    assert sorted(placed(U, [0, 30, 0, 5], [0.0, 0.0, 0.0, 0.0])) == [0, 1, 2, 3]
    assert sorted(placed(TWO_PEAKS, [0, 9] * 10, gains(20))) == list(range(20))
    assert Curve(U).use([0, 0], [0, 0]).expected == U(0.25)
    assert Curve(U).use([], []).expected == 0.0


def test_many_peaks_are_no_trouble() -> None:
    zigzag = PositionCurve([(i / 200, 0.9 if i % 2 else 0.1) for i in range(201)])
    costs, values = instance(5, 60)
    assert sorted(placed(zigzag, costs, values)) == list(range(60))


def test_the_work_is_bounded() -> None:
    """What p is asked for grows linearly: a fixed number, and for each source one for each side of each peak."""
    asked = 0

    def counted(x: float) -> float:
        nonlocal asked
        asked += 1
        return plain(x)

    for name, curve in (("illustrative", ILLUSTRATIVE), ("measured", MEASURED)):
        for n in (12, 13, 100, 3000):
            costs, values = instance(3, n)
            plain, asked = curve.function(), 0
            sizes = [cost / sum(costs) for cost in costs]
            curve_order.best_order(counted, knots(curve), sizes, values, 0.0)
            assert asked <= 30_000 + 20 * n, (name, n, asked)


def hits(n: int, **options: Any) -> list[Source]:
    return [Source(f"h{i:02d}", "word " * (5 + 7 * i % 23), 1 - i / 100, **options) for i in range(n)]


def test_pack_places_by_its_own_costs_and_values() -> None:
    packed = pack(hits(9), 100, packing=Packing(place=Curve(FALLING)))
    costs, values = [one.cost for one in packed.sources], [one.value for one in packed.sources]
    assert packed.use is not None
    assert packed.use.curve is FALLING
    assert packed.use.expected == pytest.approx(expected_use(costs, values, FALLING))
    best = max(use(FALLING, order, costs, values) for order in permutations(range(len(costs))))
    assert packed.use.expected == pytest.approx(best)
    assert packed.use.bound == packed.use.expected
    assert pack(hits(9), 100).use is None


def test_the_order_of_the_input_does_not_matter() -> None:
    sources = hits(15)
    one = pack(sources, packing=Packing(place=Curve(MEASURED)))
    assert pack(sources[::-1], packing=Packing(place=Curve(MEASURED))) == one


def test_pinned_sources_stay_first_and_move_the_others() -> None:
    """Behind 90 % of the tokens a hill has only its far side left: best first."""
    sources = [Source("pin", "word " * 900, 0.1, pinned=True), *hits(5)]
    packed = pack(sources, packing=Packing(place=Curve(HILL)))
    assert packed.ids[0] == "pin"
    rest = packed.sources[1:]
    dense = [one.value / one.cost for one in rest]
    assert dense == sorted(dense, reverse=True)
    assert packed.use is not None
    assert packed.use.gap == 0.0


def test_groups_stay_together_and_their_price_is_told() -> None:
    sources = [Source(f"{i}", "word " * 10, 1 - i / 10, document="ab"[i % 2]) for i in range(6)]
    packed = pack(sources, packing=Packing(place=Curve(FALLING), group_by="document", dedup="off"))
    assert packed.ids == ("0", "2", "4", "1", "3", "5")
    assert packed.use is not None
    assert packed.use.gap > 0
    assert packed.use.bound == pytest.approx(expected_use([10] * 6, gains(6), FALLING))


def test_edges_select_from_the_outside_of_the_curves_order() -> None:
    packed = pack(hits(8), 40, packing=Packing(place=Curve(RISING), select="edges"))
    assert 0 < len(packed) < 8
    assert packed.used <= 40


def test_spans_are_placed_by_their_own_values() -> None:
    sources = [
        Source("a", "The kettle is blue. It boils in four minutes. The lid is loose.", 0.9),
        Source("b", "The lamp is red. The kettle has a warranty of two years. It is heavy.", 0.8),
        Source("c", "Nothing is said here. Returns take a week.", 0.7),
    ]
    packed = pack(sources, 25, packing=Packing(place=Curve(RISING), select="spans"), question="kettle warranty?")
    values = [one.value for one in packed.sources]
    assert packed.use is not None
    assert packed.use.expected == pytest.approx(expected_use([one.cost for one in packed.sources], values, RISING))


def test_a_placer_of_ones_own_may_go_by_costs() -> None:
    class Heaviest:
        def __call__(self, sources: Sequence[Source], /) -> list[int]:
            raise AssertionError("costs are known")

        def by_cost(
            self, costs: Sequence[int], values: Sequence[float], before: int, total: int, /
        ) -> list[int]:
            assert total == sum(costs) + before
            return sorted(range(len(costs)), key=lambda i: -costs[i])

    packed = pack(hits(6), packing=Packing(place=Heaviest()))
    costs = [one.cost for one in packed.sources]
    assert costs == sorted(costs, reverse=True)
    assert packed.use is None


def test_the_plain_placer_goes_by_known_tokens_or_words() -> None:
    sources = [Source("a", "word " * 400), Source("b", "word " * 50)]
    assert Curve(FALLING)(sources) == [1, 0]
    assert Curve(FALLING)([Source("a", "word", tokens=400), Source("b", "word", tokens=50)]) == [1, 0]
    assert Curve(FALLING)([]) == []


@pytest.mark.parametrize("given", [None, "illustrative", [(0, 1)], 0.5])
def test_what_is_no_curve_is_refused(given: Any) -> None:
    with pytest.raises(OptionError, match=r"Curve\.curve: expected a PositionCurve"):
        Curve(given)


def test_a_bare_curve_is_no_placement() -> None:
    """It is callable, and would be taken for a placer."""
    with pytest.raises(OptionError, match=r"give Curve\(curve\)"):
        Packing(place=U)  # type: ignore[arg-type]


def built(curve: PositionCurve, window: int = 4000) -> PromptBuilder:
    packing = Packing(place=Curve(curve))
    return PromptBuilder(window, packing=packing).add_sources(hits(14)).with_question("Which word?")


def test_the_report_says_what_the_order_is_worth() -> None:
    payload = built(MEASURED).render()
    told = payload.report.use
    assert told is not None
    assert told.curve == MEASURED
    sent = [one.tokens for one in payload.sources], [one.value for one in payload.sources]
    assert told.expected == pytest.approx(expected_use(*sent, MEASURED))
    assert str(told) in payload.report.notes
    assert str(told) in payload.explain()
    assert f"expected use {told.expected:.4f} under a curve; no order has more than {told.bound:.4f}" in str(told)
    assert PromptBuilder(4000).add_sources(hits(3)).render().report.use is None


def test_what_leaves_late_is_not_counted() -> None:
    """A counter whose counts do not add up: sources leave after the packing, and the order is measured anew."""

    def odd(text: str) -> int:
        return len(text.split()) + 6 * max(0, text.count("</source") - 1)

    packing = Packing(place=Curve(RISING), dedup="off")
    builder = PromptBuilder(300, counter=odd, packing=packing).add_sources(hits(12)).with_question("Which word?")
    payload = builder.render()
    assert any(out.stage != "select" for out in payload.dropped), "nothing left late: the test shows nothing"
    assert payload.report.use is not None
    sent = [one.tokens for one in payload.sources], [one.value for one in payload.sources]
    assert payload.report.use.expected == pytest.approx(expected_use(*sent, RISING))


def test_a_payload_placed_by_a_curve_can_be_stored() -> None:
    payload = built(PositionCurve([(0, 0.5, 0.4, 0.6), (1, 0.7)], model="m", measure="loglik", questions=3)).render()
    again = Payload.from_dict(json.loads(json.dumps(payload.to_dict())))
    assert again == payload
    assert again.report.use == payload.report.use
    assert "use" not in PromptBuilder(4000).add_sources(hits(3)).render().to_dict()["report"]
    broken = payload.to_dict()
    broken["report"]["use"]["curve"]["points"] = [[0, 9]]
    with pytest.raises(SourceError, match="payload: use: curve: points: p"):
        Payload.from_dict(broken)


def test_builders_with_a_curve_can_be_sent_to_other_processes() -> None:
    builder = built(FITTED)
    assert pickle.loads(pickle.dumps(builder)).render() == builder.render()


@pytest.mark.parametrize("curve", [FITTED, ILLUSTRATIVE, PositionCurve([(0, 0.5, 0.4, 0.6)], model="m", questions=3)])
def test_frameworks_can_store_a_builder_with_a_curve(curve: PositionCurve) -> None:
    """They write pipelines as YAML or JSON; a placement that cannot be written would end that."""
    builder = built(curve)
    assert read_builder(json.loads(json.dumps(write_builder(builder)))) == builder
