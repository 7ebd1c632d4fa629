"""Scores of a batch of sources: a weighted sum of what is known of each, on one scale; scoring candidates."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from promptpack.errors import OptionError, quote
from promptpack.packing.candidate import Candidate
from promptpack.packing.dates import instant
from promptpack.packing.ranking import is_finite
from promptpack.packing.scorers import (
    Scorer,
    check_finite,
    check_positive,
    checked_scores,
    overlap,
    own_scores,
    recency,
    weighted,
)
from promptpack.source import Source

__all__ = [
    "Normalize", "Scoring", "as_sent", "normalized", "overlap", "recency", "score_candidates", "weighted",
]

Normalize = Literal["none", "minmax", "zscore", "softmax"]


@dataclass(frozen=True, slots=True)
class Scoring:
    """A weighted sum of a source's own score and of its age, position and reliability within the batch.

    similarity, recency, position, reliability: weights. The score is clamped, then normalised; the other
    three are rescaled to 0..1 over the values present in the batch (x - min) / (max - min), where missing or
    unreadable values and batches of equal values give 0. Newer and later is more.
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
            check_finite(f"Scoring.{name}", getattr(self, name))
        if self.normalize not in get_args(Normalize):
            raise OptionError.unknown("Scoring.normalize", self.normalize, get_args(Normalize))
        check_positive("Scoring.temperature", self.temperature)
        if self.clamp is not None:
            pair = self.clamp
            numbers = isinstance(pair, tuple) and len(pair) == 2 and all(map(is_finite, pair))
            if not numbers or pair[0] > pair[1]:
                message = f"Scoring.clamp: expected (low, high) or None, got {quote(str(pair))}"
                raise OptionError(message, name="clamp", given=pair)

    def __call__(self, sources: Sequence[Source], /) -> list[float]:
        """Return one score for each source."""
        scores = own_scores(sources)
        if self.clamp is not None:
            low, high = self.clamp
            scores = [min(max(score, low), high) for score in scores]
        total = [self.similarity * score for score in normalized(scores, self.normalize, self.temperature)]
        columns: tuple[tuple[float, Callable[[Source], float | None]], ...] = (
            (self.recency, lambda source: instant(source.updated)),
            (self.position, lambda source: _number(source.position)),
            (self.reliability, lambda source: _number(source.reliability)),
        )
        for weight, read in columns:
            if weight:  # what counts for nothing need not be read
                shares = _shares([read(source) for source in sources])
                total = [score + weight * share for score, share in zip(total, shares, strict=True)]
        return total


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
    check_positive("temperature", temperature)
    powers = [math.exp((score - high) / temperature) for score in scores]
    total = math.fsum(powers)
    return [power / total for power in powers]


def score_candidates(
    candidates: Sequence[Candidate], scorer: Scoring | Scorer | str, question: str | None = None
) -> list[Candidate]:
    """Return the candidates with the scores that a scorer gives them, in their order.

    scorer: called once with all sources, as they would be sent (with the text and score of the candidate),
    and gives one finite number for each. The name "overlap" means `overlap(question)`. Raises OptionError
    for other answers and names, and for "overlap" without a question.

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
    scores = checked_scores(scorer, [as_sent(candidate) for candidate in candidates])
    return [replace(candidate, score=score) for candidate, score in zip(candidates, scores, strict=True)]


def as_sent(candidate: Candidate) -> Source:
    """Return the source of a candidate as it would be sent: with the text and score of the candidate."""
    source = candidate.source
    if candidate.text == source.text and candidate.score == source.score:
        return source
    tokens = source.tokens if candidate.text == source.text else None
    return replace(source, text=candidate.text, score=candidate.score, tokens=tokens)


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
