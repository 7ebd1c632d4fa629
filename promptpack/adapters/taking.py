"""From items to sources: the one way that every adapter goes, with distances turned and errors that name the item."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import replace
from numbers import Real
from typing import Any

from promptpack.errors import OptionError, PromptpackError, SourceError, quote
from promptpack.reading import SCORE_KEYS, read_source
from promptpack.source import Source

Distance = bool | str
DISTANCE_KEYS = ("distance", "_distance")


def take(
    items: Iterable[Any], shape: Callable[[Any], Any], *, distance: Distance = False, what: str = "items"
) -> tuple[Source, ...]:
    """Return a source for each item, in their order, with the item as its `origin`.

    shape: turns an item into what `promptpack.reading` reads. distance: whether the number beside an item is a distance
    (lower is better), or the key under which a mapping holds one; the score is then its negative. what: how errors
    call the input.

    Raises SourceError naming the position of an item that cannot be read, that has an undeclared `distance` and no
    score, or not the key that was named.
    """
    if not isinstance(distance, bool | str):
        raise OptionError(
            f"distance: expected True, False or the key of the distance, got {quote(distance)}",
            name="distance", given=distance,
        )
    if isinstance(items, str | bytes | Mapping | Set | Source) or not isinstance(items, Iterable):
        raise SourceError(f"{what}: expected a list, got {_kind(items)}", field="sources")
    found = []
    for index, item in enumerate(items):
        source = _read(item, index, shape, distance)
        if distance and source.score is not None:
            source = replace(source, score=0.0 - source.score)
        found.append(source)
    return tuple(found)


def _read(item: Any, index: int, shape: Callable[[Any], Any], distance: Distance) -> Source:
    try:
        given = item if isinstance(item, Source) else shape(item)
        if isinstance(given, Mapping):
            given = _scored(given, distance)
    except PromptpackError as error:
        raise _placed(error, index) from error.__cause__
    except Exception as error:  # a foreign object may raise anything when it is looked at
        raise SourceError(
            f"sources[{index}]: {_kind(item)} cannot be read: {type(error).__name__}: {quote(str(error))}",
            index=index, field="sources",
        ) from error
    source = read_source(given, index)
    return source if isinstance(item, Source) else replace(source, origin=item)


def _placed(error: PromptpackError, index: int) -> PromptpackError:
    if isinstance(error, SourceError) and error.index is None:
        error.index = index
        error.args = (f"sources[{index}]: {error.args[0]}",)
    return error


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
    key = next((key for key in keys if row.get(key) is not None), None)
    if key is None:
        if isinstance(distance, str):
            raise SourceError(
                f"distance: there is nothing under {quote(distance)}; there are "
                f"{', '.join(quote(one, 20) for one in list(row)[:8]) or 'no keys'}",
                field="distance",
            )
        return row  # what stands as its score is the distance
    if not _is_number(row[key]):
        raise SourceError(f"{key}: expected a number, got {quote(row[key])}", field="distance")
    left = {name: value for name, value in row.items() if name != key and name not in SCORE_KEYS}
    return {**left, "score": row[key]}


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _kind(value: object) -> str:
    return f"a value of type {type(value).__name__}"
