"""Calibrating a counter with the usage figures of real requests, for models whose tokenizer is not public.

With x the counter's count of a request and y the input tokens that the provider reported for it, the line
`y = overhead + scale * x` is fitted robustly (Theil and Sen: the median of slopes, the median of what is left), so that
single odd requests (a cached prefix that is not reported, an image) do not bend it. What lies above the
line gives the margin: an upper quantile of y over the line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import ceil
from numbers import Integral
from typing import Any

from promptpack.errors import OptionError, SourceError, quote
from promptpack.tokens.base import BaseCounter
from promptpack.tokens.registry import counter as counter_named

LEAST = 8             # pairs
COVERED = 0.95        # of requests like those given stay within the margin
_UNITS = 10_000       # the scale is kept as a whole number of these parts, so that counts are exact arithmetic
_SPREAD = 1.5         # the larger half of the requests has to be this much larger for the overhead to be told
_SLOPES = (0.2, 5.0)  # a scale outside of these belongs to other texts, or to another unit


class CalibratedCounter(BaseCounter):
    """A counter whose counts are multiplied by `scale` and rounded up; `calibrate` finds the numbers.

    overhead: tokens that every request costs beyond its text; a payload counts them once, with the start of the
    reply. margin: the share of the window to keep free, taken by a builder whose window is a plain number. The three
    numbers are all there is to keep: `CalibratedCounter(base, scale, overhead, margin)` gives the same counter again.

    Not exact, and not additive: rounding up would add up, so a payload is counted as a whole.

    >>> CalibratedCounter("words", 1.25)("one two three")
    4
    """

    __slots__ = ("_parts", "base", "margin", "overhead", "scale")

    def __init__(
        self, base: str | Callable[[str], int], scale: float = 1.0, overhead: int = 0, margin: float = 0.0
    ) -> None:
        for name, value, least, most in (("scale", scale, 0.01, 100.0), ("margin", margin, 0.0, 0.99)):
            if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
                raise OptionError(
                    f"{name}: expected a number from {least} to {most}, got {quote(value)}", name=name, given=value
                )
        if isinstance(overhead, bool) or not isinstance(overhead, int) or overhead < 0:
            raise OptionError(
                f"overhead: expected a whole number of 0 or more tokens, got {quote(overhead)}",
                name="overhead", given=overhead,
            )
        self.base = counter_named(base)
        self._parts = ceil(round(scale * _UNITS, 3))
        self.scale = self._parts / _UNITS
        self.overhead = overhead
        self.margin = float(margin)
        super().__init__(
            f"{self.base.name} x {self.scale:g}", exact=False, additive=False, uniform_digits=self.base.uniform_digits
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return CalibratedCounter, (self.base, self.scale, self.overhead, self.margin)

    def count_many(self, texts: Iterable[str]) -> list[int]:
        """Count several texts, by the base counter's own way of doing so.

        >>> CalibratedCounter("words", 2).count_many(["one", "one two"])
        [2, 4]
        """
        return [self._scaled(count) for count in self.base.count_many(texts)]

    def floor(self, text: str, limit: int) -> int:
        """Return a lower bound of the count, from that of the base counter.

        >>> CalibratedCounter("words", 2).floor("one two three", 1)
        4
        """
        return self._scaled(self.base.floor(text, self._unscaled(limit)))

    def _measure(self, text: str) -> int:
        return self._scaled(self.base(text))

    def _start(self, text: str, limit: int) -> str:
        return self.base.prefix(text, self._unscaled(limit))

    def _end(self, text: str, limit: int) -> str:
        return self.base.suffix(text, self._unscaled(limit))

    def _scaled(self, count: int) -> int:
        return -(-count * self._parts // _UNITS)

    def _unscaled(self, limit: int) -> int:
        return max(limit, 0) * _UNITS // self._parts  # the most whose scaled count is within the limit


def calibrate(
    counter: str | Callable[[str], int], usage_pairs: Iterable[tuple[str | int, int]], *, covered: float = COVERED
) -> CalibratedCounter:
    """Return a counter corrected by what a provider reported: same texts, counts like the model's.

    counter: the counter to correct, by name or itself. usage_pairs: 8 or more pairs of a request and the input tokens
    that were reported for it. The request is the number that this counter gave for it (best: `payload.tokens` of a
    payload built with it, which has the roles in it), or the text that was sent. Where a provider reports cached tokens
    apart, add them. covered: the share of requests like these that the margin should cover.

    scale: the median of the slopes between requests of the smaller and the larger half (sorted by size, i to
    i + n / 2: Theil and Sen's estimator in its form of n / 2 pairs). overhead: the median of y - scale * x, rounded
    up. Where that is below 0, or the requests are too much of one size to tell (the larger half by the median less than
    1.5 times the smaller), overhead is 0 and scale the median of y / x. margin: 1 - 1 / q, where q is the k-th smallest
    of y / (overhead + scale * x), k = ceil((n + 1) * covered), at most n; 0 where q is below 1. Takes O(n log n).

    Raises OptionError where there are fewer than 8 pairs, a number is none, the scale lies outside of 0.2 to 5, or q
    passes 2: such figures belong to other texts.

    >>> sent = [(100 * n, 130 * n + 7) for n in range(1, 13)]
    >>> found = calibrate("estimate", sent)
    >>> found.scale, found.overhead, found.margin, found.name
    (1.3, 7, 0.0, 'estimate x 1.3')
    """
    base = counter_named(counter)
    if isinstance(covered, bool) or not isinstance(covered, int | float) or not 0.5 <= covered <= 1:
        raise OptionError(
            f"covered: expected a share of 0.5 to 1.0, got {quote(covered)}", name="covered", given=covered
        )
    pairs = sorted(_read(base, usage_pairs))
    if len(pairs) < LEAST:
        raise _nonsense(f"expected {LEAST} or more pairs, got {len(pairs)}", len(pairs))
    slope, rest = _line(pairs)
    if not _SLOPES[0] <= slope <= _SLOPES[1]:
        low, high = _SLOPES
        raise _nonsense(
            f"the reported tokens are {slope:.3g} times the counted ones; expected {low:g} to {high:g} times. "
            "Do they belong to these texts?", slope,
        )
    fitted = CalibratedCounter(base, slope, ceil(round(rest, 3)))
    ratios = sorted(reported / (fitted.overhead + fitted.scale * counted) for counted, reported in pairs)
    worst = ratios[min(len(ratios), ceil((len(ratios) + 1) * covered)) - 1]
    if worst > 2:
        raise _nonsense(
            f"the reported tokens lie up to {worst:.3g} times above the line through them; expected up to 2 times. "
            "Do they belong to these texts?", worst,
        )
    margin = ceil((1 - 1 / worst) * _UNITS - 1e-6) / _UNITS if worst > 1 else 0.0
    return CalibratedCounter(base, fitted.scale, fitted.overhead, margin)


def _line(pairs: Sequence[tuple[int, int]]) -> tuple[float, float]:
    """Return slope and intercept through pairs that are sorted; the intercept is 0 or more."""
    from statistics import median  # loads a dozen modules

    half = len(pairs) // 2
    small, large = pairs[:half], pairs[len(pairs) - half:]
    if median(x for x, _ in large) >= _SPREAD * median(x for x, _ in small):
        slope = median((y2 - y1) / (x2 - x1) for (x1, y1), (x2, y2) in zip(small, large, strict=True) if x2 > x1)
        rest = median(y - slope * x for x, y in pairs)
        if rest >= 0:
            return slope, rest
    return median(y / x for x, y in pairs), 0.0


def _read(base: BaseCounter, usage_pairs: Iterable[tuple[str | int, int]]) -> list[tuple[int, int]]:
    if isinstance(usage_pairs, str) or not isinstance(usage_pairs, Iterable):
        raise _nonsense(f"expected pairs of a request and its reported tokens, got {quote(usage_pairs)}", usage_pairs)
    pairs = []
    for index, pair in enumerate(usage_pairs):
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise _nonsense(f"pair {index}: expected a request and its reported tokens, got {quote(pair)}", pair)
        request, reported = pair
        counted = _counted(base, request, index)
        for what, value in (("request", counted), ("reported tokens", reported)):
            if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
                expected = "expected a whole number of 1 or more tokens"
                raise _nonsense(f"pair {index}: {what}: {expected}, got {quote(value)}", value)
        pairs.append((int(counted), int(reported)))
    return pairs


def _counted(base: BaseCounter, request: Any, index: int) -> Any:
    if not isinstance(request, str):
        return request
    try:
        return base(request)
    except SourceError as error:
        raise _nonsense(f"pair {index}: {error}", request) from error


def _nonsense(what: str, given: object) -> OptionError:
    return OptionError(f"usage_pairs: {what}", name="usage_pairs", given=given)
