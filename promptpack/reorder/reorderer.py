"""The reorderer: place, then budget, as rag-chunk-reorder does; a thin composition of the packing's stages."""

from __future__ import annotations

import time
from collections.abc import AsyncIterable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from promptpack.errors import OptionError
from promptpack.reorder.chunks import Chunk
from promptpack.reorder.diagnostics import Diagnostics
from promptpack.reorder.options import Options, checked, copied, from_config, from_keywords, merge
from promptpack.reorder.pipeline import Draft, admit, finish, reordered
from promptpack.reorder.settings import Settings, settings
from promptpack.reorder.stream import Stream


class Reordered(NamedTuple):
    """The chunks in their new order, and what was done."""

    chunks: list[Chunk]
    diagnostics: Diagnostics


class Reorderer:
    """Reorders retrieved chunks against the loss in the middle: filter, dedup, score, diversify, place, budget.

    A chunk is a mapping with id, text, score and metadata (timestamp, sectionIndex, sourceId, sourceReliability), or
    a `Source`; what comes back is of the same kind, and copies where something was changed.

    config: a configuration of rag-chunk-reorder as a mapping. options: the same options by keyword, which win; None
    means that one is not given. Names and values may be in snake_case or camelCase. Steps, in this order, with their
    options:

    * check or repair (validation_mode), cap (max_input_chunks, max_input_chunks_behavior), rerank (reranker and
      reranker_...; async calls only), score_clamp, min_score;
    * deduplicate (deduplicate_threshold, _keep, _length_bucket_size, _max_candidates);
    * the choice of strategy="auto" (auto_strategy), scores (weights, score_normalization, _temperature), diversity;
    * group_by, the strategy (start_count, end_count, preserve_order_source_field, chronological_order,
      custom_comparator), include_explain and include_priority_score;
    * the budget (max_tokens with token_counter, a function or the name of a counter or a model; or max_chars with
      char_counter; packing), min_top_k, top_k.

    A reorderer never changes; each call may override options. Raises OptionError for an option that is wrong and
    SourceError for a chunk that is, with index and field.

    >>> chunks = [{"id": name, "text": name, "score": score} for name, score in zip("abcd", (0.9, 0.2, 0.7, 0.5))]
    >>> [chunk["id"] for chunk in Reorderer(top_k=3).reorder(chunks)]
    ['a', 'd', 'c']
    """

    __slots__ = ("_options", "_settings")

    def __init__(self, config: Mapping[str, Any] | None = None, /, **options: Any) -> None:
        below = merge(from_config(config), lift=False) if config is not None else merge({})
        self._options = checked(merge(from_keywords(options), below))
        self._settings = settings(self._options)

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self._options.items() if value != merge({}).get(name))
        return f"Reorderer({given})"

    @property
    def config(self) -> Options:
        """The options as they stand, under their names in snake_case; a copy."""
        return copied(self._options)

    def reorder(self, chunks: Sequence[Chunk], query: str | None = None, **overrides: Any) -> list[Chunk]:
        """Return the chunks in their new order; a reranker given at construction is not called."""
        chosen = self._for_plain(overrides)
        return _told(reordered(chunks, query, chosen), chosen.on_diagnostics).chunks

    def reorder_with_diagnostics(
        self, chunks: Sequence[Chunk], query: str | None = None, **overrides: Any
    ) -> Reordered:
        """Return the chunks in their new order, and what was done.

        A diagnostics hook given for this call is called beside the one given at construction; with the plain calls
        it takes that one's place.
        """
        chosen = self._for_plain(overrides)
        return self._told_both(reordered(chunks, query, chosen), chosen)

    async def areorder(self, chunks: Sequence[Chunk], query: str | None = None, **overrides: Any) -> list[Chunk]:
        """Return the chunks in their new order, reranked first.

        Where the reranker fails, on_reranker_error is told and the scores stay as they were, unless the reranker is a
        `Rerank` with on_error="raise".
        """
        chosen = self._for(overrides)
        return _told(await _areordered(chunks, query, chosen), chosen.on_diagnostics).chunks

    async def areorder_with_diagnostics(
        self, chunks: Sequence[Chunk], query: str | None = None, **overrides: Any
    ) -> Reordered:
        """Return the chunks in their new order, reranked first, and what was done."""
        chosen = self._for(overrides)
        return self._told_both(await _areordered(chunks, query, chosen), chosen)

    def reorder_stream(
        self, chunks: Iterable[Chunk] | AsyncIterable[Chunk], query: str | None = None, **overrides: Any
    ) -> Stream:
        """Return the chunks one by one, for `async for` (reranked) or, if they can be, `for` (not reranked).

        A list is handled as a whole. Anything else is reordered window by window (`streaming_window_size`), so that
        memory is bounded; all limits then count for each window. With a reranker given for this call, `for` raises
        OptionError.
        """
        chosen = self._for(overrides)

        def now(window: Sequence[Chunk], first: int) -> list[Chunk]:
            _without_reranker(overrides, "`async for`")
            return _told(reordered(window, query, chosen, first=first), chosen.on_diagnostics).chunks

        async def later(window: Sequence[Chunk], first: int) -> list[Chunk]:
            return _told(await _areordered(window, query, chosen, first=first), chosen.on_diagnostics).chunks

        return Stream(chunks, chosen.window, now, later)

    def _for(self, overrides: Mapping[str, Any]) -> Settings:
        if not overrides:
            return self._settings
        return settings(checked(merge(from_keywords(overrides), self._options)))

    def _for_plain(self, overrides: Mapping[str, Any]) -> Settings:
        chosen = self._for(overrides)
        _without_reranker(overrides, "the asynchronous calls, areorder or areorder_with_diagnostics")
        return chosen

    def _told_both(self, result: tuple[list[Chunk], Diagnostics], chosen: Settings) -> Reordered:
        own = self._settings.on_diagnostics
        if chosen.on_diagnostics is not own:
            _told(result, own)
        return _told(result, chosen.on_diagnostics)


def _without_reranker(overrides: Mapping[str, Any], instead: str) -> None:
    if overrides.get("reranker") is not None:
        raise OptionError(
            f"reranker: a reranker needs {instead}", name="reranker", given=overrides["reranker"]
        )


def _told(result: tuple[list[Chunk], Diagnostics], hook: Callable[[Diagnostics], None] | None) -> Reordered:
    if hook is not None:
        hook(result[1])
    return Reordered(*result)


async def _areordered(
    chunks: Sequence[Chunk], query: str | None, chosen: Settings, *, first: int = 0
) -> tuple[list[Chunk], Diagnostics]:
    draft = admit(chunks, query, chosen, first=first)
    if chosen.reranking is None:
        return finish(draft, chosen)
    if not draft.chunks or query is None or not query.strip():
        return finish(replace(draft, reranker={"reranker_skipped": True}), chosen)
    return finish(await _reranked(draft, query, chosen), chosen)


async def _reranked(draft: Draft, query: str, chosen: Settings) -> Draft:
    from promptpack.reorder.reranking import rerank_chunks

    assert chosen.reranking is not None  # noqa: S101 - the caller asked
    since = time.perf_counter()
    told = {"reranker_batches": chosen.reranking.rerank.batches(len(draft.chunks))}
    report = chosen.on_reranker_error or (lambda error: None)
    try:
        chunks, repairs = await rerank_chunks(chosen.reranking, draft.chunks, query, chosen.intake.mode, report)
    except Exception as error:  # told, and the scores stay, unless a `Rerank` asks for more
        report(error)
        if chosen.reranking.raises:
            raise
        spent = (time.perf_counter() - since) * 1000
        return replace(draft, reranker={**told, "reranker_failed": True, "reranker_latency_ms": spent})
    spent = (time.perf_counter() - since) * 1000
    if chosen.on_trace_step is not None:
        chosen.on_trace_step("rerank", spent, {"count": len(chunks)})
    return replace(
        draft, chunks=chunks, total=draft.total + len(chunks) - len(draft.chunks), repairs=draft.repairs + repairs,
        reranker={**told, "reranker_applied": True, "reranker_latency_ms": spent},
    )
