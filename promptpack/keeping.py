"""Which sources of the last turn stay in their place, so that the prompt starts as it did: the choice and its price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from promptpack.packing.candidate import Placed
from promptpack.packing.intake import keep_apart
from promptpack.packing.pipeline import Packing, pack
from promptpack.payload import PackedSource, Payload
from promptpack.source import Source

SHARE = 0.5  # of the last turn's room for sources: what comes anew needs room, too


@dataclass(frozen=True, slots=True)
class Kept:
    """What stays, and what it costs, in tokens of the last turn's blocks.

    sources: pinned, in the order of the last turn, those together that are merged to one passage. rest: what was found,
    without them. count: the passages. tokens: what they take. same: how much of that is the unbroken start of the last
    turn's sources, which a provider's cache holds. missing: how many were not found this time, and missing_tokens what
    these take. others: how many do not stay although the option is meant for them.
    """

    sources: tuple[Source, ...]
    rest: tuple[Source, ...]
    count: int
    tokens: int
    same: int
    missing: int
    missing_tokens: int
    others: int = 0

    @property
    def note(self) -> str:
        """The trade in one sentence."""
        count, others = self.count, ""
        if self.others:
            why = "sent in part, changed, another passage now, or too large"
            others = f"; {self.others} more could not: {why}"
        if not count:
            return f"no source of the last turn stays{others}"
        stay = "1 source of the last turn stays" if count == 1 else f"{count} sources of the last turn stay"
        told = (
            f"{stay} before the history in the old order, not by rank: {self.tokens:,} tokens, of which {self.same:,} "
            "start the sources as last time and can come from a cache"
        )
        if self.missing:
            were = "was" if self.missing == 1 else "were"
            told += f"; {self.missing} of them {were} not found this time, which takes {self.missing_tokens:,}"
        return told + others


@dataclass(frozen=True, slots=True)
class _Passage:
    """A passage of the last turn as it would be sent now: its chunks, and where those stand that were found again."""

    last: PackedSource
    chunks: tuple[Source, ...]
    places: tuple[int, ...]


def stay(
    last: Payload, fresh: Sequence[Source], standing: Sequence[Source], packing: Packing, *, missing: bool,
    ranked: bool = True,
) -> Kept:
    """Choose the passages of the last turn that stay: whole ones whose text is the same.

    fresh: what was found for this turn; a source that was found again is taken as it was found (score, metadata).
    standing: the sources that the builder brings anyway. missing: whether those stay that were not found again; they
    have no score, since the old one was for another question. They stay from the front, as long as all take at most
    half of the last turn's room for sources. ranked: whether the scores are those that will rank them.

    A passage that was merged stays where all of its chunks were found again, and `packing` makes the same passage of
    them, now that they stand beside what else was found. O(n), and one merge.
    """
    places: dict[str, int] = {}
    for place, source in enumerate(fresh):
        places.setdefault(source.id, place)
    merges = _merges(packing)
    brought = {source.id for source in standing}
    passages = [
        (one, _passage(one, fresh, places, missing=missing, merges=merges))
        for one in last.sources if not brought.issuperset(one.chunk_ids)
    ]
    made = _merged(passages, fresh, standing, packing) if merges else None
    room = int(last.budget.sources * SHARE)
    sources: list[Source] = []
    taken: set[int] = set()
    count = tokens = same = absent = absent_tokens = others = 0
    unbroken = True
    # With a message of their own, before the history, the pinned ones are all that the start consists of.
    apart = last.layout is not None and last.layout.pinned is not None
    for one, passage in passages:
        again = None if passage is None else _again(passage, made)
        if passage is None or again is None or one.tokens > room:
            unbroken = False
            others += missing or places.keys() >= set(one.chunk_ids)
            continue
        room -= one.tokens
        tokens += one.tokens
        unbroken = unbroken and again.id == one.source.id and _looks(again) == _looks(one.source)
        unbroken = unbroken and (one.source.pinned or not apart) and (ranked or len(passage.chunks) == 1)
        same += one.tokens if unbroken else 0
        if not passage.places:
            absent, absent_tokens = absent + 1, absent_tokens + one.tokens
        taken.update(passage.places)
        # Pinned sources stand by priority, then document; so the place of the last turn becomes the priority.
        sources += [replace(chunk, pinned=True, priority=-1 - count) for chunk in passage.chunks]
        count += 1
    rest = tuple(source for place, source in enumerate(fresh) if place not in taken)
    return Kept(tuple(sources), rest, count, tokens, same, absent, absent_tokens, others)


def _passage(
    one: PackedSource, fresh: Sequence[Source], places: Mapping[str, int], *, missing: bool, merges: bool
) -> _Passage | None:
    """Return a passage as it would be sent now; None for pieces, and where what it needs is not there."""
    if one.attributes.get("chunk", one.source.id) != one.source.id:  # a repeat that was kept apart has another label
        return None
    found = tuple([places[id_] for id_ in one.chunk_ids if id_ in places])
    chunks = tuple([fresh[place] for place in found])
    if one.chunk_ids != (one.source.id,):  # merged; a payload does not hold the other chunks
        return _Passage(one, chunks, found) if merges and len(found) == len(one.chunk_ids) else None
    if one.text != one.source.text or (not found and not missing) or any(now.text != one.text for now in chunks):
        return None
    return _Passage(one, chunks or (replace(one.source, score=None),), found)


def _merges(packing: Packing) -> bool:
    return packing.dedup == "merge" or bool(getattr(packing.dedup, "merge", False))


def _merged(
    passages: Sequence[tuple[PackedSource, _Passage | None]], fresh: Sequence[Source], standing: Sequence[Source],
    packing: Packing,
) -> dict[frozenset[str], Placed]:
    """Return what the packing makes of all that is there now, by the ids of the chunks, if all that may stays."""
    kept = [one for _, one in passages if one is not None]
    taken = {place for one in kept for place in one.places}
    rest = [source for place, source in enumerate(fresh) if place not in taken]
    pinned = [replace(chunk, pinned=True) for one in kept for chunk in one.chunks]
    # Only what comes before the choice matters: who is admitted, and what is merged.
    plain = replace(
        packing, score=None, diversity=None, select="top", place="best_first", top_k=None, min_sources=None,
        max_per_document=None, group_by=None,
    )
    packed = pack(keep_apart([*standing, *rest, *pinned]), packing=plain)
    return {frozenset(one.chunk_ids): one for one in packed.sources}


def _again(passage: _Passage, made: Mapping[frozenset[str], Placed] | None) -> Source | None:
    """Return the source that a passage is sent for now; None where it does not come out as it was."""
    if made is None:
        return passage.chunks[0]
    out = made.get(frozenset(passage.last.chunk_ids))
    return out.source if out is not None and out.text == passage.last.text else None


def _looks(source: Source) -> tuple[object, ...]:
    return source.document, source.position, source.updated, source.metadata
