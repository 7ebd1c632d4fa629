"""Placement by a position curve: `place=Curve(curve)`, and what an order is worth under one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log2
from pathlib import Path
from typing import Any

from promptpack.curves import PositionCurve
from promptpack.errors import OptionError, quote
from promptpack.packing.candidate import Placed
from promptpack.packing.curve_bound import knots, upper_bound
from promptpack.packing.curve_order import best_order, use_of
from promptpack.source import Source

IN_FILE = "curve:"  # how commands and their files name a curve


@dataclass(frozen=True, slots=True)
class Use:
    """What the order of the sources is worth under a position curve.

    expected: the mean of p over the sources, each weighted by its value: sum(value * p(middle)) / sum(value).
    bound: what no order has more of; equal to `expected` where the order is known to be the best.
    """

    curve: PositionCurve
    expected: float
    bound: float

    @property
    def gap(self) -> float:
        """How much more the best order can have at the most."""
        return self.bound - self.expected

    def __str__(self) -> str:
        best = "no order has more" if not self.gap else f"no order has more than {self.bound:.4f}"
        return f"place: expected use {self.expected:.4f} under {described(self.curve)}; {best}"


@dataclass(frozen=True, slots=True)
class Curve:
    """Where the expected use, the sum of value * p(middle), is largest under a position curve.

    middle: the relative position of a source's middle, (tokens before it + half of its own) / tokens of all, from what
    the sources cost. value: what the selection takes a source to be worth, which is `Placed.value`: 1 / log2(rank + 1),
    or with `select="spans"` the estimate of the spans; so the result can be computed again from what was packed.

    Exact for up to 12 sources and for any number of equal sizes, where it is the fold for a curve that is high at both
    ends alike, best first for a falling one and best last for a rising one. For more the order is close to the best:
    `Packed.use` and the report say what it has, and what no order has more of. Since densely valued sources go to the
    best places, a short source may stand before a better one that is long. Pinned sources come first as always, and
    with `group_by` each group is placed by itself. Ties by rank. n log n, with a fixed number of steps on top.

    As a plain placer, without costs, it goes by `Source.tokens`, or the words of a text.

    >>> Curve(PositionCurve([(0, 0.2), (1, 0.8)]))([Source("a", "A text."), Source("b", "A text.")])
    [1, 0]
    """

    curve: PositionCurve

    def __post_init__(self) -> None:
        if not isinstance(self.curve, PositionCurve):
            raise OptionError(
                f"Curve.curve: expected a PositionCurve (PositionCurve.load reads one from a file), "
                f"got {quote(self.curve)}",
                name="curve", given=self.curve,
            )

    def __call__(self, sources: Sequence[Source], /) -> list[int]:
        """Return the order as indices into `sources`, which are in rank order."""
        costs = [len(one.text.split()) if one.tokens is None else one.tokens for one in sources]
        return self.by_cost(costs, [1 / log2(rank + 1) for rank in range(1, len(costs) + 1)], 0, sum(costs))

    def by_cost(self, costs: Sequence[int], values: Sequence[float], before: int, total: int, /) -> list[int]:
        """Return the order as indices, for sources that stand behind `before` of `total` tokens."""
        sizes, start = _shares(costs, before, total)
        return _solved(self.curve, sizes, values, start)[0]

    def use(self, costs: Sequence[int], values: Sequence[float], fixed: int = 0) -> Use:
        """Return what an order is worth; costs and values in prompt order, of which the first `fixed` cannot move.

        Where all values are 0 they count as equal, and so do costs.

        >>> Curve(PositionCurve([(0, 0.2), (1, 0.8)])).use([10, 10], [1.0, 0.6]).expected
        0.4625
        """
        p = self.curve.function()
        weights = list(values) if any(values) else [1.0] * len(values)
        if not weights:
            return Use(self.curve, 0.0, 0.0)
        sizes, ahead = _shares(costs, sum(costs[:fixed]), sum(costs))
        head = use_of(range(fixed), p, sizes, weights, 0.0)
        movable, their = sizes[fixed:], weights[fixed:]
        tail = use_of(range(len(movable)), p, movable, their, ahead)
        order, exact = _solved(self.curve, movable, their, ahead)
        if exact:
            most = use_of(order, p, movable, their, ahead)
        else:
            most = upper_bound(knots(self.curve), movable, their, ahead)
        expected = (head + tail) / sum(weights)
        bound = (head + most) / sum(weights)
        return Use(self.curve, expected, bound if bound > expected + 1e-7 else expected)


def placement(given: Any, folder: str | Path = "") -> Any:
    """Return the placement that a command or a file names: "curve:FILE" is one by the curve in that file.

    folder: what the file is relative to. Anything else is returned as it is. Raises OptionError for a file without one.

    >>> placement("fold")
    'fold'
    """
    if not isinstance(given, str) or not given.startswith(IN_FILE):
        return given
    return Curve(PositionCurve.load(Path(folder, given.removeprefix(IN_FILE))))


def use_in(place: object, sources: Sequence[Placed]) -> Use | None:
    """Return what the order of the sources is worth under the curve that placed them; None without one."""
    if not isinstance(place, Curve):
        return None
    pinned = sum(one.source.pinned for one in sources)
    return place.use([one.cost for one in sources], [one.value for one in sources], pinned)


def described(curve: PositionCurve) -> str:
    """Return a curve in a few words: whose it is, and how it was measured.

    >>> described(PositionCurve([(0, 0.2), (1, 0.8)], model="a-model", measure="exact", questions=90))
    "the curve of 'a-model' (exact, 90 questions)"
    """
    if curve.model is None and curve.note is not None:
        return f"a curve ({quote(curve.note)[1:-1]})"
    asked = None if curve.questions is None else f"{curve.questions} questions"
    facts = ", ".join(fact for fact in (curve.measure, asked) if fact)
    name = "a curve" if curve.model is None else f"the curve of {quote(curve.model)}"
    return f"{name} ({facts})" if facts else name


def _shares(costs: Sequence[int], before: int, total: int) -> tuple[list[float], float]:
    """Return the costs as shares of the whole, and where they start; where nothing costs anything, equal shares."""
    if not total:
        return [1.0 / len(costs) for _ in costs], 0.0
    return [cost / total for cost in costs], before / total


def _solved(
    curve: PositionCurve, sizes: Sequence[float], values: Sequence[float], start: float
) -> tuple[list[int], bool]:
    """Return the best order, and whether it is known to be; equal values and sizes stay in the order they came in."""
    values = values if any(values) else [1.0] * len(values)
    ranked = sorted(range(len(sizes)), key=lambda i: (-values[i], sizes[i]))
    order, exact = _cached(curve, tuple(sizes[i] for i in ranked), tuple(values[i] for i in ranked), start)
    return [ranked[k] for k in order], exact


@lru_cache(maxsize=4)  # asked for once to place, and again to say what the best order has
def _cached(
    curve: PositionCurve, sizes: tuple[float, ...], values: tuple[float, ...], start: float
) -> tuple[tuple[int, ...], bool]:
    order, exact = best_order(curve.function(), knots(curve), sizes, values, start)
    return tuple(order), exact
