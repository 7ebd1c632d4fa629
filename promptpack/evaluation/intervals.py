"""How far a mean over a few questions can be trusted: percentile intervals of the bootstrap, with a fixed seed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import ceil, floor, frexp, ldexp

from promptpack.errors import OptionError, quote

LEVEL = 0.95
SEED = 7
MOST, LEAST, DRAWS = 1000, 100, 5_000_000  # resamples, and the draws that they may take


def intervals(columns: Sequence[Sequence[float]], *, level: float = LEVEL) -> list[tuple[float, float] | None]:
    """Return an interval for the mean of each column: percentiles of the means of resamples (Efron, 1979).

    1,000 resamples with replacement; fewer, but 100 at least, from 5,000 values on. Columns of one length are resampled
    alike, so that values of one question stay together. None for a column with fewer than two values. Sums are those
    of whole numbers (values to 40 binary digits of the largest), so that the same values give the same intervals
    everywhere. Resamples times the number of values.

    >>> low, high = intervals([[0, 1] * 20])[0]
    >>> round(low, 2), round(high, 2), intervals([[3.0] * 5, [1.0]])
    (0.35, 0.65, [(3.0, 3.0), None])
    """
    if not isinstance(level, float) or not 0 < level < 1:
        raise OptionError(f"level: expected a number between 0 and 1, got {quote(level)}", name="level", given=level)
    found: list[tuple[float, float] | None] = [None] * len(columns)
    lengths: dict[int, list[int]] = {}
    for at, values in enumerate(columns):
        if len(values) < 2:
            continue
        if min(values) == max(values):
            found[at] = (float(values[0]), float(values[0]))
        else:
            lengths.setdefault(len(values), []).append(at)
    for n, places in lengths.items():
        for at, interval in zip(places, _resampled([columns[at] for at in places], n, level), strict=True):
            found[at] = interval
    return found


def _resampled(columns: Sequence[Sequence[float]], n: int, level: float) -> list[tuple[float, float]]:
    import numpy as np

    digits = [40 - frexp(max(map(abs, values)))[1] for values in columns]
    whole = np.array(
        [[round(ldexp(value, own)) for value in values] for values, own in zip(columns, digits, strict=True)], np.int64
    )
    rng = random.Random(SEED)  # noqa: S311 - resampling, not secrets
    count = min(MOST, max(LEAST, DRAWS // n))
    sums = np.empty((count, len(columns)), np.int64)
    for at in range(count):
        drawn = np.bincount([int(rng.random() * n) for _ in range(n)], minlength=n)
        sums[at] = whole @ drawn
    sums.sort(axis=0)
    low, high = floor(count * (1 - level) / 2), ceil(count * (1 + level) / 2) - 1
    return [
        (ldexp(int(sums[low, at]), -own) / n, ldexp(int(sums[high, at]), -own) / n) for at, own in enumerate(digits)
    ]
