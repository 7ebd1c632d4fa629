"""How much a passage is used, by its place in the prompt: curves, and the small JSON file that holds one.

A file is one JSON object; `PositionCurve.save` writes it, `PositionCurve.load` reads it:

    {"promptpack_curve": 1, "kind": "points",
     "points": [{"x": 0.0, "p": 0.7, "low": 0.65, "high": 0.76}, {"x": 1.0, "p": 0.8}],
     "model": "SmolLM2-135M", "measure": "loglik", "questions": 100, "note": null}

kind: how the points are read, see `PositionCurve`. low, high: the interval of p, both or neither. model, measure,
questions and note may be null or left out. Any other key is refused, so that nothing is lost in silence.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields
from itertools import pairwise
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any, Literal, get_args

from promptpack.curve_shapes import least_squares, linear, parabolas
from promptpack.errors import OptionError, quote
from promptpack.finite import is_number

Kind = Literal["points", "quadratic", "parabolas"]
Measure = Literal["loglik", "exact"]
VERSION = 1


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """A point of a curve: p at the relative position x, both from 0 to 1, and where known the interval of p.

    low, high: finite numbers with low <= p <= high, both or neither; they may pass 0 and 1.

    >>> CurvePoint(0.5, 0.55)
    CurvePoint(x=0.5, p=0.55, low=None, high=None)
    """

    x: float
    p: float
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        for name in ("x", "p"):
            value = getattr(self, name)
            if not is_number(value) or not 0 <= value <= 1:
                raise _fault(f"points: {name}: expected a number from 0 to 1, got {quote(value)}", value)
            object.__setattr__(self, name, float(value))
        if self.low is None and self.high is None:
            return
        if self.low is None or self.high is None:
            raise _fault("points: low and high: expected both or neither", self.low)
        if not (is_number(self.low) and is_number(self.high) and self.low <= self.p <= self.high):
            raise _fault(
                f"points: expected low <= p <= high, got {quote(self.low)}, {quote(self.p)}, {quote(self.high)}",
                self.low,
            )
        object.__setattr__(self, "low", float(self.low))
        object.__setattr__(self, "high", float(self.high))

    @classmethod
    def of(cls, point: object) -> CurvePoint:
        """Return a point as it is, or made of a mapping with x and p (low, high) or of a pair (x, p).

        >>> CurvePoint.of((0, 0.5)).p
        0.5
        """
        if isinstance(point, CurvePoint):
            return point
        if isinstance(point, Mapping):
            _known(point, ("x", "p", "low", "high"), "points")
            missing = [name for name in ("x", "p") if name not in point]
            if missing:
                raise _fault(f"points: {missing[0]} is missing", None)
            return cls(**point)
        if isinstance(point, list | tuple) and len(point) in (2, 4):
            return cls(*point)
        raise _fault(f"points: expected pairs of x and p, got {quote(point)}", point)


@dataclass(frozen=True, slots=True)
class PositionCurve:
    """How much a model uses a passage: p, from 0 to 1, by the relative position x of the passage among the sources.

    x is where the middle of the passage stands: (tokens of the sources before it + half of its own) / tokens of all.
    p is a chance where answers were compared (measure "exact"); made of log-likelihoods ("loglik") it is their share
    of a span that whoever measured says. Placement goes by differences of p, so that neither the zero of the scale
    nor its unit changes an order.

    points: `CurvePoint`s, pairs (x, p) or mappings, by x ascending. kind says how they are read:

    * "points": linear from one to the next, level before the first and behind the last; no two at one x;
    * "quadratic": p = a + b x + c x^2 by least squares over the points (3 or more different x; many points may share
      one), kept within 0 to 1; `coefficients` are a, b, c;
    * "parabolas": three points, the outer ones at x = 0 and 1: two parabolas that meet level at the inner one,
      p = inner + (edge - inner) * ((x - x_inner) / (x_edge - x_inner))^2.

    model, measure, questions (how many were asked) and note say where a curve comes from. Raises OptionError for
    what makes no curve.

    >>> curve = PositionCurve([(0, 0.7), (0.5, 0.5), (1, 0.9)])
    >>> curve(0.25), curve(1)
    (0.6, 0.9)
    """

    points: tuple[CurvePoint, ...]
    _: KW_ONLY
    kind: Kind = "points"
    model: str | None = None
    measure: Measure | None = None
    questions: int | None = None
    note: str | None = None
    coefficients: tuple[float, float, float] | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        given: Any = self.points
        if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
            raise _fault(f"points: expected a list of points, got {quote(given)}", given)
        points = tuple(map(CurvePoint.of, given))
        object.__setattr__(self, "points", points)
        if not isinstance(self.kind, str) or self.kind not in get_args(Kind):
            raise OptionError.unknown("curve: kind", self.kind, get_args(Kind))
        if self.measure is not None and not (isinstance(self.measure, str) and self.measure in get_args(Measure)):
            raise OptionError.unknown("curve: measure", self.measure, get_args(Measure))
        for name in ("model", "note"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise _fault(f"{name}: expected a text or None, got {quote(value)}", value)
        asked = self.questions
        if asked is not None and (isinstance(asked, bool) or not isinstance(asked, Integral) or asked < 0):
            raise _fault(f"questions: expected a whole number of 0 or more, or None, got {quote(asked)}", asked)
        object.__setattr__(self, "questions", asked if asked is None else int(asked))
        self._check_places([point.x for point in points])
        if self.kind == "quadratic":
            fitted = least_squares([point.x for point in points], [point.p for point in points])
            if fitted is None:
                raise _fault("points: too close to one another for a quadratic", [point.x for point in points])
            object.__setattr__(self, "coefficients", fitted)

    def _check_places(self, places: list[float]) -> None:
        if not places:
            raise _fault("points: expected at least one", None)
        for before, after in pairwise(places):
            if after < before or (after == before and self.kind != "quadratic"):
                raise _fault(f"points: expected x in ascending order, got {quote(after)} after {quote(before)}", after)
        if self.kind == "parabolas" and (len(places) != 3 or places[0] != 0 or places[2] != 1):
            raise _fault("points: two parabolas need three, at x = 0, between, and at x = 1", places)
        if self.kind == "quadratic" and len(set(places)) < 3:
            raise _fault("points: a quadratic needs 3 or more different x", places)

    @classmethod
    def illustrative(cls, start: float = 0.75, trough: float = 0.55, end: float = 0.65) -> PositionCurve:
        """Return the U-curve of a published chapter on packing the window, lowest in the middle.

        It says how orders compare under such a curve, not what a particular model does.

        >>> curve = PositionCurve.illustrative()
        >>> curve(0), curve(0.5), curve(1)
        (0.75, 0.55, 0.65)
        """
        points = (CurvePoint(0.0, start), CurvePoint(0.5, trough), CurvePoint(1.0, end))
        return cls(points, kind="parabolas", note="illustrative: two parabolas")

    def __call__(self, x: float) -> float:
        """Return p at x; OptionError unless x is a number from 0 to 1."""
        if not is_number(x) or not 0 <= x <= 1:
            raise OptionError(f"x: expected a number from 0 to 1, got {quote(x)}", name="x", given=x)
        return self.function()(x)

    def function(self) -> Callable[[float], float]:
        """Return p as a plain function of x, which checks nothing: for many places."""
        if self.kind == "parabolas":
            start, inner, end = self.points
            return parabolas(start.p, inner.x, inner.p, end.p)
        if self.coefficients is not None:
            a, b, c = self.coefficients
            return lambda x: min(1.0, max(0.0, a + x * (b + x * c)))
        return linear([point.x for point in self.points], [point.p for point in self.points])

    def to_dict(self) -> dict[str, Any]:
        """Return the curve as plain data in the form of the file; `from_dict` gives an equal curve."""
        points = [{one.name: getattr(point, one.name) for one in fields(point)} for point in self.points]
        for point in points:
            if point["low"] is None:
                del point["low"], point["high"]
        return {
            "promptpack_curve": VERSION, "kind": self.kind, "points": points, "model": self.model,
            "measure": self.measure, "questions": self.questions, "note": self.note,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> PositionCurve:
        """Read what `to_dict` wrote, or the same from elsewhere; OptionError where it is something else.

        >>> curve = PositionCurve([(0, 0.7), (1, 0.9)], model="a model")
        >>> PositionCurve.from_dict(curve.to_dict()) == curve
        True
        """
        if not isinstance(data, Mapping):
            raise _fault(f"expected a mapping, got {quote(data)}", data)
        version = data.get("promptpack_curve")
        if type(version) is not int or version != VERSION:
            what = "is missing" if version is None else f"{quote(version)} is not known"
            raise _fault(f"promptpack_curve: the version {what}; this version reads {VERSION}", version)
        names = ("kind", "points", "model", "measure", "questions", "note")
        _known(data, ("promptpack_curve", *names), "curve")
        if "points" not in data:
            raise _fault("points are missing", None)
        return cls(**{name: data[name] for name in names if name in data})

    def save(self, path: str | PathLike[str]) -> None:
        """Write the curve to a file, as indented JSON in UTF-8; OptionError where it cannot be written."""
        text = json.dumps(self.to_dict(), ensure_ascii=False, indent=1, allow_nan=False) + "\n"
        try:
            Path(path).write_bytes(text.encode("utf-8"))
        except (OSError, ValueError) as error:
            raise _fault(f"{quote(str(path))} cannot be written: {_why(error)}", str(path)) from error

    @classmethod
    def load(cls, path: str | PathLike[str]) -> PositionCurve:
        """Read a curve from a file; OptionError, with the file's name, where that holds none."""
        if not isinstance(path, str | PathLike):
            raise _fault(f"expected the path of a file, got {quote(path)}", path)
        name = str(path)
        try:
            data = json.loads(Path(path).read_bytes().decode("utf-8-sig"))
        except (OSError, ValueError, RecursionError) as error:
            raise _fault(f"{quote(name, 1000)} cannot be read: {_why(error)}", name) from error
        try:
            return cls.from_dict(data)
        except OptionError as error:
            message = str(error).removeprefix("curve: ")
            raise OptionError(
                f"curve: {quote(name, 1000)}: {message}", name="curve", given=error.given, known=error.known
            ) from error


def _known(data: Mapping[Any, Any], names: tuple[str, ...], where: str) -> None:
    for key in data:
        if key not in names:
            raise OptionError.unknown(f"curve: {where}" if where != "curve" else where, key, names)


def _why(error: Exception) -> str:
    return error.strerror or type(error).__name__ if isinstance(error, OSError) else quote(str(error))


def _fault(message: str, given: object) -> OptionError:
    return OptionError(f"curve: {message}", name="curve", given=given)
