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
import gc
import importlib.util
import json
import math
import multiprocessing
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dedup import SEED, THRESHOLD, candidates, chunks, likeness, plain_groups

from promptpack.packing.candidate import Candidate
from promptpack.packing.dedup import Dedup, deduplicate
from promptpack.packing.diversity import Diversity, diversify
from promptpack.packing.join import near_groups
from promptpack.packing.knapsack import optimal
from promptpack.packing.pipeline import Packing, pack
from promptpack.packing.place import fold
from promptpack.packing.ranking import rank_gain, rank_order
from promptpack.packing.similarity import trigrams
from promptpack.source import Source

NPM = "rag-chunk-reorder"
NPM_VERSION = "0.1.7"
BUDGET = 100_000
PROFIT = 10**9  # OR-tools takes whole profits: values are given to it in billionths
LIMIT = 20      # seconds that its branch and bound may take
PROGRAMMING = "KNAPSACK_DYNAMIC_PROGRAMMING_SOLVER"
SEARCHING = "KNAPSACK_MULTIDIMENSION_BRANCH_AND_BOUND_SOLVER"

# argv: the package, what to do, the chunks, rounds, threshold. Prints the best CPU and wall time and the ids.
SCRIPT = """
const [folder, what, file, rounds, threshold] = process.argv.slice(2)
const { Reorderer, deduplicateChunks } = require(folder)
const chunks = JSON.parse(require("fs").readFileSync(file, "utf8"))
const reorderer = new Reorderer({ strategy: "scoreSpread" })
const work = {
  reorder: () => reorderer.reorderSync(chunks),
  dedup: () => deduplicateChunks(chunks, { threshold: Number(threshold) }),
}[what]
let cpu = Infinity, wall = Infinity, out
for (let round = 0; round < Number(rounds); round++) {
  const before = process.cpuUsage(), begin = performance.now()
  out = work()
  wall = Math.min(wall, (performance.now() - begin) / 1e3)
  const used = process.cpuUsage(before)
  cpu = Math.min(cpu, (used.user + used.system) / 1e6)
}
console.log(JSON.stringify({ cpu, wall, ids: out.map((chunk) => chunk.id) }))
"""


class Run:
    """One run: prints a row as soon as it is known, keeps what must be said at the end."""

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds
        self.wrong: list[str] = []
        self.remarks: list[str] = []
        print("| what | n | promptpack | beside | takes | ratio | target |")
        print("| --- | ---: | ---: | --- | ---: | ---: | --- |", flush=True)

    def row(
        self, what: str, n: int, ours: float, beside: str = "", theirs: float | None = None, target: str = ""
    ) -> None:
        known = "|" if theirs is None else f"{duration(theirs)} | {ratio(theirs / ours)}"
        print(f"| {what} | {n:,} | {duration(ours)} | {beside} | {known} | {target} |", flush=True)

    def memory(self, what: str, n: int, peak: float, target: str) -> None:
        print(f"| {what}, peak of the process | {n:,} | {peak:,.0f} MB | | | | {target} |", flush=True)

    def check(self, what: str, same: bool) -> None:
        if not same:
            self.wrong.append(what)


def duration(seconds: float) -> str:
    return f"{seconds * 1000:,.1f} ms" if seconds < 1 else f"{seconds:,.2f} s"


def ratio(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.2f}"


def best(call: Callable[[], object], rounds: int) -> float:
    """The least CPU time of several rounds: the others measure what else the machine was doing."""
    least = math.inf
    for _ in range(rounds):
        gc.collect()
        begin = time.process_time()
        call()
        least = min(least, time.process_time() - begin)
    return least


def _peak() -> float:
    """The most memory that this process has held, in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # Linux hands ru_maxrss of the parent on to a child; VmHWM starts anew with the program
        return int(status.read_text("utf-8").split("VmHWM:")[1].split()[0]) / 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def _report_peak(work: Callable[[], object], send: Any) -> None:
    begin = time.process_time()
    work()
    spent = time.process_time() - begin
    send.send((spent, _peak()))


def in_fresh_process(work: Callable[[], object]) -> tuple[float, float]:
    """Return CPU seconds and peak memory in MB of a new process that does nothing else."""
    spawn = multiprocessing.get_context("spawn")
    receive, send = spawn.Pipe(duplex=False)
    process = spawn.Process(target=_report_peak, args=(work, send))
    process.start()
    send.close()
    try:
        spent, peak = receive.recv()
    except EOFError:
        process.join()
        raise SystemExit(f"the process for {work.__name__} ended with {process.exitcode}") from None
    process.join()
    return spent, peak


# Knapsack


def items(n: int, alike: bool = False) -> tuple[list[int], list[float]]:
    """Chunks of 100 to 2,000 tokens in rank order, with the values that ranks have by default.

    alike: worth what they cost and a little more instead, which is hard for solvers that search.
    """
    rng = random.Random(SEED + n)
    costs = [rng.randint(100, 2000) for _ in range(n)]
    return costs, [(cost + 100) / 2000 if alike else rank_gain(at) for at, cost in enumerate(costs, 1)]


def plain_table(costs: Sequence[int], values: Sequence[float], budget: int) -> list[int]:
    import numpy as np

    row = np.zeros(budget + 1)
    taken = np.zeros((len(costs), budget + 1), bool)
    for at, (cost, value) in enumerate(zip(costs, values, strict=True)):
        if cost > budget:
            continue
        more = row[: budget + 1 - cost] + value
        taken[at, cost:] = more > row[cost:]
        row[cost:] = np.maximum(row[cost:], more)
    chosen, left = [], budget
    for at in reversed(range(len(costs))):
        if taken[at, left]:
            chosen.append(at)
            left -= costs[at]
    return chosen[::-1]


def with_ortools(kind: str, costs: Sequence[int], values: Sequence[float], budget: int) -> tuple[float, bool]:
    """Return the value that OR-tools finds, in our units, and whether it finished within its limit."""
    from ortools.algorithms.python import knapsack_solver  # type: ignore[import-untyped]

    solver = knapsack_solver.KnapsackSolver(getattr(knapsack_solver.SolverType, kind), "benchmark")
    if kind == SEARCHING:
        solver.set_time_limit(LIMIT)
    solver.init([round(value * PROFIT) for value in values], [list(costs)], [budget])
    solver.solve()
    finished = solver.is_solution_optimal()
    return sum(values[at] for at in range(len(values)) if solver.best_solution_contains(at)), finished


def large_knapsack() -> object:
    return optimal(*items(2000), BUDGET)


def knapsack(run: Run) -> None:
    solvers = {"OR-tools, dynamic programming": PROGRAMMING, "OR-tools, branch and bound": SEARCHING}
    if importlib.util.find_spec("ortools") is None:
        solvers = {}
        run.remarks.append("OR-tools is not installed (pip install ortools): its rows are left out.")
    for n, target in ((200, "at most 30 ms"), (2000, "at most 0.8 s")):
        for alike, what in ((False, "knapsack"), (True, "knapsack, values like costs")):
            costs, values = items(n, alike)
            chosen = optimal(costs, values, BUDGET)
            ours = best(lambda: optimal(costs, values, BUDGET), run.rounds + 2)  # noqa: B023 - called at once
            plain = best(lambda: plain_table(costs, values, BUDGET), run.rounds)  # noqa: B023
            run.row(what, n, ours, "plain numpy table", plain, target)
            same = chosen == plain_table(costs, values, BUDGET)
            run.check(f"{what} of {n}: the set of the plain table", same)
            value = sum(values[at] for at in chosen)
            for name, kind in solvers.items():
                if alike and kind == PROGRAMMING:
                    continue  # its time does not depend on the values
                found: list[tuple[float, bool]] = []
                theirs = best(lambda: found.append(with_ortools(kind, costs, values, BUDGET)), 1)  # noqa: B023
                worth, finished = found[0]
                run.row(what, n, ours, name if finished else f"{name}, stopped unfinished", theirs)
                # Rounding of profits moves a value by at most half a billionth an item, on either side.
                near = n / PROFIT
                run.check(f"{what} of {n}: the value of {name}", -near <= value - worth and (
                    not finished or value - worth <= near
                ))
    run.memory("knapsack", 2000, in_fresh_process(large_knapsack)[1], "under 300 MB")


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


def scored(texts: Sequence[str]) -> list[Source]:
    rng = random.Random(SEED + len(texts))
    return [Source(f"chunk-{at}", text, round(rng.random(), 6)) for at, text in enumerate(texts)]


def whole(run: Run) -> None:
    sources = scored(chunks(5000))
    ours = best(lambda: pack(sources, BUDGET), run.rounds)
    theirs = best(lambda: plain_pack(sources, BUDGET), run.rounds)
    run.row("pack(): exact, top, fold", len(sources), ours, "sort, set, loop; keeps no account", theirs)
    run.check("pack(): the ids of the plain loop", list(pack(sources, BUDGET).ids) == plain_pack(sources, BUDGET))


# The npm package


@contextmanager
def installed(run: Run) -> Iterator[Path | None]:
    """Give the folder of the npm package in a temporary place, or None and say why."""
    node, npm = shutil.which("node"), shutil.which("npm")
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder, "node_modules", NPM)
        if node is None or npm is None:
            why = "node or npm is not on this machine"
        else:
            flags = ("--ignore-scripts", "--no-audit", "--no-fund", "--prefix", folder)
            try:
                done = subprocess.run(
                    [npm, "install", *flags, f"{NPM}@{NPM_VERSION}"],
                    capture_output=True, text=True, timeout=120, check=False,
                )
                why = " ".join(done.stderr.split())[:200] if done.returncode else ""
                if not why and not package.is_dir():
                    why = "npm put it into another folder"
            except subprocess.TimeoutExpired:
                why = "npm install took more than two minutes"
        if why:
            run.remarks.append(f"{NPM} {NPM_VERSION} is not compared: {why}.")
        yield None if why else package


def npm_run(package: Path, what: str, sources: Sequence[Source], rounds: int) -> tuple[float, list[str]]:
    """Return the smaller of CPU and wall seconds, and the ids of what comes back."""
    script, data = package.parent / "run.cjs", package.parent / "chunks.json"
    script.write_text(SCRIPT, "utf-8")
    data.write_text(json.dumps([{"id": s.id, "text": s.text, "score": s.score} for s in sources]), "utf-8")
    node = shutil.which("node") or "node"
    command = [node, str(script), str(package), what, str(data), str(rounds), str(THRESHOLD)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    out = json.loads(done.stdout)
    return min(out["cpu"], out["wall"]), out["ids"]


def one_token(source: Source, /) -> int:
    """Nothing is counted: neither side has a budget here."""
    return 1


def place_only(sources: Sequence[Source]) -> list[int]:
    return fold(rank_order([source.score for source in sources], [source.id for source in sources], "input"))


def reorder(run: Run, package: Path) -> None:
    packing = Packing(dedup="off", place="spread", tie="input")
    for n in (10_000, 100_000):
        sources = scored(chunks(n, words=10))
        texts, scores, ids = zip(*((s.text, s.score, s.id) for s in sources), strict=True)

        def build() -> list[Source]:
            return [Source(i, t, s) for i, t, s in zip(ids, texts, scores, strict=True)]  # noqa: B023

        ways = {
            "rank and spread": lambda: place_only(sources),  # noqa: B023
            "pack() without a budget": lambda: pack(sources, packing=packing, cost=one_token),  # noqa: B023
            "Source(...) and pack()": lambda: pack(build(), packing=packing, cost=one_token),
        }
        # By turns, so that a slow spell of the machine does not fall on one side alone.
        theirs, ours = math.inf, dict.fromkeys(ways, math.inf)
        order: list[str] = []
        for _ in range(run.rounds):
            took, order = npm_run(package, "reorder", sources, 5)
            theirs = min(theirs, took)
            ours = {name: min(ours[name], best(way, 5)) for name, way in ways.items()}
        for name, took in ours.items():
            run.row(f"reorder: {name}", n, took, f"{NPM}, scoreSpread", theirs, "at most the package's time")
        packed = list(pack(sources, packing=packing, cost=one_token).ids)
        run.check(f"reorder of {n}: the order of {NPM}", packed == order)
        run.check(f"reorder of {n}: rank and spread", [sources[at].id for at in place_only(sources)] == order)


def fuzzy(run: Run, package: Path) -> None:
    sources = scored(chunks(1500))
    policy = Dedup(threshold=THRESHOLD, guard_numbers=False, fold=False)
    # The package forms its groups in the order of the input, so ours come in that order; ranks say who stays.
    order = rank_order([s.score for s in sources], [s.id for s in sources], "input")
    ranks = {at: rank for rank, at in enumerate(order, 1)}
    found = [Candidate.of(source, at, ranks[at]) for at, source in enumerate(sources)]
    ours = best(lambda: deduplicate(found, policy), run.rounds)
    theirs, kept = npm_run(package, "dedup", sources, 1)
    run.row("fuzzy dedup", len(sources), ours, f"{NPM}, threshold {THRESHOLD}", theirs, "ratio of 100 or more")
    mine = [candidate.source.id for candidate in deduplicate(found, policy).kept]
    run.check(f"fuzzy dedup: the survivors of {NPM}", sorted(mine) == sorted(kept))


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
