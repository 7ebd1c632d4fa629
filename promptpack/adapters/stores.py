"""What vector stores return as sources; no client is imported, the shape is enough."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from promptpack.adapters.rows import as_mapping, checked, keyed, without_vectors
from promptpack.adapters.taking import Distance, take
from promptpack.errors import OptionError, SourceError, quote
from promptpack.foreign import TEXT_KEYS
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

    >>> rows = [{"pk": 7, "body": "Lamps.", "far": 0.25}]
    >>> source, = from_mappings(rows, keys={"id": "pk", "text": "body"}, distance="far")
    >>> source.id, source.text, source.score
    ('7', 'Lamps.', -0.25)
    """
    checked(keys)

    def shape(item: Any) -> Any:
        if not isinstance(item, Mapping):
            raise SourceError(f"expected a mapping, got {quote(item)}", field="sources")
        return keyed(without_vectors(item), keys)

    return take(items, shape, distance=distance, what="items", rows=True, named=True)


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
    return take(
        rows, lambda row: keyed(without_vectors(as_mapping(row)), keys), distance=distance, what="rows", rows=True,
        named=True,
    )


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

    return take(rows, shape, distance=distance, what="rows", rows=True, named=True)


def from_qdrant(result: Any, *, keys: Keys = None, distance: bool = False) -> tuple[Source, ...]:
    """Return sources for points of Qdrant: a list of them, a query's response, or what `scroll` returns.

    The text is under one of the usual names in the payload, or under that of `keys`. distance: the collection's metric
    is Euclid or Manhattan, where a lower score is better.

    >>> from_qdrant({"result": {"points": [{"id": 1, "score": 0.5, "payload": {"text": "Lamps."}}]}})[0].id
    '1'
    """
    checked(keys)
    points = _inside(result, ("result", "points"))
    if isinstance(points, tuple) and len(points) == 2 and isinstance(points[0], list):
        points = points[0]  # with the offset of the next page

    def shape(point: Any) -> Any:
        bare = None if hasattr(point, "payload") else getattr(point, "__dict__", {})
        held = point if isinstance(point, Mapping) else bare
        if held is not None:
            if "id" not in held:
                raise SourceError(f"expected a point with id and payload, got {quote(point)}", field="sources")
            point = SimpleNamespace(id=held["id"], score=held.get("score"), payload=held.get("payload"))
        if not keys:
            return point
        score = getattr(point, "score", None)
        return keyed({"id": point.id, "score": score, "payload": dict(point.payload or {})}, keys)

    return take(points, shape, distance=distance, what="points", rows=True)


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
    questions = len(ids) if nested else 1
    if query is None and questions > 1:
        raise SourceError(f"result: it answers {questions} questions; say which: query=0 or another", field="query")
    at = 0 if query is None else query
    if isinstance(at, bool) or not isinstance(at, int) or not 0 <= at < questions:
        raise OptionError(
            f"query: expected a number from 0 to {questions - 1}, got {quote(query)}", name="query", given=query
        )
    count = len(ids[at] if nested else ids)
    columns = [_column(result, name, at if nested else None, count) for name in _COLUMNS]
    rows = [dict(zip(("id", "text", "metadata", "score"), row, strict=True)) for row in zip(*columns, strict=True)]
    return take(rows, lambda row: row, distance=distance, what="result", rows=True)


_COLUMNS = ("ids", "documents", "metadatas", "distances")


def _column(result: Mapping[str, Any], name: str, at: int | None, count: int) -> Sequence[Any]:
    """Return one of Chroma's lists, of `count` members; None for each where it was not asked for."""
    found = result.get(name)
    if found is None:
        return [None] * count
    if at is not None:
        found = found[at] if isinstance(found, list | tuple) and at < len(found) else None
    if not isinstance(found, list | tuple) or len(found) != count:
        got = len(found) if isinstance(found, list | tuple) else quote(found)
        raise SourceError(f"result: {name}: expected a list of {count}, as many as ids, got {got}", field=name)
    return found


def from_pinecone(result: Any, *, keys: Keys = None, distance: bool = False) -> tuple[Source, ...]:
    """Return sources for what Pinecone's `query` (matches) or `search` (hits) returns, or for a list of them.

    The text is under one of the usual names or `chunk_text` in the metadata, or under that of `keys`. distance: the
    index's metric is euclidean, where a lower score is better.

    >>> from_pinecone({"matches": [{"id": "a", "score": 0.5, "metadata": {"chunk_text": "Lamps."}}]})[0].text
    'Lamps.'
    """
    checked(keys)
    def shape(match: Any) -> Any:
        row = without_vectors(as_mapping(match))
        stored: Mapping[str, Any] = next(
            (row[key] for key in ("metadata", "fields") if isinstance(row.get(key), Mapping)), {}
        )
        usual = not keys and "chunk_text" in stored and not _has_text(stored)
        return keyed(row, {"text": "chunk_text"} if usual else keys)

    return take(_inside(result, ("result", "hits", "matches")), shape, distance=distance, what="matches", rows=True)


def _inside(result: Any, names: Sequence[str]) -> Any:
    """Return what lies under these names, one in the other, as far as they are there."""
    for name in names:
        inner = result.get(name) if isinstance(result, Mapping) else getattr(result, name, None)
        result = result if inner is None else inner
    return result


def _has_text(row: Mapping[str, Any]) -> bool:
    return any(row.get(key) is not None for key in TEXT_KEYS)
