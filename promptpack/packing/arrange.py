"""The prompt order of the chosen sources: pinned ones first, then group by group, then as placed."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2

from promptpack.errors import OptionError, quote
from promptpack.packing.candidate import Candidate, Placed
from promptpack.packing.choice import Choice
from promptpack.packing.dates import instant
from promptpack.packing.place import Chronological, field_value, group_keys, grouped, regions
from promptpack.packing.select import Prices, value_of
from promptpack.protocols import Placer
from promptpack.quick import maker
from promptpack.source import Source

_place = maker(Placed)


def arrange(
    sources: Sequence[Source], placer: Placer, group_by: str | None = None,
    costs: Sequence[int] | None = None, values: Sequence[float] = (),
) -> list[int]:
    """Return the prompt order as indices into the sources, which are in rank order.

    Pinned sources open the prompt in an order that no question changes (priority, document, position, id), so
    that the prompt's start stays the same. With `group_by` the others stand group by group, the group with the
    best source first, each group placed by itself. costs, values: for a placer that goes by them (`by_cost`).
    Raises OptionError where the placer leaves a source out or names one twice.

    >>> sources = [Source("a", "x"), Source("b", "x", pinned=True), Source("c", "x")]
    >>> arrange(sources, lambda sources: range(len(sources))[::-1])
    [1, 2, 0]
    """
    pinned = [index for index, source in enumerate(sources) if source.pinned]
    others = [index for index, source in enumerate(sources) if not source.pinned]
    pinned.sort(key=lambda index: _reading_place(sources[index]))
    if group_by is None:
        groups = [others]
    else:
        keys = group_keys([field_value(sources[index], group_by) for index in others])
        groups = [[others[i] for i in members] for _, members in grouped(keys)]
    order = pinned
    weigh = getattr(placer, "by_cost", None)
    if costs is None or weigh is None:
        for members in groups:
            order.extend(members[i] for i in _permutation(placer([sources[index] for index in members]), len(members)))
        return order
    total = sum(costs)
    before = sum(costs[index] for index in pinned)
    for members in groups:
        theirs = [costs[index] for index in members]
        answer = weigh(theirs, [values[index] for index in members], before, total)
        order.extend(members[i] for i in _permutation(answer, len(members)))
        before += sum(theirs)
    return order


def in_order(
    candidates: Sequence[Candidate], placer: Placer, group_by: str | None, costs: Sequence[int] | None, prices: Prices
) -> list[int]:
    """Return the prompt order of candidates in rank order; costs that matter and are not told are asked for."""
    sources = [candidate.source for candidate in candidates]
    if not hasattr(placer, "by_cost"):
        return arrange(sources, placer, group_by)
    told = [prices.whole(candidate) for candidate in candidates] if costs is None else costs
    return arrange(sources, placer, group_by, told, [value_of(candidate) for candidate in candidates])


def placed_sources(choice: Choice, order: Sequence[int]) -> tuple[Placed, ...]:
    """Return what was chosen as placed sources; order: of `choice.chosen`, as indices."""
    placed = []
    chosen, texts, costs, parts = choice.chosen, choice.texts, choice.costs, choice.ranges
    for position, (index, third) in enumerate(zip(order, regions(len(order)), strict=True)):
        c = chosen[index]
        value = 1.0 / log2(c.rank + 1) if c.value is None else c.value  # `value_of`, written out
        ranges = parts.get(c.index, ()) if parts else ()
        placed.append(_place(c.source, texts[index], c.rank, position, third, value, costs[index], c.chunk_ids, ranges))
    return tuple(placed)


def _reading_place(source: Source) -> tuple[float, str, bool, float, str]:
    position = source.position
    return -source.priority, source.document or "", position is None, position or 0, source.id


def _permutation(answer: Sequence[int], n: int) -> list[int]:
    try:
        order = list(answer)
        if set(map(type, order)) != {int}:  # numpy's whole numbers are welcome, too
            order = [index.__index__() for index in order]
    except (TypeError, AttributeError):
        order = []
    if len(order) != n or set(order) != set(range(n)):
        wanted = f"each index from 0 to {n - 1} once"
        message = f"place: the placer must return {wanted}, got {quote(answer)}"
        raise OptionError(message, name="place", given=answer)
    return order


def unread_dates(sources: Sequence[Source], placer: Placer) -> str | None:
    """Return a note on dates that a chronological placement could not read, None where there are none."""
    if not isinstance(placer, Chronological):
        return None
    unread = [source for source in sources if source.updated is not None and instant(source.updated) is None]
    if not unread:
        return None
    first = f"{quote(unread[0].id)}: {quote(unread[0].updated)}"
    return f"place: the dates of {len(unread)} sources cannot be read and count as missing (first: {first})"
