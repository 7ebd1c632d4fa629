"""The account of what is not sent: one entry for each source, whichever stage dropped it."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

from promptpack.packing.candidate import Candidate, Dropped
from promptpack.packing.choice import Choice
from promptpack.quick import maker
from promptpack.source import Source

_dropped = maker(Dropped)


def all_dropped(
    sources: Sequence[Source],
    ranked: Sequence[Candidate],
    before: Sequence[Dropped],
    choice: Choice,
    budget: int | None,
) -> tuple[Dropped, ...]:
    """Return every dropped source once, by rank, equal ranks by place in the input.

    sources: all that were admitted; ranked: the candidates that reached the selection; before: what earlier
    stages dropped, without sizes. A repeat takes the final rank of the copy that stays; a source that
    went into another one is not dropped while that one is sent, and shares its reason otherwise.
    """
    if len(choice.chosen) == len(sources):
        return ()
    at: dict[str, int] = {}
    rank_of: dict[str, int] = {}
    if before or len(ranked) < len(sources):  # something was a repeat, or went into something else
        at = {source.id: index for index, source in enumerate(sources)}
        rank_of = {id_: candidate.rank for candidate in ranked for id_ in candidate.chunk_ids}
    copy_of = {drop.source.id: drop.of for drop in before if drop.of is not None}
    dropped: list[tuple[int, int, Dropped]] = []
    for drop in before:
        id_ = drop.source.id
        if id_ in rank_of:
            continue  # part of a candidate: its fate is that candidate's
        cost, exact = choice.prices.size(Candidate.of(drop.source, at[id_]), budget or 0)
        detail = drop.detail if exact else f"{drop.detail}; at least {cost} tokens"
        stays = drop.of
        while stays is not None and stays not in rank_of:
            stays = copy_of.get(stays)
        rank = drop.rank if stays is None else rank_of[stays]
        final = Dropped(drop.source, rank, cost, drop.reason, drop.stage, detail, drop.of)
        dropped.append((rank, at[id_], final))
    for candidate, reason, cost, detail in choice.refused:
        rank = candidate.rank
        if len(candidate.chunk_ids) == 1:
            final = _dropped(candidate.source, rank, cost, reason, "select", detail, None)
            dropped.append((rank, candidate.index, final))
            continue
        for id_ in candidate.chunk_ids:
            source = sources[at[id_]]
            dropped.append((rank, at[id_], Dropped(source, rank, cost, reason, "select", detail)))
    # No source is listed twice, so that rank and index decide.
    dropped.sort(key=itemgetter(0, 1))
    return tuple(drop for _, _, drop in dropped)
