"""Documents and nodes of frameworks as sources; no framework is imported, their shape is enough."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any

from promptpack.adapters.rows import checked, keyed, without_vectors
from promptpack.adapters.taking import Distance, take
from promptpack.errors import SourceError, quote
from promptpack.source import Source

STATE_KEYS = (
    "documents", "context", "docs", "retrieved_documents", "retrieved_docs", "chunks", "sources", "results",
)


def from_langchain(documents: Iterable[Any], *, distance: bool = False) -> tuple[Source, ...]:
    """Return sources for LangChain documents, or for (document, number) pairs as its vector stores return them.

    Documents are objects, mappings with `page_content`, or what `dumpd` writes. The number of a pair is the score;
    without one, `relevance_score` (which rerankers write) or `score` of the metadata is. distance: the numbers are
    distances, as with FAISS, PGVector or Chroma's `similarity_search_with_score`. `source` or `file_path` of the
    metadata names the document unless a more exact key does; `start_index` gives the offsets. Missing ids become a
    digest of the text.

    >>> from_langchain([{"page_content": "Lamps.", "metadata": {"source": "a.md", "score": 0.5}}])[0].document
    'a.md'
    """
    return take(documents, _langchain, distance=distance, what="documents")


def from_llamaindex(nodes: Any, *, distance: bool = False) -> tuple[Source, ...]:
    """Return sources for LlamaIndex nodes, with a score or bare, or for a response with `source_nodes`.

    Nodes are objects, or what their `to_dict` writes. The text is the node's own, without its metadata template.
    Metadata under `excluded_llm_metadata_keys` is left out altogether: it cannot be shown, nor fill another field.

    >>> node = {"id_": "n1", "text": "Lamps.", "metadata": {"path": "x"}, "excluded_llm_metadata_keys": ["path"]}
    >>> dict(from_llamaindex([{"node": node, "score": 0.5}])[0].metadata)
    {}
    """
    return take(getattr(nodes, "source_nodes", nodes), _llamaindex, distance=distance, what="nodes")


def from_haystack(documents: Any, *, distance: bool = False) -> tuple[Source, ...]:
    """Return sources for Haystack documents, or for a retriever's output with `documents`.

    Documents are objects, or what their `to_dict` writes, flat or not. Embeddings and blobs are left behind. What their
    metadata has as `source_id`, else as `file_path`, names the document.

    >>> from_haystack([{"id": "h1", "content": "Lamps.", "score": 0.5, "page_number": 3}])[0].metadata["page_number"]
    3
    """
    if isinstance(documents, Mapping) and "documents" in documents:
        documents = documents["documents"]
    return take(documents, _haystack, distance=distance, what="documents")


def from_langgraph_state(state: Any, key: str | None = None, *, distance: bool = False) -> tuple[Source, ...]:
    """Return sources for what a LangGraph state holds: LangChain documents, pairs, or mappings with a text.

    state: a mapping or an object; or the list itself. key: which part of it; None takes the only one that is there of
    documents, context, docs, retrieved_documents, retrieved_docs, chunks, sources, results.

    Raises SourceError where there is none, or more than one, and names what is there.

    >>> from_langgraph_state({"question": "Why?", "context": [{"content": "Lamps.", "score": 0.5}]})[0].text
    'Lamps.'
    """
    return take(_part(state, key), _langgraph, distance=distance, what="state")


def from_vercel_ai(
    results: Any, *, keys: Mapping[str, str] | None = None, distance: Distance = False
) -> tuple[Source, ...]:
    """Return sources for results in the shape of the Vercel AI SDK: of a search, or of its `rerank`.

    results: mappings with content (or text), score and metadata; or the result of `rerank`, or its `ranking`: entries
    with a score and a document, a text or a mapping. keys: which key of a document holds which field of the source,
    such as {"text": "body"}.

    >>> from_vercel_ai({"ranking": [{"originalIndex": 1, "score": 0.9, "document": "Lamps."}]})[0].score
    0.9
    """
    if isinstance(results, Mapping) and "ranking" in results:
        results = results["ranking"]
    checked(keys)
    return take(
        results, lambda item: keyed(_ranked(item), keys), distance=distance, what="results", rows=True, named=True
    )


def _langchain(item: Any) -> Any:
    if isinstance(item, Mapping):
        inner = item.get("kwargs")
        row = inner if isinstance(inner, Mapping) and "lc" in item else item
        if "page_content" in row:
            return SimpleNamespace(
                page_content=row["page_content"], metadata=row.get("metadata") or {}, id=row.get("id")
            )
    return item


def _llamaindex(item: Any) -> Any:
    if not isinstance(item, Mapping):
        return item
    if "node" in item:
        return SimpleNamespace(node=_llamaindex(item["node"]), score=item.get("score"))
    if "id_" not in item:
        return item
    text = item.get("text")
    if text is None and isinstance(item.get("text_resource"), Mapping):
        text = item["text_resource"].get("text")
    return SimpleNamespace(
        node_id=item["id_"], text=text, get_content=lambda: text, metadata=item.get("metadata"),
        excluded_llm_metadata_keys=item.get("excluded_llm_metadata_keys"), ref_doc_id=_parent(item),
        start_char_idx=item.get("start_char_idx"), end_char_idx=item.get("end_char_idx"),
    )


def _parent(node: Mapping[str, Any]) -> Any:
    """Return the id of the document that a written node was cut from: its relationship "1", "source"."""
    related = node.get("relationships")
    parent = related.get("1") if isinstance(related, Mapping) else None
    return parent.get("node_id") if isinstance(parent, Mapping) else node.get("ref_doc_id")


def _haystack(item: Any) -> Any:
    if not isinstance(item, Mapping) or "content" not in item:
        return item
    known = ("id", "content", "meta", "score", "blob", "embedding", "sparse_embedding")
    meta = item.get("meta")
    if meta is not None and not isinstance(meta, Mapping):
        raise SourceError(f"meta: expected a mapping, got {quote(meta)}", field="metadata")
    loose = {key: value for key, value in item.items() if key not in known}
    return SimpleNamespace(
        id=item.get("id"), content=item["content"], score=item.get("score"), meta={**loose, **(meta or {})}
    )


def _langgraph(item: Any) -> Any:
    if isinstance(item, Mapping) and "page_content" not in item and "lc" not in item:
        return without_vectors(item)
    return _langchain(item)


def _part(state: Any, key: str | None) -> Any:
    if isinstance(state, list | tuple):
        return state
    held = state if isinstance(state, Mapping) else {
        name: getattr(state, name) for name in ((key,) if isinstance(key, str) else STATE_KEYS) if hasattr(state, name)
    }
    if key is not None:
        if key not in held:
            there = ", ".join(quote(one, 20) for one in list(held)[:8]) or "none of it"
            raise SourceError(f"state: there is nothing under {quote(key)}; there is {there}", field="key")
        return held[key]
    lists = [name for name in STATE_KEYS if isinstance(held.get(name), list | tuple)]
    if len(lists) == 1:
        return held[lists[0]]
    found = f"lists are under {', '.join(lists)}" if lists else f"no list is under {', '.join(STATE_KEYS)}"
    raise SourceError(f"state: name the part that holds the documents, key=...: {found}", field="key")


def _ranked(item: Any) -> Any:
    if isinstance(item, Mapping) and "document" in item and "score" in item and "content" not in item:
        document = item["document"]
        inner = document if isinstance(document, Mapping) else {"text": document}
        return {**{key: value for key, value in inner.items() if key != "score"}, "score": item["score"]}
    return item
