"""What dedup and diversity cost, beside the plain way of doing the same on the same texts.

    python benchmarks/dedup.py             # 10,000 chunks
    python benchmarks/dedup.py --large     # 50,000 chunks as well: time and memory

The plain way compares sets of trigrams pair by pair; it is run on a sample of pairs and scaled up to the
pairs that it would have to compare. Texts are generated from a fixed seed: about 200 tokens each over a
Zipf-like vocabulary, three in ten of them copies of another with up to a dozen words changed. The groups are
checked against the plain rule on samples.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import time
from collections.abc import Callable
from itertools import combinations

from promptpack.packing.candidate import Candidate
from promptpack.packing.dedup import Dedup, deduplicate
from promptpack.packing.diversity import Diversity, diversify
from promptpack.packing.facts import contradict
from promptpack.packing.join import near_groups
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


def seconds(call: Callable[[], object], times: int = 3) -> float:
    """The best of several runs: the others measure what else the machine was doing."""
    best = float("inf")
    for _ in range(times):
        begin = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - begin)
    return best


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


def seconds_per_pair(texts: list[str]) -> float:
    sets = [trigrams(text) for text in texts[:200]]
    pairs = list(combinations(sets, 2))
    return seconds(lambda: [likeness(a, b) for a, b in pairs]) / len(pairs)


def candidates(texts: list[str]) -> list[Candidate]:
    return [
        Candidate.of(Source(str(at), text, 1 / (at + 1), document=str(at % 40)), at, at + 1)
        for at, text in enumerate(texts)
    ]


def row(what: str, n: int, ours: float, plain: float) -> None:
    print(f"| {what} | {n:,} | {ours:.3f} s | {plain:,.2f} s | {plain / ours:,.1f} |")


def near(texts: list[str]) -> None:
    for guard in (True, False):
        name = "near, numbers guarded" if guard else "near, not guarded"
        groups, _ = near_groups(texts, THRESHOLD, guard=guard)
        ours = seconds(lambda: near_groups(texts, THRESHOLD, guard=guard), 2)  # noqa: B023 - called at once
        # The plain rule compares each text with the first texts of the groups up to its own.
        compared = sum(len(group) * group[0] for group in groups) * len(groups) / len(texts)
        row(name, len(texts), ours, compared * seconds_per_pair(texts))


def check(texts: list[str]) -> int:
    """Compare the groups with those of the plain rule on slices of the texts; return how many differ."""
    wrong = 0
    for start in range(0, len(texts), max(1, len(texts) // 4)):
        some = texts[start : start + 250]
        wrong += sum(near_groups(some, THRESHOLD, guard=g)[0] != plain_groups(some, g) for g in (True, False))
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--large", action="store_true", help="50,000 chunks as well")
    options = parser.parse_args()
    texts = chunks(options.chunks)
    print(f"{len(texts):,} chunks of {sum(map(len, texts)) // len(texts):,} characters\n")
    print("| what | chunks | promptpack | plain | ratio |\n|---|---|---|---|---|")

    found = candidates(texts)
    ours = seconds(lambda: deduplicate(found, Dedup()))
    row("exact (plain: join of split)", len(found), ours, seconds(lambda: {" ".join(t.split()) for t in texts}))
    near(texts)

    some = candidates(texts[:1000])
    ours = seconds(lambda: diversify(some, Diversity()))
    row("diversity (plain: MMR over sets)", 1000, ours, 1000 * 999 / 2 * seconds_per_pair(texts))

    wrong = check(texts)
    print(f"\nslices grouped otherwise than by the plain rule: {wrong}")
    if options.large:
        many = chunks(50_000)
        for guard in (True, False):
            begin = time.perf_counter()
            groups, _ = near_groups(many, THRESHOLD, guard=guard)
            spent = time.perf_counter() - begin
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
            print(f"50,000 chunks, guard={guard}: {spent:.1f} s, {len(groups):,} groups, peak {peak:,.0f} MB")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
