"""The order of the steps, on one screen: what comes in, what a reranker may change, what goes out."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from promptpack.errors import OptionError
from promptpack.reorder.chunks import Chunk, Repairs, as_chunk, as_source, listed, prepare_chunks
from promptpack.reorder.diagnostics import Diagnostics
from promptpack.reorder.explain import notes
from promptpack.reorder.limits import limit
from promptpack.reorder.ordering import distinct, diversified, place, resolved, scored
from promptpack.reorder.settings import Intake, Settings


@dataclass(frozen=True, slots=True)
class Draft:
    """Chunks that were checked, and what is known of the call by then.

    total: chunks that came in. reranker: fields of the diagnostics that the reranker sets.
    """

    chunks: list[Chunk]
    total: int
    repairs: Repairs
    truncated: bool
    query: str | None
    reranker: Mapping[str, Any]


class Trace:
    """Tells a hook how long each step took, in milliseconds; without a hook no clock is read."""

    __slots__ = ("_hook", "_since")

    def __init__(self, hook: Callable[..., None] | None) -> None:
        self._hook = hook
        self._since = time.perf_counter() if hook else 0.0

    def __call__(self, step: str, **details: Any) -> None:
        """Tell the hook that a step has ended."""
        if self._hook is not None:
            now = time.perf_counter()
            self._hook(step, (now - self._since) * 1000, details)
            self._since = time.perf_counter()


def admit(chunks: object, query: object, settings: Settings, *, first: int = 0) -> Draft:
    """Return the chunks as they enter: checked or repaired, and capped.

    first: the index of the first chunk in a longer stream, for messages.
    """
    if query is not None and not isinstance(query, str):
        raise OptionError(f"query: expected a text or None, got {type(query).__name__}", name="query", given=query)
    found, repairs = prepare_chunks(listed(chunks), settings.intake.mode, first=first)
    kept = _capped(found, settings.intake)
    return Draft(kept, len(found), repairs, len(kept) < len(found), query, {})


def _capped(chunks: list[Chunk], intake: Intake) -> list[Chunk]:
    if intake.cap is None or len(chunks) <= intake.cap:
        return chunks
    if not intake.truncate:
        raise OptionError(
            f"max_input_chunks: {len(chunks)} chunks came in, at most {intake.cap} may; "
            'max_input_chunks_behavior="truncate" would take the first ones',
            name="max_input_chunks", given=len(chunks),
            context={"step": "maxInputChunks", "chunkCount": len(chunks), "maxInputChunks": intake.cap},
        )
    return chunks[:intake.cap]


def finish(draft: Draft, settings: Settings) -> tuple[list[Chunk], Diagnostics]:
    """Return the chunks in their new order, and what was done: all steps from the clamp on."""
    trace = Trace(settings.on_trace_step)
    sources = [as_source(chunk) for chunk in draft.chunks]
    clamp, least = settings.intake.clamp, settings.intake.min_score
    if clamp is not None:
        sources = [replace(one, score=min(max(one.score or 0.0, clamp[0]), clamp[1])) for one in sources]
    above = [one for one in sources if least is None or (one.score or 0.0) >= least]
    if least is not None:
        trace("minScore", before=len(sources), after=len(above))
    ranking, kept = settings.ranking, above
    if ranking.dedup is not None:
        kept = distinct(above, ranking.dedup)
        trace("dedup", before=len(above), after=len(kept))
    strategy = resolved(settings.strategy, kept, draft.query)
    candidates = scored(kept, ranking.scoring)
    trace("score", count=len(candidates))
    if ranking.diversity is not None:
        candidates = diversified(candidates, ranking.diversity)
    placed = place(candidates, strategy)
    trace("strategy", count=len(placed))
    left = limit(placed, settings.limits, strategy)
    chunks = [as_chunk(one.source, notes(one, at, settings, strategy)) for at, one in enumerate(left.placed)]
    limits = {
        "maxTokens": settings.limits.max_tokens if left.unit == "tokens" else None,
        "maxChars": settings.limits.max_chars if left.unit == "chars" else None,
        "minTopK": settings.limits.min_top_k, "topK": settings.limits.top_k,
    }
    known = {name: value for name, value in limits.items() if value is not None}
    trace("budget", before=len(placed), after=len(left.placed), packing=left.packing, **known)
    return chunks, Diagnostics(
        draft.total, len(draft.chunks), **asdict(draft.repairs), **draft.reranker,
        dedup_strategy_used="none" if ranking.dedup is None else "exact" if ranking.dedup.threshold == 1 else "fuzzy",
        packing_strategy_used=left.packing, token_count_used=left.used if left.unit == "tokens" else 0,
        cached_token_count_used=left.stated, char_count_used=left.used if left.unit == "chars" else 0,
        budget_unit=left.unit, filtered_by_min_score=len(sources) - len(above), dedup_removed=len(above) - len(kept),
        query_length=None if draft.query is None else len(draft.query), input_truncated=draft.truncated,
        strategy_chosen=strategy.name, budget_pruned=len(placed) - len(chunks), output_count=len(chunks),
    )


def reordered(
    chunks: Sequence[Chunk], query: str | None, settings: Settings, *, first: int = 0
) -> tuple[list[Chunk], Diagnostics]:
    """Run all steps without the reranker."""
    return finish(admit(chunks, query, settings, first=first), settings)
