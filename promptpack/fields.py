"""Which fields are worth their tokens: those that tell sources apart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from promptpack.errors import quote
from promptpack.shown import OWN, shown_field
from promptpack.source import Source

AUTO = "auto"


def telling_fields(fields: Sequence[str], sources: Sequence[Source]) -> tuple[str, ...]:
    """Return the fields that tell these sources apart, in their order: not missing in all, and not equal in all.

    Values are compared as they would be shown; a missing one is empty. `chunk`, the id, is always kept. One source
    alone keeps what it has. O(fields x sources). Raises SourceError where a value cannot be shown, as rendering would.

    >>> hits = [Source("a", "One.", metadata={"title": "Lamps", "page": n}) for n in (1, 2)]
    >>> telling_fields(("chunk", "title", "page", "url"), hits)
    ('chunk', 'page')
    """
    if not sources:
        return tuple(fields)
    return tuple(name for name in fields if name == "chunk" or _tells(name, sources))


def joined_notes(fields: Sequence[str], sources: Sequence[Source]) -> list[str]:
    """Return a note for each field that is a list in some source: how it is shown, and where.

    >>> joined_notes(("title", "section"), [Source("a", "x", metadata={"section": ["Lamps", "Returns"]})])
    ["field section of 'a': a list is shown as one line, with commas between its values"]
    """
    kinds = set(map(type, chain.from_iterable([source.metadata.values() for source in sources])))
    if not any(issubclass(kind, list | tuple) for kind in kinds):  # asked for each payload, and mostly so
        return []
    notes = []
    for name in fields:
        held = [source.id for source in sources if isinstance(_value(source, name), list | tuple)]
        if held:
            more = f" and {len(held) - 1} more" if len(held) > 1 else ""
            notes.append(
                f"field {name} of {quote(held[0])}{more}: a list is shown as one line, with commas between its values"
            )
    return notes


def _value(source: Source, name: str) -> Any:
    value: Any = getattr(source, name) if name in OWN else None
    return source.metadata.get(name) if value is None else value


def _tells(name: str, sources: Sequence[Source]) -> bool:
    first = _shown(sources[0], name)
    if len(sources) == 1:
        return bool(first)
    return any(_shown(source, name) != first for source in sources)


def _shown(source: Source, name: str) -> str:
    value = _value(source, name)
    return "" if value is None else shown_field(source, name, value)
