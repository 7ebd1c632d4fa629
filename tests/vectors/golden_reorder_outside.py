"""rag-chunk-reorder's vectors of adapters and of rerankers over HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from golden_reorder_notation import config, read
from vector_files import Vector

Result = dict[str, Any]
ADAPTERS = (
    "reorder_langchain_documents", "reorder_langchain_pairs", "reorder_llamaindex_nodes",
    "reorder_haystack_documents", "reorder_vercel_ai_results", "reorder_langgraph_state",
    "reorder_vector_store_results",
)


def _adapter(name: str) -> Callable[[Vector], Result]:
    def call(vector: Vector) -> Result:
        import promptpack.reorder
        from promptpack import Reorderer

        options = vector.get("options") or {}
        items = read(vector["input"]["items"])
        ready = {"reorderer": Reorderer(config(vector, "reorderer"))} if "reorderer" in options else {}
        mode = {"validation_mode": options["validationMode"]} if "validationMode" in options else {}
        given = config(vector)
        found = getattr(promptpack.reorder, name)(items, vector["input"].get("query"), **ready, **{**given, **mode})
        places = {id(item): index for index, item in enumerate(items)}
        return {"order": [places[id(item)] for item in found]}

    return call


SETTINGS = {"cohere": ("Cohere", "topN"), "voyage": ("Voyage", "topK"), "jina": ("Jina", "topN")}


def remote_reranker(vector: Vector) -> Result:
    from promptpack import RerankError, Source, rerankers

    options, given = vector["options"], vector["input"]
    response, settings = options["response"], options["settings"]
    request: Result = {}

    async def send(url: str, headers: Any, body: Any) -> rerankers.Answer:
        request.update(url=url, method="POST", body=dict(body), headers=dict(headers))
        text = response["body"] if isinstance(response["body"], str) else json.dumps(response["body"])
        return rerankers.Answer(response["status"], text)

    kind, limit = SETTINGS[given["provider"]]
    reranker = getattr(rerankers, kind)("KEY", settings.get("model"), settings.get(limit), send=send)
    sources = [Source(chunk["id"], chunk["text"], chunk["score"]) for chunk in given["chunks"]]
    try:
        scores = asyncio.run(reranker.rerank(given["query"], sources))
    except RerankError as error:
        error.request = request  # type: ignore[attr-defined]  # the vector asks for it
        raise
    return {"scores": scores, "ids": [source.id for source in sources], "request": request}


def shown(error: Any) -> Result:
    from promptpack import RerankError

    assert isinstance(error, RerankError), error
    found = {
        "statusCode": error.status, "retryable": error.retryable, "bodySnippet": error.body,
        "request": getattr(error, "request", None),
    }
    return {key: value for key, value in found.items() if value is not None}


def reranker_error(vector: Vector) -> Result:
    from promptpack import RerankError

    names = {"statusCode": "status", "retryable": "retryable", "bodySnippet": "body"}
    error = RerankError("failed", **{names[key]: value for key, value in vector["options"].items()})
    return {**shown(error), "name": "RerankerError"}


CALLS: dict[str, Callable[[Vector], Any]] = {
    "remote_reranker": remote_reranker, "reranker_error": reranker_error,
    **{name: _adapter(name) for name in ADAPTERS},
}
