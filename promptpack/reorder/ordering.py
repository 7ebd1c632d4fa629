"""Ranking and placing: dedup, scores, diversity and the strategy, composed from the stages of `promptpack.packing`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from promptpack.errors import OptionError, quote
from promptpack.packing.by_rank import spread
from promptpack.packing.candidate import Candidate
from promptpack.packing.dates import instant
from promptpack.packing.dedup import Dedup, deduplicate
from promptpack.packing.place import (
    Chronological,
    DocumentOrder,
    document_order,
    field_value,
    group_keys,
    grouped,
    time_order,
)
from promptpack.packing.ranking import rank_order
from promptpack.packing.scorers import checked_scores
from promptpack.packing.scoring import Scoring
from promptpack.quick import maker
from promptpack.reorder.chunks import as_chunk
from promptpack.reorder.settings import Compare, Strategy
from promptpack.source import Source

if TYPE_CHECKING:
    from promptpack.packing.diversity import Diversity

_candidate = maker(Candidate)


@dataclass(frozen=True, slots=True)
class Placed:
    """A chunk in its place: `rank` by priority over all (from 0), `priority`, where it stands, and its group.

    at, of: its place in its group and the size of that. group: the text that its group is known by, None without.
    """

    source: Source
    priority: float
    rank: int
    at: int
    of: int
    group: str | None


_placed = maker(Placed)


def distinct(sources: Sequence[Source], dedup: Dedup) -> list[Source]:
    """Return the sources without repeats, in their order; the best is that of the highest score, then the earlier."""
    order = rank_order([source.score for source in sources], [source.id for source in sources], tie="input")
    ranks = {index: rank for rank, index in enumerate(order, 1)}
    candidates = [Candidate.of(source, index, ranks[index]) for index, source in enumerate(sources)]
    return [candidate.source for candidate in deduplicate(candidates, dedup).kept]


def scored(sources: Sequence[Source], scoring: Scoring) -> list[Candidate]:
    """Return candidates in the order of the input whose score is their priority; they are not ranked yet."""
    return [
        _candidate(source, index, 0, priority, source.text, (source.id,), None)
        for index, (source, priority) in enumerate(zip(sources, checked_scores(scoring, sources), strict=True))
    ]


def diversified(candidates: Sequence[Candidate], policy: Diversity) -> list[Candidate]:
    """Return the candidates as maximal marginal relevance picks them, with priorities that say so."""
    from promptpack.packing.diversity import diversify, priorities

    order = rank_order([one.score for one in candidates], [one.source.id for one in candidates], tie="input")
    ranked = list(candidates)
    for rank, index in enumerate(order, 1):
        ranked[index] = replace(candidates[index], rank=rank)
    picked = diversify(ranked, policy)
    numbers = priorities(
        [one.score or 0.0 for one in picked], policy.max_candidates if policy.max_candidates else len(picked)
    )
    return [replace(one, score=number) for one, number in zip(picked, numbers, strict=True)]


def resolved(strategy: Strategy, sources: Sequence[Source], query: str | None) -> Strategy:
    """Return the strategy, with a name in place of "auto"; a grouping that the choice does already is dropped."""
    if strategy.name != "auto":
        return strategy
    placer = strategy.auto.resolve(sources, query)
    name = (
        "chronological" if isinstance(placer, Chronological)
        else "preserveOrder" if isinstance(placer, DocumentOrder) else "scoreSpread"
    )
    twice = name == "preserveOrder" and strategy.group_by == strategy.source_field
    return replace(strategy, name=name, group_by=None if twice else strategy.group_by)


def place(candidates: Sequence[Candidate], strategy: Strategy) -> list[Placed]:
    """Return the chunks in the order of the strategy, group by group where they are grouped."""
    priorities = [one.score or 0.0 for one in candidates]
    ranks = {at: rank for rank, at in enumerate(_ranked(candidates))}
    field = strategy.source_field if strategy.name == "preserveOrder" else strategy.group_by
    keys = group_keys([field_value(one.source, field) for one in candidates]) if field is not None else None
    if strategy.group_by is None:
        groups = [list(range(len(candidates)))]
    else:
        by = group_keys([field_value(one.source, strategy.group_by) for one in candidates])
        groups = [members for _, members in grouped(by, priorities)]
    placed: list[Placed] = []
    for members in groups:
        inside = _ORDERS[strategy.name]([candidates[at] for at in members], strategy)
        for at, index in enumerate(members[i] for i in inside):
            group = None if keys is None else keys[index]
            placed.append(_placed(candidates[index].source, priorities[index], ranks[index], at, len(members), group))
    return placed


def _ranked(candidates: Sequence[Candidate]) -> list[int]:
    # Two stable sorts by plain numbers take half the time of one by pairs.
    order = sorted(range(len(candidates)), key=[one.index for one in candidates].__getitem__)
    order.sort(key=[-(one.score or 0.0) for one in candidates].__getitem__)
    return order


def _spread(candidates: Sequence[Candidate], strategy: Strategy) -> list[int]:
    return spread(_ranked(candidates), strategy.spread.start, strategy.spread.end)


def _by_place(order: Callable[[Sequence[Candidate], Strategy], list[int]]) -> Callable[..., list[int]]:
    """Let an order see the candidates by their place in the input, which decides what it leaves open."""

    def ordered(candidates: Sequence[Candidate], strategy: Strategy) -> list[int]:
        places = sorted(range(len(candidates)), key=lambda at: candidates[at].index)
        return [places[at] for at in order([candidates[at] for at in places], strategy)]

    return ordered


@_by_place
def _document(candidates: Sequence[Candidate], strategy: Strategy) -> list[int]:
    keys = group_keys([field_value(one.source, strategy.source_field) for one in candidates])
    positions = [one.index if one.source.position is None else one.source.position for one in candidates]
    return document_order(keys, positions, [one.score or 0.0 for one in candidates])


@_by_place
def _chronological(candidates: Sequence[Candidate], strategy: Strategy) -> list[int]:
    def strength(at: int) -> tuple[float, float, int]:
        one = candidates[at]
        return -(one.score or 0.0), -(one.source.score or 0.0), one.index

    ranks = [0] * len(candidates)
    for rank, at in enumerate(sorted(range(len(candidates)), key=strength)):
        ranks[at] = rank
    return time_order([instant(one.source.updated) for one in candidates], strategy.newest_first, ranks)


def _custom(candidates: Sequence[Candidate], strategy: Strategy) -> list[int]:
    compare = strategy.compare
    if compare is None:
        raise OptionError("custom_comparator: missing", name="custom_comparator")
    chunks = [as_chunk(one.source) for one in candidates]

    def by_chunk(one: int, other: int) -> int:
        return _sign(compare, chunks[one], chunks[other])

    return sorted(range(len(chunks)), key=functools.cmp_to_key(by_chunk))


def _sign(compare: Compare, one: object, other: object) -> int:
    found = compare(one, other)
    if not isinstance(found, int | float):
        raise OptionError(
            f"custom_comparator: expected a number (below, above or 0), got {quote(found)}",
            name="custom_comparator", given=found,
        )
    return (found > 0) - (found < 0)


_ORDERS: dict[str, Callable[[Sequence[Candidate], Strategy], list[int]]] = {
    "scoreSpread": _spread, "preserveOrder": _document, "chronological": _chronological, "custom": _custom,
}
