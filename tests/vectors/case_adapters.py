"""The cases on adapters: objects with a framework's attributes go through its adapter, then a payload is built."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from case_build import Check, Given, Outcome, Predicate, Run, attempt, builder
from case_texts import enclosures

if TYPE_CHECKING:
    from promptpack import Payload, Source

ADAPTERS = {
    "langchain": "from_langchain", "llama_index": "from_llamaindex", "llamaindex": "from_llamaindex",
    "haystack": "from_haystack", "langgraph": "from_langgraph_state", "vercel_ai": "from_vercel_ai",
    "qdrant": "from_qdrant", "chroma": "from_chroma", "pinecone": "from_pinecone", "pgvector": "from_pgvector_rows",
    "vector_store": "from_vector_store_rows", "mappings": "from_mappings",
}
AS_MAPPINGS = ("langgraph", "vercel_ai", "chroma", "pgvector", "vector_store", "mappings")


def stand_in(value: Any) -> Any:
    """Return an object with these attributes; a node inside it is one, too, and metadata stay a mapping."""
    if not isinstance(value, Mapping):
        return value
    return SimpleNamespace(**{key: stand_in(one) if key == "node" else one for key, one in value.items()})


def items(given: Given) -> Any:
    """Return the objects of a case, or its pairs of an object and a number."""
    made = (lambda one: one) if given["framework"] in AS_MAPPINGS else stand_in
    if "pairs" in given:
        return [(made(one), number) for one, number in given["pairs"]]
    objects = given["objects"]
    if isinstance(objects, Mapping):
        return objects
    numbers = given.get("with_scores")
    found = [made(one) for one in objects]
    return found if numbers is None else list(zip(found, numbers, strict=True))


def adapted(given: Given) -> tuple[Source, ...]:
    """Return the sources that the adapter makes of the objects."""
    from promptpack import adapters

    kind = given.get("score_kind", "similarity")
    named = {"distance": True} if kind.startswith("distance") else {}
    found: tuple[Source, ...] = getattr(adapters, ADAPTERS[given["framework"]])(items(given), **named)
    return found


def adapt_then_build(given: Given) -> Run:
    given = {"counter": "words", **given}

    def build(one: Given) -> Payload:
        return builder(one).add_sources(adapted(one)).render()

    def ids(one: Given) -> list[str]:
        return [source.id for source in adapted(one)]

    return Run(given, (attempt(given, build),), notes={"ids": (attempt(given, ids), attempt(given, ids))})


def ids_repeatable(check: Check, outcome: Outcome, run: Run) -> None:
    """Objects that were made anew have the same ids."""
    first, second = run.notes["ids"]
    assert first.result == second.result
    assert first.result


def rank_order(check: Check, outcome: Outcome, run: Run) -> None:
    sent = sorted(outcome.payload.sources, key=lambda one: one.rank)
    assert [id_ for one in sent for id_ in one.chunk_ids] == check["ids"]


def edges_of_payload(check: Check, outcome: Outcome, run: Run) -> None:
    found = enclosures(outcome)
    assert {found[0].attributes["chunk"], found[-1].attributes["chunk"]} == set(check["ids"])


CALLS: dict[str, Callable[[Given], Run]] = {"adapt_then_build": adapt_then_build}
CHECKS: dict[str, Predicate] = {
    "ids_repeatable": ids_repeatable, "rank_order": rank_order, "edges_of_payload": edges_of_payload,
}
