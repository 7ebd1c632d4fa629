"""The packing chapter's vectors as calls of the library: selections, the table, orders and positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from golden_calls import Result
from vector_files import Vector, same


def _chosen(select: str, given: Vector) -> list[int]:
    """Return the choice of a packer in the order in which it takes them."""
    from promptpack.packing.knapsack import optimal
    from promptpack.packing.select import density, top

    packers = {"top": top, "density": density, "optimal": optimal}
    return packers[select](given["weights"], given["values"], given["budget"])


def _picked(select: str, vector: Vector) -> Result:
    given = vector["input"]
    picked = _chosen(select, given)
    return {
        "picked": picked, "picked_sorted": sorted(picked),
        "value": sum(given["values"][index] for index in picked),
        "tokens": sum(given["weights"][index] for index in picked),
    }


def pack_optimal(vector: Vector) -> Result:
    return _picked("optimal", vector)


def pack_top(vector: Vector) -> Result:
    return _picked("top", vector)


def pack_density(vector: Vector) -> Result:
    return _picked("density", vector)


def knapsack_table(vector: Vector) -> Result:
    from promptpack.packing.knapsack import table

    given = vector["input"]
    return {"best": table(given["weights"], given["values"], given["budget"])}


def knapsack_cells(vector: Vector) -> Result:
    """The rows for the candidates, without row 0, of a table of this size."""
    from promptpack.packing.knapsack import table

    n = vector["input"]["n"]
    rows = table([1] * n, [1.0] * n, vector["input"]["budget"])[1:]
    widths = {len(row) for row in rows}
    assert len(widths) == 1, widths
    return {"rows_by_columns": [len(rows), widths.pop()], "cells": sum(map(len, rows))}


def rank_gain(vector: Vector) -> Result:
    from promptpack.packing.ranking import rank_gain as gain

    return {"gain": gain(vector["input"]["rank"])}


def use_probability(vector: Vector) -> Result:
    from promptpack.evaluation.position import use_probability as probability

    return {"p": probability(vector["input"]["x"], **vector["options"])}


# How the vectors call a placement, and the library's name of it.
PLACES = {"ends": "fold", "best_first": "best_first", "best_last": "best_last", "best_buried": "buried"}


def placed(ranked: list[Any], place: str) -> list[Any]:
    """Return ranked items in the order of a placement."""
    from promptpack.packing.by_rank import BY_RANK

    return [ranked[index] for index in BY_RANK[PLACES[place]](range(len(ranked)))]


def placement_orders(vector: Vector) -> Result:
    return {place: placed(vector["input"]["ranks"], place) for place in PLACES}


def same_orders(result: Result, expected: Vector) -> bool:
    """Compare orders; of the buried one only the place of the best is fixed."""
    plain = {name: order for name, order in expected.items() if name != "best_buried"}
    buried, places = result["best_buried"], expected["best_buried"]["index_of_best_in"]
    if sorted(buried) != sorted(result["best_first"]) or not same(result, plain):
        return False
    return buried == [] if not places else buried.index(result["best_first"][0]) in places


def _points(weights: list[int], order: list[int], curve: Vector) -> list[Result]:
    """Return where each candidate of an order stands: the tokens before it, its x, and its probability."""
    from promptpack.evaluation.position import chunk_positions
    from promptpack.evaluation.position import use_probability as probability

    sizes = [weights[index] for index in order]
    xs = chunk_positions(sizes)
    assert len(xs) == len(order)
    return [
        {"candidate": index, "start": sum(sizes[:at]), "x": x, "p": probability(x, **curve)}
        for at, (index, x) in enumerate(zip(order, xs, strict=True))
    ]


def positions(vector: Vector) -> Result:
    given = vector["input"]
    chunks = _points(given["weights"], given["order"], vector["options"])
    return {"total_tokens": sum(given["weights"][index] for index in given["order"]), "chunks": chunks}


def select_and_place(vector: Vector) -> Result:
    """Choose by each packer, place the choice by rank; the figures are those of its best candidate."""
    given = vector["input"]
    result: Result = {}
    for select in ("top", "density", "optimal"):
        chosen = sorted(_chosen(select, given))
        result[select] = {"set": chosen}
        for place in PLACES:
            order = placed(chosen, place)
            points = _points(given["weights"], order, vector["options"])
            best = [point for point in points if point["candidate"] == chosen[0]]
            result[select][place] = {"order": order}
            result[select][place] |= {"x_best": best[0]["x"], "p_best": best[0]["p"]} if best else {}
    return result


CALLS: dict[str, Callable[[Vector], Any]] = {
    "pack_optimal": pack_optimal, "pack_top": pack_top, "pack_density": pack_density,
    "knapsack_table": knapsack_table, "knapsack_cells": knapsack_cells, "rank_gain": rank_gain,
    "use_probability": use_probability, "placement_orders": placement_orders, "positions": positions,
    "select_and_place": select_and_place,
}
COMPARE: dict[str, Callable[[Any, Any], bool]] = {"placement_orders": same_orders}
