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
with each of its inputs. They are in spans.json: a to g fitted by benchmarks/fit_spans.py as a conditional logit
(McFadden, 1974) on questions with known answers; h, and what a start in the middle loses, chosen among several by what
gets into the window (docs/spans.md); A, B and C are those of a first trial on the same questions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import mul

from promptpack.packing.candidate import Candidate
from promptpack.packing.spans_dates import months_in, months_of
from promptpack.packing.spans_scores import NEAREST, Constants, constants, softmax, standing
from promptpack.packing.spans_text import has_digits, named_as, names, pairs_in, terms, titled

_MOST_PAIRS = 3
_USUAL = 20  # units of a chunk as they were when the constants were fitted, at most


@dataclass(frozen=True, slots=True)
class Features:
    """What is known of the units: one row of numbers (FEATURES) for each, candidate by candidate; matched: which
    candidates have any term of the question. Where none has, only the scores tell them apart.
    """

    rows: tuple[tuple[tuple[float, ...], ...], ...]
    matched: tuple[bool, ...]


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
    return Features(rows, matched=tuple([bool(words or title) for words, title in zip(whole, titles, strict=True)]))


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
    order = sorted(range(len(candidates)), key=lambda k: (-likely[k], k))[:NEAREST]
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
