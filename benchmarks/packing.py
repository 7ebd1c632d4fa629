"""What packing costs, beside plain references, OR-tools and the npm package rag-chunk-reorder, as one table.

    python benchmarks/packing.py                        # all parts, about six minutes
    python benchmarks/packing.py --only knapsack,mmr    # some of them
    python benchmarks/packing.py --large                # near-duplicates of 50,000 chunks too: time and memory

CPU time, all in one run, the best of several rounds; texts, scores and costs come from a fixed seed. What would
take minutes in the plain way is timed on a sample and scaled up, and then marked "extrapolated". Peak memory is
that of a fresh process. Two references are needed by this script only, and their rows are left out with a
message where they are missing: OR-tools (`pip install ortools`), and node with npm, which installs version
0.1.7 of the package into a temporary folder. Node reports CPU and wall time; the smaller counts.

The results are compared as well as the times: the exit status is 1 where one is not what the reference gives.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from packing_knapsack import BUDGET, knapsack
from packing_npm import fuzzy, installed, reorder
from packing_run import Run, best, in_fresh_process
from packing_texts import THRESHOLD, candidates, chunks, likeness, plain_groups, scored

from promptpack.packing.diversity import Diversity, diversify
from promptpack.packing.join import near_groups
from promptpack.packing.pipeline import pack
from promptpack.packing.similarity import trigrams
from promptpack.source import Source

# Near-duplicates and diversity


def seconds_per_pair(texts: Sequence[str], rounds: int) -> float:
    sets = [trigrams(text) for text in texts[:200]]

    def compare() -> None:
        for at, one in enumerate(sets):
            for other in sets[:at]:
                likeness(one, other)

    return best(compare, rounds) / (len(sets) * (len(sets) - 1) / 2)


def many_chunks() -> object:
    return near_groups(chunks(50_000), THRESHOLD)


def many_chunks_unguarded() -> object:
    return near_groups(chunks(50_000), THRESHOLD, guard=False)


def near(run: Run, large: bool) -> None:
    texts = chunks(10_000)
    pair = seconds_per_pair(texts, run.rounds)
    for guard, name in ((True, "near-duplicates"), (False, "near-duplicates, numbers not guarded")):
        groups, _ = near_groups(texts, THRESHOLD, guard=guard)
        ours = best(lambda: near_groups(texts, THRESHOLD, guard=guard), min(run.rounds, 2))  # noqa: B023
        # The plain rule compares a text with the first texts of the groups before its own, or of all so far.
        owner = {at: number for number, group in enumerate(groups) for at in group}
        compared, opened = 0, 0
        for at in range(len(texts)):
            opens = groups[owner[at]][0] == at
            compared += opened if opens else owner[at] + 1
            opened += opens
        beside = f"pairwise, {compared:,} pairs, extrapolated"
        run.row(name, len(texts), ours, beside, compared * pair, "at most 6 s")
        for start in range(0, len(texts), 2500):
            some = texts[start : start + 250]
            same = near_groups(some, THRESHOLD, guard=guard)[0] == plain_groups(some, guard)
            run.check(f"{name}: the groups of the pairwise rule from {start}", same)
    if large:
        for work, name in ((many_chunks, ""), (many_chunks_unguarded, ", numbers not guarded")):
            spent, peak = in_fresh_process(work)
            run.row(f"near-duplicates{name} (with making the texts)", 50_000, spent)
            run.memory(f"near-duplicates{name}", 50_000, peak, "no fixed figure")


def plain_mmr(texts: Sequence[str], scores: Sequence[float], balance: float) -> list[int]:
    sets = [trigrams(text) for text in texts]
    least, most = min(scores), max(scores)
    relevance = [(score - least) / (most - least) for score in scores]
    nearest = [0.0] * len(texts)
    left, picks = list(range(len(texts))), []
    while left:
        pick = max(left, key=lambda at: (balance * relevance[at] - (1 - balance) * nearest[at], -at))
        picks.append(pick)
        left.remove(pick)
        for at in left:
            nearest[at] = max(nearest[at], likeness(sets[pick], sets[at]))
    return picks


def mmr(run: Run) -> None:
    texts, sample = chunks(1000), 250
    found = candidates(texts)
    policy = Diversity()
    ours = best(lambda: diversify(found, policy), run.rounds)
    scores = [1 / (at + 1) for at in range(sample)]
    picks: list[int] = []

    def plain() -> None:
        picks[:] = plain_mmr(texts[:sample], scores, policy.relevance)

    theirs = best(plain, 1) * (len(texts) / sample) ** 2
    run.row("MMR", len(texts), ours, f"plain Python, extrapolated from {sample}", theirs, "at most 0.5 s")
    order = [candidate.index for candidate in diversify(found[:sample], policy)]
    run.check("MMR: the order of plain Python", order == picks)


# The whole of it


def plain_pack(sources: Sequence[Source], budget: int) -> list[str]:
    distinct: dict[str, Source] = {}
    for source in sorted(sources, key=lambda source: (-(source.score or 0.0), source.id)):
        distinct.setdefault(" ".join(source.text.split()), source)
    chosen, left = [], budget
    for source in distinct.values():
        words = len(source.text.split())
        if words <= left:
            chosen.append(source.id)
            left -= words
    return chosen[::2] + chosen[1::2][::-1]


def whole(run: Run) -> None:
    sources = scored(chunks(5000))
    ours = best(lambda: pack(sources, BUDGET), run.rounds)
    theirs = best(lambda: plain_pack(sources, BUDGET), run.rounds)
    run.row("pack(): exact, top, fold", len(sources), ours, "sort, set, loop; keeps no account", theirs)
    run.check("pack(): the ids of the plain loop", list(pack(sources, BUDGET).ids) == plain_pack(sources, BUDGET))


PARTS = ("knapsack", "near", "mmr", "pack", "npm")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", default=",".join(PARTS), help=f"parts with commas between: {','.join(PARTS)}")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--large", action="store_true", help="near-duplicates of 50,000 chunks as well")
    options = parser.parse_args()
    parts = options.only.split(",")
    unknown = [part for part in parts if part not in PARTS]
    if unknown or options.rounds < 1:
        parser.error(f"--only takes {', '.join(PARTS)}; --rounds takes 1 or more")
    run = Run(options.rounds)
    if "knapsack" in parts:
        knapsack(run)
    if "near" in parts:
        near(run, options.large)
    if "mmr" in parts:
        mmr(run)
    if "pack" in parts:
        whole(run)
    if "npm" in parts:
        with installed(run) as package:
            if package is not None:
                reorder(run, package)
                fuzzy(run, package)
    print()
    for remark in run.remarks:
        print(remark)
    print("Results that differ from a reference: " + ("; ".join(run.wrong) or "none") + ".")
    return 1 if run.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
