"""What holds of the knapsack, the orders and the cuts for every input."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from promptpack.packing import knapsack
from promptpack.packing.by_rank import buried, fold, spread
from promptpack.packing.ranking import rank_order
from promptpack.packing.select import density, edges, outside_in, prefix, top
from promptpack.packing.trim import shorten
from promptpack.source import Cut

QUICK = settings(max_examples=200, deadline=None)
# Halves add up exactly, so that equal sums are equal and only the rule decides between the sets.
VALUE = st.integers(0, 12).map(lambda n: n / 2)
ITEMS = st.lists(st.tuples(st.integers(0, 12), VALUE), max_size=12)


def every_best_set(costs, values, budget):
    n = len(costs)
    subsets = [chosen for size in range(n + 1) for chosen in combinations(range(n), size)]
    sets = [chosen for chosen in subsets if sum(costs[i] for i in chosen) <= budget]
    best = max(sum(values[i] for i in s) for s in sets)
    return best, [s for s in sets if sum(values[i] for i in s) == best]


@QUICK
@given(ITEMS.filter(lambda items: len(items) <= 9), st.integers(0, 30))
def test_optimal_is_the_best_set_of_all_and_the_rule_picks_among_equals(items, budget):
    """If this fails, the knapsack is not exact, or takes an item that does not strictly gain."""
    costs, values = [c for c, _ in items], [v for _, v in items]
    best, sets = every_best_set(costs, values, budget)
    taken = tuple(knapsack.optimal(costs, values, budget))
    assert taken in sets
    # Walking back, an item stays out if the rest can be as good without it: the last ones go first.
    assert taken == min(sets, key=lambda s: [i in s for i in reversed(range(len(costs)))])
    assert knapsack.table(costs, values, budget)[-1][budget] == best


@QUICK
@given(ITEMS, st.integers(0, 40), st.integers(1, 5))
def test_the_set_is_that_of_the_table_whatever_the_blocks(items, budget, rows):
    """If this fails, skipping cells or rows of the table changes the set."""
    costs, values = [c for c, _ in items], [v + 0.1 for _, v in items]
    table, left, expected = knapsack.table(costs, values, budget), budget, []
    for i in reversed(range(len(costs))):
        if table[i + 1][left] > table[i][left]:
            expected.append(i)
            left -= costs[i]
    assert knapsack.optimal(costs, values, budget) == expected[::-1]
    assert knapsack._best_set(costs, values, budget, rows) == expected[::-1]


@QUICK
@given(ITEMS, st.integers(0, 40))
def test_every_selector_fits_and_is_a_set(items, budget):
    """If this fails, a selector passes the budget or takes an item twice."""
    costs, values = [c for c, _ in items], [v for _, v in items]
    for select in (top, prefix, density, edges, knapsack.optimal):
        taken = select(costs, values, budget)
        assert len(set(taken)) == len(taken)
        assert sum(costs[i] for i in taken) <= budget


@QUICK
@given(st.integers(0, 60), st.integers(0, 20), st.integers(0, 20))
def test_orders_are_permutations_with_the_best_at_the_edges(n, start, end):
    """If this fails, an order loses an item or puts the best ones elsewhere."""
    ranked = list(range(n))
    for order in (fold(ranked), spread(ranked, start, end), buried(ranked), outside_in(n)):
        assert sorted(order) == ranked
    if n >= 2:
        assert (fold(ranked)[0], fold(ranked)[-1]) == (0, 1)
        assert fold(ranked)[n // 2] == n - 1
        assert buried(ranked).index(0) in {(n - 1) // 2, n // 2}


@QUICK
@given(st.lists(st.tuples(st.none() | st.sampled_from([0.5, 0.1, -3]), st.text("ab", max_size=2))))
def test_ranking_is_a_permutation_with_unscored_items_last(items):
    scores, ids = [score for score, _ in items], [id_ for _, id_ in items]
    for tie in ("id", "input"):
        order = rank_order(scores, ids, tie)
        assert sorted(order) == list(range(len(items)))
        ranked = [scores[i] for i in order if scores[i] is not None]
        assert ranked == sorted(ranked, reverse=True)
        assert all(scores[i] is None for i in order[len(ranked):])


LETTERS = "ab .!?\n漢字。e\u0301👩\u200d👧🇩🇪क्षि"
TEXT = st.text(LETTERS, max_size=40) | st.text(max_size=30)
CUTS = st.builds(
    Cut, keep=st.sampled_from(["start", "end", "ends", "relevant"]), min_tokens=st.just(0),
    at=st.sampled_from(["sentence", "word", "token", "character"]),
    marker=st.sampled_from(["", "†", "†…†"]),
)
COUNTS = st.sampled_from(
    [len, lambda text: len(text.split()), lambda text: len(text.encode(errors="replace"))]
)


@settings(max_examples=400, deadline=None)
@given(TEXT.filter(lambda text: "†" not in text), st.integers(-1, 45), CUTS, COUNTS)
def test_cut_text_is_parts_of_the_text_in_order_within_the_limit(text, limit, cut, count):
    """If this fails, a cut adds or reorders text, passes its limit, or goes on cutting what was cut."""
    result = shorten(text, limit, cut, count, question="ab 漢字")
    if count(text) <= limit:
        assert result == text
        return
    assert count(result) <= limit or result == ""
    at = 0
    for part in result.split(cut.marker) if cut.marker else [result] if cut.keep in ("start", "end") else []:
        at = text.find(part, at)
        assert at >= 0
        at += len(part)
    assert shorten(result, limit, cut, count, question="ab 漢字") == result


@settings(max_examples=300, deadline=None)
@given(TEXT, st.integers(0, 45), CUTS)
def test_a_cut_is_at_an_edge_between_clusters(text, limit, cut):
    """If this fails, a cut falls inside an emoji, an accented letter or a syllable."""
    import regex

    if "†" in text or not cut.marker:
        return
    edges, at = {0}, 0
    for cluster in regex.findall(r"\X", text):
        at += len(cluster)
        edges.add(at)
    result = shorten(text, limit, cut, len, question="ab 漢字")
    if result in ("", text):
        return
    parts = result.split(cut.marker)
    if cut.keep in ("start", "ends"):
        assert len(parts[0]) in edges
    if cut.keep in ("end", "ends"):
        assert len(text) - len(parts[-1]) in edges
    if cut.keep == "relevant":
        places = [i for i in sorted(edges) if any(part and text.startswith(part, i) for part in parts)]
        assert places
