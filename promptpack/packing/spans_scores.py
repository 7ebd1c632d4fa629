"""What scores alone tell of candidates, and the constants of the formulas for the values of spans.

Where no question tells sentences apart, the chance of a candidate is softmax(score_only * score), shared by its
sentences by their length; what is sent whole counts by `before_all_behind`.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from promptpack.packing.candidate import Candidate

FEATURES = ("score", "title", "links", "words", "pairs", "digits", "dated")
# The deviation of the scores is taken over so many of the best; only the likeliest so many are read for links.
NEAREST = 20
# What a source sent whole leaves, at the least, to those behind it.
_REST = 0.1


@dataclass(frozen=True, slots=True)
class Constants:
    """The weights of the formulas: `sentence` in the order of FEATURES, `first` of score, words and title."""

    first: tuple[float, float, float]
    sentence: tuple[float, ...]
    rank: float
    score_only: float
    opening: float
    leaning: float


@functools.cache
def constants() -> Constants:
    """Return the constants that are shipped; read on first use.

    >>> all(weight > 0 for weight in constants().sentence)
    True
    """
    from importlib.resources import files

    data: dict[str, Any] = json.loads(files("promptpack.packing").joinpath("spans.json").read_text(encoding="utf-8"))
    first, sentence = data["first"], data["sentence"]
    return Constants(
        (first["score"], first["words"], first["title"]), tuple(sentence[name] for name in FEATURES),
        data["rank"], data["score_only"], data["opening"], data["leaning"],
    )


def standing(candidates: Sequence[Candidate], by_rank: float = 1.0) -> list[float]:
    """Return how far each score is below the best, in deviations: 0 for the best, below 0 for the others.

    (score - best) / d, d being the population deviation of the first 20 scores by rank; 0 where they are all equal. A
    missing score counts as the lowest. Without any score -by_rank * ln(rank).

    >>> from promptpack.source import Source
    >>> standing([Candidate.of(Source("a", "x", 3.0)), Candidate.of(Source("b", "y", 1.0), 1, 2)])
    [0.0, -2.0]
    """
    known = [float(one.score) for one in candidates if one.score is not None]
    if not known:
        return [-by_rank * math.log(one.rank) for one in candidates]
    lowest = min(known)
    scores = [lowest if one.score is None else float(one.score) for one in candidates]
    return below_best(scores, sorted(range(len(scores)), key=lambda k: candidates[k].rank)[:NEAREST])


def below_best(numbers: Sequence[float], measured: Sequence[int] | None = None) -> list[float]:
    """Return (number - best) / population deviation; 0 where all are equal. measured: whose deviation is taken.

    >>> below_best([3.0, 1.0])
    [0.0, -2.0]
    """
    if not numbers:
        return []
    best = max(numbers)
    scale = max(abs(best), abs(min(numbers))) or 1.0  # scaled, so that differences and squares do not overflow
    scaled = [number / scale - best / scale for number in numbers]
    head = scaled if measured is None else [scaled[k] for k in measured]
    mean = math.fsum(head) / len(head)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in head) / len(head))
    if deviation <= 1e-12:
        return [0.0] * len(scaled)
    return [value / deviation for value in scaled]


def softmax(numbers: Sequence[float]) -> list[float]:
    """Return exp(x - max) / sum, numbers that add up to 1.

    >>> softmax([0.0, 0.0])
    [0.5, 0.5]
    """
    if not numbers:
        return []
    top = max(numbers)
    powers = [math.exp(max(number - top, -700.0)) for number in numbers]
    total = math.fsum(powers)
    return [power / total for power in powers]


def by_score(candidates: Sequence[Candidate], texts: Sequence[Sequence[str]]) -> list[list[float]]:
    """Return the probability of each unit where there is nothing but scores: that of its candidate, shared by length.

    softmax(score_only * score) over the candidates, with the constant that is shipped; see `standing`.
    """
    given = constants()
    whole = softmax([given.score_only * value for value in standing(candidates, given.rank)])
    values = []
    for share, own in zip(whole, texts, strict=True):
        total = sum(map(len, own))
        values.append([share * len(text) / total if total else 0.0 for text in own])
    return values


def before_all_behind(candidates: Sequence[Candidate]) -> tuple[list[float], float]:
    """Return what each candidate is worth whole where no candidate may give way to those behind it, and the rest.

    Of what the better ranks leave of 1, each has its share by softmax(score_only * score), from a half to nine tenths.
    So it is worth no less than all behind it and the rest together, and taking sources in rank order, each that fits,
    gives the greatest sum that a budget allows. The rest is for what is sent in part. candidates: in rank order.

    >>> from promptpack.source import Source
    >>> worth, rest = before_all_behind([Candidate.of(Source("a", "x")), Candidate.of(Source("b", "y"), 1, 2)])
    >>> [round(one, 3) for one in worth], round(rest, 3)
    ([0.767, 0.21], 0.023)
    """
    given = constants()
    shares = softmax([given.score_only * value for value in standing(candidates, given.rank)])
    behind = list(accumulate(reversed(shares)))[::-1]
    left, worth = 1.0, []
    for share, more in zip(shares, behind, strict=True):
        part = left * min(1.0 - _REST, max(0.5, share / more if more else 0.0))
        worth.append(part)
        left -= part
    return worth, left
