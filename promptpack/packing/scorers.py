"""Scores from what is known of one source: shared words, age, and weighted sums of scores."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from promptpack.errors import OptionError, quote
from promptpack.packing.dates import instant
from promptpack.packing.ranking import is_finite
from promptpack.packing.similarity import folded
from promptpack.source import Source

Scorer = Callable[[Sequence[Source]], Sequence[float]]

_DAY = 86400.0


@functools.cache
def _word() -> Any:
    import regex

    return regex.compile(r"[\p{L}\p{N}\p{M}]+")


def words(text: str) -> frozenset[str]:
    """Return the set of words: lower-cased runs of letters and digits; marks belong to their word.

    >>> sorted(words("Late, INVOICE 101!"))
    ['101', 'invoice', 'late']
    """
    low = text.lower()
    return frozenset(_word().findall(low if low.isascii() else folded(low)))


def overlap_score(query: str, text: str) -> float:
    """Return the Sorensen-Dice overlap of the words of two texts: 2 |A and B| / (|A| + |B|), 0 where one has
    none.

    A and B are sets: a word counts once. Scripts without blanks between words have long words, and so little
    overlap.

    >>> overlap_score("late invoice fee", "the late fee applies to an invoice")
    0.6
    """
    return _dice(words(query), words(text))


def _dice(a: frozenset[str], b: frozenset[str]) -> float:
    return 2.0 * len(a & b) / (len(a) + len(b)) if a and b else 0.0


def recency_score(age: float, half_life: float) -> float:
    """Return 0.5 ** (age / half_life), both in one unit; 1 for an age of 0 or below (a date in the future).

    Raises OptionError for a half-life that is not finite and above 0, and for an age that is not a number.

    >>> recency_score(7, 7), recency_score(-3, 7)
    (0.5, 1.0)
    """
    check_positive("half_life", half_life)
    if isinstance(age, bool) or not isinstance(age, int | float) or math.isnan(age):
        raise OptionError(f"age: expected a number, got {quote(age)}", name="age", given=age)
    # the power of a very great age is 0; math.pow would call some of them a range error
    return float(0.5 ** min(max(age, 0.0) / half_life, 1100.0))


def weighted_score(scores: Sequence[float], weights: Sequence[float]) -> float:
    """Return the sum of scores times weights; weights are not normalised, and may be negative.

    Raises OptionError for lists of different lengths and for numbers that are not finite.

    >>> round(weighted_score([0.8, 0.5], [0.7, 0.3]), 6)
    0.71
    """
    if len(scores) != len(weights):
        raise OptionError(
            f"weights: expected {len(scores)} numbers, one for each score, got {len(weights)}",
            name="weights", given=len(weights),
        )
    for name, numbers in (("scores", scores), ("weights", weights)):
        for number in numbers:
            check_finite(name, number)
    return math.fsum(score * weight for score, weight in zip(scores, weights, strict=True))


@dataclass(frozen=True, slots=True)
class Overlap:
    """Scores sources by the words that they share with a query: see `overlap_score`."""

    query: str

    def __post_init__(self) -> None:
        if not isinstance(self.query, str):
            message = f"overlap: expected a text, got {quote(self.query)}"
            raise OptionError(message, name="query", given=self.query)

    def __call__(self, sources: Sequence[Source], /) -> list[float]:
        """Return one score for each source."""
        asked = words(self.query)
        return [_dice(asked, words(source.text)) for source in sources]


@dataclass(frozen=True, slots=True)
class Recency:
    """Scores sources by age: see `recency_score`. `now` as a Unix time; `half_life` in seconds."""

    now: float
    half_life: float

    def __call__(self, sources: Sequence[Source], /) -> list[float]:
        """Return one score for each source."""
        moments = [instant(source.updated) for source in sources]
        return [
            0.0 if moment is None else recency_score(self.now - moment, self.half_life) for moment in moments
        ]


@dataclass(frozen=True, slots=True)
class Weighted:
    """Scores sources by a weighted sum of scorers, in the order given."""

    parts: tuple[tuple[Scorer | str, float], ...]

    def __call__(self, sources: Sequence[Source], /) -> list[float]:
        """Return one score for each source."""
        columns = [(own_scores if name == "score" else name, weight) for name, weight in self.parts]
        scored = [(checked_scores(scorer, sources), weight) for scorer, weight in columns if callable(scorer)]
        return [math.fsum(scores[at] * weight for scores, weight in scored) for at in range(len(sources))]


def overlap(query: str) -> Overlap:
    """Return a scorer by words shared with `query` (Sorensen-Dice, 0 to 1).

    >>> overlap("late fee")([Source("a", "The late fee")])
    [0.8]
    """
    return Overlap(query)


def recency(now: date | datetime | str | float, half_life: timedelta | float) -> Recency:
    """Return a scorer by age: 1 for `now` or later, half after each half-life; 0 for a missing or unreadable
    date.

    now: an argument, since results do not depend on a clock; in any form that `Source.updated` may have.
    half_life: days, or a timedelta. Raises OptionError for a `now` that is no moment and a half-life not
    above 0.

    >>> recency("2024-03-08", 7)([Source("a", "x", updated="2024-03-01"), Source("b", "x")])
    [0.5, 0.0]
    """
    moment = instant(now)
    if moment is None:
        message = f"recency: now: expected a date, an ISO text or a Unix time, got {quote(now)}"
        raise OptionError(message, name="now", given=now)
    seconds = half_life.total_seconds() if isinstance(half_life, timedelta) else half_life
    check_positive("half_life", seconds)
    return Recency(moment, float(seconds) if isinstance(half_life, timedelta) else float(seconds) * _DAY)


def weighted(scorers: Mapping[Scorer | str, float]) -> Weighted:
    """Return a scorer that adds up scorers times their weights; the name "score" means the source's own
    score.

    Weights are not normalised. A missing own score counts 0. Raises OptionError for what is no scorer or
    weight.

    >>> weighted({"score": 0.7, overlap("fee"): 0.2})([Source("a", "fee", 0.5)])
    [0.55]
    """
    if not isinstance(scorers, Mapping) or not scorers:
        message = f"weighted: expected a mapping of scorers to weights, got {quote(scorers)}"
        raise OptionError(message, name="weighted", given=scorers)
    for scorer, weight in scorers.items():
        if scorer != "score" and not callable(scorer):
            raise OptionError.unknown("weighted", scorer, ["score", "a scorer"])
        check_finite("weighted", weight)
    return Weighted(tuple(scorers.items()))


def checked_scores(scorer: Scorer, sources: Sequence[Source]) -> list[float]:
    """Return the scores that a scorer gives, one finite number for each source, or raise OptionError."""
    scores = scorer(sources)
    try:
        plain = [float(score) for score in scores]
    except (TypeError, ValueError, OverflowError) as error:
        raise OptionError(
            f"score: the scorer has to give one number for each source, and gave {quote(scores)} ({error})",
            name="score", given=scorer,
        ) from error
    if len(plain) != len(sources):
        message = f"score: the scorer gave {len(plain)} scores for {len(sources)} sources"
        raise OptionError(message, name="score", given=scorer)
    for score, source in zip(plain, sources, strict=True):
        if not math.isfinite(score):
            message = f"score: the scorer gave source {quote(source.id)} {score}, not a finite number"
            raise OptionError(message, name="score", given=scorer)
    return plain


def own_scores(sources: Sequence[Source]) -> list[float]:
    """Return the scores of the sources themselves, 0 where one is missing."""
    return [0.0 if source.score is None else float(source.score) for source in sources]


def check_positive(name: str, value: Any) -> None:
    """Raise OptionError unless `value` is a finite number above 0."""
    if not is_finite(value) or value <= 0:
        message = f"{name}: expected a finite number above 0, got {quote(value)}"
        raise OptionError(message, name=name.rpartition(".")[2], given=value)


def check_finite(name: str, value: Any) -> None:
    """Raise OptionError unless `value` is a finite number."""
    if not is_finite(value):
        raise OptionError(
            f"{name}: expected a finite number, got {quote(value)}", name=name.rpartition(".")[2], given=value
        )
