"""What vector stores return as sources; no client is imported, the shape is enough."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from promptpack.adapters.rows import as_mapping, checked, keyed, without_vectors
from promptpack.adapters.taking import Distance, take
from promptpack.errors import OptionError, SourceError, quote
from promptpack.reading import TEXT_KEYS
from promptpack.source import Source

Keys = Mapping[str, str] | None


def from_mappings(
    items: Iterable[Mapping[str, Any]], *, keys: Keys = None, distance: Distance = False
) -> tuple[Source, ...]:
    """Return sources for mappings, such as lines of a JSON file or hits of a search engine.

    keys: which key holds which field of `Source`, such as {"text": "body_md", "id": "pk", "updated": "changed"}; looked
    for in the mapping, then in its metadata. Without them the usual names are known (`PromptBuilder.add_sources`).
    distance: the number is a distance, or the key that holds it.

    Raises SourceError naming the position and the key for an item that has not what was named, OptionError for keys
    of fields that a source has not.

    >>> from_mappings([{"pk": 7, "body": "Lamps.", "far": 0.25}], keys={"id": "pk", "text": "body"}, distance="far")
    (Source(id='7', text='Lamps.', score=-0.25, document=None, position=None, updated=None, reliability=None, \
priority=0, required=False, pinned=False, cut=None, tokens=None, start=None, end=None, metadata={}),)
    """
    checked(keys)

    def shape(item: Any) -> Any:
        if not isinstance(item, Mapping):
            raise SourceError(f"expected a mapping, got {quote(item)}", field="sources")
        return keyed(without_vectors(item), keys)

    return take(items, shape, distance=distance, what="items")


def from_vector_store_rows(
    rows: Iterable[Any], *, keys: Keys = None, distance: Distance = False
) -> tuple[Source, ...]:
    """Return sources for rows of a vector store: mappings or objects with a text, a score and metadata.

    What was stored may lie under metadata, meta, payload, fields, entity (Milvus) or _source (Elasticsearch). Vectors
    are left behind. keys, distance: as in `from_mappings`.

    >>> from_vector_store_rows([{"id": 1, "distance": 0.2, "entity": {"text": "Lamps."}}], distance=True)[0].score
    -0.2
    """
    checked(keys)
    return take(rows, lambda row: keyed(without_vectors(as_mapping(row)), keys), distance=distance, what="rows")


def from_pgvector_rows(
    rows: Iterable[Any], *, columns: Sequence[str] | None = None, keys: Keys = None, distance: Distance = False
) -> tuple[Source, ...]:
    """Return sources for rows of a PostgreSQL query with pgvector, as psycopg, asyncpg or SQLAlchemy give them.

    columns: the names of plain tuples' values. All operators of pgvector (`<->`, `<=>`, `<#>`, `<+>`) give distances:
    say distance=True where the column is called distance, or its name. Metadata may be JSON text. The tables that
    LangChain (document, cmetadata) and LlamaIndex (text, metadata_) make are known, too.

    >>> from_pgvector_rows([(7, "Lamps.", 0.25)], columns=("id", "content", "d"), distance="d")[0].score
    -0.25
    """
    checked(keys)
    if columns is not None and (isinstance(columns, str) or not all(isinstance(one, str) for one in columns)):
        raise OptionError(
            f"columns: expected a list of names, got {quote(columns)}", name="columns", given=columns
        )

    def shape(row: Any) -> Any:
        named = without_vectors(as_mapping(row, columns))
        if "cmetadata" in named and isinstance(named.get("document"), str) and not _has_text(named):
            named["text"] = named.pop("document")
        return keyed(named, keys)

    return take(rows, shape, distance=distance, what="rows")


def from_qdrant(result: Any, *, keys: Keys = None, distance: bool = False) -> tuple[Source, ...]:
    """Return sources for points of Qdrant: a list of them, a query's response, or what `scroll` returns.

    The text is under one of the usual names in the payload, or under that of `keys`. distance: the collection's metric
    is Euclid or Manhattan, where a lower score is better.

    >>> from_qdrant({"result": {"points": [{"id": 1, "score": 0.5, "payload": {"text": "Lamps."}}]}})[0].id
    '1'
    """
    checked(keys)
    while isinstance(result, Mapping) and ("points" in result or "result" in result):
        result = result["points"] if "points" in result else result["result"]
    points = getattr(result, "points", result)
    if isinstance(points, tuple) and len(points) == 2 and isinstance(points[0], list):
        points = points[0]  # with the offset of the next page

    def shape(point: Any) -> Any:
        held = point if isinstance(point, Mapping) else vars(point) if not hasattr(point, "payload") else None
        if held is not None:
            if "id" not in held:
                raise SourceError(f"expected a point with id and payload, got {quote(point)}", field="sources")
            point = SimpleNamespace(id=held["id"], score=held.get("score"), payload=held.get("payload"))
        if not keys:
            return point
        return keyed({"id": point.id, "score": getattr(point, "score", None), "payload": dict(point.payload or {})}, keys)

    return take(points, shape, distance=distance, what="points")


def from_chroma(
    result: Mapping[str, Any], *, query: int | None = None, distance: bool = True
) -> tuple[Source, ...]:
    """Return sources for what Chroma's `query` or `get` returns: lists of ids, documents, metadatas and distances.

    Chroma's numbers are distances in every metric, so that is the default here. query: which of several questions, from
    0; needed only where there were several.

    Raises SourceError where the documents were not asked for, a list has another length, or a document is missing.

    >>> answer = {"ids": [["a"]], "documents": [["Lamps."]], "metadatas": [[None]], "distances": [[0.25]]}
    >>> from_chroma(answer)[0].score
    -0.25
    """
    if not isinstance(result, Mapping) or not isinstance(result.get("ids"), list | tuple):
        raise SourceError(f"result: expected what Chroma returns, with ids, got {quote(result)}", field="ids")
    ids = result["ids"]
    if result.get("documents") is None:
        raise SourceError('result: there are no documents; ask with include=["documents", ...]', field="documents")
    nested = bool(ids) and all(isinstance(one, list | tuple) for one in ids)
    if nested and query is None and len(ids) != 1:
        raise SourceError(f"result: it answers {len(ids)} questions; say which: query=0 to {len(ids) - 1}", field="query")
    at = query or 0
    if (isinstance(query, bool) or not isinstance(at, int) or not 0 <= at < max(len(ids) if nested else 1, 1)):
        raise OptionError(f"query: expected a number from 0 to {len(ids) - 1 if nested else 0}, got {quote(query)}",
                          name="query", given=query)
    lists: dict[str, Sequence[Any]] = {}
    for name in ("ids", "documents", "metadatas", "distances"):
        if result.get(name) is not None:
            lists[name] = result[name][at] if nested else result[name]
            if len(lists[name]) != len(lists["ids"]):
                raise SourceError(f"result: {len(lists[name])} {name} for {len(lists['ids'])} ids", field=name)
    rows = [
        {"id": id_, "text": text, "metadata": metadata, "score": number}
        for id_, text, metadata, number in zip(
            lists["ids"], lists["documents"], *(lists.get(name, [None] * len(lists["ids"])) for name in _MORE),
            strict=True,
        )
    ]
    return take(rows, lambda row: row, distance=distance, what="result")


_MORE = ("metadatas", "distances")


def from_pinecone(result: Any, *, keys: Keys = None, distance: bool = False) -> tuple[Source, ...]:
    """Return sources for what Pinecone's `query` (matches) or `search` (hits) returns, or for a list of them.

    The text is under one of the usual names or `chunk_text` in the metadata, or under that of `keys`. distance: the
    index's metric is euclidean, where a lower score is better.

    >>> from_pinecone({"matches": [{"id": "a", "score": 0.5, "metadata": {"chunk_text": "Lamps."}}]})[0].text
    'Lamps.'
    """
    checked(keys)
    for name in ("result", "hits", "matches"):
        inner = result.get(name) if isinstance(result, Mapping) else getattr(result, name, None)
        result = result if inner is None else inner

    def shape(match: Any) -> Any:
        row = without_vectors(as_mapping(match))
        stored = next((row[key] for key in ("metadata", "fields") if isinstance(row.get(key), Mapping)), {})
        usual = not keys and "chunk_text" in stored and not _has_text(stored)
        return keyed(row, {"text": "chunk_text"} if usual else keys)

    return take(result, shape, distance=distance, what="matches")


def _has_text(row: Mapping[str, Any]) -> bool:
    return any(row.get(key) is not None for key in TEXT_KEYS)
