"""A reranker inside the reorderer: the reference's form of it through an adapter, its answers checked.

The reference's form is `rerank(chunks, query)` and answers with the chunks, with new scores or beside a list
`scores`. The library's form is `rerank(query, sources)` and answers with numbers; it is told by the name of its
first parameter. Either may answer in either way.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from promptpack.errors import PromptpackError, RerankError, quote
from promptpack.packing.ranking import is_finite
from promptpack.ratings import Scores, joined, read_scores
from promptpack.reorder.checks import is_stopped
from promptpack.reorder.chunks import Chunk, Repairs, as_source, prepare_chunks
from promptpack.reorder.settings import Reranking
from promptpack.rerank import awaited
from promptpack.source import Source


async def rerank_chunks(
    reranking: Reranking, chunks: Sequence[Chunk], query: str, mode: str, late: Callable[[Exception], None]
) -> tuple[list[Chunk], Repairs]:
    """Return the chunks as the reranker answers them, checked or repaired like the input, and the repairs.

    A reranker with a parameter `signal` is told by it when it is to stop: by the signal of the options, or else by an
    event that is set when its time is up. Raises what the reranker raises, and RerankError for answers that cannot be
    used. late: is given the error of a reranker in a thread that fails behind its time limit.
    """
    rerank = getattr(reranking.rerank.reranker, "rerank", reranking.rerank.reranker)
    takes = _parameters(rerank)
    told = reranking.rerank.timeout is not None or reranking.signal is not None

    async def call(batch: Sequence[Chunk]) -> Any:
        if is_stopped(reranking.signal):
            raise RerankError("the reranker was not called: its signal was set", retryable=False)
        stop = asyncio.Event()
        signal = stop if reranking.signal is None else reranking.signal
        named = {"signal": signal} if told and "signal" in takes else {}
        try:
            if takes and takes[0] == "query":
                return await awaited(rerank, query, [_source(chunk) for chunk in batch], late=_told_late(late), **named)
            return await awaited(rerank, list(batch), query, late=_told_late(late), **named)
        except asyncio.CancelledError:
            stop.set()
            raise

    answers = await reranking.rerank.run(call, chunks, _read)
    found = _scored(answers)
    _check(found, chunks, reranking)
    try:
        return prepare_chunks(found, mode)
    except PromptpackError as error:
        raise RerankError(f"the reranker's answer cannot be used: {error}", retryable=False) from error


def _told_late(late: Callable[[Exception], None]) -> Callable[[Exception], None]:
    def tell(error: Exception) -> None:
        late(RerankError(f"the reranker failed behind its time limit: {quote(str(error))}", retryable=False))

    return tell


def _parameters(function: Callable[..., Any]) -> list[str]:
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # some builtins have none to show
        return []


def _source(chunk: Chunk) -> Source:
    return chunk if isinstance(chunk, Source) else as_source(chunk)


def _read(answer: Any, batch: Sequence[Chunk]) -> tuple[list[Any], Scores | None]:
    """Return the chunks of an answer, and the scores that stand beside them, or None."""
    scores: Any = None
    if isinstance(answer, Mapping) and "scores" in answer:
        answer, scores = answer.get("chunks"), answer["scores"]
    if isinstance(answer, str | Mapping) or not isinstance(answer, Sequence):
        raise RerankError(
            f"the reranker must give the chunks, or scores for them, got {quote(answer)}", retryable=False
        )
    if scores is None and answer and all(isinstance(one, int | float) for one in answer):
        answer, scores = batch, answer
    found: list[Any] = list(answer)
    if scores is not None:
        listed = isinstance(scores, Sequence) and not isinstance(scores, str | bytes)
        numbers = read_scores(scores, found) if listed else None
        if numbers is None:
            raise RerankError(f"the reranker's scores must be a list, got {quote(scores)}", retryable=False)
        return found, numbers
    return found, None


def _scored(answers: Sequence[tuple[list[Any], Scores | None]]) -> list[Any]:
    """Return the chunks of all batches with their scores."""
    found = [chunk for chunks, _ in answers for chunk in chunks]
    parts = [scores for _, scores in answers if scores is not None]
    if len(parts) == len(answers):
        scores = joined(parts, [_own(chunk) for chunk in found])
        if found and not any(scores.rated):
            raise RerankError(f"the reranker's answer rates none of {len(found)} chunks", retryable=False)
        return [_with_score(chunk, score) for chunk, score in zip(found, scores, strict=True)]
    return [
        chunk if scores is None else _with_score(chunk, scores[at])
        for chunks, scores in answers for at, chunk in enumerate(chunks)
    ]


def _own(chunk: Any) -> float | None:
    score = _field(chunk, "score")
    return float(score) if is_finite(score) else None


def _with_score(chunk: Any, score: float) -> Any:
    if isinstance(chunk, Source):
        return replace(chunk, score=score)
    return {**chunk, "score": score} if isinstance(chunk, Mapping) else chunk


def _check(found: Sequence[Any], given: Sequence[Chunk], reranking: Reranking) -> None:
    if reranking.check_length and len(found) != len(given):
        raise RerankError(f"the reranker gave {len(found)} chunks for {len(given)}", retryable=False)
    ids = [_field(chunk, "id") for chunk in given]
    if reranking.check_order and len(set(ids)) == len(ids):
        _compare([_field(chunk, "id") for chunk in found], ids)
    if reranking.check_index:
        keys = [_key(chunk) for chunk in given]
        if len(set(keys)) < len(keys):
            raise RerankError(
                "the order of the reranker's answer cannot be checked: chunks repeat in id and text; give them "
                "different metadata.chunkId",
                retryable=False,
            )
        _compare([_key(chunk) for chunk in found], keys)


def _compare(found: Sequence[Any], wanted: Sequence[Any]) -> None:
    for at, key in enumerate(wanted):
        if at >= len(found) or found[at] != key:
            raise RerankError(
                f"the reranker must keep the order of its input; place {at} holds another chunk", retryable=False
            )


def _field(chunk: Any, name: str) -> Any:
    if isinstance(chunk, Source):
        return getattr(chunk, name)
    return chunk.get(name) if isinstance(chunk, Mapping) else None


def _key(chunk: Any) -> tuple[Any, Any, Any]:
    metadata = _field(chunk, "metadata")
    own = metadata.get("chunkId") if isinstance(metadata, Mapping) else None
    return _field(chunk, "id"), _field(chunk, "text"), own if isinstance(own, str) else None
