"""rag-chunk-reorder's vectors of the whole pipeline as calls of `Reorderer`, and of the ready-made helpers."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Mapping
from typing import Any

from golden_reorder_notation import camel_keys, config, keywords, read
from vector_files import Vector

Result = dict[str, Any]


def outcome(chunks: list[Any], diagnostics: Any) -> Result:
    return {"ids": [chunk["id"] for chunk in chunks], "chunks": chunks, "diagnostics": diagnostics.to_dict()}


def call(vector: Vector, reorder: Callable[..., Any]) -> Any:
    given = read(vector["input"])
    overrides = keywords((vector.get("options") or {}).get("overrides"))
    return reorder(not_a_list(given["chunks"]), given.get("query"), **overrides)


def not_a_list(chunks: Any) -> Any:
    """{"kind": "mapping", ...} stands for a mapping with the other keys."""
    if isinstance(chunks, Mapping) and chunks.get("kind") == "mapping":
        return {key: value for key, value in chunks.items() if key != "kind"}
    return chunks


def reorder(vector: Vector) -> Result:
    from promptpack import Reorderer

    result = call(vector, Reorderer(config(vector)).reorder_with_diagnostics)
    return outcome(result.chunks, result.diagnostics)


def reorder_trace(vector: Vector) -> Result:
    from promptpack import Reorderer

    steps: list[Any] = []

    def on_step(step: str, ms: float, details: Any) -> None:
        steps.append({"step": step, "details": dict(details), "ms_is_number": isinstance(ms, float)})

    chunks = call(vector, Reorderer(config(vector), on_trace_step=on_step).reorder)
    return {"ids": [chunk["id"] for chunk in chunks], "steps": steps}


METHODS = {
    "reorder_sync": "reorder", "reorder_sync_with_diagnostics": "reorder_with_diagnostics",
    "reorder": "areorder", "reorder_with_diagnostics": "areorder_with_diagnostics",
}


def diagnostics_hook_calls(vector: Vector) -> Result:
    from promptpack import Reorderer

    counts = {"instance": 0, "call": 0}

    def counting(name: str) -> Callable[[Any], None]:
        def count(diagnostics: Any) -> None:
            counts[name] += 1

        return count

    reorderer = Reorderer(config(vector), on_diagnostics=counting("instance"))
    per_call = {"on_diagnostics": counting("call")} if vector["options"].get("call_hook") else {}
    name = METHODS[vector["options"]["method"]]
    result = getattr(reorderer, name)(read(vector["input"]["chunks"]), **per_call)
    if name.startswith("a"):
        asyncio.run(result)
    return counts


def input_not_mutated(vector: Vector) -> Result:
    from promptpack import Reorderer

    chunks = read(vector["input"]["chunks"])
    before = copy.deepcopy(chunks)
    Reorderer(config(vector)).reorder(chunks)
    return {"unchanged": chunks == before}


def _helper(name: str) -> Callable[[Vector], Result]:
    def helper(vector: Vector) -> Result:
        import promptpack.reorder

        seen: list[Any] = []

        def run(chunks: Any, query: Any, **overrides: Any) -> Any:
            return getattr(promptpack.reorder, name)(chunks, query, on_diagnostics=seen.append, **overrides)

        return outcome(call(vector, run), seen[0])

    return helper


def bench_case(vector: Vector) -> Result:
    from promptpack.reorder import bench_case as bench

    given = read(vector["input"])
    found = bench(
        given["chunks"], given.get("query"), given.get("keyPoints", ()), top_k=vector["options"].get("topK", 4)
    )
    named = {name: camel_keys(metrics) for name, metrics in found.items() if name != "reordered_ids"}
    return {**named, "reordered_ids": found["reordered_ids"]}


HELPERS = ("reorder_for_chat_history", "reorder_for_docs_qa", "reorder_for_logs")
CALLS: dict[str, Callable[[Vector], Any]] = {
    "reorder": reorder, "reorder_trace": reorder_trace, "diagnostics_hook_calls": diagnostics_hook_calls,
    "input_not_mutated": input_not_mutated, "bench_case": bench_case, **{name: _helper(name) for name in HELPERS},
}
