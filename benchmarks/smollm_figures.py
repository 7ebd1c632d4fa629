"""The figures of the small model, computed again from what was measured question by question.

    python benchmarks/smollm_figures.py                # the tables of the README
    python benchmarks/smollm_figures.py TABLE ...      # others, those of docs/position.md
    python benchmarks/smollm_figures.py --write        # docs/position.md, and the curve with its drawing

The values are in examples/curves/measured (ids and numbers, no text); docs/position.md says how they came about.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from promptpack.calibration.compare import Comparison
from promptpack.calibration.figures import read_figures
from promptpack.calibration.forms import BUILT_IN
from promptpack.calibration.plot import svg
from promptpack.calibration.result import Calibration, markdown
from promptpack.calibration.statistics import Estimate, difference, intervals

ROOT = Path(__file__).parent.parent
CURVES = ROOT / "examples" / "curves"
NAME = "smollm2-135m"
DOCS = ROOT / "docs" / "position.md"
FEWER = 38      # questions that are asked in the other forms


@dataclass(frozen=True, slots=True)
class Form:
    """Another form of the same prompts: the template set, the chat template, and what that is in a few words."""

    prompt: str
    template: str
    told: str


FORMS = {"answer": Form("default", f"{BUILT_IN['chatml']}Answer:", "chat, the answer begun with `Answer:`")}


def curve(name: str = NAME) -> Calibration:
    found = read_figures(CURVES / "measured" / f"{name}.json")
    assert isinstance(found, Calibration)
    return found


def comparison() -> Comparison:
    found = read_figures(CURVES / "measured" / f"{NAME}.compare.json")
    assert isinstance(found, Comparison)
    return found


def ranks() -> list[int]:
    """Return the rank of the needed passage in each question of the comparison, in its order."""
    held = json.loads((CURVES / "measured" / f"{NAME}.ranks.json").read_text(encoding="utf-8"))
    return [held[one] for one in comparison().ids]


def counts() -> str:
    """Return how many questions there are of each kind, and where the needed passage is ranked."""
    ranked = ranks()
    other = curve(f"{NAME}.{next(iter(FORMS))}")
    return (
        f"{len(curve().ids)} questions for the curve, {len(other.ids)} of them in the other form; {len(ranked)} others "
        "for the comparison,\n"
        f"whose needed passage is ranked first {ranked.count(1)} times and second {ranked.count(2)} times."
    )


def told(gap: Estimate) -> list[str]:
    return [f"{gap.mean:+.3f}", f"{gap.low:+.3f} to {gap.high:+.3f}"]


def noise(gap: Estimate) -> str:
    return "" if gap.clear else "may be noise"


def summary() -> str:
    """Return the places side by side, and under them the builders."""
    table = curve().table()
    base = curve().baseline().mean
    rows = [
        ["place of the needed passage", *(str(one.number + 1) for one in table), "none"],
        ["log-likelihood per token", *(f"{one.estimate.mean:.2f}" for one in table), f"{base:.2f}"],
        ["p, the share of what it can bring", *(f"{one.p:.2f}" for one in table), ""],
        ["95 % of its shape", *(f"{one.low:.2f} to {one.high:.2f}" for one in table), ""],
    ]
    found = comparison()
    gaps = found.differences()
    builders = [["placement", "log-likelihood per token", "difference to fold", "95 %", ""]]
    for name, mean in found.means().items():
        own = ["", "", ""] if name not in gaps else [*told(gaps[name]), noise(gaps[name])]
        builders.append([f"`{name}`", f"{mean.mean:.3f}", *own])
    return f"{markdown(rows)}\n\n{markdown(builders)}"


def weighted() -> str:
    """Return means that weigh a question by the tokens of its answer, as if all answers were one text.

    Intervals are those of the residuals w * (value - mean) / mean(w), the first-order form of such a ratio.
    """
    found = curve()
    weights = [count or 1 for count in found.tokens]
    whole = sum(weights)

    def mean(values: Sequence[float]) -> float:
        return sum(w * value for w, value in zip(weights, values, strict=True)) / whole

    columns = [*zip(*found.values, strict=True)]
    names = [*(str(place + 1) for place in found.places), "without"]
    rows = [["place", *names], ["by tokens", *(f"{mean(own):.2f}" for own in (*columns, found.without))]]
    first, middle, last = columns[0], columns[len(columns) // 2], columns[-1]
    lines = [["difference, by tokens", "mean", "95 %", ""]]
    for name, one, other in (("last - first", last, first), ("first - middle", first, middle)):
        gaps = [a - b for a, b in zip(one, other, strict=True)]
        centre = mean(gaps)
        rest = [[centre + w * len(gaps) / whole * (gap - centre)] for w, gap in zip(weights, gaps, strict=True)]
        gap = intervals(rest)[0]
        lines.append([name, *told(gap), noise(gap)])
    return f"{markdown(rows)}\n\n{markdown(lines)}"


def lengths() -> str:
    """Return the ends and the middle by the length of the answer, in three groups as even as lengths allow."""
    found = curve()
    order = sorted(count or 1 for count in found.tokens)
    edges = [order[len(order) // 3], order[2 * len(order) // 3]]
    groups = [(1, edges[0] - 1), (edges[0], edges[1] - 1), (edges[1], order[-1])]
    rows = [["tokens of the answer", "questions", "first", "middle", "last", "without", "last - first", "95 %", ""]]
    for low, high in groups:
        own = [at for at, count in enumerate(found.tokens) if low <= (count or 1) <= high]
        if not own:
            continue
        picked = [(0, ""), (len(found.places) // 2, ""), (len(found.places) - 1, "")]
        means = [sum(found.values[at][place] for at in own) / len(own) for place, _ in picked]
        gap = difference([found.values[at][-1] for at in own], [found.values[at][0] for at in own])
        bare = sum(found.without[at] for at in own) / len(own)
        span = f"{low} to {high}" if high > low else f"{low}"
        rows.append([span, str(len(own)), *(f"{one:.2f}" for one in (*means, bare)), *told(gap), noise(gap)])
    return markdown(rows)


def forms() -> str:
    """Return what the same questions give in other forms of the prompt."""
    rows = [["form", "first", "middle", "last", "without", "last - first", "95 %", "first - middle", "95 %"]]
    found = {"chat, the answer at once (as above)": curve()}
    found |= {form.told: curve(f"{NAME}.{name}") for name, form in FORMS.items()}
    ids = next(reversed(found.values())).ids
    for name, one in found.items():
        own = [one.ids.index(question) for question in ids]
        columns = [[one.values[at][place] for at in own] for place in (0, len(one.places) // 2, -1)]
        first, middle, last = columns
        means = [sum(column) / len(own) for column in (*columns, [one.without[at] for at in own])]
        gaps = (difference(last, first), difference(first, middle))
        rows.append([name, *(f"{mean:.2f}" for mean in means), *(text for gap in gaps for text in told(gap))])
    return markdown(rows)


def by_rank() -> str:
    """Return what the placements bring where the needed passage is ranked first, and where it is not."""
    found, own = comparison(), ranks()
    first, *others = found.values
    rows = [["placement", "needed passage", "questions", f"difference to {first}", "95 %", ""]]
    for name in others:
        for label, fits in (("ranked first", True), ("ranked below", False)):
            at = [index for index, rank in enumerate(own) if (rank == 1) is fits]
            gap = difference([found.values[name][i] for i in at], [found.values[first][i] for i in at])
            rows.append([name, label, str(len(at)), *told(gap), noise(gap)])
    return markdown(rows)


def pair(first: str, second: str) -> str:
    """Return the difference between two placements."""
    found = comparison().values
    gap = difference(found[first], found[second])
    return f"`{first}` - `{second}`: {' ('.join(told(gap))})"


TABLES: Mapping[str, Callable[[], str]] = {
    "summary": summary,
    "counts": counts,
    "places": lambda: curve().to_markdown().split("\n\n")[0],
    "differences": lambda: curve().to_markdown().split("\n\n")[1],
    "weighted": weighted,
    "lengths": lengths,
    "forms": forms,
    "builders": lambda: comparison().to_markdown(),
    "ranks": by_rank,
    "curve-and-best-last": lambda: pair("curve", "best_last"),
}


def write() -> None:
    from embed import embed

    found = curve()
    found.curve().save(CURVES / f"{NAME}.json")
    (CURVES / f"{NAME}.svg").write_text(svg(found), encoding="utf-8", newline="\n")
    DOCS.write_text(embed(DOCS.read_text(encoding="utf-8"), ["smollm_figures"], None), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"{', '.join(TABLES)}  [summary]")
    parser.add_argument("--write", action="store_true", help="write docs/position.md, the curve and its drawing")
    options = parser.parse_args()
    if options.write:
        write()
        return
    unknown = [name for name in options.tables if name not in TABLES]
    if unknown:
        parser.error(f"unknown table {unknown[0]}; known: {', '.join(TABLES)}")
    print("\n\n".join(TABLES[name]() for name in options.tables or ["summary"]))


if __name__ == "__main__":
    main()
