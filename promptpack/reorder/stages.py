"""The single steps of the reorderer as functions of their own: scores, repeats, variety, likeness.

Chunks go in as `Reorderer` takes them, and copies of the same kind come out. Priorities stand where
rag-chunk-reorder has them, in `priorityScore` and `originalIndex` of a mapping; of a `Source`, in its metadata.
Options may be given as a mapping or by keyword, in snake_case or camelCase; None means that one is not given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from promptpack.errors import OptionError, quote
from promptpack.packing.candidate import Candidate
from promptpack.packing.ranking import is_finite
from promptpack.packing.similarity import trigram_similarity as _similarity
from promptpack.reorder.checks import wrong
from promptpack.reorder.chunks import METADATA_FIELDS, Chunk, as_chunk, as_source, listed, prepare_chunks
from promptpack.reorder.options import CHECKS, Options, checked, from_keywords, merge, renamed, respelt
from promptpack.reorder.ordering import distinct, diversified, scored
from promptpack.reorder.settings import Ranking, settings
from promptpack.source import Source

# What the options of a step are called among those of the reorderer.
_SCALE = {name: name for name in ("score_normalization", "score_normalization_temperature")}
_REPEATS = {
    "threshold": "deduplicate_threshold", "keep": "deduplicate_keep",
    "length_bucket_size": "deduplicate_length_bucket_size", "max_candidates": "deduplicate_max_candidates",
    "validation_mode": "validation_mode",
}


def score_chunks(chunks: Sequence[Chunk], weights: Mapping[str, float] | None = None) -> list[Chunk]:
    """Return the chunks with their priorities, in their order.

    weights: of similarity (the score, 1 unless given), time, section and source_reliability (0 unless given). The
    priority is the weighted sum of the score and of timestamp, sectionIndex and sourceReliability rescaled to 0..1
    over the values of the batch; a missing value counts 0. See `promptpack.Scoring`.

    Raises SourceError for a chunk that is wrong, OptionError for a weight that is.

    >>> chunks = [{"id": "a", "text": "x", "score": 0.5, "metadata": {"timestamp": at}} for at in (0, 5)]
    >>> [chunk["priorityScore"] for chunk in score_chunks(chunks, {"time": 0.25})]
    [0.5, 0.75]
    """
    return score_chunks_with_options(chunks, weights)


def score_chunks_with_options(
    chunks: Sequence[Chunk], weights: Mapping[str, float] | None = None, options: Mapping[str, Any] | None = None,
    **named: Any,
) -> list[Chunk]:
    """Return the chunks with their priorities, from scores on another scale.

    options: score_normalization (none, minMax, zScore or softmax), score_normalization_temperature (of softmax, above
    0). Metadata that hold no number count as missing, as in rag-chunk-reorder; `prepare_chunks` checks them.

    >>> chunks = [{"id": name, "text": name, "score": score} for name, score in (("a", 12.5), ("b", 2.5))]
    >>> [chunk["priorityScore"] for chunk in score_chunks_with_options(chunks, scoreNormalization="minMax")]
    [1.0, 0.0]
    """
    given = _given(options, named, _SCALE)
    scoring = _ranking({"weights": {} if weights is None else weights, **given}).scoring
    sources = [as_source(one) for one in _readable(chunks)]
    return [_marked(one.source, one.score or 0.0, one.index) for one in scored(sources, scoring)]


def deduplicate_chunks(
    chunks: Sequence[Chunk], options: Mapping[str, Any] | None = None, **named: Any
) -> list[Chunk]:
    """Return the chunks without those that repeat others, in their order.

    options: threshold (0 to 1, from which trigram similarity on two texts are one; 1, the default, means equal texts),
    keep (highestScore, the default, first or last), length_bucket_size and max_candidates (bounds of the comparisons,
    which grow with the square of the chunks otherwise), validation_mode (strict, the default, or coerce).

    >>> chunks = [{"id": name, "text": "Equal.", "score": score} for name, score in (("a", 0.2), ("b", 0.9))]
    >>> [chunk["id"] for keep in ("highest_score", "first") for chunk in deduplicate_chunks(chunks, keep=keep)]
    ['b', 'a']
    """
    given = _given(options, named, _REPEATS)
    dedup = _ranking({"deduplicate": True, **given}).dedup
    sources = [as_source(one) for one in prepare_chunks(chunks, given.get("validation_mode", "strict"))[0]]
    return [as_chunk(one) for one in (sources if dedup is None else distinct(sources, dedup))]


def deduplicate_chunks_unsafe(
    chunks: Sequence[Chunk], options: Mapping[str, Any] | None = None, **named: Any
) -> list[Chunk]:
    """Return the chunks without repeats, after repairing what can be: `deduplicate_chunks` with coerce as default.

    >>> deduplicate_chunks_unsafe([{"id": "a", "text": "x", "score": float("nan")}])
    [{'id': 'a', 'text': 'x', 'score': 0}]
    """
    return deduplicate_chunks(chunks, {"validation_mode": "coerce", **_both("options", options, named)})


def rerank_with_diversity(
    chunks: Sequence[Chunk], diversity: Mapping[str, Any] | None = None, **named: Any
) -> list[Chunk]:
    """Return the chunks in the order in which maximal marginal relevance picks them, with priorities that say so.

    diversity: the option of that name of `Reorderer`: enabled (without it nothing changes), lambda (0 to 1, the weight
    of relevance, 0.7), source_diversity_weight (0.15), source_field (sourceId), max_candidates. Relevance is the
    `priorityScore` of a chunk, else its score. The k-th of n picked chunks gets the priority n - k plus a millionth of
    the one it had. Time and memory grow with the square of max_candidates.

    >>> rows = [("a", "the lantern is lit"), ("b", "the lantern is lit."), ("c", "a ledger")]
    >>> chunks = [{"id": name, "text": text, "score": 0.9 - at / 10} for at, (name, text) in enumerate(rows)]
    >>> [chunk["id"] for chunk in rerank_with_diversity(chunks, {"enabled": True, "lambda": 0.5})]
    ['a', 'c', 'b']
    """
    policy = _ranking({"diversity": _both("diversity", diversity, named)}).diversity
    found = _readable(chunks)
    sources = [as_source(one) for one in found]
    candidates = [
        replace(Candidate.of(one, at, 0), score=_priority(chunk, one))
        for at, (chunk, one) in enumerate(zip(found, sources, strict=True))
    ]
    picked = candidates if policy is None else diversified(candidates, policy)
    return [_marked(one.source, one.score or 0.0, one.index) for one in picked]


def trigram_similarity(a: str, b: str) -> float:
    """Return how alike two texts are, 0 to 1: the Jaccard similarity of their sets of trigrams (of code points).

    |A and B| / |A or B|. Equal texts have 1; a text of fewer than three characters is like no other one.

    >>> trigram_similarity("hello world foo", "hello world bar")
    0.625
    """
    for name, text in (("a", a), ("b", b)):
        if not isinstance(text, str):
            raise OptionError(f"{name}: expected a text, got {quote(text)}", name=name, given=text)
    return _similarity(a, b)


def _both(name: str, options: Mapping[str, Any] | None, named: Mapping[str, Any]) -> Options:
    """Return the options of a mapping and those by keyword, which win, as far as they are given."""
    if options is not None and not isinstance(options, Mapping):
        raise wrong(name, "a mapping of options", options)
    together = {**renamed(options or {}), **renamed(named)}
    return {key: value for key, value in together.items() if value is not None}


def _given(options: Mapping[str, Any] | None, named: Mapping[str, Any], known: Mapping[str, str]) -> Options:
    """Return the options that are given under their names among those of the reorderer, and checked."""
    found: Options = {}
    for name, value in _both("options", options, named).items():
        if name not in known:
            raise OptionError.unknown("option", name, list(known))
        found[known[name]] = CHECKS[known[name]](name, respelt(known[name], value))
    return found


def _ranking(options: Mapping[str, Any]) -> Ranking:
    return settings(checked(merge(from_keywords(options)))).ranking


def _readable(chunks: Sequence[Chunk]) -> list[Chunk]:
    """Return the chunks with id, text and score checked; metadata that are not what they should be stay, unread."""
    found: list[Chunk] = []
    for chunk, fixed in zip(chunks, prepare_chunks([_without_fields(one) for one in listed(chunks)])[0], strict=True):
        metadata = chunk.get("metadata") if isinstance(chunk, Mapping) else None
        found.append({**fixed, "metadata": dict(metadata)} if metadata and isinstance(fixed, Mapping) else fixed)
    return found


def _without_fields(chunk: Chunk) -> Chunk:
    if not isinstance(chunk, Mapping) or not isinstance(chunk.get("metadata"), Mapping):
        return chunk
    metadata = chunk["metadata"]
    return {**chunk, "metadata": {key: value for key, value in metadata.items() if key not in METADATA_FIELDS}}


def _priority(chunk: Chunk, source: Source) -> float:
    own = source.metadata.get("priorityScore") if isinstance(chunk, Source) else chunk.get("priorityScore")
    return float(own) if own is not None and is_finite(own) else source.score or 0.0


def _marked(source: Source, priority: float, index: int) -> Chunk:
    notes = {"priorityScore": priority, "originalIndex": index}
    if isinstance(source.origin, Source):
        return as_chunk(source, notes)
    chunk = as_chunk(source)
    assert isinstance(chunk, Mapping)  # noqa: S101 - of the kind that came in
    return {**chunk, **notes}
