"""Which fields are worth their tokens: those that tell sources apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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


def _tells(name: str, sources: Sequence[Source]) -> bool:
    first = _shown(sources[0], name)
    if len(sources) == 1:
        return bool(first)
    return any(_shown(source, name) != first for source in sources)


def _shown(source: Source, name: str) -> str:
    value: Any = getattr(source, name) if name in OWN else None
    if value is None:
        value = source.metadata.get(name)
    return "" if value is None else shown_field(source, name, value)
