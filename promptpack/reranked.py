"""Rendering with a reranker: its scores first, then the payload as ever."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptpack.builder import PromptBuilder
    from promptpack.payload import Payload
    from promptpack.rerank import Reranked


async def arender(builder: PromptBuilder, *, require_sources: bool = False) -> Payload:
    """Return the builder's payload, its sources scored by its reranker where there is a question.

    Only the reranker is awaited. A note in the report says how many sources it rated and what became of the others, or
    why the scores are as they came.
    """
    rerank, content = builder.rerank, builder._content
    plain = replace(builder, rerank=None)
    if rerank is None:
        return plain.render(require_sources=require_sources)
    found = await rerank.apply(content.question, content.sources)
    if builder.on_step is not None:
        builder.on_step("rerank", {
            "sources": len(found.sources), "applied": found.applied, "calls": found.batches, "rated": found.rated,
        })
    payload = plain._with(sources=found.sources).render(require_sources=require_sources)
    return replace(payload, report=replace(payload.report, notes=(*payload.report.notes, note_of(found))))


def note_of(found: Reranked) -> str:
    """Return what the report says of a reranking: nothing that was left out or passed over goes unmentioned.

    >>> from promptpack.rerank import Reranked
    >>> from promptpack.source import Source
    >>> note_of(Reranked((Source("a", "x"), Source("b", "y")), applied=True, batches=1, rated=1))
    'reranked: 1 of 2 sources rated; 1 was left out and keeps the score that it came with'
    """
    passed = "" if not found.ignored else (
        f"; {_counted(found.ignored, 'entry', 'entries')} of the answer passed over: for no source, or for one again"
    )
    total = len(found.sources)
    if not total:
        return "not reranked: there are no sources"
    if found.error is not None:
        return f"not reranked: {found.error}; the scores stay as they came"
    if not found.batches:
        return "not reranked: there is no question"
    if not found.applied:
        none = f"the answer rates none of {_counted(total, 'source')}"
        return f"not reranked: {none}; the scores stay as they came{passed}"
    one = found.unrated == 1
    left = "" if not found.unrated else (
        f"; {found.unrated} {'was' if one else 'were'} left out and "
        + (f"{'stands' if one else 'stand'} behind the others" if found.behind else
           f"{'keeps' if one else 'keep'} the score that {'it' if one else 'they'} came with")
    )
    return f"reranked: {found.rated} of {_counted(total, 'source')} rated{left}{passed}"


def _counted(number: int, one: str, more: str = "") -> str:
    return f"{number} {one if number == 1 else more or one + 's'}"
