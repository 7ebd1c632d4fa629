"""Which strategy suits a question: what it asks for, and what the chunks' metadata can tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

from promptpack.packing.route import Coverage, Intent
from promptpack.packing.route import metadata_coverage as coverage_of
from promptpack.reorder.chunks import Chunk, as_source, prepare_chunks
from promptpack.reorder.options import checked, from_keywords, merge
from promptpack.reorder.ordering import resolved
from promptpack.reorder.settings import auto_of, settings

INTENTS = get_args(Intent)


def detect_query_intent(query: str | None, auto_strategy: Mapping[str, Any] | None = None) -> str:
    """Return what a question asks for, "temporal", "narrative" or "factoid", by the terms of `auto_strategy`.

    As in rag-chunk-reorder, an answer of its intent_detector that is none of these leaves it to the terms; where a
    strategy is chosen by it (`Reorderer`, `resolve_auto_strategy`), such an answer raises OptionError.

    >>> detect_query_intent("When did it open?"), detect_query_intent("plan it", {"temporal_query_terms": ["plan"]})
    ('temporal', 'temporal')
    """
    auto = auto_of(_checked(auto_strategy))
    detector = auto.intent
    if not callable(detector):
        return auto.find_intent(query)

    def known(query: str) -> str | None:
        found = detector(query)
        return found if isinstance(found, str) and found in INTENTS else None

    return replace(auto, intent=known).find_intent(query)


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
    given = from_keywords({"auto_strategy": {} if auto_strategy is None else auto_strategy})["auto_strategy"]
    if isinstance(given, Mapping):  # an empty term never matches
        given = {
            name: [one for one in terms if one != ""] if isinstance(terms, list | tuple) else terms
            for name, terms in given.items()
        }
    options = checked(merge({"auto_strategy": given}))
    found: Mapping[str, Any] = options["auto_strategy"]
    return found
