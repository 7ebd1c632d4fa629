"""Where each source stands in the prompt: placements by what sources say of themselves, and the orders they use.

A placer is a callable from the chosen sources, in rank order, to a permutation of their indices.
The built-in ones are small frozen values; names stand for those with default settings. `by_rank` has those that look
at the ranks alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from math import isfinite
from typing import Any, get_args

from promptpack.errors import OptionError, SourceError, quote
from promptpack.packing.candidate import Region
from promptpack.packing.dates import instant
from promptpack.source import Source

_FIELDS = frozenset(field.name for field in fields(Source)) - {"metadata", "origin", "cut"}


def region(index: int, n: int) -> Region:
    """Return the third of the prompt in which place `index` of `n` lies.

    With x = (index + 0.5) / n: "start" below 1/3, "end" above 2/3, else "middle".

    >>> [region(i, 4) for i in range(4)]
    ['start', 'middle', 'middle', 'end']
    """
    # In whole numbers, so that a third is exact: x < 1/3 is 6 i + 3 < 2 n.
    place = 6 * index + 3
    return "start" if place < 2 * n else "end" if place > 4 * n else "middle"


def regions(n: int) -> list[Region]:
    """Return the region of each of `n` places.

    >>> regions(4)
    ['start', 'middle', 'middle', 'end']
    """
    outer = (2 * n + 2) // 6  # places i with 6 i + 3 < 2 n, and as many from the other side
    start, middle, end = get_args(Region)
    return [start] * outer + [middle] * (n - 2 * outer) + [end] * outer


def field_value(source: Source, name: str) -> Any:
    """Return a field of the source by name: its own (document, updated, ...) or one of its metadata.

    >>> field_value(Source("a", "x", metadata={"team": "red"}), "team")
    'red'
    """
    return getattr(source, name) if name in _FIELDS else source.metadata.get(name)


def group_keys(values: Sequence[object]) -> list[str]:
    """Return the text by which each value is grouped; equal texts are one group.

    Numbers and booleans count as their text (1 and 1.0 as "1", True as "true"). None, the empty text
    and structured values share one group, named "__default__" and numbered if that is taken.

    >>> group_keys(["x", 1, 1.0, None, {"k": 1}])
    ['x', '1', '1', '__default__', '__default__']
    >>> group_keys([None, "__default__"])
    ['__default__#1', '__default__']
    """
    texts = [_key_text(value) for value in values]
    taken = set(texts)
    missing, number = "__default__", 0
    while missing in taken:
        number += 1
        missing = f"__default__#{number}"
    return [missing if text is None else text for text in texts]


def _key_text(value: object) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if not isfinite(value):
            return None
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, int):
        return str(value) if abs(value) < 10**40 else hex(value)  # str() refuses huge numbers
    return (value or None) if isinstance(value, str) else None


def grouped(keys: Sequence[str], priorities: Sequence[float] | None = None) -> list[tuple[str, list[int]]]:
    """Return the groups as (key, indices), in the order of their first appearance.

    With priorities the groups are ordered by their highest one, descending; ties keep the order of
    appearance.

    >>> grouped(["x", "y", "x"])
    [('x', [0, 2]), ('y', [1])]
    >>> grouped(["x", "y", "x"], [0.2, 0.9, 0.5])
    [('y', [1]), ('x', [0, 2])]
    """
    groups: dict[str, list[int]] = {}
    for index, key in enumerate(keys):
        groups.setdefault(key, []).append(index)
    found = list(groups.items())
    if priorities is not None:
        found.sort(key=lambda group: -max(priorities[i] for i in group[1]))
    return found


def document_order(
    keys: Sequence[str], positions: Sequence[float | None], priorities: Sequence[float] | None = None
) -> list[int]:
    """Return the indices document by document, each in reading order.

    keys, positions: of equal length. Documents are ordered as by `grouped`. A missing position counts
    as the index of the item, as if the input were the document; equal positions keep the input order.

    >>> document_order(["x", "y", "x"], [2, 5, 1], [0.3, 0.9, 0.4])
    [1, 2, 0]
    """
    placed = [index if position is None else position for index, position in enumerate(positions)]
    order: list[int] = []
    for _, members in grouped(keys, priorities):
        order.extend(sorted(members, key=placed.__getitem__))
    return order


def time_order(
    times: Sequence[float | None], newest_first: bool = False, ranks: Sequence[int] | None = None
) -> list[int]:
    """Return the indices by time; the items without one come last in both directions, in input order.

    ranks: decides between equal times, lower first; without it the input order does.

    >>> time_order([3.0, None, 1.0], newest_first=True)
    [0, 2, 1]
    """
    dated = [(time, index) for index, time in enumerate(times) if time is not None]
    if ranks is not None:
        dated.sort(key=lambda pair: ranks[pair[1]])
    dated.sort(key=lambda pair: pair[0], reverse=newest_first)
    return [index for _, index in dated] + [index for index, time in enumerate(times) if time is None]


@dataclass(frozen=True, slots=True)
class DocumentOrder:
    """Document by document, the one with the best source first, each in reading order.

    field: what names the document, a field of Source or of its metadata. Reading order is
    `Source.position`; a missing one counts as the place in the ranking.
    """

    field: str = "document"

    def __post_init__(self) -> None:
        if not isinstance(self.field, str) or not self.field:
            message = f"DocumentOrder.field: expected a name, got {quote(self.field)}"
            raise OptionError(message, name="field", given=self.field)

    def __call__(self, sources: Sequence[Source], /) -> list[int]:
        """Return the order as indices into `sources`, which are in rank order."""
        keys = group_keys([field_value(source, self.field) for source in sources])
        return document_order(keys, [source.position for source in sources])


@dataclass(frozen=True, slots=True)
class Chronological:
    """By `Source.updated` as instants in UTC, oldest first; sources without a date come last."""

    newest_first: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.newest_first, bool):
            raise OptionError(
                f"Chronological.newest_first: expected True or False, got {quote(self.newest_first)}",
                name="newest_first", given=self.newest_first,
            )

    def __call__(self, sources: Sequence[Source], /) -> list[int]:
        """Return the order as indices into `sources`, which are in rank order."""
        return time_order([instant(source.updated) for source in sources], self.newest_first)


@dataclass(frozen=True, slots=True)
class ByKey:
    """By a key of your own, ascending; equal keys keep the rank order, sources without one come last.

    key: a function of the source (`functools.cmp_to_key` makes one of a comparison), or the name of a
    field of Source or of its metadata. reverse: descending. Raises SourceError where two keys cannot
    be compared.

    >>> ByKey("page")([Source("a", "x", metadata={"page": 9}), Source("b", "y", metadata={"page": 2})])
    [1, 0]
    """

    key: str | Callable[[Source], Any]
    reverse: bool = False

    def __post_init__(self) -> None:
        if not callable(self.key) and not (isinstance(self.key, str) and self.key):
            raise OptionError(
                f"ByKey.key: expected a function of a Source or the name of a field, got {quote(self.key)}",
                name="key", given=self.key,
            )

    def __call__(self, sources: Sequence[Source], /) -> list[int]:
        """Return the order as indices into `sources`, which are in rank order."""
        key = self.key
        keys: list[Any] = [field_value(s, key) if isinstance(key, str) else key(s) for s in sources]
        order = [index for index, key in enumerate(keys) if key is not None]
        try:
            order.sort(key=keys.__getitem__, reverse=self.reverse)
        except TypeError as error:
            raise SourceError(f"place=ByKey: the keys of the sources cannot be compared: {error}") from error
        return order + [index for index, key in enumerate(keys) if key is None]
