"""Selection on plain numbers: the greedy orders, the exact knapsack, and prices asked once."""

from __future__ import annotations

import tracemalloc

import pytest

from promptpack.errors import OptionError, TokenizerError
from promptpack.packing import knapsack
from promptpack.packing.candidate import Candidate
from promptpack.packing.pipeline import Packing, pack
from promptpack.packing.select import Prices, ask, density, edges, outside_in, prefix, top
from promptpack.source import Cut, Source


@pytest.mark.parametrize(
    ("selector", "costs", "values", "budget", "taken"),
    [
        (top, [3, 9, 2], [3, 2, 1], 5, [0, 2]),
        (top, [3, 2], [1, 1], 5, [0, 1]),  # an exact fit is a fit
        (top, [0, 1], [1, 1], 0, [0]),
        (prefix, [3, 9, 2], [3, 2, 1], 5, [0]),
        (prefix, [9, 1], [3, 2], 5, []),
        (density, [9, 4, 5], [1.0, 0.6, 0.5], 10, [1, 2]),
        (density, [2, 2], [1.0, 1.0], 2, [0]),  # equal density: the better rank
        (edges, [4, 4, 4, 4], [1, 1, 1, 1], 12, [0, 3, 1]),
        (edges, [4, 9, 4], [1, 1, 1], 8, [0, 2]),
        (knapsack.optimal, [10, 6, 5], [7.0, 4.0, 4.0], 11, [1, 2]),
        (knapsack.optimal, [2], [0.0], 5, []),  # 0 never strictly beats leaving it out
        (knapsack.optimal, [2, 2], [1.0, 1.0], 2, [0]),
        (knapsack.optimal, [0, 3], [1.0, 1.0], 2, [0]),
        (knapsack.optimal, [1, 1], [1.0, 1e-30], 2, [0]),  # 1 + 1e-30 is 1: not strictly more
        (knapsack.optimal, [4, 3], [-1.0, 2.0], 9, [1]),
    ],
)
def test_selectors(selector, costs, values, budget, taken):
    """If this fails, a strategy takes another set than its rule says."""
    assert selector(costs, values, budget) == taken


@pytest.mark.parametrize("selector", [top, prefix, density, edges, knapsack.optimal])
@pytest.mark.parametrize(
    ("costs", "values", "budget"),
    [([1], [1.0, 2.0], 3), ([-1], [1.0], 3), ([1.5], [1.0], 3), ([1], [float("nan")], 3), ([1], [1.0], -1),
     ([1], [1.0], 2.5), ([True], [1.0], 1), ([1], ["x"], 1), ([1], [10**400], 1)],
)
def test_numbers_that_cannot_be_are_refused(selector, costs, values, budget):
    """If this fails, wrong numbers give a wrong set, or a bare TypeError."""
    with pytest.raises(OptionError):
        selector(costs, values, budget)


def test_empty_selection():
    for selector in (top, prefix, density, edges, knapsack.optimal):
        assert selector([], [], 5) == []


@pytest.mark.parametrize(("n", "order"), [(0, []), (1, [0]), (2, [0, 1]), (5, [0, 4, 1, 3, 2])])
def test_outside_in(n, order):
    assert outside_in(n) == order


def test_table_is_the_recurrence():
    """If this fails, the printed table is not what the optimal set is read from."""
    assert knapsack.table([2, 1], [3.0, 2.0], 3) == [
        [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 3.0, 3.0], [0.0, 2.0, 3.0, 5.0],
    ]


def test_blocks_of_rows_give_the_same_set():
    """If this fails, large problems, which keep only some rows, choose another set than small ones."""
    costs = [(7 * i) % 13 + 1 for i in range(90)]
    values = [((5 * i) % 17) / 3 for i in range(90)]
    whole = knapsack._best_set(costs, values, 200)
    assert knapsack._best_set(costs, values, 200, rows=7) == whole
    assert knapsack._best_set(costs, values, 200, rows=1) == whole


def test_memory_of_the_table_is_bounded():
    """If this fails, 2,000 candidates at 100,000 tokens need a table of gigabytes."""
    costs = [(7919 * i) % 1500 + 100 for i in range(2000)]
    values = [1.0 / (i + 1) for i in range(2000)]
    knapsack.optimal([1, 1], [1.0, 1.0], 1)
    tracemalloc.start()
    taken = knapsack.optimal(costs, values, 100_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100e6
    assert sum(costs[i] for i in taken) <= 100_000


def candidate(text="one two three", index=0, **fields):
    return Candidate.of(Source(f"s{index}", text, **fields), index)


class CountingCost:
    """Prices by words and counts how often it is asked; the floor stops at the limit."""

    def __init__(self):
        self.asked = []
        self.floors = []

    def __call__(self, source):
        self.asked.append(source.id)
        return len(source.text.split())

    def floor(self, source, limit):
        self.floors.append(source.id)
        return min(len(source.text.split()), limit + 1)


def test_each_cost_is_asked_once():
    """If this fails, sources are tokenised again and again."""
    cost = CountingCost()
    prices = Prices(cost)
    one = candidate()
    assert [prices.whole(one), prices.bound(one, 1), prices.size(one, 1)] == [3, (3, True), (3, True)]
    assert cost.asked == ["s0"]


def test_what_cannot_fit_is_not_priced():
    """If this fails, huge sources are tokenised only to be dropped."""
    cost = CountingCost()
    prices = Prices(cost)
    assert prices.bound(candidate("w " * 1000), 5) == (6, False)
    assert prices.size(candidate("w " * 1000), 5) == (6, False)
    assert cost.asked == []


@pytest.mark.parametrize("answer", [-1, 1.5, "3", None, True, float("nan")])
def test_a_cost_that_is_no_count_is_refused(answer):
    """If this fails, a broken counter silently breaks the promise that the payload fits."""
    with pytest.raises(TokenizerError, match="s0"):
        Prices(lambda source: answer).whole(candidate())


@pytest.mark.parametrize("select", ["top", "prefix", "density", "optimal", "edges", "priority", "spans"])
@pytest.mark.parametrize("name", ["floor", "ahead", "known", "known_price", "first_known_prices", "prefix", "suffix"])
def test_what_a_cost_has_for_itself_under_such_a_name_is_not_asked(name, select):
    """An object that prices and has a field `known` would end in a TypeError that is not ours."""

    class Priced:
        def __call__(self, source):
            return len(source.text)

    cost = Priced()
    setattr(cost, name, {"a": 3})
    sources = [Source(str(at), "word " * (at + 2), 1 - at / 10, cut=Cut(at="token", min_tokens=1)) for at in range(6)]
    packing = Packing(select=select)
    assert pack(sources, 43, packing=packing, cost=cost) == pack(sources, 43, packing=packing, cost=Priced())


def test_only_a_cost_that_says_so_is_asked_what_it_knows():
    """A method of that name that means something else would price the sources."""

    class Shop:
        def __call__(self, source):
            return len(source.text)

        def known_price(self, source):
            return 1

        def first_known_prices(self, sources):
            return [1] * len(sources)

    assert pack([Source("a", "word " * 9), Source("b", "word")], 5, cost=Shop()).ids == ("b",)


def test_numpy_counts_are_counts():
    import numpy as np

    assert Prices(lambda source: np.int64(4)).whole(candidate()) == 4


@pytest.mark.parametrize("answer", [[0, 0], [3], [-1], [0, 1, 2], ["0"], [True], None, "01", [1.0]])
def test_a_selector_that_breaks_the_rules_is_refused(answer):
    """If this fails, a selector of one's own can pass the budget or send a source twice."""
    with pytest.raises(OptionError, match="select"):
        ask(lambda costs, values, budget: answer, [1, 1, 1], [1.0, 1.0, 1.0], 2)
