"""The account of what is not sent: one entry for each source, whichever stage dropped it."""

from __future__ import annotations

from collections.abc import Sequence

from promptpack.packing.candidate import Candidate, Dropped
from promptpack.packing.choose import Choice
from promptpack.source import Source


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
    at = {source.id: index for index, source in enumerate(sources)}
    rank_of = {id_: candidate.rank for candidate in ranked for id_ in candidate.chunk_ids}
    copy_of = {drop.source.id: drop.of for drop in before if drop.of is not None}
    dropped = []
    for drop in before:
        id_ = drop.source.id
        if id_ in rank_of:
            continue  # part of a candidate: its fate is that candidate's
        cost, _ = choice.prices.size(Candidate.of(drop.source, at[id_]), budget or 0)
        stays = drop.of
        while stays is not None and stays not in rank_of:
            stays = copy_of.get(stays)
        rank = drop.rank if stays is None else rank_of[stays]
        dropped.append(Dropped(drop.source, rank, cost, drop.reason, drop.stage, drop.detail, drop.of))
    for refusal in choice.refused:
        candidate = refusal.candidate
        for id_ in candidate.chunk_ids:
            source = candidate.source if len(candidate.chunk_ids) == 1 else sources[at[id_]]
            dropped.append(
                Dropped(source, candidate.rank, refusal.cost, refusal.reason, "select", refusal.detail)
            )
    dropped.sort(key=lambda drop: (drop.rank, at[drop.source.id]))
    return tuple(dropped)
