"""What a measurement found: the mean at each place with its interval, and the curve that follows from it.

From log-likelihoods to p, the curve's values from 0 to 1: with L(k) the mean over questions of the log-likelihood per
token of the answer with the passage at place k, B the one without the passage, and M the largest L(k),

    p(k) = (L(k) - B) / (M - B), and 0 where L(k) is below B

which is the share of what the passage can bring that it brings at this place. Exact matches are shares already: p(k) is
the mean. The intervals of p are those of the curve's shape: what moves all places of a question alike is taken out
first, since a placement only goes by differences (Cousineau 2005, for within-subject designs).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from promptpack.calibration.errors import CalibrationError
from promptpack.calibration.statistics import Estimate, difference, intervals
from promptpack.curves import CurvePoint, Measure, PositionCurve
from promptpack.errors import OptionError

Fit = Literal["points", "quadratic"]
HEADS = {"loglik": "log-likelihood per token", "exact": "exact match"}


@dataclass(frozen=True, slots=True)
class Place:
    """One place: its number from 0, x by tokens (mean over the questions), the estimate, and p with its interval."""

    number: int
    x: float
    estimate: Estimate
    p: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """What was measured: a row of values for each question, at each place and without the passage.

    model: its name. measure: "loglik" (nats per token of the answer) or "exact". places: their numbers, ascending. xs:
    the mean relative position by tokens of each. passages: how many are shown. values: a row for each question, a
    column for each place. without: the values without the passage. remarks: what is to be known about them. ids: those
    of the questions. tokens: how many each answer has, where that was counted.

    Raises CalibrationError where nothing was measured, or where no place is better than none at all.
    """

    model: str
    measure: Measure
    places: tuple[int, ...]
    xs: tuple[float, ...]
    passages: int
    values: tuple[tuple[float, ...], ...] = field(repr=False)
    without: tuple[float, ...] = field(repr=False)
    remarks: tuple[str, ...] = ()
    ids: tuple[str, ...] = field(default=(), repr=False)
    tokens: tuple[int | None, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if not self.values:
            raise CalibrationError("nothing was measured: there are no questions")
        best, base = max(self.means()), self.baseline().mean
        if best <= base:
            raise CalibrationError(
                f"{self.model}: the answers are no better with the passage ({best:.3f} at the best place) than without "
                f"it ({base:.3f}), so there is no curve; ask other questions, or check the chat template"
            )

    def means(self) -> list[float]:
        """Return the mean at each place."""
        return [sum(row[at] for row in self.values) / len(self.values) for at in range(len(self.places))]

    def baseline(self) -> Estimate:
        """Return the mean without the passage."""
        return intervals([[one] for one in self.without])[0]

    def table(self) -> list[Place]:
        """Return every place with its figures."""
        estimates = intervals(self.values)
        shapes = intervals([[one - sum(row) / len(row) for one in row] for row in self.values])
        base, best = self.baseline().mean, max(one.mean for one in estimates)
        zero, span = (base, best - base) if self.measure == "loglik" else (0.0, 1.0)
        found = []
        for number, x, one, shape in zip(self.places, self.xs, estimates, shapes, strict=True):
            p = min(1.0, max(0.0, (one.mean - zero) / span))
            low, high = ((edge - shape.mean) / span for edge in (shape.low, shape.high))
            found.append(Place(number, x, one, p, p + min(0.0, low), p + max(0.0, high)))
        return found

    def curve(self, fit: Fit = "points") -> PositionCurve:
        """Return the curve: linear from place to place ("points"), or the "quadratic" that is closest to all of them.

        The quadratic takes out noise from place to place, and with it any bend that is not that of a parabola.
        """
        if fit not in get_args(Fit):
            raise OptionError.unknown("fit", fit, get_args(Fit))
        points = [
            CurvePoint(round(one.x, 4), round(one.p, 4), min(round(one.low, 4), round(one.p, 4)),
                       max(round(one.high, 4), round(one.p, 4)))
            for one in self.table()
        ]
        return PositionCurve(
            tuple(points), kind=fit, model=self.model, measure=self.measure, questions=len(self.values),
            note=self.note(),
        )

    def note(self) -> str:
        """Return how the curve was made, in a sentence or two."""
        how = f"{self.passages} passages; intervals: 95 %, bootstrap over questions, of the shape of the curve"
        if self.measure == "exact":
            return f"p: share of right answers, {self.baseline().mean:.3f} without the passage; {how}"
        base, best = self.baseline().mean, max(self.means())
        return (
            f"p = (L + {-base:.4f}) / {best - base:.4f}, L: mean log-likelihood (nats) per token of the answer, "
            f"{base:.4f} without the passage, {best:.4f} at the best place; {how}"
        )

    def differences(self) -> dict[str, Estimate]:
        """Return what the shape rests on, question by question: ends against the middle, and against one another."""
        first, middle, last = (self._column(at) for at in (0, len(self.places) // 2, len(self.places) - 1))
        ends = [(a + b) / 2 for a, b in zip(first, last, strict=True)]
        inner = [middle] if len(self.places) % 2 else [self._column(len(self.places) // 2 - 1), middle]
        centre = [sum(one) / len(one) for one in zip(*inner, strict=True)]
        return {
            "first - middle": difference(first, centre), "last - middle": difference(last, centre),
            "ends - middle": difference(ends, centre), "last - first": difference(last, first),
            "best place - without": difference(
                self._column(max(range(len(self.places)), key=self.means().__getitem__)), self.without
            ),
        }

    def _column(self, at: int) -> list[float]:
        return [row[at] for row in self.values]

    def to_markdown(self) -> str:
        """Return two Markdown tables: the places, and the differences between them with the share of questions."""
        rows: list[Sequence[str]] = [("place", "x", HEADS[self.measure], "95 %", "p", "95 %")]
        for one in self.table():
            rows.append((
                str(one.number + 1), f"{one.x:.2f}", f"{one.estimate.mean:.3f}",
                f"{one.estimate.low:.3f} to {one.estimate.high:.3f}", f"{one.p:.3f}",
                f"{one.low:.3f} to {one.high:.3f}",
            ))
        base = self.baseline()
        rows.append(("without", "", f"{base.mean:.3f}", f"{base.low:.3f} to {base.high:.3f}", "", ""))
        found: list[Sequence[str]] = [("difference", "mean", "95 %", "above 0", "")]
        for name, gap in self.differences().items():
            told = "" if gap.clear else "may be noise"
            found.append((name, f"{gap.mean:+.3f}", f"{gap.low:+.3f} to {gap.high:+.3f}", f"{gap.wins:.0%}", told))
        return f"{markdown(rows)}\n\n{markdown(found)}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, the values of each question included."""
        return {
            "model": self.model, "measure": self.measure, "places": list(self.places), "xs": list(self.xs),
            "passages": self.passages, "values": [list(row) for row in self.values], "without": list(self.without),
            "remarks": list(self.remarks), "ids": list(self.ids), "tokens": list(self.tokens),
        }


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table: the first row is its head, the first column its names.

    >>> print(markdown([("a", "b"), ("x", "1")]))
    | a | b |
    | --- | ---: |
    | x | 1 |
    """
    rule = ["---", *("---:" for _ in rows[0][1:])]
    return "\n".join("| " + " | ".join(row) + " |" for row in (rows[0], rule, *rows[1:]))
