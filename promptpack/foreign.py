"""Objects of frameworks and stores as mappings, by their shape alone: no framework is imported.

Each reader is a row of a table: a test for the shape, and a function that turns such an object into a mapping.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

TEXT_KEYS = ("text", "content", "page_content", "snippet", "body", "chunk")
ID_KEYS = ("id", "id_", "chunk_id", "doc_id", "_id", "uuid")
SCORE_KEYS = ("score", "relevance_score", "similarity", "_score")
METADATA_KEYS = ("metadata", "meta", "payload")


def taken(left: dict[str, Any], keys: tuple[str, ...]) -> Any:
    """Take the first of these keys that has a value out of a mapping; None where none has.

    An alias that is None says as much as one that is not there, and goes, too.

    >>> row = {"text": None, "body": "Lamps.", "page": 3}
    >>> taken(row, TEXT_KEYS), row
    ('Lamps.', {'page': 3})
    """
    for key in keys:
        if key in left and left[key] is None:
            del left[key]
    return next((left.pop(key) for key in keys if key in left), None)


def _langchain(item: Any) -> dict[str, Any]:
    text, metadata = item.page_content, item.metadata
    found = {"text": text, "id": getattr(item, "id", None), "metadata": metadata}
    if isinstance(metadata, Mapping):
        found |= _offsets(text, metadata.get("start_index"))
    return found


def _offsets(text: Any, start: Any) -> dict[str, int]:
    """Return the offsets of a text that a splitter noted; it writes -1 where it lost them."""
    if not isinstance(text, str) or not isinstance(start, int) or isinstance(start, bool) or start < 0:
        return {}
    return {"start": start, "end": start + len(text)}


def _node(item: Any) -> dict[str, Any]:
    hidden = set(getattr(item, "excluded_llm_metadata_keys", None) or ())
    metadata = {key: value for key, value in (item.metadata or {}).items() if key not in hidden}
    text = getattr(item, "text", None)
    return {
        "text": text if isinstance(text, str) else item.get_content(), "metadata": metadata,
        "id": item.node_id if hasattr(item, "node_id") else item.id_,
        "document": getattr(item, "ref_doc_id", None), "start": getattr(item, "start_char_idx", None),
        "end": getattr(item, "end_char_idx", None),
    }


def _scored_node(item: Any) -> dict[str, Any]:
    return {**_node(item.node), "score": item.score}


def _haystack(item: Any) -> dict[str, Any]:
    found = {"text": item.content, "id": item.id, "score": getattr(item, "score", None), "metadata": item.meta}
    return found | (_offsets(item.content, item.meta.get("split_idx_start")) if isinstance(item.meta, Mapping) else {})


def _qdrant(item: Any) -> dict[str, Any]:
    payload = dict(item.payload or {})
    text = taken(payload, TEXT_KEYS)
    key = next((key for key in METADATA_KEYS if isinstance(payload.get(key), Mapping)), None)
    nested = payload.pop(key) if key else {}
    return {"text": text, "id": item.id, "score": getattr(item, "score", None), "metadata": {**payload, **nested}}


def _has(*names: str) -> Callable[[Any], bool]:
    return lambda item: all(hasattr(item, name) for name in names)


READERS: tuple[tuple[Callable[[Any], bool], Callable[[Any], Mapping[str, Any]]], ...] = (
    (lambda item: isinstance(item, Mapping), lambda item: item),
    (_has("page_content", "metadata"), _langchain),
    (_has("node", "score"), _scored_node),
    (_has("node_id", "metadata"), _node),
    (_has("id_", "metadata", "text"), _node),
    (_has("content", "meta", "id"), _haystack),
    (_has("payload", "id"), _qdrant),
)
