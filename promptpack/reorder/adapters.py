"""Reordering the objects of frameworks and stores: in go their items, out come the same items in a new order.

Items are told by their shape; no framework is imported. Ids need not be there, nor differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from promptpack.errors import OptionError, SourceError, quote
from promptpack.reorder.chunks import listed
from promptpack.reorder.options import Options, from_config, from_keywords
from promptpack.reorder.reorderer import Reorderer

Item = TypeVar("Item")
ABSENT = object()


class Parts(NamedTuple):
    """What an item holds, unchecked; a score of None is absent, and so are metadata that are ABSENT."""

    text: Any
    score: Any
    metadata: Any


def reorder_langchain_documents(
    documents: Sequence[Item], query: str | None = None, *, reorderer: Reorderer | None = None, **options: Any
) -> list[Item]:
    """Return LangChain documents in a new order: text from page_content, score from their metadata.

    documents: objects or mappings (pageContent is taken, too). reorderer: a ready one, which wins over the options;
    options: those of `Reorderer`, or all of them as a mapping, config={"topK": 8}. A missing score is 0; a reranker is
    refused. What is dropped is absent.

    >>> documents = [{"page_content": name, "metadata": {"score": score}} for name, score in (("a", 0.1), ("b", 0.9))]
    >>> [document["page_content"] for document in reorder_langchain_documents(documents)]
    ['b', 'a']
    """
    return _reordered(documents, _langchain, query, reorderer, options)


def reorder_langchain_pairs(
    pairs: Sequence[tuple[Item, Any]], query: str | None = None, *, reorderer: Reorderer | None = None, **options: Any
) -> list[tuple[Item, Any]]:
    """Return LangChain (document, score) pairs in a new order; a higher score is better."""
    return _reordered(pairs, _pair, query, reorderer, options)


def reorder_llamaindex_nodes(
    nodes: Sequence[Item], query: str | None = None, *, reorderer: Reorderer | None = None, **options: Any
) -> list[Item]:
    """Return LlamaIndex nodes, with a score or bare, in a new order."""
    return _reordered(nodes, _node, query, reorderer, options)


def reorder_haystack_documents(
    documents: Sequence[Item], query: str | None = None, *, reorderer: Reorderer | None = None, **options: Any
) -> list[Item]:
    """Return Haystack documents in a new order: text from content, metadata from meta."""
    return _reordered(documents, _haystack, query, reorderer, options)


def reorder_vector_store_results(
    rows: Sequence[Item], query: str | None = None, *, reorderer: Reorderer | None = None, **options: Any
) -> list[Item]:
    """Return rows of a vector store (content, score, metadata) in a new order."""
    return _reordered(rows, _row, query, reorderer, options)


def reorder_vercel_ai_results(
    results: Sequence[Item], query: str | None = None, *, reorderer: Reorderer | None = None, **options: Any
) -> list[Item]:
    """Return results in the shape of the Vercel AI SDK (content, score, metadata) in a new order."""
    return _reordered(results, _row, query, reorderer, options)


def reorder_langgraph_state(
    chunks: Sequence[Item], query: str | None = None, *, reorderer: Reorderer | None = None, **options: Any
) -> list[Item]:
    """Return the chunks of a LangGraph state (content, score, metadata) in a new order."""
    return _reordered(chunks, _row, query, reorderer, options)


def _reordered(
    items: Sequence[Item], read: Callable[[Any], Parts], query: str | None, reorderer: Reorderer | None,
    options: Options,
) -> list[Item]:
    given = listed(items)
    chunks: list[dict[str, Any]] = []
    for index, item in enumerate(given):
        try:
            parts = read(item)
        except (TypeError, ValueError, AttributeError) as error:
            raise SourceError(f"items[{index}]: cannot be read: {quote(item)}", index=index, field="chunk") from error
        # The place stands for the id: an item's own may be missing, or another's, too.
        chunk = {"id": str(index), "text": parts.text, "score": 0.0 if parts.score is None else parts.score}
        chunks.append(chunk if parts.metadata is ABSENT else {**chunk, "metadata": parts.metadata})
    config = options.get("config")
    named = from_keywords({name: value for name, value in options.items() if name != "config"})
    both = {**({} if config is None else from_config(config)), **named}
    if both.get("reranker") is not None:
        raise OptionError(
            "reranker: a reranker has to be awaited, which the adapters do not; give chunks to Reorderer.areorder",
            name="reranker", given=both["reranker"],
        )
    ready = Reorderer(config, **named)  # its options are checked where another one is given, too
    if reorderer is None:
        found = ready.reorder(chunks, query)
    else:
        mode = both.get("validation_mode")
        found = reorderer.reorder(chunks, query, **({} if mode is None else {"validation_mode": mode}))
    return [given[int(chunk["id"])] for chunk in found if isinstance(chunk, Mapping)]


def _get(item: Any, *names: str) -> Any:
    for name in names:
        value = item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)
        if value is not None:
            return value
    return None


def _metadata(item: Any, name: str = "metadata") -> Any:
    """Return the metadata; a mapping's None is a value that is wrong, an object's says that there are none."""
    if isinstance(item, Mapping):
        return item.get(name, ABSENT)
    found = getattr(item, name, None)
    return ABSENT if found is None else found


def _langchain(item: Any) -> Parts:
    metadata = _metadata(item)
    score = metadata.get("score") if isinstance(metadata, Mapping) else None
    return Parts(_get(item, "page_content", "pageContent"), score, metadata)


def _pair(item: Any) -> Parts:
    document, score = item if len(item) == 2 else (item[0], None)
    return Parts(_get(document, "page_content", "pageContent"), score, _metadata(document))


def _node(item: Any) -> Parts:
    node = _get(item, "node")
    bare = item if node is None else node
    method, metadata = _get(bare, "get_content", "get_text", "getText"), _metadata(bare)
    score = _get(item, "score")
    if score is None and isinstance(metadata, Mapping):
        score = metadata.get("score")
    return Parts(method() if callable(method) else _get(bare, "text"), score, metadata)


def _haystack(item: Any) -> Parts:
    return Parts(_get(item, "content"), _get(item, "score"), _metadata(item, "meta"))


def _row(item: Any) -> Parts:
    return Parts(_get(item, "content", "text"), _get(item, "score"), _metadata(item))
