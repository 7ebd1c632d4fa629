"""What a sentence is worth: a calibrated probability that it holds what the question asks for, from a few cheap counts.

The probability of a unit u of the candidate c is

    softmax over all units of  a * score(c) + b * title(c) + d * links(c) + e * words(u) + f * pairs(u) + g * digits(u)
                             + h * dated(c)

    score   (score - best) / deviation, over the first 20 candidates by rank; without scores -ln(rank), times `rank`
    title   the share of the question's terms that the title and section have, weighted by their rarity among candidates
    links   the probability, by a first estimate, of the candidates of other documents whose text names this title
    words   the share of the question's terms in the unit or the title, weighted by their rarity among units
    pairs   the pairs of neighbouring terms of the question that stand side by side in the unit, at most 3
    digits  1 where the unit has a digit: facts that are asked for are often numbers
    dated   1 where the question names a month and its year, and the document is of that month (`spans_dates`)

less ln(n / 20) where c has n units, more than 20. A term that n of N have weighs ln((N + 0.5) / (n + 0.5)), and nothing
where n is 0: a word of the question that no candidate has tells nothing about them. The first estimate is
softmax(A * score + B * words(c) + C * title(c)) over the candidates. All constants are positive, so that a value grows
with each of its inputs. They are in spans.json, fitted by benchmarks/fit_spans.py as a conditional logit
(McFadden, 1974) on questions with known answers.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import mul
from typing import Any

from promptpack.packing.candidate import Candidate
from promptpack.packing.spans_dates import months_in, months_of
from promptpack.packing.spans_text import has_digits, named_as, names, pairs_in, terms, titled

FEATURES = ("score", "title", "links", "words", "pairs", "digits", "dated")
# The deviation of the scores is taken over so many of the best; only the likeliest so many are read for links.
_NEAREST = 20
_MOST_PAIRS = 3
_USUAL = 20  # units of a chunk as they were when the constants were fitted, at most


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


@dataclass(frozen=True, slots=True)
class Features:
    """What is known of the units: one row of numbers (FEATURES) for each, candidate by candidate; matched: whether
    any term of the question is in any candidate, or else only the scores tell them apart.
    """

    rows: tuple[tuple[tuple[float, ...], ...], ...]
    matched: bool


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
    return below_best(scores, sorted(range(len(scores)), key=lambda k: candidates[k].rank)[:_NEAREST])


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


def features(
    candidates: Sequence[Candidate], texts: Sequence[Sequence[str]], question: str, given: Constants | None = None
) -> Features:
    """Return the features of the units of each candidate for a question; texts: the units, by candidate.

    Linear in the length of the texts, apart from links: the 20 likeliest candidates are searched for each title.
    """
    weights = given or constants()
    asked = terms(question)
    known = list(dict.fromkeys(asked))
    wanted = frozenset(known)
    pairs = frozenset(pairwise(asked))
    shared: list[list[frozenset[str]]] = []
    paired: list[list[int]] = []
    for own in texts:
        found = [terms(text) for text in own]
        shared.append([wanted.intersection(one) for one in found])
        paired.append([
            min(_MOST_PAIRS, pairs_in(one, pairs)) if len(both) > 1 else 0
            for one, both in zip(found, shared[-1], strict=True)
        ])
    titles = _titles(candidates, wanted)
    whole: list[frozenset[str]] = [frozenset[str]().union(*own) for own in shared]
    rarity = _rarity(known, [one | title for one, title in zip(whole, titles, strict=True)])
    titled = [_share(title, rarity) for title in titles]
    z = standing(candidates, weights.rank)
    first = weights.first
    likely = softmax([
        first[0] * score + first[1] * _share(words, rarity) + first[2] * title
        for score, words, title in zip(z, whole, titled, strict=True)
    ])
    links = linked(candidates, likely)
    among = _rarity(known, [one for own in shared for one in own])
    shares: dict[frozenset[str], float] = {}  # most units have few terms, and the same

    def words(found: frozenset[str]) -> float:
        share = shares.get(found)
        if share is None:
            share = shares[found] = _share(found, among)
        return share

    dated = _dated(candidates, months_in(question))
    rows = tuple(
        tuple([
            (score, title, link, words(one | named) if named else words(one), float(many), float(has_digits(text)), day)
            for one, many, text in zip(both, counts, own, strict=True)
        ])
        for score, title, link, named, both, counts, own, day in zip(
            z, titled, links, titles, shared, paired, texts, dated, strict=True
        )
    )
    return Features(rows, matched=any(whole) or any(titles))


def _titles(candidates: Sequence[Candidate], wanted: frozenset[str]) -> list[frozenset[str]]:
    seen: dict[str, frozenset[str]] = {}
    found = []
    for one in candidates:
        title = titled(one.source.metadata)
        if title not in seen:
            seen[title] = wanted.intersection(terms(title))
        found.append(seen[title])
    return found


def _dated(candidates: Sequence[Candidate], asked: frozenset[tuple[int, int]]) -> list[float]:
    if not asked:
        return [0.0] * len(candidates)
    return [
        float(not asked.isdisjoint(months_of(one.source.metadata, one.source.updated))) for one in candidates
    ]


def _rarity(known: Sequence[str], having: Sequence[frozenset[str]]) -> dict[str, float]:
    """Return the share of each term in what all of them weigh together."""
    counts = dict.fromkeys(known, 0)
    for one in having:
        for term in one:
            counts[term] += 1
    total = len(having)
    weights = {term: math.log((total + 0.5) / (n + 0.5)) if n else 0.0 for term, n in counts.items()}
    together = math.fsum(weights.values())
    return {term: weight / together for term, weight in weights.items()} if together > 0 else dict.fromkeys(known, 0.0)


def _share(found: frozenset[str], rarity: dict[str, float]) -> float:
    return math.fsum([rarity[term] for term in found]) if found else 0.0


def linked(candidates: Sequence[Candidate], likely: Sequence[float]) -> list[float]:
    """Return, for each candidate, the probability of those of other documents whose text names its title.

    likely: a probability of each; the 20 likeliest are searched. Candidates of the same title or document do not name
    each other.
    """
    order = sorted(range(len(candidates)), key=lambda k: (-likely[k], k))[:_NEAREST]
    low = {k: candidates[k].text.casefold() for k in order}
    titles = [named_as(one.source.metadata.get("title")) for one in candidates]
    found: dict[str, list[int]] = {}
    links = []
    for k, title in enumerate(titles):
        if title is None:
            links.append(0.0)
            continue
        if title not in found:
            found[title] = [d for d in order if names(low[d], title)]
        document = candidates[k].source.document
        links.append(math.fsum(
            likely[d] for d in found[title]
            if titles[d] != title and (document is None or candidates[d].source.document != document)
        ))
    return links


def valued(found: Features, extra: Sequence[Sequence[float]] | None = None) -> list[list[float]]:
    """Return the probability of each unit, by candidate; all together they add up to 1.

    extra: log-odds to add to each unit, from a scorer of sentences.
    """
    weights = constants().sentence
    flat = [
        math.fsum(map(mul, weights, row)) - less
        for own in found.rows for less in (_for_length(len(own)),) for row in own
    ]
    if extra is not None:
        flat = [value + more for value, more in zip(flat, (x for own in extra for x in own), strict=True)]
    shares = iter(softmax(flat))
    return [[next(shares) for _ in own] for own in found.rows]


def _for_length(units: int) -> float:
    """Return the log-odds that each unit of a long text loses: together they count as `_USUAL` units, not more.

    The constants come from chunks of up to some 350 tokens. A whole manual in one chunk would outweigh the others by
    its length alone.
    """
    return math.log(units / _USUAL) if units > _USUAL else 0.0


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
