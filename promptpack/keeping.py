"""Which sources of the last turn stay in their place, so that the prompt starts as it did: the choice and its price."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

from promptpack.payload import PackedSource, Payload
from promptpack.source import Source

SHARE = 0.5  # of the last turn's room for sources: what comes anew needs room, too


@dataclass(frozen=True, slots=True)
class Kept:
    """What stays, and what it costs, in tokens of the last turn's blocks.

    sources: pinned, in the order of the last turn. rest: what was found, without them. tokens: what they take. same:
    how much of that is the unbroken start of the last turn's sources, which a provider's cache holds. missing: how
    many were not found this time, and missing_tokens what these take.
    """

    sources: tuple[Source, ...]
    rest: tuple[Source, ...]
    tokens: int
    same: int
    missing: int
    missing_tokens: int

    @property
    def note(self) -> str:
        """The trade in one sentence."""
        count = len(self.sources)
        stay = "1 source of the last turn stays" if count == 1 else f"{count} sources of the last turn stay"
        told = (
            f"{stay} before the history in the old order, not by rank: {self.tokens:,} tokens, of which {self.same:,} "
            "start the sources as last time and can come from a cache"
        )
        if self.missing:
            were = "was" if self.missing == 1 else "were"
            told += f"; {self.missing} of them {were} not found this time, which takes {self.missing_tokens:,}"
        return told


def stay(last: Payload, fresh: Sequence[Source], standing: Set[str], *, missing: bool) -> Kept:
    """Choose the sources of the last turn that stay: whole ones of one chunk whose text is the same.

    fresh: what was found for this turn; a source that was found again is taken as it was found (score, metadata).
    standing: ids of sources that the builder brings anyway. missing: whether those stay that were not found again;
    they have no score, since the old one was for another question. They stay from the front, as long as all take at
    most half of the last turn's room for sources. O(n).
    """
    places: dict[str, int] = {}
    for place, source in enumerate(fresh):
        places.setdefault(source.id, place)
    room = int(last.budget.sources * SHARE)
    sources: list[Source] = []
    taken: set[int] = set()
    tokens = same = absent = absent_tokens = 0
    unbroken = True
    # With a message of their own, before the history, the pinned ones are all that the start consists of.
    apart = last.layout is not None and last.layout.pinned is not None
    for one in last.sources:
        if one.source.id in standing:
            continue
        index = places.get(one.source.id)
        found = None if index is None else fresh[index]
        usable = _whole(one) and (missing if found is None else found.text == one.text)
        if not usable or one.tokens > room:
            unbroken = False
            continue
        room -= one.tokens
        tokens += one.tokens
        unbroken = unbroken and (found is None or _looks(found) == _looks(one.source))
        unbroken = unbroken and (one.source.pinned or not apart)
        same += one.tokens if unbroken else 0
        if index is None:
            absent, absent_tokens = absent + 1, absent_tokens + one.tokens
        else:
            taken.add(index)
        # Pinned sources stand by priority, then document; so the place of the last turn becomes the priority.
        new = replace(one.source, score=None) if found is None else found
        sources.append(replace(new, pinned=True, priority=-1 - len(sources)))
    rest = tuple(source for place, source in enumerate(fresh) if place not in taken)
    return Kept(tuple(sources), rest, tokens, same, absent, absent_tokens)


def _whole(one: PackedSource) -> bool:
    """Tell whether a passage is a whole chunk under its own id; pieces and merged ones would get other labels."""
    return (
        one.text == one.source.text and one.chunk_ids == (one.source.id,)
        and one.attributes.get("chunk", one.source.id) == one.source.id
    )


def _looks(source: Source) -> tuple[object, ...]:
    return source.document, source.position, source.updated, source.metadata
