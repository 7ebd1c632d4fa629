"""What a page tells of a passage: what was sent with it, what it was ranked by, and what was kept back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from promptpack.errors import OptionError
from promptpack.shown import shown_date
from promptpack.view.account import count
from promptpack.view.kept import sent_part
from promptpack.view.runs import line

if TYPE_CHECKING:
    from promptpack.payload import PackedSource
    from promptpack.source import Source

_OWN = ("score", "document", "position", "updated", "reliability", "priority", "required", "pinned")
_TIP = 80  # characters of a value in a short description


def facts(source: Source) -> tuple[tuple[str, str], ...]:
    """Return what is known of a source besides its text and its metadata: name and value, where there is one.

    >>> from promptpack.source import Source
    >>> facts(Source("a#1", "x", 0.5, required=True))
    (('score', '0.5'), ('required', 'yes'))
    """
    told = [(name, _value(name, getattr(source, name))) for name in _OWN if _known(name, getattr(source, name))]
    if source.start is not None and source.end is not None:
        told.append(("characters", f"{count(source.start)} to {count(source.end)} of its document"))
    if source.cut is not None:
        told.append(("may be cut", f"keeping its {source.cut.keep}, from {count(source.cut.min_tokens)} tokens on"))
    return tuple(told)


def worth(one: PackedSource) -> str:
    """Return what the selection took a passage to be worth."""
    return _value("value", one.value)


def kept_back(one: PackedSource) -> tuple[str, ...]:
    """Return the names of the metadata that the model does not see; their values are not for a page, either."""
    keys = one.source.metadata
    names = [str.__str__(key) if isinstance(key, str) else f"a key of type {type(key).__name__}" for key in keys]
    return tuple(name for name in names if name not in one.attributes)


def tip(one: PackedSource, sources: int, chance: str) -> str:
    """Return a passage in one line, for hovering over its point."""
    return "; ".join(_tip(one, sources, chance))


def _tip(one: PackedSource, sources: int, chance: str) -> Iterator[str]:
    place = f"place {count(one.position + 1)} of {count(sources)} ({one.region})"
    yield f"{line(one.label)}: rank {count(one.rank)}, {place}"
    yield f"{count(one.tokens)} tokens"
    if sent := sent_part(one):
        yield f"sent: {sent}"
    yield f"{chance} on the curve"
    yield line(", ".join(one.chunk_ids), _TIP)
    for name, value in one.attributes.items():
        if name != "chunk":
            yield f"{line(name, _TIP)}: {line(value, _TIP)}"


def _known(name: str, value: Any) -> bool:
    return value is not None and value is not False and (name != "priority" or bool(value))


def _value(name: str, value: Any) -> str:
    if value is True:
        return "yes"
    if name == "updated":
        try:
            return line(shown_date(value))
        except OptionError:  # a number that no date can be
            return "out of range"
    if isinstance(value, str):
        return line(value)
    return count(value) if isinstance(value, int) else f"{float(value):.6g}"
