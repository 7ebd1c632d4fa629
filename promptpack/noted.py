"""Notes on sources: how they stand in a payload, kept for the next one of the same settings.

Whoever asks another question about the same sources, or goes on with a conversation, renders the same `Source` objects
again. What was found out about one is noted on it, with the settings and the metadata that it rests on, so that a note
can never show in a payload but by its speed; it goes when the source goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from operator import is_not

from promptpack.environment import Compiled
from promptpack.forms import Ready
from promptpack.source import Source

_LASTING = {str, int, float, type(None)}  # values that nobody can change in place
_STAMPS = 64  # choices of settings that are kept with a template set


class Notes:
    """Reads and writes notes for one payload.

    fields: the shown fields, None where nothing is to be noted. compiled: the template set. settings: all else that a
    note depends on, hashable.
    """

    __slots__ = ("_fields", "_stamp")

    def __init__(self, fields: tuple[str, ...] | None, compiled: Compiled | None = None, *settings: object) -> None:
        self._fields = tuple([field for field in fields or () if field != "chunk"])  # that is the id, never metadata
        self._stamp = None if fields is None or compiled is None else _stamp(compiled, (fields, *settings))

    def recalled(self, source: Source) -> Ready | None:
        """Return what an earlier payload of the same settings noted; None where there is nothing, or other metadata."""
        noted = getattr(source, "_made", None)  # a copy has none
        if noted is None or noted[0] is not self._stamp:
            return None
        # The very same values: equal ones, like 1 and True, need not be shown alike, and some cannot be compared.
        if any(map(is_not, noted[1], map(source.metadata.get, self._fields))):
            return None
        made: Ready = noted[2]
        return made

    def keep_all(self, sources: Sequence[Source], made: Sequence[Ready]) -> None:
        """Note on many sources, whose texts are plain ones, how they stand in this payload."""
        fields, stamp = self._fields, self._stamp
        held = [source.metadata for source in sources]
        facts = list(zip(*[[one.get(field) for one in held] for field in fields], strict=True)) or [()] * len(made)
        if stamp is None or not _LASTING.issuperset(map(type, chain.from_iterable(facts))):
            for source, one in zip(sources, made, strict=True):
                self.keep(source, one)
            return
        note = object.__setattr__
        for source, one, known in zip(sources, made, facts, strict=True):
            note(source, "_made", (stamp, known, one))

    def keep(self, source: Source, made: Ready) -> None:
        """Note on a source how it stands in this payload."""
        facts = tuple(map(source.metadata.get, self._fields))
        # Texts of other types may remember how they were escaped, which an equal text does not.
        if self._stamp is not None and type(source.text) is str and _LASTING.issuperset(map(type, facts)):
            object.__setattr__(source, "_made", (self._stamp, facts, made))


def _stamp(compiled: Compiled, settings: tuple[object, ...]) -> object:
    """Return the same object for the same settings; it is kept with the template set, and goes with it."""
    stamps: dict[tuple[object, ...], object] = compiled.kept(("stamps",), dict)
    if len(stamps) >= _STAMPS and settings not in stamps:
        stamps.clear()
    return stamps.setdefault(settings, object())
