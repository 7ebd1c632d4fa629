"""rag-chunk-reorder's vectors with a scripted reranker, and those of streams, as asynchronous calls."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from golden_reorder_notation import config, keywords, read
from golden_reorder_pipeline import outcome
from vector_files import Vector, same

Result = dict[str, Any]
# What the vectors call an error, and the classes that the hook gets for it.
ERRORS = {"ValidationError": "RerankError", "RerankerError": "RerankError", "Error": "TypeError"}


class Scripted:
    """A reranker in the reference's form that does what the vector says, and notes what it was sent."""

    def __init__(self, script: Mapping[str, Any]) -> None:
        self.script = script
        self.kind: str = script["kind"]
        self.calls: list[Any] = []

    def note(self, chunks: Any, query: str, signal: Any) -> None:
        self.calls.append({"ids": [chunk["id"] for chunk in chunks], "query": query, "signal": signal is not None})

    async def rerank(self, chunks: Any, query: str, *, signal: Any = None) -> Any:
        self.note(chunks, query, signal)
        if self.kind == "never":
            await asyncio.Event().wait()
        return self.answer(chunks)

    def answer(self, chunks: Any) -> Any:
        from promptpack import RerankError

        scores = self.script.get("scores") or {}
        own = [scores.get(chunk["id"], chunk["score"]) for chunk in chunks]
        scored = [{**chunk, "score": score} for chunk, score in zip(chunks, own, strict=True)]
        if self.kind == "throws":
            raise TypeError("the scripted reranker fails")
        if self.kind == "nonretryable":
            raise RerankError("bad request", status=400)
        if self.kind == "fail_n" and len(self.calls) <= self.script["n"]:
            raise RerankError("unavailable", status=503)
        if self.kind == "length_mismatch":
            return {"chunks": chunks, "scores": own[:-1]}
        if self.kind == "nan_score":
            return {"chunks": chunks, "scores": [float("nan"), *own[1:]]}
        plain: dict[str, Callable[[], Any]] = {
            "scores": lambda: {"chunks": chunks, "scores": own}, "fail_n": lambda: {"chunks": chunks, "scores": own},
            "array": lambda: scored, "sorted": lambda: sorted(scored, key=lambda chunk: -chunk["score"]),
            "short": lambda: chunks[:-1],
            "long": lambda: [*chunks, {"id": "extra", "text": "extra", "score": 0.5}],
            "invalid": lambda: 7, "null": lambda: None,
            "bad_chunks": lambda: [{"id": chunk["id"], "text": chunk["text"]} for chunk in chunks],
        }
        return plain[self.kind]()


class SlowFail(Scripted):
    """Fails after a while, in a thread: nothing can stop it."""

    def rerank(self, chunks: Any, query: str, *, signal: Any = None) -> Any:  # type: ignore[override]
        self.note(chunks, query, signal)
        time.sleep(self.script["ms"] / 1000)
        raise TypeError("the scripted reranker fails late")


def scripted(vector: Vector) -> Scripted | None:
    script = vector["options"].get("reranker")
    if script is None:
        return None
    return SlowFail(read(script)) if script["kind"] == "slow_fail" else Scripted(read(script))


def reorder_async(vector: Vector) -> Result:
    return asyncio.run(_reorder_async(vector))


async def _reorder_async(vector: Vector) -> Result:
    from promptpack import Reorderer

    options, given = vector["options"], read(vector["input"])
    reranker, errors, steps = scripted(vector), [], []
    reorderer = Reorderer(
        config(vector), reranker=reranker, on_reranker_error=errors.append,
        on_trace_step=lambda step, ms, details: steps.append(step),
    )
    overrides = keywords(options.get("overrides"))
    result = await reorderer.areorder_with_diagnostics(given["chunks"], given.get("query"), **overrides)
    await asyncio.sleep(options.get("settle_ms", 0) / 1000)
    found = outcome(result.chunks, result.diagnostics)
    found["calls"] = reranker.calls if reranker else []
    found["reranker_errors"] = [type(error).__name__ for error in errors]
    found["latency_reported"] = result.diagnostics.reranker_latency_ms is not None
    return {**found, "steps": steps}


def same_async(found: Result, expected: Vector) -> bool:
    """Compare; the classes of errors have other names here."""
    wanted = dict(expected)
    if "reranker_errors" in wanted:
        wanted["reranker_errors"] = [ERRORS[name] for name in wanted["reranker_errors"]]
    return same(found, wanted)


def reorder_sync_with_reranker(vector: Vector) -> Result:
    from promptpack import Reorderer

    reranker = scripted(vector)
    where = vector["options"]["where"]
    reorderer = Reorderer(config(vector), **({"reranker": reranker} if where == "constructor" else {}))
    overrides = {"reranker": reranker} if where == "override" else {}
    chunks = reorderer.reorder(read(vector["input"]["chunks"]), vector["input"].get("query"), **overrides)
    return {"ids": [chunk["id"] for chunk in chunks], "calls": len(reranker.calls) if reranker else 0}


def reorder_stream(vector: Vector) -> Result:
    return asyncio.run(_reorder_stream(vector))


async def _reorder_stream(vector: Vector) -> Result:
    from promptpack import Reorderer

    given = read(vector["input"])
    chunks = given["chunks"]
    kinds: dict[str, Callable[[], Any]] = {
        "array": lambda: chunks, "iterable": lambda: iter(chunks), "async_iterable": lambda: later(chunks),
        "neither": lambda: 7,
    }
    stream = Reorderer(config(vector)).reorder_stream(
        kinds[given["kind"]](), given.get("query"), **keywords(vector["options"].get("overrides"))
    )
    return {"ids": [chunk["id"] async for chunk in stream]}


async def later(chunks: list[Any]) -> AsyncIterator[Any]:
    for chunk in chunks:
        yield chunk


CALLS: dict[str, Callable[[Vector], Any]] = {
    "reorder_async": reorder_async, "reorder_sync_with_reranker": reorder_sync_with_reranker,
    "reorder_stream": reorder_stream,
}
COMPARE = {"reorder_async": same_async}
