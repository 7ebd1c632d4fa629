"""From items to sources: the one way that every adapter goes, with distances turned and errors that name the item."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import replace
from numbers import Real
from typing import Any

from promptpack.errors import OptionError, SourceError, quote
from promptpack.foreign import SCORE_KEYS
from promptpack.reading import DISTANCE_KEYS, kind_of, read_source, telling
from promptpack.source import Source

Distance = bool | str


def take(
    items: Iterable[Any], shape: Callable[[Any], Any], *, distance: Distance, what: str, rows: bool = False,
    named: bool = False,
) -> tuple[Source, ...]:
    """Return a source for each item, in their order, with the item as its `origin`.

    shape: turns an item into what `promptpack.reading` reads. distance: whether the number beside an item is a distance
    (lower is better), or where `named`, the key that holds it; the score is then its negative. what: how errors call
    the input. rows: items are rows of a store; otherwise they may also be (item, number) pairs.

    Raises SourceError naming the position of an item that cannot be read, that has an undeclared `distance` and no
    score, or not the key that was named.
    """
    if not isinstance(distance, bool | str if named else bool):
        raise OptionError(
            f"distance: expected True or False{' or the key of the distance' if named else ''}, got {quote(distance)}",
            name="distance", given=distance,
        )
    if isinstance(items, str | bytes | Mapping | Set | Source) or not isinstance(items, Iterable):
        raise SourceError(f"{what}: expected a list, got {kind_of(items)}", field="sources")
    return tuple([_read(item, index, shape, distance, rows) for index, item in enumerate(items)])


def _read(item: Any, index: int, shape: Callable[[Any], Any], distance: Distance, rows: bool) -> Source:
    pair = not rows and isinstance(item, tuple | list) and len(item) == 2
    inner = item[0] if pair else item
    with telling(item, index):
        given = inner if isinstance(inner, Source) else shape(inner)
        if isinstance(given, Mapping) and not pair:
            given = _scored(given, distance)
    source = read_source((given, item[1]) if pair else given, index)
    changes: dict[str, Any] = {} if isinstance(inner, Source) else {"origin": inner}
    if distance and source.score is not None:
        changes["score"] = 0.0 - source.score
    return replace(source, **changes) if changes else source


def _scored(row: Mapping[str, Any], distance: Distance) -> Mapping[str, Any]:
    """Return a mapping with its distance as score; SourceError where one is there and nobody said so."""
    if distance is False:
        said = next((key for key in DISTANCE_KEYS if _is_number(row.get(key))), None)
        if said is not None and not any(row.get(key) is not None for key in SCORE_KEYS):
            raise SourceError(
                f"{said}: a distance (lower is better) and no score; say distance=True, or give a score, or put the "
                "number under metadata if it is not what ranks",
                field="distance",
            )
        return row
    keys = (distance,) if isinstance(distance, str) else DISTANCE_KEYS
    metadata = row.get("metadata") if isinstance(distance, str) and isinstance(row.get("metadata"), Mapping) else {}
    held = {**(metadata or {}), **row}
    key = next((key for key in keys if held.get(key) is not None), None)
    if key is None:
        if isinstance(distance, str):
            raise SourceError(
                f"distance: there is nothing under {quote(distance)}; there is "
                f"{', '.join(quote(one, 20) for one in list(held)[:8]) or 'nothing'}",
                field="distance",
            )
        return row  # what stands as its score is the distance
    if not _is_number(held[key]):
        raise SourceError(f"{quote(key)}: expected a number, got {quote(held[key])}", field="distance")
    left = {name: value for name, value in row.items() if name != key and name not in SCORE_KEYS}
    return {**left, "score": held[key]}


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
