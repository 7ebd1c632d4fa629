"""u-pack's claims as properties, each checked for every number of items in a range."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

from golden_calls import Result, pack_by_units
from golden_upack import LAYOUTS, distance, folded, mean_distance, overlap_then_pack, random_row
from vector_files import Vector, same


def _items(scores: list[float]) -> list[dict[str, Any]]:
    return [{"id": f"q{i:02}", "content": "word " * (1 + i % 3), "score": s} for i, s in enumerate(scores)]


def _refused(items: list[dict[str, Any]]) -> bool:
    try:
        pack_by_units(items, {"max_units": 100})
    except ValueError:
        return True
    return False


def both_edges(n: int) -> bool:
    order = folded(n)
    return order[0] == 1 and order[-1] == 2


def weakest_interior(n: int) -> bool:
    at = folded(n).index(n)
    return at == n // 2 and at not in (0, n - 1)


def converge(n: int) -> bool:
    order = folded(n)
    middle = order.index(n)
    rise, fall = order[:middle + 1], order[middle:]
    steps = [b - a for half in (rise[:-1], fall[1:][::-1]) for a, b in itertools.pairwise(half)]
    ends = {abs(b - a) for a, b in itertools.pairwise(order[max(0, middle - 1):middle + 2])}
    distances = [distance(n, rank, "folded") for rank in range(1, n + 1)]
    return set(steps) <= {2} and ends <= {1, 2} and distances == sorted(distances)


def permutation(n: int) -> bool:
    ids = [f"q{i:02}" for i in range(n)]
    scores = [float(i % 3) for i in range(n)]
    ranked = sorted(range(n), key=lambda i: (-scores[i], ids[i]))
    orders = []
    for turn in range(min(n, 4) + 1):
        items = _items(scores)
        result = pack_by_units(items[turn:][::-1] + items[:turn], {})
        orders.append(result["order"])
        by_rank = sorted(result["placements"], key=lambda placement: placement["rank"])
        if [one["id"] for one in by_rank] != [ids[i] for i in ranked]:
            return False
    return all(order == orders[0] for order in orders) and sorted(orders[0]) == ids


def needle(n: int) -> bool:
    text = "the night ferry leaves at ten"
    others = [{"id": f"doc{i:02}", "content": "gum ash fir oak " + "the" * (i % 2)} for i in range(n - 1)]
    items = [*others[:n // 2], {"id": "needle", "content": text}, *others[n // 2:]]
    given = {"input": {"query": "when does the night ferry leave", "items": items}, "options": {}}
    return overlap_then_pack(given) == {"needle_rank": 1, "needle_index": 0, "n": n}


def closing_edge(n: int) -> bool:
    return distance(n, n, "sorted") == 0 and (n % 2 == 0 or distance(n, n, "folded") == (0.5 if n > 1 else 0))


def tie_then_gain(n: int) -> bool:
    pairs = [(mean_distance(n, k, "folded"), mean_distance(n, k, "sorted")) for k in range(1, n)]
    return pairs[0][0] == pairs[0][1] and all(fold < plain for fold, plain in pairs[1:])


def rank_two(n: int) -> bool:
    return same(distance(n, 2, "sorted"), 1 / (n - 1))


def first_overflow(n: int) -> bool:
    for budget in range(2 * n + 1):
        result = pack_by_units(_items([1.0 - i / 100 for i in range(n)]), {"max_units": budget})
        kept = sorted(placement["rank"] for placement in result["placements"])
        if kept != list(range(1, len(kept) + 1)):
            return False
        if result["dropped"] and result["used_units"] + result["dropped"][0]["units"] <= budget:
            return False
    return True


def oversize(n: int) -> bool:
    items = _items([1.0 - i / 100 for i in range(n)])
    items[0]["content"] = "word " * 50
    result = pack_by_units(items, {"max_units": 49})
    return result["order"] == [] and [drop["id"] for drop in result["dropped"]] == [item["id"] for item in items]


def non_finite(n: int) -> bool:
    return all(_refused(_items([0.5] * (n - 1) + [bad])) for bad in (math.nan, math.inf, -math.inf))


def duplicate(n: int) -> bool:
    items = _items([0.5] * n)
    return _refused([*items, {**items[0], "content": "another"}])


def ranks_before_the_cut(n: int) -> bool:
    scores = [float((7 * i) % n) for i in range(n)]
    items = _items(scores)
    whole = {one["id"]: one["rank"] for one in pack_by_units(items, {})["placements"]}
    for budget in range(0, 2 * n, 3):
        result = pack_by_units(items, {"max_units": budget})
        found = {one["id"]: one["rank"] for one in (*result["placements"], *result["dropped"])}
        if found != whole:
            return False
    return sorted(whole.values()) == list(range(1, n + 1))


def nothing_lost(n: int) -> bool:
    items = _items([float((7 * i) % n) for i in range(n)])
    known = {item["id"]: (item["score"], len(item["content"].split())) for item in items}
    for budget in range(0, 2 * n, 3):
        result = pack_by_units(items, {"max_units": budget})
        dropped = result["dropped"]
        if sorted(result["order"] + [drop["id"] for drop in dropped]) != sorted(known):
            return False
        ranks = [drop["rank"] for drop in dropped]
        if ranks != sorted(ranks) or any(known[d["id"]] != (d["score"], d["units"]) for d in dropped):
            return False
    return True


def half_life(n: int) -> bool:
    from promptpack.packing.scorers import recency_score

    return all(recency_score(life, life) == 0.5 for life in (n, n / 8, 86400.0 * n))


def reproducible(n: int) -> bool:
    """The random row comes near its expectation, twice alike; the rows of fixed layouts are exact sums."""
    once, again = random_row(n, 1000, [1, 2, n]), random_row(n, 1000, [1, 2, n])
    expectation = mean_distance(n, n, "sorted")
    exact = all(
        same(mean_distance(n, k, layout), sum(distance(n, rank, layout) for rank in range(1, k + 1)) / k)
        for layout in LAYOUTS for k in range(1, n + 1)
    )
    return exact and once == again and all(abs(mean - expectation) <= 0.03 for mean in once)


CLAIMS: dict[str, Callable[[int], bool]] = {
    "top-two-hold-both-edges": both_edges, "weakest-interior": weakest_interior, "ranks-converge": converge,
    "fold-is-a-permutation": permutation, "needle-surfaces": needle,
    "sorting-wastes-the-closing-edge": closing_edge, "tie-at-top-one-then-gain": tie_then_gain,
    "sorted-does-not-bury-rank-two": rank_two, "table-is-reproducible": reproducible,
    "cut-at-first-overflow": first_overflow, "oversize-empties": oversize, "non-finite-raises": non_finite,
    "duplicate-raises": duplicate, "ranks-are-pre-cut": ranks_before_the_cut, "nothing-lost": nothing_lost,
    "half-at-half-life": half_life,
}


def claim(vector: Vector) -> Result:
    """Check the claim for every n of its range, or for its n; a claim without either for 2 to 25."""
    given = vector["input"]
    name = given["claim"]
    if name not in CLAIMS:
        raise AssertionError(f"no property for the claim {name!r}")
    first, last = (given["n"], given["n"]) if "n" in given else (given.get("n_from", 2), given.get("n_to", 25))
    failing = [n for n in range(first, last + 1) if not CLAIMS[name](n)]
    assert not failing, f"{name} does not hold for n in {failing}"
    return {"holds": first <= last}


def same_verdict(result: Result, expected: Vector) -> bool:
    """Compare whether the claim holds; what it says and where it is shown are for readers."""
    return same(result["holds"], expected["holds"])


CALLS: dict[str, Callable[[Vector], Any]] = {"claim": claim}
COMPARE: dict[str, Callable[[Any, Any], bool]] = {"claim": same_verdict}
