"""Where evidence stands in a prompt, as numbers: pure functions on orders, sizes and ids.

The default curve is illustrative: two parabolas with the figures of a published chapter on packing the window. It
says how layouts compare under such a curve, not what a particular model does; `expected_use` takes a measured one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from math import isfinite
from numbers import Integral
from typing import TypeVar

from promptpack.curve_shapes import parabolas
from promptpack.curves import PositionCurve
from promptpack.errors import OptionError, quote
from promptpack.finite import is_number
from promptpack.packing.curve_order import middles

Item = TypeVar("Item")


def edge_distance(index: int, n: int) -> float:
    """Return how far place `index` of `n` is from the nearer end: 0 at an end, 0.5 in the centre.

    min(i, n - 1 - i) / (n - 1), the measure of the u-pack benchmark; a single place is at the end.
    Raises OptionError unless 0 <= index < n.

    >>> edge_distance(0, 21), edge_distance(10, 21), edge_distance(0, 1)
    (0.0, 0.5, 0.0)
    """
    if not (_whole(index) and _whole(n) and 0 <= index < n):
        raise OptionError(
            f"edge_distance: expected 0 <= index < n, got index {quote(index)} of {quote(n)}", name="index", given=index
        )
    return min(index, n - 1 - index) / (n - 1) if n > 1 else 0.0


def mean_edge_distance(order: Sequence[int], top_k: int) -> float:
    """Return the mean edge distance of the `top_k` best ranks; `order` holds the ranks (from 1) in prompt order.

    Raises OptionError unless 1 <= top_k <= len(order) and each of the ranks 1 to top_k occurs.

    >>> round(mean_edge_distance([1, 3, 5, 4, 2], 2), 3), mean_edge_distance([1, 2, 3, 4, 5], 2)
    (0.0, 0.125)
    """
    order = _list("order", order, "ranks")
    n = len(order)
    if not (_whole(top_k) and 1 <= top_k <= n):
        raise OptionError(f"top_k: expected 1 to {n}, got {quote(top_k)}", name="top_k", given=top_k)
    places = {rank: index for index, rank in enumerate(order) if _whole(rank)}
    missing = [rank for rank in range(1, top_k + 1) if rank not in places]
    if missing:
        raise OptionError(f"order: rank {missing[0]} is missing", name="order", given=missing[0])
    return sum(edge_distance(places[rank], n) for rank in range(1, top_k + 1)) / top_k


def chunk_positions(weights: Sequence[float]) -> list[float]:
    """Return the relative position of the middle of each chunk: x = (start + weight / 2) / total.

    Weights are token counts in prompt order, 0 or more; where all are 0 they count as equal.
    Raises OptionError for a weight that is negative or not a finite number, and for a sum beyond the range of a float.

    >>> chunk_positions([100, 200, 100])
    [0.125, 0.5, 0.875]
    """
    sizes = []
    for weight in _list("weights", weights, "token counts"):
        if not is_number(weight) or weight < 0:
            raise OptionError(f"weights: expected 0 or more tokens, got {quote(weight)}", name="weights", given=weight)
        sizes.append(float(weight))
    if not any(sizes):
        sizes = [1.0] * len(sizes)
    total = sum(sizes)
    if not isfinite(total):
        raise OptionError(f"weights: their sum is out of range, got {quote(total)}", name="weights", given=total)
    return middles(sizes, total=total)


def expected_use(weights: Sequence[float], values: Sequence[float], curve: PositionCurve | None = None) -> float:
    """Return the mean of p over the sources in prompt order, weighted by their values: sum(v * p(x)) / sum(v).

    weights: token counts, as in `chunk_positions`, which gives x. values: 0 or more, as many; where all are 0 they
    count as equal. curve: the illustrative one by default. 0.0 without sources. Raises OptionError for other values.

    >>> round(expected_use([100, 100], [1.0, 0.5]), 4), round(expected_use([100, 100], [0.5, 1.0]), 4)
    (0.5917, 0.5833)
    """
    if curve is not None and not isinstance(curve, PositionCurve):
        raise OptionError(f"curve: expected a PositionCurve or None, got {quote(curve)}", name="curve", given=curve)
    worth = []
    for value in _list("values", values, "numbers"):
        if not is_number(value) or value < 0:
            raise OptionError(f"values: expected numbers of 0 or more, got {quote(value)}", name="values", given=value)
        worth.append(float(value))
    places = chunk_positions(weights)
    if len(worth) != len(places):
        message = f"values: expected as many as weights ({len(places)}), got {len(worth)}"
        raise OptionError(message, name="values", given=len(worth))
    if not worth:
        return 0.0
    largest = max(worth) or 1.0  # scaled, so that no sum is out of range
    worth = [value / largest for value in worth] if any(worth) else [1.0] * len(worth)
    p = (curve or PositionCurve.illustrative()).function()
    return sum(value * p(x) for value, x in zip(worth, places, strict=True)) / sum(worth)


def use_probability(x: float, start: float = 0.75, trough: float = 0.55, end: float = 0.65) -> float:
    """Return the chance that a passage at the relative position x is used, under an illustrative U-curve.

    Two parabolas with their vertex at x = 0.5: trough + (edge - trough) * (2x - 1)^2, with edge = start
    below 0.5 and end above. Raises OptionError unless 0 <= x <= 1 and the three values are probabilities.

    >>> use_probability(0.0), use_probability(0.5), use_probability(1.0)
    (0.75, 0.55, 0.65)
    """
    for name, value in (("x", x), ("start", start), ("trough", trough), ("end", end)):
        if not is_number(value) or not 0 <= value <= 1:
            raise OptionError(f"{name}: expected a number from 0 to 1, got {quote(value)}", name=name, given=value)
    return parabolas(start, 0.5, trough, end)(x)


def answer_in_window(needs: Iterable[Collection[str]], packed: Iterable[str]) -> bool:
    """Tell whether everything that an answer needs is among the packed chunk ids.

    needs: for each piece of evidence the ids of the chunks that hold it, any one of which will do; a question with
    one answer has one need, a multi-hop question several. Without needs nothing is missing; a need that no chunk
    holds is never met. packed: the ids that are sent, such as `Packed.ids` (for merged sources all `chunk_ids`).
    Raises OptionError where ids are not texts, or one text stands where a list of ids is expected.

    >>> answer_in_window([{"a#1", "b#4"}, {"c#2"}], ["c#2", "b#4"]), answer_in_window([{"a#1"}], ["c#2"])
    (True, False)
    """
    there = frozenset(_ids("packed", packed))
    groups = [_ids("needs", need) for need in _list("needs", needs, "lists of ids")]
    return all(not there.isdisjoint(group) for group in groups)


def _ids(name: str, given: Iterable[str]) -> list[str]:
    ids = _list(name, given, "ids")
    for one in ids:
        if not isinstance(one, str):
            raise OptionError(f"{name}: expected ids that are texts, got {quote(one)}", name=name, given=one)
    return ids


def _list(name: str, given: Iterable[Item], of: str) -> list[Item]:
    # A text is iterable, too: its characters would pass for ids, and never match one.
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise OptionError(f"{name}: expected a list of {of}, got {quote(given)}", name=name, given=given)
    return list(given)


def _whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)
