"""What a citation that came beside the text may name: the passages of a payload, by every name that they go by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from promptpack.citations.native import Sent, Target
from promptpack.citations.responses import Among
from promptpack.layout import document_id

if TYPE_CHECKING:
    from promptpack.message import Message
    from promptpack.payload import PackedSource, Payload

# Metadata that tells a source from outside: what file stores, search tools and loaders write.
_NAMES = ("url", "uri", "link", "source", "file_id", "file_name", "filename", "file_path", "title")


def sent_passages(payload: Payload) -> Sent:
    """Return the passages of a payload for `promptpack.citations.native.verify_response`.

    Their order among documents and search results takes in those of the history, which providers count, too.
    """
    escaped = payload.layout.escaped if payload.layout else {}
    targets = tuple(
        Target(one.label, tuple(_names(one)), (one.text, *([escaped[one.label]] if one.label in escaped else ())))
        for one in payload.sources
    )
    kinds: tuple[Among, ...] = ("document", "search_result")
    return Sent(targets, {kind: _order(payload, kind) for kind in kinds})


def _names(one: PackedSource) -> Iterable[str]:
    found: list[Any] = [one.source.id, document_id(one), one.source.document]
    found += [one.source.metadata.get(key) for key in _NAMES]
    return [name for name in dict.fromkeys(name for name in found if isinstance(name, str)) if name.strip()]


def _order(payload: Payload, kind: Among) -> list[str | None]:
    before = payload.layout is not None and payload.layout.pinned is not None
    pinned = [one.label for one in payload.sources if before and one.source.pinned]
    others = [one.label for one in payload.sources if not (before and one.source.pinned)]
    history: list[str | None] = [None] * sum(_count(message, kind) for message in payload.messages)
    return [*pinned, *history, *others]


def _count(message: Message, kind: Among) -> int:
    """Return how many documents or search results a message of the history holds."""
    items: Iterable[Any] = message.native.items if message.native is not None else ()
    blocks = [block for item in items for block in _blocks(item.get("content"))]
    return sum(block.get("type") == kind for block in blocks)


def _blocks(content: Any) -> Iterable[Mapping[str, Any]]:
    for block in content if isinstance(content, list | tuple) else ():
        if isinstance(block, Mapping):
            yield block
            yield from _blocks(block.get("content"))  # a tool may give search results back
