"""The steps of the reorderer as functions: what they take, what they give, what they refuse."""

from __future__ import annotations

import re
from typing import Any

import pytest

import promptpack.evaluation
import promptpack.reorder
from promptpack import OptionError, Reorderer, Source, SourceError
from promptpack.reorder import (
    deduplicate_chunks,
    deduplicate_chunks_unsafe,
    rerank_with_diversity,
    score_chunks,
    score_chunks_with_options,
    trigram_similarity,
)
from promptpack.reorder.options import snake

TEXTS = {"a": "the lantern is lit", "b": "the lantern is lit!", "c": "a ledger, bound", "d": "the lantern is lit"}
CHUNKS: list[dict[str, Any]] = [
    {"id": name, "text": text, "score": 0.9 - at / 10, "metadata": {"timestamp": at, "sourceId": "x"}, "tokenCount": 4}
    for at, (name, text) in enumerate(TEXTS.items())
]
# The functions of the reference's table, in its spelling.
REFERENCE = [
    "scoreChunks", "scoreChunksWithOptions", "validateChunks", "prepareChunks", "validateConfig", "mergeConfig",
    "reordererPresets", "getPreset", "tokenCounterFactory", "createTiktokenCounter", "deduplicateChunks",
    "deduplicateChunksUnsafe", "trigramSimilarity", "serializeChunks", "deserializeChunks", "detectQueryIntent",
    "metadataCoverage", "resolveAutoStrategy", "rerankWithDiversity", "keyPointRecall", "keyPointPrecision",
    "spanRecall", "positionEffectiveness", "ndcg", "exactMatch", "isAnswerable", "answerabilityMatch", "tokenF1",
    "citationCoverage", "faithfulness", "retrievalRecallAtK", "evaluateAnswerSet", "reorderLangChainDocuments",
    "reorderLangChainPairs", "reorderLlamaIndexNodes", "reorderHaystackDocuments", "reorderVercelAIResults",
    "reorderLangGraphState", "reorderVectorStoreResults",
]


def ids(chunks: Any) -> list[str]:
    return [chunk["id"] for chunk in chunks]


@pytest.mark.parametrize("name", REFERENCE)
def test_every_function_of_the_reference_is_there(name: str) -> None:
    """If it fails, who comes from rag-chunk-reorder misses a function."""
    plain = re.sub("LangChain|LangGraph", lambda match: match[0].capitalize(), name)
    python = snake(plain.replace("LlamaIndex", "Llamaindex").replace("VercelAI", "VercelAi"))
    home = promptpack.reorder if python in promptpack.reorder.__all__ else promptpack.evaluation
    assert python in home.__all__, python
    assert (getattr(home, python).__doc__ or "").strip()


def test_scores_stand_beside_the_chunks() -> None:
    found: list[Any] = score_chunks(CHUNKS, {"time": 0.5, "similarity": 0})
    assert ids(found) == list(TEXTS)
    assert [chunk["priorityScore"] for chunk in found] == pytest.approx([0, 1 / 6, 1 / 3, 0.5])
    assert [chunk["originalIndex"] for chunk in found] == [0, 1, 2, 3]
    assert found[0]["tokenCount"] == 4
    assert "priorityScore" not in CHUNKS[0], "the input stays as it was"


def test_the_scale_of_scores_can_be_changed_in_both_spellings() -> None:
    camel: list[Any] = score_chunks_with_options(CHUNKS, None, {"scoreNormalization": "minMax"})
    assert [chunk["priorityScore"] for chunk in camel] == pytest.approx([1, 2 / 3, 1 / 3, 0])
    assert camel == score_chunks_with_options(CHUNKS, score_normalization="min_max")


def test_scoring_agrees_with_the_reorderer() -> None:
    """If it fails, there are two ways to score."""
    weights = {"time": 0.25, "similarity": 0.5}
    whole = Reorderer(weights=weights, include_priority_score=True).reorder(CHUNKS)
    by_id = {chunk["id"]: chunk["metadata"]["priorityScore"] for chunk in whole}  # type: ignore[index]
    assert {chunk["id"]: chunk["priorityScore"] for chunk in score_chunks(CHUNKS, weights)} == by_id  # type: ignore[index]


def test_metadata_without_a_number_counts_as_missing_and_stays() -> None:
    odd: list[Any] = [{**CHUNKS[0], "metadata": {"timestamp": "soon"}}, CHUNKS[1], CHUNKS[2]]
    found: list[Any] = score_chunks(odd, {"time": 1, "similarity": 0})
    assert [chunk["priorityScore"] for chunk in found] == [0, 0, 1]
    assert found[0]["metadata"] == {"timestamp": "soon"}


def test_repeats_go_and_the_best_stays() -> None:
    assert ids(deduplicate_chunks(CHUNKS)) == ["a", "b", "c"]
    assert ids(deduplicate_chunks(CHUNKS, keep="last")) == ["b", "c", "d"]
    near = deduplicate_chunks(CHUNKS, {"threshold": 0.8, "lengthBucketSize": 50, "maxCandidates": 9})
    assert ids(near) == ["a", "c"]
    assert ids(Reorderer(deduplicate=True, deduplicate_threshold=0.8).reorder(CHUNKS)) == ["a", "c"]


def test_repairing_is_asked_for() -> None:
    broken = [{"id": "a", "text": "x", "score": float("nan")}, {"id": "b", "text": "y", "score": 1}]
    with pytest.raises(SourceError, match=r"chunks\[0\].*score"):
        deduplicate_chunks(broken)
    assert [chunk["score"] for chunk in deduplicate_chunks_unsafe(broken)] == [0, 1]  # type: ignore[index]
    assert deduplicate_chunks(broken, validation_mode="coerce") == deduplicate_chunks_unsafe(broken)
    with pytest.raises(SourceError):
        deduplicate_chunks_unsafe(broken, {"validationMode": "strict"})


def test_variety_ranks_anew_by_priority() -> None:
    assert ids(rerank_with_diversity(CHUNKS)) == list(TEXTS), "not enabled"
    found: list[Any] = rerank_with_diversity(CHUNKS, {"enabled": True, "lambda": 0.3, "sourceDiversityWeight": 0})
    assert ids(found)[:2] == ["a", "c"]
    assert found[0]["priorityScore"] == pytest.approx(4 + 0.9e-6)
    raised = [{**chunk, "priorityScore": at} for at, chunk in enumerate(CHUNKS)]
    assert ids(rerank_with_diversity(raised, enabled=True, **{"lambda": 1}))[0] == "d", "their own priority goes first"


def test_sources_keep_their_kind() -> None:
    """If it fails, the functions take mappings only."""
    sources = [Source(chunk["id"], chunk["text"], chunk["score"], updated=at) for at, chunk in enumerate(CHUNKS)]
    found = score_chunks(sources, {"time": 1})
    assert [type(one) for one in found] == [Source] * 4
    assert [one.metadata["originalIndex"] for one in found] == [0, 1, 2, 3]  # type: ignore[union-attr]
    again = rerank_with_diversity(found, {"enabled": True, "lambda": 1})
    assert again[0].id == "d", "the priority that was given before"  # type: ignore[union-attr]
    assert [one.id for one in deduplicate_chunks(sources)] == ["a", "b", "c"]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: deduplicate_chunks(CHUNKS, threshold=2), "threshold"),
        (lambda: deduplicate_chunks(CHUNKS, keep="best"), "keep"),
        (lambda: deduplicate_chunks(CHUNKS, treshold=0.9), "option"),
        (lambda: deduplicate_chunks(CHUNKS, {"lengthBucketSize": 1, "length_bucket_size": 1}), "length_bucket_size"),
        (lambda: deduplicate_chunks(CHUNKS, ["threshold"]), "options"),  # type: ignore[arg-type]
        (lambda: score_chunks(CHUNKS, {"tme": 1}), "weights"),
        (lambda: score_chunks(CHUNKS, {"time": -1}), "weights.time"),
        (lambda: score_chunks(CHUNKS, 3), "weights"),  # type: ignore[arg-type]
        (lambda: score_chunks_with_options(CHUNKS, score_normalization="log"), "score_normalization"),
        (lambda: rerank_with_diversity(CHUNKS, {"lambda": 2}), "diversity.lambda"),
        (lambda: rerank_with_diversity(CHUNKS, 0.5), "diversity"),  # type: ignore[arg-type]
        (lambda: trigram_similarity("a", None), "b"),  # type: ignore[arg-type]
    ],
)
def test_wrong_options_are_named(call: Any, name: str) -> None:
    with pytest.raises(OptionError) as caught:
        call()
    assert caught.value.name == name


@pytest.mark.parametrize("chunks", [{}, "text", None, iter(CHUNKS), [3], [{"id": "a", "text": "x"}], [{"id": 3}]])
@pytest.mark.parametrize(
    "step", [score_chunks, score_chunks_with_options, deduplicate_chunks, rerank_with_diversity]
)
def test_what_are_no_chunks_is_refused(step: Any, chunks: Any) -> None:
    with pytest.raises(SourceError):
        step(chunks)
