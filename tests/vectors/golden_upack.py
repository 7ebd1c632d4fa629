"""u-pack's vectors beyond packing: edge distances, scores, and the needle among other texts."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from golden_calls import Result, number
from vector_files import Vector, same

SEED = 20


def folded(n: int) -> list[int]:
    """Return the ranks 1 to n as the library folds them."""
    from promptpack.packing import fold

    return fold(range(1, n + 1))


LAYOUTS: dict[str, Callable[[int], list[int]]] = {"sorted": lambda n: list(range(1, n + 1)), "folded": folded}


def distance(n: int, rank: int, layout: str) -> float:
    """Return the edge distance of a rank in a layout."""
    from promptpack.evaluation.position import edge_distance

    return edge_distance(LAYOUTS[layout](n).index(rank), n)


def mean_distance(n: int, top_k: int, layout: str) -> float:
    """Return the mean edge distance of the top k in a layout."""
    from promptpack.evaluation.position import mean_edge_distance

    return mean_edge_distance(LAYOUTS[layout](n), top_k)


def edge_distance(vector: Vector) -> Result:
    from promptpack.evaluation.position import edge_distance as distance_at

    return {"edge_distance": distance_at(vector["input"]["index"], vector["input"]["n"])}


def edge_distance_of_weakest(vector: Vector) -> Result:
    n = vector["input"]["n"]
    return {"edge_distance": distance(n, n, vector["options"]["layout"])}


def mean_edge_distance(vector: Vector) -> Result:
    given = vector["input"]
    return {"mean_edge_distance": mean_distance(given["n"], given["top_k"], vector["options"]["layout"])}


def fold_gain(vector: Vector) -> Result:
    n, k = vector["input"]["n"], vector["input"]["top_k"]
    return {"ratio_sorted_over_folded": mean_distance(n, k, "sorted") / mean_distance(n, k, "folded")}


def random_row(n: int, trials: int, tops: list[Any]) -> list[float]:
    """Return the mean edge distance of the top k, for each k, over seeded random orders; "worst" is the last rank."""
    from promptpack.evaluation.position import edge_distance as distance_at
    from promptpack.evaluation.position import mean_edge_distance as mean

    shuffled = random.Random(SEED)
    orders = [shuffled.sample(range(1, n + 1), n) for _ in range(trials)]
    return [
        sum(distance_at(order.index(n), n) if top == "worst" else mean(order, top) for order in orders) / trials
        for top in tops
    ]


def mean_edge_distance_random(vector: Vector) -> Result:
    given = vector["input"]
    return {"means": random_row(given["n"], given["trials"], vector["options"]["top_k"])}


def near_expectation(result: Result, expected: Vector) -> bool:
    """Each mean lies within the vector's own tolerance of the expectation; the printed ones are of another seed."""
    tolerance, expectation = expected["tolerance"], expected["expectation"]
    return len(result["means"]) == len(expected["printed"]) and all(
        abs(mean - expectation) <= tolerance for mean in result["means"]
    )


def overlap(vector: Vector) -> Result:
    from promptpack.packing.scorers import overlap_score

    score = overlap_score(vector["input"]["query"], vector["input"]["text"])
    return {"score": score, "score_set": score}


def recency(vector: Vector) -> Result:
    from promptpack.packing.scorers import recency_score

    score = recency_score(number(vector["input"]["age"]), number(vector["options"]["half_life"]))
    return {"score": score, "score_clamped": score}


def weighted(vector: Vector) -> Result:
    from promptpack.packing.scorers import weighted_score

    score = weighted_score(vector["input"]["scores"], vector["input"]["weights"])
    return {"score": score, "score_sum": score}


# Where u-pack's text leaves a reading open the vectors name each; these are the library's, always the same.
OTHER_READINGS = {"score_bag", "score_unclamped", "score_mean"}


def same_reading(result: Result, expected: Vector) -> bool:
    """Compare by the library's reading where the vector names several."""
    wanted = {name: value for name, value in expected.items() if name not in OTHER_READINGS}
    assert wanted, f"none of the readings {sorted(expected)} is the library's"
    return same(result, wanted)


def overlap_then_pack(vector: Vector) -> Result:
    """Score by the words shared with the query and pack; the needle is the item of that id."""
    from promptpack import Packing, Source, pack
    from promptpack.packing import overlap

    items = [Source(item["id"], item["content"]) for item in vector["input"]["items"]]
    packing = Packing(score=overlap(vector["input"]["query"]), select="prefix", place="fold", dedup="off")
    packed = pack(items, number(vector["options"].get("max_units")), packing=packing)
    needles = [placed for placed in packed.sources if placed.source.id == "needle"]
    assert len(needles) == 1, f"the needle occurs {len(needles)} times"
    return {"needle_rank": needles[0].rank, "needle_index": needles[0].position, "n": len(packed.sources)}


CALLS: dict[str, Callable[[Vector], Any]] = {
    "edge_distance": edge_distance, "edge_distance_of_weakest": edge_distance_of_weakest,
    "mean_edge_distance": mean_edge_distance, "mean_edge_distance_random": mean_edge_distance_random,
    "fold_gain": fold_gain, "overlap": overlap, "recency": recency, "weighted": weighted,
    "overlap_then_pack": overlap_then_pack,
}
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "mean_edge_distance_random": near_expectation,
    **dict.fromkeys(("overlap", "recency", "weighted"), same_reading),
}
