"""Where the sources stand on the position curve: points in percent of a drawing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from promptpack.curves import PositionCurve
from promptpack.evaluation.position import chunk_positions

if TYPE_CHECKING:
    from promptpack.payload import PackedSource

_ROOM = 0.25, 0.05            # below and above the curve: a share of its height, and at the least
_LINES = 0.08                 # of the height between two lines
_LEFT, _RIGHT = 4.0, 96.0     # percent of the width that the curve takes
_APART, _NEARER = 9.5, 4.0    # percent between names of three signs: for narrow and for wide screens
_STEPS = 60
_GAP = 0.006                  # of the width, at each end of a piece
_SIGNS = 8                    # of a label that are written at its point
_LARGEST = 10**12             # tokens that a point can show the size of


@dataclass(frozen=True, slots=True)
class Point:
    """A source on the curve.

    left, top: percent. radius: pixels. named: always, wide (on wide screens) or never. piece: the piece of the curve
    that it takes, as the points of a polyline.
    """

    source: PackedSource
    left: str
    top: str
    radius: str
    chance: str
    named: str
    piece: str


@dataclass(frozen=True, slots=True)
class Grid:
    """A line across the drawing, at a chance of use; shift: pixels from the line down to what is written at it."""

    top: str
    chance: str
    shift: int


@dataclass(frozen=True, slots=True)
class Drawing:
    """A curve as it is drawn: `path` is a polyline in a square of 100 by 100; p: the curve; y: the height of a p."""

    path: str
    grid: list[Grid]
    p: Callable[[float], float]
    y: Callable[[float], float]


def drawing(curve: PositionCurve | None = None) -> Drawing:
    """Return the drawing of a curve, by default the illustrative one; lines where it begins, ends and is lowest."""
    p = (curve or PositionCurve.illustrative()).function()
    steps = [step / _STEPS for step in range(_STEPS + 1)]
    values = [p(x) for x in steps]
    lowest, highest = min(values), max(values)
    room = max(_ROOM[1], _ROOM[0] * (highest - lowest))
    low, high = lowest - room, highest + room

    def y(value: float) -> float:
        return 100 * (high - value) / (high - low)

    grid: list[Grid] = []
    drawn: list[float] = []
    # In the centre of the usual curve there are points at the lowest line only: what is written there stands below.
    for value, shift in ((values[0], -4), (values[-1], -4), (lowest, 25)):
        if all(abs(value - other) >= _LINES * (high - low) for other in drawn):
            drawn.append(value)
            grid.append(Grid(_percent(y(value)), f"{value:.0%}", shift))
    return Drawing(_polyline(steps, values, y), grid, p, y)


def points(sources: Sequence[PackedSource], on: Drawing | None = None) -> list[Point]:
    """Return the points of the sources on a drawing, in prompt order.

    A source takes the piece of the curve that its tokens take of those of all sources; its point stands at the middle:
    x = (tokens before it + half of its own) / tokens of all. Names are written where they do not run into one another,
    the better ranked first.
    """
    sizes = [min(max(0, one.tokens), _LARGEST) for one in sources]
    largest, whole = max(sizes, default=0) or 1, sum(sizes) or 1
    places = chunk_positions(sizes) if sizes else []
    named = _named(sources, places)
    on = on or drawing()
    return [
        Point(
            one, _percent(_x(at)), _percent(on.y(on.p(at))), f"{4 + 5 * (size / largest) ** 0.5:.1f}",
            f"{on.p(at):.0%}", named.get(index, "never"), _piece(on, at, size / whole),
        )
        for index, (one, size, at) in enumerate(zip(sources, sizes, places, strict=True))
    ]


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


def _piece(on: Drawing, middle: float, share: float) -> str:
    """Return a piece of the curve, a little shorter than it is, so that two neighbours are two."""
    half = share / 2 - min(_GAP, share / 4)
    steps = max(1, ceil(_STEPS * share))
    places = [min(1.0, max(0.0, middle + half * (2 * step / steps - 1))) for step in range(steps + 1)]
    return _polyline(places, [on.p(x) for x in places], on.y)


def _polyline(places: Sequence[float], values: Sequence[float], y: Callable[[float], float]) -> str:
    return " ".join(f"{_x(x):.2f},{y(value):.2f}" for x, value in zip(places, values, strict=True))


def _x(share: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * share


def _percent(value: float) -> str:
    return f"{value:.2f}%"
