"""Scores from what is known of a source: shared words, age, position, reliability, and sums of them."""

from __future__ import annotations

import functools
import math
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any, Literal, get_args

from promptpack.errors import OptionError, quote
from promptpack.packing.candidate import Candidate
from promptpack.packing.dates import instant
from promptpack.packing.ranking import is_finite
from promptpack.source import Source

Normalize = Literal["none", "minmax", "zscore", "softmax"]
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
    return frozenset(_word().findall(unicodedata.normalize("NFC", text.lower()) if not text.isascii() else text.lower()))


def overlap_score(query: str, text: str) -> float:
    """Return the Sorensen-Dice overlap of the words of two texts: 2 |A and B| / (|A| + |B|), 0 where one has none.

    A and B are sets: a word counts once. Scripts without blanks between words have long words, and so little overlap.

    >>> overlap_score("late invoice fee", "the late fee applies to an invoice")
    0.6
    """
    return _dice(words(query), words(text))


def _dice(a: frozenset[str], b: frozenset[str]) -> float:
    return 2 * len(a & b) / (len(a) + len(b)) if a and b else 0.0


def recency_score(age: float, half_life: float) -> float:
    """Return 0.5 ** (age / half_life), both in one unit; 1 for an age of 0 or below (a date in the future).

    Raises OptionError for a half-life that is not finite and above 0, and for an age that is not a number.

    >>> recency_score(7, 7), recency_score(-3, 7)
    (0.5, 1.0)
    """
    _positive("half_life", half_life)
    if isinstance(age, bool) or not isinstance(age, int | float) or math.isnan(age):
        raise OptionError(f"age: expected a number, got {quote(age)}", name="age", given=age)
    # the power of a very great age is 0; math.pow would call some of them a range error
    return 0.5 ** min(max(age, 0.0) / half_life, 1100.0)


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
            _finite(name, number)
    return math.fsum(score * weight for score, weight in zip(scores, weights, strict=True))


@dataclass(frozen=True, slots=True)
class Overlap:
    """Scores sources by the words that they share with a query: see `overlap_score`."""

    query: str

    def __post_init__(self) -> None:
        if not isinstance(self.query, str):
            raise OptionError(f"overlap: expected a text, got {quote(self.query)}", name="query", given=self.query)

    def __call__(self, sources: Sequence[Source], /) -> list[float]:
        asked = words(self.query)
        return [_dice(asked, words(source.text)) for source in sources]


@dataclass(frozen=True, slots=True)
class Recency:
    """Scores sources by age: see `recency_score`. `now` as a Unix time; `half_life` in seconds."""

    now: float
    half_life: float

    def __call__(self, sources: Sequence[Source], /) -> list[float]:
        moments = [instant(source.updated) for source in sources]
        return [
            0.0 if moment is None else recency_score(self.now - moment, self.half_life) for moment in moments
        ]


@dataclass(frozen=True, slots=True)
class Weighted:
    """Scores sources by a weighted sum of scorers, in the order given."""

    parts: tuple[tuple[Scorer | str, float], ...]

    def __call__(self, sources: Sequence[Source], /) -> list[float]:
        columns = [(_own_scores if name == "score" else name, weight) for name, weight in self.parts]
        scored = [(checked_scores(scorer, sources), weight) for scorer, weight in columns if callable(scorer)]
        return [math.fsum(scores[at] * weight for scores, weight in scored) for at in range(len(sources))]


def overlap(query: str) -> Overlap:
    """Return a scorer by words shared with `query` (Sorensen-Dice, 0 to 1).

    >>> overlap("late fee")([Source("a", "The late fee")])
    [0.8]
    """
    return Overlap(query)


def recency(now: date | datetime | str | float, half_life: timedelta | float) -> Recency:
    """Return a scorer by age: 1 for `now` or later, half after each half-life; 0 for a missing or unreadable date.

    now: an argument, since results do not depend on a clock; in any form that `Source.updated` may have.
    half_life: days, or a timedelta. Raises OptionError for a `now` that is no moment and a half-life not above 0.

    >>> recency("2024-03-08", 7)([Source("a", "x", updated="2024-03-01"), Source("b", "x")])
    [0.5, 0.0]
    """
    moment = instant(now)
    if moment is None:
        message = f"recency: now: expected a date, an ISO text or a Unix time, got {quote(now)}"
        raise OptionError(message, name="now", given=now)
    seconds = half_life.total_seconds() if isinstance(half_life, timedelta) else half_life
    _positive("half_life", seconds)
    return Recency(moment, float(seconds) if isinstance(half_life, timedelta) else float(seconds) * _DAY)


def weighted(scorers: Mapping[Scorer | str, float]) -> Weighted:
    """Return a scorer that adds up scorers times their weights; the name "score" means the source's own score.

    Weights are not normalised. A missing own score counts 0. Raises OptionError for what is no scorer or weight.

    >>> weighted({"score": 0.7, overlap("fee"): 0.3})([Source("a", "fee", 0.5)])
    [0.65]
    """
    if not isinstance(scorers, Mapping) or not scorers:
        message = f"weighted: expected a mapping of scorers to weights, got {quote(scorers)}"
        raise OptionError(message, name="weighted", given=scorers)
    for scorer, weight in scorers.items():
        if scorer != "score" and not callable(scorer):
            raise OptionError.unknown("weighted", scorer, ["score", "a scorer"])
        _finite("weighted", weight)
    return Weighted(tuple(scorers.items()))


@dataclass(frozen=True, slots=True)
class Scoring:
    """A weighted sum of a source's own score and of its age, position and reliability within the batch.

    similarity, recency, position, reliability: weights. The score is clamped, then normalised; the other three are
    rescaled to 0..1 over the values present in the batch (x - min) / (max - min), where missing or unreadable values and
    batches of equal values give 0. Newer and later is more.
    normalize: none; minmax: (s - min) / (max - min), 1 where all are equal; zscore: (s - mean) / population
    deviation, 0 where all are equal; softmax: exp((s - max) / temperature) / sum.
    temperature: of softmax only, above 0. clamp: (low, high), or None. A missing score counts 0.

    Raises OptionError for a value that a field cannot have.

    >>> Scoring(normalize="minmax")([Source("a", "x", 1.0), Source("b", "x", 3.0), Source("c", "x", 2.0)])
    [0.0, 1.0, 0.5]
    """

    similarity: float = 1.0
    recency: float = 0.0
    position: float = 0.0
    reliability: float = 0.0
    normalize: Normalize = "none"
    temperature: float = 1.0
    clamp: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        for name in ("similarity", "recency", "position", "reliability"):
            _finite(f"Scoring.{name}", getattr(self, name))
        if self.normalize not in get_args(Normalize):
            raise OptionError.unknown("Scoring.normalize", self.normalize, get_args(Normalize))
        _positive("Scoring.temperature", self.temperature)
        if self.clamp is not None:
            pair = self.clamp
            if not (isinstance(pair, tuple) and len(pair) == 2 and all(map(is_finite, pair)) and pair[0] <= pair[1]):
                message = f"Scoring.clamp: expected (low, high) or None, got {quote(str(pair))}"
                raise OptionError(message, name="clamp", given=pair)

    def __call__(self, sources: Sequence[Source], /) -> list[float]:
        scores = _own_scores(sources)
        if self.clamp is not None:
            low, high = self.clamp
            scores = [min(max(score, low), high) for score in scores]
        columns = [
            (self.similarity, normalized(scores, self.normalize, self.temperature)),
            (self.recency, _shares([instant(source.updated) for source in sources])),
            (self.position, _shares([_number(source.position) for source in sources])),
            (self.reliability, _shares([_number(source.reliability) for source in sources])),
        ]
        return [sum(weight * column[at] for weight, column in columns) for at in range(len(sources))]


def normalized(scores: Sequence[float], how: Normalize = "none", temperature: float = 1.0) -> list[float]:
    """Return scores on another scale: see `Scoring`.

    >>> normalized([0.1, 0.1, 0.1], "zscore")
    [0.0, 0.0, 0.0]
    """
    if not scores or how == "none":
        return list(scores)
    low, high = min(scores), max(scores)
    if how == "minmax":
        # Halved, so that the width of the widest range is still a number.
        width = high / 2 - low / 2
        return [(score / 2 - low / 2) / width if width > 0 else 1.0 for score in scores]
    if how == "zscore":
        if low == high:
            return [0.0] * len(scores)
        # Scaled, so that squares do not overflow: the deviation scales along.
        scale = max(abs(low), abs(high))
        scaled = [score / scale for score in scores]
        mean = math.fsum(scaled) / len(scaled)
        deviation = math.sqrt(math.fsum((score - mean) ** 2 for score in scaled) / len(scaled))
        return [(score - mean) / deviation if deviation > 0 else 0.0 for score in scaled]
    if how != "softmax":
        raise OptionError.unknown("normalize", how, get_args(Normalize))
    _positive("temperature", temperature)
    powers = [math.exp((score - high) / temperature) for score in scores]
    total = math.fsum(powers)
    return [power / total for power in powers]


def score_candidates(
    candidates: Sequence[Candidate], scorer: Scoring | Scorer | str, question: str | None = None
) -> list[Candidate]:
    """Return the candidates with the scores that a scorer gives them, in their order.

    scorer: called once with all sources, as they would be sent (with the text and score of the candidate), and gives one
    finite number for each. The name "overlap" means `overlap(question)`. Raises OptionError for other answers and names, and
    for "overlap" without a question.

    >>> source = Source("a", "late fee", 0.1)
    >>> score_candidates([Candidate.of(source)], overlap("fee"))[0].score
    0.6666666666666666
    """
    if isinstance(scorer, str):
        if scorer != "overlap":
            raise OptionError.unknown("score", scorer, ["overlap", "a Scoring", "a scorer"])
        if question is None:
            raise OptionError('score: "overlap" needs a question', name="score", given=scorer)
        scorer = overlap(question)
    if not callable(scorer):
        raise OptionError.unknown("score", scorer, ["overlap", "a Scoring", "a scorer"])
    scores = checked_scores(scorer, [_as_sent(candidate) for candidate in candidates])
    return [replace(candidate, score=score) for candidate, score in zip(candidates, scores, strict=True)]


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
        raise OptionError(
            f"score: the scorer gave {len(plain)} scores for {len(sources)} sources", name="score", given=scorer
        )
    for score, source in zip(plain, sources, strict=True):
        if not math.isfinite(score):
            message = f"score: the scorer gave source {quote(source.id)} the score {score}, not a finite number"
            raise OptionError(message, name="score", given=scorer)
    return plain


def _as_sent(candidate: Candidate) -> Source:
    source = candidate.source
    if candidate.text == source.text and candidate.score == source.score:
        return source
    tokens = source.tokens if candidate.text == source.text else None
    return replace(source, text=candidate.text, score=candidate.score, tokens=tokens)


def _own_scores(sources: Sequence[Source]) -> list[float]:
    return [0.0 if source.score is None else float(source.score) for source in sources]


def _number(value: object) -> float | None:
    return float(value) if is_finite(value) and isinstance(value, int | float) else None


def _shares(values: Sequence[float | None]) -> list[float]:
    """Return (x - min) / (max - min) over the values that are there; 0 for the others and for equal ones."""
    known = [value for value in values if value is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    width = high / 2 - low / 2
    if width <= 0:
        return [0.0] * len(values)
    return [0.0 if value is None else (value / 2 - low / 2) / width for value in values]


def _positive(name: str, value: Any) -> None:
    if not is_finite(value) or value <= 0:
        message = f"{name}: expected a finite number above 0, got {quote(value)}"
        raise OptionError(message, name=name.rpartition(".")[2], given=value)


def _finite(name: str, value: Any) -> None:
    if not is_finite(value):
        raise OptionError(
            f"{name}: expected a finite number, got {quote(value)}", name=name.rpartition(".")[2], given=value
        )
