"""rag-chunk-reorder's vectors of single stages as calls of the library.

A chunk becomes a `Source` whose `origin` it is; its metadata keep their names. Fields that the library has
under another name are filled from metadata where they hold a number.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from math import isfinite
from typing import TYPE_CHECKING, Any

from golden_notation import COMPARATORS, DETECTORS, plain
from golden_reorder_notation import read
from vector_files import Vector

if TYPE_CHECKING:
    from promptpack import Source
    from promptpack.packing import Auto

CHOSEN_NAMES = {"Spread": "scoreSpread", "DocumentOrder": "preserveOrder", "Chronological": "chronological"}
KEEP = {"highestScore": "best", "highest_score": "best", "first": "first", "last": "last"}
AUTO_OPTIONS = {
    "temporalTimestampCoverageThreshold": "temporal_coverage",
    "narrativeSourceCoverageThreshold": "document_coverage",
    "narrativeSectionCoverageThreshold": "position_coverage",
    "temporalQueryTerms": "temporal_terms", "narrativeQueryTerms": "narrative_terms",
    "intentDetector": "intent",
}


def finite(value: Any) -> float | None:
    """Return a number that is finite, None for everything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        return None
    return value


def score(chunk: Vector) -> float:
    """Return the score that a typed source has: an absent one is 0, what is no number is none (NaN)."""
    value = chunk.get("score")
    if value is None:
        return 0.0
    return float("nan") if isinstance(value, bool) or not isinstance(value, int | float) else value


def priority(chunk: Vector) -> float:
    found = finite(chunk.get("priorityScore"))
    return score(chunk) if found is None else found


def meta(chunk: Vector, name: str) -> Any:
    return (chunk.get("metadata") or {}).get(name)


def source(chunk: Vector) -> Source:
    from promptpack import Source

    document = meta(chunk, "document")
    return Source(
        chunk.get("id"), chunk.get("text"), score(chunk),  # type: ignore[arg-type]  # the library checks
        document=document if isinstance(document, str) else None,
        position=finite(meta(chunk, "sectionIndex")), updated=finite(meta(chunk, "timestamp")),
        reliability=finite(meta(chunk, "sourceReliability")), metadata=chunk.get("metadata") or {}, origin=chunk,
    )


def chunks(vector: Vector) -> list[Vector]:
    found: list[Vector] = plain(vector["input"]["chunks"])
    return found


def options(vector: Vector) -> dict[str, Any]:
    found: dict[str, Any] = plain(vector.get("options") or {})
    return found


def ids(found: list[Vector], order: Any) -> dict[str, Any]:
    return {"ids": [found[index]["id"] for index in order]}


def ranking(found: list[Vector]) -> list[int]:
    """Return the indices by priority, ties in input order."""
    from promptpack.packing.ranking import rank_order

    return rank_order([priority(chunk) for chunk in found], [chunk["id"] for chunk in found], tie="input")


def score_spread(vector: Vector) -> Any:
    from promptpack.packing import Spread

    found, given = chunks(vector), options(vector)
    ranked = ranking(found)
    place = Spread(given.get("startCount"), given.get("endCount"))
    return ids(found, [ranked[index] for index in place([source(found[index]) for index in ranked])])


def preserve_order(vector: Vector) -> Any:
    from promptpack.packing.place import document_order, group_keys

    found = chunks(vector)
    field = options(vector).get("sourceField", "sourceId")
    keys = group_keys([meta(chunk, field) for chunk in found])
    positions = [finite(meta(chunk, "sectionIndex")) for chunk in found]
    return ids(found, document_order(keys, positions, [priority(chunk) for chunk in found]))


def chronological(vector: Vector) -> Any:
    from promptpack.packing.place import time_order
    from promptpack.packing.ranking import rank_order

    found = chunks(vector)
    # Equal priorities are ranked by score: ranking by the priority keeps the order of equal ones.
    by_score = rank_order([score(chunk) for chunk in found], [chunk["id"] for chunk in found], tie="input")
    ranks = [0] * len(found)
    for rank, index in enumerate(ranking([found[index] for index in by_score])):
        ranks[by_score[index]] = rank
    newest_first = {"asc": False, "desc": True}[options(vector).get("order", "asc")]
    return ids(found, time_order([finite(meta(chunk, "timestamp")) for chunk in found], newest_first, ranks))


def custom_sort(vector: Vector) -> Any:
    from promptpack.packing import ByKey

    found = chunks(vector)
    compare = COMPARATORS[options(vector)["comparator"]["$fn"]]

    def by_chunks(one: Source, other: Source) -> Any:
        return compare(one.origin, other.origin)  # the chunks, see `source`

    as_key = functools.cmp_to_key(by_chunks)
    return ids(found, ByKey(as_key)([source(chunk) for chunk in found]))


def _groups(vector: Vector, ordered: bool) -> Any:
    from promptpack.packing.place import group_keys, grouped

    found = chunks(vector)
    keys = group_keys([meta(chunk, options(vector)["field"]) for chunk in found])
    groups = grouped(keys, [priority(chunk) for chunk in found] if ordered else None)
    return {"groups": [[key, [found[index]["id"] for index in members]] for key, members in groups]}


def group_chunks(vector: Vector) -> Any:
    return _groups(vector, ordered=False)


def order_groups(vector: Vector) -> Any:
    return _groups(vector, ordered=True)


def score_chunks(vector: Vector) -> Any:
    from promptpack.reorder import score_chunks_with_options

    found = score_chunks_with_options(chunks(vector), vector["input"]["weights"], options(vector))
    return {"priorityScores": [chunk["priorityScore"] for chunk in found]}  # type: ignore[index]


def trigram_similarity(vector: Vector) -> Any:
    from promptpack.reorder import trigram_similarity as similarity

    return similarity(vector["input"]["a"], vector["input"]["b"])


def deduplicate_chunks(vector: Vector) -> Any:
    from promptpack.reorder import deduplicate_chunks as deduplicated

    return {"ids": [chunk["id"] for chunk in deduplicated(chunks(vector), options(vector))]}  # type: ignore[index]


def deduplicate_chunks_unsafe(vector: Vector) -> Any:
    from promptpack.reorder import deduplicate_chunks_unsafe as deduplicated

    found: list[Any] = deduplicated(chunks(vector), options(vector))
    return {"ids": [chunk["id"] for chunk in found], "scores": [chunk["score"] for chunk in found]}


def rerank_with_diversity(vector: Vector) -> Any:
    from promptpack.reorder import rerank_with_diversity as reranked

    found: list[Any] = reranked(chunks(vector), options(vector))
    return {"ids": [chunk["id"] for chunk in found], "priorityScores": [chunk["priorityScore"] for chunk in found]}


def _auto(vector: Vector) -> Auto:
    from promptpack.packing import Auto

    given = options(vector)
    config = {} if given.get("config", "default") == "default" else given["config"]
    values = {name: config[key] for key, name in AUTO_OPTIONS.items() if config.get(key) is not None}
    for name in ("temporal_terms", "narrative_terms"):
        if name in values:
            values[name] = tuple(values[name])
    if "intent" in values:
        values["intent"] = DETECTORS[values["intent"]["$fn"]]
    return Auto(field=given.get("sourceField", config.get("sourceField", "sourceId")), **values)


def detect_query_intent(vector: Vector) -> Any:
    from promptpack.reorder import detect_query_intent as detected

    config = options(vector).get("config", "default")
    return detected(plain(vector["input"]).get("query"), {} if config == "default" else read(config))


def metadata_coverage(vector: Vector) -> Any:
    from promptpack.packing.route import metadata_coverage as coverage

    field = options(vector).get("sourceField", "sourceId")
    found = coverage([source(chunk) for chunk in chunks(vector)], field)
    return {"timestamp": found.temporal, "sourceId": found.document, "sectionIndex": found.position}


def resolve_auto_strategy(vector: Vector) -> Any:
    sources = [source(chunk) for chunk in chunks(vector)]
    placer = _auto(vector).resolve(sources, plain(vector["input"]).get("query"))
    return CHOSEN_NAMES[type(placer).__name__]


CALLS: dict[str, Callable[[Vector], Any]] = {
    "score_spread": score_spread, "preserve_order": preserve_order, "chronological": chronological,
    "custom_sort": custom_sort, "group_chunks": group_chunks, "order_groups": order_groups,
    "score_chunks": score_chunks, "score_chunks_with_options": score_chunks,
    "trigram_similarity": trigram_similarity, "deduplicate_chunks": deduplicate_chunks,
    "deduplicate_chunks_unsafe": deduplicate_chunks_unsafe, "rerank_with_diversity": rerank_with_diversity,
    "detect_query_intent": detect_query_intent, "metadata_coverage": metadata_coverage,
    "resolve_auto_strategy": resolve_auto_strategy,
}
