"""Means over questions with intervals: the paired bootstrap, with a fixed seed.

Questions are drawn with replacement, each with all that was measured for it, so that what makes a question hard or
easy falls out of every difference (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

RESAMPLES = 2000
LEVEL = 0.95
SEED = 20_260_301


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over questions and its interval; wins: the share of questions where it is above 0, ties half."""

    mean: float
    low: float
    high: float
    wins: float

    def __str__(self) -> str:
        return f"{self.mean:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"

    @property
    def clear(self) -> bool:
        """Tell whether the interval leaves 0 out: a difference that is more than noise."""
        return self.low > 0 or self.high < 0


@lru_cache(maxsize=4)  # one measurement asks again and again for the same number of questions
def resampled(count: int, resamples: int = RESAMPLES) -> NDArray[Any]:
    """Return how often each of `count` questions is drawn, a row for each resample; the same in every run.

    >>> resampled(3, 2).sum(axis=1).tolist()
    [3.0, 3.0]
    """
    import numpy as np

    # Python promises the sequence of random(); numpy does not promise that of its generators.
    draw = Random(SEED).random  # noqa: S311  # nothing secret hangs on it
    drawn = np.fromiter((int(draw() * count) for _ in range(resamples * count)), dtype=np.int64)
    flat = np.repeat(np.arange(resamples), count) * count + drawn
    found = np.bincount(flat, minlength=resamples * count).reshape(resamples, count).astype(float)
    found.flags.writeable = False  # it is shared
    return found


def intervals(rows: Sequence[Sequence[float]]) -> list[Estimate]:
    """Return an estimate for each column; a row for each question.

    >>> intervals([[1.0], [1.0]])
    [Estimate(mean=1.0, low=1.0, high=1.0, wins=1.0)]
    """
    import numpy as np

    values = np.asarray(rows, dtype=float)
    means = resampled(len(values)) @ values / len(values)
    lows, highs = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    wins = (values > 0).mean(axis=0) + (values == 0).mean(axis=0) / 2
    # The order of a sum differs between the two ways to the mean; the interval must not leave it out for that.
    return [
        Estimate(float(mean), float(min(low, mean)), float(max(high, mean)), float(won))
        for mean, low, high, won in zip(values.mean(axis=0), lows, highs, wins, strict=True)
    ]


def difference(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """Return the mean of `first - second`, question by question.

    >>> difference([2.0, 3.0], [1.0, 2.0]).mean
    1.0
    """
    return intervals([[a - b] for a, b in zip(first, second, strict=True)])[0]
