"""Which strategy suits a question: what it asks for, and what the chunks' metadata can tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from promptpack.packing.route import Coverage
from promptpack.packing.route import metadata_coverage as coverage_of
from promptpack.reorder.chunks import Chunk, as_source, prepare_chunks
from promptpack.reorder.options import checked, from_keywords, merge
from promptpack.reorder.ordering import resolved
from promptpack.reorder.settings import auto_of, settings


def detect_query_intent(query: str | None, auto_strategy: Mapping[str, Any] | None = None) -> str:
    """Return what a question asks for, "temporal", "narrative" or "factoid", by the terms of `auto_strategy`.

    >>> detect_query_intent("When did it open?"), detect_query_intent("plan it", {"temporal_query_terms": ["plan"]})
    ('temporal', 'temporal')
    """
    return auto_of(_checked(auto_strategy)).find_intent(query)


def metadata_coverage(chunks: Sequence[Chunk], source_field: str = "sourceId") -> Coverage:
    """Return which share of the chunks has a timestamp, a document (named by `source_field`) and a section.

    >>> metadata_coverage([{"id": "a", "text": "x", "score": 1, "metadata": {"timestamp": 5}}])
    Coverage(temporal=1.0, document=0.0, position=0.0)
    """
    return coverage_of([as_source(chunk) for chunk in prepare_chunks(chunks)[0]], source_field)


def resolve_auto_strategy(
    chunks: Sequence[Chunk], query: str | None = None, auto_strategy: Mapping[str, Any] | None = None,
    *, source_field: str = "sourceId",
) -> str:
    """Return the strategy that "auto" chooses for these chunks and this question.

    >>> resolve_auto_strategy([{"id": "a", "text": "x", "score": 1, "metadata": {"timestamp": 5}}], "When?")
    'chronological'
    """
    options = merge(from_keywords({
        "strategy": "auto", "auto_strategy": auto_strategy or {}, "preserve_order_source_field": source_field,
    }))
    sources = [as_source(chunk) for chunk in prepare_chunks(chunks)[0]]
    return resolved(settings(checked(options)).strategy, sources, query).name


def _checked(auto_strategy: Mapping[str, Any] | None) -> Mapping[str, Any]:
    options = checked(merge(from_keywords({"auto_strategy": auto_strategy or {}})))
    found: Mapping[str, Any] = options["auto_strategy"]
    return found
