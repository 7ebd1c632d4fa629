"""The tables of `promptpack bench`: what folding, selecting and placing change, on seeded trials.

Scores and sizes are drawn at random with a fixed seed, so that no ranking is baked into the numbers; the same call
prints the same table everywhere. They measure layout and selection, which is what packing controls, not a model.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from promptpack.curves import PositionCurve
from promptpack.errors import OptionError, quote
from promptpack.evaluation.position import chunk_positions, edge_distance, mean_edge_distance
from promptpack.packing.by_rank import fold
from promptpack.packing.curve import Curve
from promptpack.packing.pipeline import Packing, pack
from promptpack.source import Source

SELECTS = ("top", "prefix", "density", "optimal", "edges")
PLACES = ("fold", "u_curve", "best_first", "best_last", "buried")
_LAYOUTS: dict[str, Callable[[list[int]], list[int]]] = {
    "insertion order": lambda ranks: ranks,
    "sorted, best first": sorted,
    "folded": lambda ranks: fold(sorted(ranks)),
}


def edge_table(items: int = 21, trials: int = 1000, seed: int = 7) -> str:
    """Return the mean edge distance of the best ranks in three layouts, as a Markdown table.

    In each trial the items have random scores, so insertion order is a random order of the ranks. The other two rows
    depend on nothing but the number of items. 0 is at an end of the prompt, 0.5 in its centre.
    """
    _check(items=items, trials=trials)
    tops = [top for top in (1, 2, 5, 10) if top <= items]
    rows = [["layout", *(f"top-{top}" for top in tops), "worst-ranked"]]
    for name, layout in _LAYOUTS.items():
        rng = random.Random(seed)  # noqa: S311 - trials, not secrets
        sums = [0.0] * (len(tops) + 1)
        for _ in range(trials):
            order = layout(rng.sample(range(1, items + 1), items))
            for at, top in enumerate(tops):
                sums[at] += mean_edge_distance(order, top)
            sums[-1] += edge_distance(order.index(items), items)
        rows.append([name, *(f"{total / trials:.3f}" for total in sums)])
    return _markdown(rows)


def select_table(items: int = 20, trials: int = 200, seed: int = 7, budget: int = 1024) -> str:
    """Return what each selection makes of the same budgets, as a Markdown table: means over seeded trials.

    Sizes are drawn from 40 to 400 tokens, values are 1 / log2(rank + 1). "best kept": share of trials in which rank 1
    is sent; "of the top 5": share of the five best ranks that are sent.
    """
    _check(items=items, trials=trials)
    rows = [["select", "sources", "tokens", "value", "best kept", "of the top 5"]]
    for select in SELECTS:
        rng = random.Random(seed)  # noqa: S311 - trials, not secrets
        sums = [0.0] * 5
        for _ in range(trials):
            sources, cost = _candidates(rng, items)
            packed = pack(sources, budget, packing=Packing(select=select, dedup="off"), cost=cost)
            ranks = [one.rank for one in packed.sources]
            five = min(5, items)
            found = (len(ranks), packed.used, sum(one.value for one in packed.sources), 1 in ranks,
                     sum(rank <= five for rank in ranks) / five)
            sums = [total + value for total, value in zip(sums, found, strict=True)]
        n, used, value, best, of_five = (total / trials for total in sums)
        rows.append([select, f"{n:.1f}", f"{used:.0f}", f"{value:.3f}", f"{best:.1%}", f"{of_five:.1%}"])
    return _markdown(rows)


def position_table(
    items: int = 20, trials: int = 200, seed: int = 7, budget: int = 1024, curve: PositionCurve | None = None
) -> str:
    """Return the mean chance that the best sources are used, by placement, under a curve.

    The same sources (`select="top"`) are placed in each way, with a curve also by that. Without one it is the
    illustrative curve, see `promptpack.evaluation.use_probability`. "rank 1" and "ranks 1 and 2" are the best of those
    that are sent. In a trial in which nothing is sent the chance is 0.
    """
    _check(items=items, trials=trials)
    rows = [["place", "rank 1", "ranks 1 and 2", "all sent, by value"]]
    p = (curve or PositionCurve.illustrative()).function()
    places: list[tuple[str, str | Curve]] = [(name, name) for name in PLACES]
    for name, place in [*places, ("the curve", Curve(curve))] if curve else places:
        rng = random.Random(seed)  # noqa: S311 - trials, not secrets
        sums = [0.0] * 3
        for _ in range(trials):
            sources, cost = _candidates(rng, items)
            sent = pack(sources, budget, packing=Packing(place=place, dedup="off"), cost=cost).sources
            chances = [p(x) for x in chunk_positions([one.cost for one in sent])]
            if not sent:
                continue
            by_rank = sorted(zip((one.rank for one in sent), chances, strict=True))
            two = [chance for _, chance in by_rank[:2]]
            value = sum(one.value for one in sent)
            weighed = sum(one.value * chance for one, chance in zip(sent, chances, strict=True)) / value
            found = (two[0], sum(two) / len(two), weighed)
            sums = [total + one for total, one in zip(sums, found, strict=True)]
        rows.append([name, *(f"{total / trials:.3f}" for total in sums)])
    return _markdown(rows)


def _candidates(rng: random.Random, items: int) -> tuple[list[Source], Callable[[Source], int]]:
    sizes = {f"c{at:03d}": rng.randint(40, 400) for at in range(items)}
    return [Source(name, name, rng.random()) for name in sizes], lambda source: sizes[source.id]


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    head, *body = rows
    rule = ["---", *("---:" for _ in head[1:])]
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, rule, *body))


def _check(**numbers: int) -> None:
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 100_000:
            raise OptionError(
                f"{name}: expected a whole number from 1 to 100,000, got {quote(value)}", name=name, given=value
            )
