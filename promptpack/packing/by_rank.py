"""Placements that look at nothing but the ranks: the orders as functions, and as placers.

An order is a function from the items in rank order to the same items in prompt order; `BY_RANK` has their names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from promptpack.errors import OptionError, quote
from promptpack.source import Source

T = TypeVar("T")


def fold(ranked: Sequence[T]) -> list[T]:
    """Return the items with the best at both edges: `ranked[0::2] + ranked[1::2][::-1]`.

    Rank 1 opens and rank 2 closes for every length; the last rank lands at index n // 2.

    >>> fold([1, 2, 3, 4, 5])
    [1, 3, 5, 4, 2]
    """
    return [*ranked[0::2], *ranked[1::2][::-1]]


def spread(ranked: Sequence[T], start: int | None = None, end: int | None = None) -> list[T]:
    """Return the top `start` first, then the middle descending, then the next `end` last.

    Without both counts, or where they leave no middle, that is the fold.

    >>> spread([1, 2, 3, 4, 5, 6], 1, 2)
    [1, 4, 5, 6, 2, 3]
    """
    if start is None or end is None or start + end >= len(ranked):
        return fold(ranked)
    return [*ranked[:start], *ranked[start + end:], *ranked[start:start + end]]


def buried(ranked: Sequence[T]) -> list[T]:
    """Return the best in the middle and the weakest at the edges: the fold turned round, to compare.

    >>> buried([1, 2, 3, 4, 5])
    [5, 3, 1, 2, 4]
    """
    return fold(ranked[::-1])


def u_curve(ranked: Sequence[T]) -> list[T]:
    """Return the items with the best where a U-shaped curve is highest that is higher at its start than at its end.

    The curve is `PositionCurve.illustrative()`, two parabolas: p = 0.75 at the start, 0.55 in the middle and 0.65 at
    the end. With n items of one size the place i has its middle at x = (i + 0.5) / n, and p(x) is 0.55 +
    0.2 * (1 - 2 x)^2 before the middle and 0.55 + 0.1 * (2 x - 1)^2 behind it. Up to seven items that is the fold; from
    eight on rank 2 stands behind rank 1, since p is higher there than at the last place.

    >>> u_curve([1, 2, 3, 4, 5, 6, 7, 8])
    [1, 2, 5, 7, 8, 6, 4, 3]
    """
    n = len(ranked)
    # From the middle, in halves of a place and in whole numbers, so that it is exact. No two places are equally high:
    # 2 a^2 = b^2 has no solution.
    from_middle = [n - 1 - 2 * i for i in range(n)]
    places = sorted(range(n), key=lambda i: -from_middle[i] ** 2 * (2 if from_middle[i] > 0 else 1))
    placed = list(ranked)
    for place, item in zip(places, ranked, strict=True):
        placed[place] = item
    return placed


@dataclass(frozen=True, slots=True)
class Spread:
    """Best at the edges: the top `start` open, the next `end` close; without both counts the fold.

    >>> Spread()([Source(str(i), "x") for i in range(4)])
    [0, 2, 3, 1]
    """

    start: int | None = None
    end: int | None = None

    def __post_init__(self) -> None:
        for name, value in (("start", self.start), ("end", self.end)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
                raise OptionError(
                    f"Spread.{name}: expected a whole number of 0 or more, or None, got {quote(value)}",
                    name=name, given=value,
                )

    def __call__(self, sources: Sequence[Source], /) -> list[int]:
        """Return the order as indices into `sources`, which are in rank order."""
        return spread(range(len(sources)), self.start, self.end)


@dataclass(frozen=True, slots=True)
class ByRank:
    """A placement that looks at nothing but the ranks: `order` is one of the names of `BY_RANK`.

    >>> ByRank("best_last")([Source("a", "x"), Source("b", "y")])
    [1, 0]
    """

    order: str = "best_first"

    def __post_init__(self) -> None:
        if not isinstance(self.order, str) or self.order not in BY_RANK:
            raise OptionError.unknown("ByRank.order", self.order, BY_RANK)

    def __call__(self, sources: Sequence[Source], /) -> list[int]:
        """Return the order as indices into `sources`, which are in rank order."""
        return list(BY_RANK[self.order](range(len(sources))))


BY_RANK: Mapping[str, Callable[[Sequence[int]], Sequence[int]]] = {
    "fold": fold,
    "u_curve": u_curve,
    "buried": buried,
    "best_first": list,
    "best_last": lambda ranked: ranked[::-1],
}
