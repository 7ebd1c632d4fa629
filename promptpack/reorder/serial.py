"""Chunks as JSON text, and back."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

from promptpack.errors import QUOTE_LIMIT, SourceError, quote
from promptpack.packing.dates import instant
from promptpack.reorder.chunks import Chunk, listed, prepare_chunks
from promptpack.source import Source

DEEPEST = 200
_ABSENT = object()


def serialize_chunks(chunks: Sequence[Chunk]) -> str:
    """Return chunks as JSON text that `deserialize_chunks` reads back: all fields, whole numbers of any size.

    Dates become ISO texts (UTC where they name no zone); functions are left out, in lists they are null. Raises
    SourceError for a score or another number that is not finite, for what contains itself or is nested deeper than
    200, and for values that JSON cannot hold.

    >>> serialize_chunks([{"id": "a", "text": "x", "score": 0.5, "tokenCount": 4}])
    '[{"id": "a", "text": "x", "score": 0.5, "tokenCount": 4}]'
    """
    found = []
    for index, chunk in enumerate(listed(chunks)):
        if not isinstance(chunk, Mapping | Source):
            raise SourceError(f"chunks[{index}]: expected a chunk, got {quote(chunk)}", index=index, field="chunk")
        fields = _of_source(chunk) if isinstance(chunk, Source) else chunk
        found.append(_plain(fields, f"chunks[{index}]", index, 0))
    try:
        return json.dumps(found, ensure_ascii=False, allow_nan=False)
    except ValueError as error:  # a whole number with more digits than Python writes
        raise SourceError(f"chunks: cannot be written as JSON: {quote(str(error))}", field="chunks") from error


def serialize_chunks_safe(chunks: Sequence[Chunk]) -> str:
    """Return chunks as JSON text, like `serialize_chunks`, without metadata that is null."""
    return serialize_chunks([_without_null(chunk) for chunk in listed(chunks)])


def _without_null(chunk: Any) -> Any:
    if not isinstance(chunk, Mapping) or chunk.get("metadata", _ABSENT) is not None:
        return chunk
    return {key: value for key, value in chunk.items() if key != "metadata"}


def _of_source(source: Source) -> dict[str, Any]:
    named = {
        "sourceId": source.document, "sectionIndex": source.position, "timestamp": instant(source.updated),
        "sourceReliability": source.reliability,
    }
    metadata = {**{key: value for key, value in named.items() if value is not None}, **source.metadata}
    fields: dict[str, Any] = {"id": source.id, "text": source.text, "score": source.score or 0}
    if source.tokens is not None:
        fields["tokenCount"] = source.tokens
    return {**fields, **({"metadata": metadata} if metadata else {})}


def _plain(value: Any, where: str, index: int, depth: int) -> Any:
    if depth > DEEPEST:
        raise SourceError(f"{_short(where)}: it contains itself, or is nested too deep", index=index, field="chunk")
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise SourceError(
                f"{_short(where)}: {value} cannot be written as JSON; expected a finite number",
                index=index, field=_short(where.partition(".")[2]) or "chunk",
            )
        return value
    if isinstance(value, datetime):
        zoned = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        return zoned.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        items = ((str(key), _plain(one, f"{where}.{key}", index, depth + 1)) for key, one in value.items())
        return {key: one for key, one in items if one is not _ABSENT}
    if isinstance(value, list | tuple):
        found = (_plain(one, f"{where}[{at}]", index, depth + 1) for at, one in enumerate(value))
        return [None if one is _ABSENT else one for one in found]
    if callable(value):
        return _ABSENT
    raise SourceError(f"{_short(where)}: {quote(value)} cannot be written as JSON", index=index, field="chunk")


def _short(where: str) -> str:
    """Return the start of a place, which is as long as what is nested there is deep."""
    return where if len(where) <= QUOTE_LIMIT else f"{where[:QUOTE_LIMIT]}..."


def deserialize_chunks(text: str, *, normalize_metadata: bool = False) -> list[dict[str, Any]]:
    """Return the chunks in a JSON text; SourceError names what is wrong by index and field.

    Only id, text and score are checked. normalize_metadata: also repair tokenCount and the metadata, as the
    "coerce" mode does; a bad score raises all the same.

    >>> deserialize_chunks('[{"id": "a", "text": "x", "score": 0.5}]')
    [{'id': 'a', 'text': 'x', 'score': 0.5}]
    """
    found = read_json(text)
    if not isinstance(found, list):
        raise SourceError(f"json: expected a list of chunks, got {quote(found)}", field="json")
    chunks: list[dict[str, Any]] = []
    for index, chunk in enumerate(found):
        if not isinstance(chunk, dict):
            raise SourceError(f"chunks[{index}]: expected an object, got {quote(chunk)}", index=index, field="chunk")
        prepare_chunks([{key: chunk.get(key) for key in ("id", "text", "score")}], first=index)
        chunks.append(prepare_chunks([chunk], "coerce", first=index)[0][0] if normalize_metadata else chunk)  # type: ignore[arg-type]
    return chunks


def read_json(text: str) -> Any:
    """Return what a JSON text holds; SourceError for broken JSON, NaN and a byte order mark."""
    if not isinstance(text, str):
        raise SourceError(f"json: expected a text, got {quote(text)}", field="json")
    try:
        return json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise SourceError(f"json: broken at {place}: {error.msg}", field="json", index=None) from error
    except (RecursionError, ValueError) as error:
        raise SourceError(f"json: cannot be read: {quote(str(error))}", field="json") from error


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
