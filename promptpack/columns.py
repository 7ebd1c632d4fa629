"""The shown fields of many sources, field by field: what a payload looks up for all of its sources at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import compress
from operator import attrgetter
from types import NoneType
from typing import Any, NamedTuple

from promptpack.settings import TemplateSettings
from promptpack.shown import OWN, shown_field
from promptpack.source import Source


class Group(NamedTuple):
    """Sources that show the same fields: their names, the sources, and the values of each field."""

    names: tuple[str, ...]
    sources: Sequence[Source]
    columns: list[list[str]]


class Columns:
    """Reads the shown fields of sources, each as one line of text.

    names: the fields, in order. shown_ids: what to show as the chunk where that is not the source's id.
    settings: of the template set, for the lengths of values.
    """

    __slots__ = ("_settings", "_shown_ids", "names")

    def __init__(self, names: tuple[str, ...], shown_ids: Mapping[str, str], settings: TemplateSettings) -> None:
        self.names = names
        self._shown_ids = shown_ids
        self._settings = settings

    def column(self, name: str, sources: Sequence[Source]) -> list[Any]:
        """Return a field of all sources as texts, not trimmed; None where there is nothing to show."""
        values = self._texts(name, sources)
        if self._settings.caps:
            return [value and self._settings.capped(name, value.strip()) for value in values]
        return values

    def _texts(self, name: str, sources: Sequence[Source]) -> list[Any]:
        values: list[Any]
        if name == "chunk":
            values = [source.id for source in sources]
            if self._shown_ids:
                values = [self._shown_ids.get(id_, id_) for id_ in values]
        elif name in OWN:
            values = [
                source.metadata.get(name) if value is None else value
                for source, value in zip(sources, map(attrgetter(name), sources), strict=True)
            ]
        else:
            values = [source.metadata.get(name) for source in sources]
        if {str, NoneType}.issuperset(map(type, values)):  # mostly so, and then they are shown as they are
            return values
        return [self._text(name, source) for source in sources]

    def groups(self, sources: Sequence[Source]) -> Iterator[Group]:
        """Yield the sources in groups that have the same fields."""
        columns = [self.column(name, sources) for name in self.names]
        if not any(None in column for column in columns):
            yield Group(self.names, sources, columns)
            return
        groups: dict[tuple[bool, ...], list[int]] = {}
        for at, row in enumerate(zip(*columns, strict=True)):
            groups.setdefault(tuple([value is not None for value in row]), []).append(at)
        for there, members in groups.items():
            kept = [[column[at] for at in members] for column in compress(columns, there)]
            yield Group(tuple(compress(self.names, there)), [sources[at] for at in members], kept)

    def fields(self, source: Source) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the names and the trimmed values of the fields that one source has."""
        if self._settings.caps:
            values = [(self.column(name, (source,))[0] or "").strip() for name in self.names]
        else:
            values = [(self._text(name, source) or "").strip() for name in self.names]
        if all(values):
            return self.names, tuple(values)
        return tuple(compress(self.names, values)), tuple([value for value in values if value])

    def _text(self, name: str, source: Source) -> str | None:
        value: Any
        if name == "chunk":
            value = self._shown_ids.get(source.id, source.id)
        else:
            value = getattr(source, name) if name in OWN else None
            if value is None:
                value = source.metadata.get(name)
        return value if value is None or type(value) is str else shown_field(source, name, value) or None
