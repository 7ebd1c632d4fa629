"""The multiple-choice knapsack behind spans."""

from __future__ import annotations

import random
from itertools import product

import pytest

from promptpack.packing.spans_choice import Group, best_options


def best_by_trying(groups, budget):
    best = 0
    for picks in product(*[[(0, 0), *group] for group in groups]):
        if sum(cost for cost, _ in picks) <= budget:
            best = max(best, sum(value for _, value in picks))
    return best


def worth(groups, chosen):
    taken = [group[i] for group, i in zip(groups, chosen, strict=True) if i is not None]
    return sum(cost for cost, _ in taken), sum(value for _, value in taken)


@pytest.mark.parametrize("seed", range(6))
def test_the_choice_is_the_best_there_is(seed):
    """If this fails, the knapsack is not exact: compared with trying everything."""
    rng = random.Random(seed)
    for _ in range(150):
        largest = rng.choice((3, 12, 1 << 40))
        groups = [
            [(rng.randint(0, 9), rng.randint(0, largest)) for _ in range(rng.randint(0, 5))]
            for _ in range(rng.randint(0, 5))
        ]
        budget = rng.randint(0, 25)
        cost, value = worth(groups, best_options(groups, budget))
        assert cost <= budget
        assert value == best_by_trying(groups, budget), (groups, budget)


@pytest.mark.parametrize(
    ("groups", "budget", "expected"),
    [
        ([], 5, []),
        ([[]], 5, [None]),
        ([[(3, 0)]], 5, [None]),                        # worth nothing
        ([[(6, 9)]], 5, [None]),                        # does not fit
        ([[(5, 9)]], 5, [0]),                           # an exact fit
        ([[(0, 1)]], 0, [0]),                           # what costs nothing
        ([[(3, 5), (3, 5)]], 5, [0]),                   # of equals the earlier
        ([[(4, 5), (3, 5)]], 5, [1]),                   # of equals the cheaper
        ([[(3, 5)], [(3, 5)]], 3, [0, None]),           # of equals the better rank
        ([[(3, 5)], [(3, 5)], [(3, 5)]], 6, [0, 1 - 1, None]),
    ],
)
def test_edges_and_ties(groups, budget, expected):
    """If this fails, ties go to worse ranks, or an edge case breaks the choice."""
    assert best_options(groups, budget) == expected


def test_most_options_are_taken_out_before_the_table():
    """If this fails, the time grows with all runs times the budget again: the reduction does not work."""
    from promptpack.packing.spans_choice import _reduced

    rng = random.Random(3)
    groups = []
    for _ in range(60):
        tokens = [rng.randint(20, 60) for _ in range(10)]
        values = [rng.randint(1, 10**6) ** 2 for _ in range(10)]
        runs = [(sum(tokens[i:j]), sum(values[i:j])) for i in range(10) for j in range(i + 1, 11)]
        groups.append(Group.of(runs, 4000))
    remaining = sum(len(options) for options in _reduced(groups, 4000) if len(options) > 1)
    assert remaining < 60 * 55 / 10
