"""Reordering and fuzzy dedup beside the npm package rag-chunk-reorder; a part of packing.py."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from packing_run import Run, best
from packing_texts import THRESHOLD, chunks, scored

from promptpack.packing.by_rank import fold
from promptpack.packing.candidate import Candidate
from promptpack.packing.dedup import Dedup, deduplicate
from promptpack.packing.pipeline import Packing, pack
from promptpack.packing.ranking import rank_order
from promptpack.source import Source

NPM = "rag-chunk-reorder"
NPM_VERSION = "0.1.7"

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
