"""Rendering with a reranker: its scores first, then the payload as ever."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptpack.builder import PromptBuilder
    from promptpack.payload import Payload


async def arender(builder: PromptBuilder, *, require_sources: bool = False) -> Payload:
    """Return the builder's payload, its sources scored by its reranker where there is a question.

    Only the reranker is awaited. Where it failed and the scores were kept, or there was nothing to ask it, a note in
    the report says so.
    """
    rerank, content = builder.rerank, builder._content
    plain = replace(builder, rerank=None)
    if rerank is None:
        return plain.render(require_sources=require_sources)
    found = await rerank.apply(content.question, content.sources)
    if builder.on_step is not None:
        builder.on_step("rerank", {"sources": len(found.sources), "applied": found.applied, "calls": found.batches})
    payload = plain._with(sources=found.sources).render(require_sources=require_sources)
    if found.applied:
        return payload
    why = "there is no question" if found.error is None else f"{found.error}; the scores stay as they came"
    note = f"not reranked: {why}" if content.sources else "not reranked: there are no sources"
    return replace(payload, report=replace(payload.report, notes=(*payload.report.notes, note)))
