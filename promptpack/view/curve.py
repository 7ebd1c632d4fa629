"""Where the sources stand on the position curve: points in percent of a drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptpack.evaluation.position import chunk_positions, use_probability

if TYPE_CHECKING:
    from promptpack.payload import PackedSource

_LOW, _HIGH = 0.5, 0.8        # chances of use at the bottom and the top
_LEFT, _RIGHT = 4.0, 96.0     # percent of the width that the curve takes
_APART, _NEARER = 9.5, 4.0    # percent between names of three signs: for narrow and for wide screens
_STEPS = 60
_SIGNS = 8                    # of a label that are written at its point
_LARGEST = 10**12             # tokens that a point can show the size of


@dataclass(frozen=True, slots=True)
class Point:
    """A source on the curve. left, top: percent. radius: pixels. named: always, wide (on wide screens) or never."""

    source: PackedSource
    left: str
    top: str
    radius: str
    chance: str
    named: str


@dataclass(frozen=True, slots=True)
class Grid:
    """A line across the drawing, at a chance of use; shift: pixels from the line down to what is written at it."""

    top: str
    chance: str
    shift: int


def points(sources: Sequence[PackedSource]) -> list[Point]:
    """Return the points of the sources, in prompt order.

    A source stands where its middle token does: x = (tokens before it + half of its own) / tokens of all. Names are
    written where they do not run into one another, the better ranked first.
    """
    sizes = [min(max(0, one.tokens), _LARGEST) for one in sources]
    largest = max(sizes, default=0) or 1
    places = chunk_positions(sizes) if sizes else []
    named = _named(sources, places)
    return [
        Point(
            one, _percent(_x(at)), _percent(_y(use_probability(at))), f"{4 + 5 * (size / largest) ** 0.5:.1f}",
            f"{use_probability(at):.0%}", named.get(index, "never"),
        )
        for index, (one, size, at) in enumerate(zip(sources, sizes, places, strict=True))
    ]


def path() -> str:
    """Return the curve as the points of a polyline in a square of 100 by 100."""
    steps = [step / _STEPS for step in range(_STEPS + 1)]
    return " ".join(f"{_x(x):.2f},{_y(use_probability(x)):.2f}" for x in steps)


def grid() -> list[Grid]:
    """Return the lines at which the curve begins, ends and is lowest."""
    # In the centre there are points at the lowest one only.
    lines = ((0.0, -4), (1.0, -4), (0.5, 25))
    return [Grid(_percent(_y(use_probability(x))), f"{use_probability(x):.0%}", shift) for x, shift in lines]


def _named(sources: Sequence[PackedSource], places: Sequence[float]) -> dict[int, str]:
    """Return which points bear their name; there is room for few, so the search for it is short."""
    order = sorted(range(len(sources)), key=lambda index: (sources[index].rank, index))
    signs = max((len(one.label) for one in sources), default=0)
    longer = max(1.0, min(signs, _SIGNS) / 3)
    named: dict[int, str] = {}
    for how, apart in (("always", _APART * longer), ("wide", _NEARER * longer)):
        for index in order:
            x = _x(places[index])
            if index not in named and all(abs(x - _x(places[other])) >= apart for other in named):
                named[index] = how
    return named


def _x(share: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * share


def _y(chance: float) -> float:
    return 100 * (_HIGH - chance) / (_HIGH - _LOW)


def _percent(value: float) -> str:
    return f"{value:.2f}%"
