"""Means over questions with intervals; the bootstrap itself is that of `promptpack.evaluation.intervals`.

Questions are drawn with replacement, each with all that was measured for it, so that what makes a question hard or
easy falls out of every difference (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

from promptpack.evaluation import intervals as bootstrap


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over questions and its interval.

    wins: the share of questions where it is above 0, ties half. questions: how many there are; one has no interval.
    """

    mean: float
    low: float
    high: float
    wins: float
    questions: int

    def __str__(self) -> str:
        return f"{self.mean:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"

    @property
    def clear(self) -> bool:
        """Tell whether the interval leaves 0 out: a difference that is more than noise. One question never tells."""
        return self.questions > 1 and (self.low > 0 or self.high < 0)


def intervals(rows: Sequence[Sequence[float]]) -> list[Estimate]:
    """Return an estimate for each column; a row for each question.

    >>> intervals([[1.0], [1.0]])
    [Estimate(mean=1.0, low=1.0, high=1.0, wins=1.0, questions=2)]
    """
    columns = list(zip(*rows, strict=True))
    found = []
    for values, interval in zip(columns, bootstrap.intervals(columns), strict=True):
        mean = fsum(values) / len(values)
        low, high = interval or (mean, mean)
        wins = sum(1.0 if value > 0 else 0.5 if value == 0 else 0.0 for value in values) / len(values)
        # The mean and the interval are rounded in two ways; the interval must not leave the mean out for that.
        found.append(Estimate(mean, min(low, mean), max(high, mean), wins, len(values)))
    return found


def difference(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """Return the mean of `first - second`, question by question.

    >>> difference([2.0, 3.0], [1.0, 2.0]).mean
    1.0
    """
    return intervals([[a - b] for a, b in zip(first, second, strict=True)])[0]
