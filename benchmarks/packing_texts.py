"""The texts of the packing benchmarks, from a fixed seed, and the plain rules that results are compared with.

Texts are about 200 tokens each over a Zipf-like vocabulary, three in ten of them copies of another with up to a dozen
words changed.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from promptpack.packing.candidate import Candidate
from promptpack.packing.facts import contradict
from promptpack.packing.similarity import trigrams
from promptpack.source import Source

SEED = 20240301
WORDS = 150
THRESHOLD = 0.9


def chunks(n: int, words: int = WORDS) -> list[str]:
    rng = random.Random(SEED)
    vocabulary = ["".join(rng.choices("etaoinshrdlucmfwypvbgk", k=rng.randint(2, 9))) for _ in range(5000)]
    vocabulary += [str(number) for number in range(1, 200, 7)]
    weights = [1 / (at + 10) for at in range(len(vocabulary))]
    texts: list[str] = []
    for _ in range(n):
        if texts and rng.random() < 0.3:
            changed = rng.choice(texts).split()
            for _ in range(rng.randint(0, 12)):
                changed[rng.randrange(len(changed))] = rng.choice(vocabulary)
            texts.append(" ".join(changed))
        else:
            texts.append(" ".join(rng.choices(vocabulary, weights, k=words)))
    return texts


def scored(texts: Sequence[str]) -> list[Source]:
    rng = random.Random(SEED + len(texts))
    return [Source(f"chunk-{at}", text, round(rng.random(), 6)) for at, text in enumerate(texts)]


def candidates(texts: list[str]) -> list[Candidate]:
    return [
        Candidate.of(Source(str(at), text, 1 / (at + 1), document=str(at % 40)), at, at + 1)
        for at, text in enumerate(texts)
    ]


def likeness(a: frozenset[str], b: frozenset[str]) -> float:
    shared = len(a & b)
    return shared / ((len(a) + len(b) - shared) or 1)


def plain_groups(texts: list[str], guard: bool) -> list[list[int]]:
    sets = [trigrams(text) for text in texts]
    groups: list[list[int]] = []
    for at, text in enumerate(texts):
        for group in groups:
            first = group[0]
            if likeness(sets[first], sets[at]) >= THRESHOLD and not (guard and contradict(texts[first], text)):
                group.append(at)
                break
        else:
            groups.append([at])
    return groups
