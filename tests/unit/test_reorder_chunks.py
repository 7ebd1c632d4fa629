"""Chunks: checked, repaired, written and read back; adapters, hooks and helpers around them."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, fields
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpack import OptionError, Reorderer, Rerank, Source, SourceError
from promptpack import reorder as library
from promptpack.reorder import (
    Diagnostics,
    bench_case,
    create_metrics_hooks,
    create_otel_hooks,
    create_tiktoken_counter,
    deserialize_chunks,
    detect_query_intent,
    is_reorder_diagnostics,
    metadata_coverage,
    prepare_chunks,
    reorder_for_chat_history,
    reorder_for_docs_qa,
    reorder_for_logs,
    resolve_auto_strategy,
    serialize_chunks,
    token_counter_factory,
)
from promptpack.reorder.chunks import as_source

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3), max_leaves=6,
)
CHUNKS = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.text(min_size=1, max_size=3), "text": st.text(max_size=9),
            "score": st.floats(-1e9, 1e9) | st.integers(),
        },
        optional={"metadata": st.dictionaries(st.text(max_size=3), JSON, max_size=3), "extra": JSON},
    ),
    max_size=4,
)


@pytest.mark.parametrize("name", library.__all__)
def test_every_name_is_there_and_documented(name: str) -> None:
    assert getattr(library, name).__doc__.strip()


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Reordrer'"):
        library.Reordrer  # noqa: B018
    assert "Reorderer" in dir(library)


@given(CHUNKS)
def test_chunks_survive_writing_and_reading(chunks: list[dict[str, Any]]) -> None:
    """What comes back has every field: a store that loses one loses it in silence."""
    assert deserialize_chunks(serialize_chunks(chunks)) == chunks


@given(CHUNKS, st.sampled_from(["strict", "coerce"]))
def test_preparing_copies(chunks: list[dict[str, Any]], mode: str) -> None:
    found, repairs = prepare_chunks(chunks, mode)
    assert found == chunks
    assert all(one is not other for one, other in zip(found, chunks, strict=True))
    assert set(vars_of(repairs)) == {0}


def vars_of(value: Any) -> list[int]:
    return [getattr(value, name) for name in value.__slots__]


def test_dates_and_large_numbers_are_written() -> None:
    zoned = datetime.fromisoformat("2024-01-02T05:04:05+02:00")
    metadata = {"a": zoned, "b": datetime(2024, 1, 2), "c": date(2024, 1, 2), "d": 10**50, "e": (1, max)}
    (chunk,) = json.loads(serialize_chunks([{"id": "a", "text": "x", "score": 1, "metadata": metadata}]))
    assert chunk["metadata"] == {
        "a": "2024-01-02T03:04:05.000Z", "b": "2024-01-02T00:00:00.000Z", "c": "2024-01-02", "d": 10**50,
        "e": [1, None],
    }
    assert zoned.tzinfo is not UTC


def cyclic() -> dict[str, Any]:
    found: dict[str, Any] = {"id": "a", "text": "x", "score": 1, "metadata": {}}
    found["metadata"]["self"] = found
    return found


def nested(depth: int) -> Any:
    found: Any = 1
    for _ in range(depth):
        found = [found]
    return found


@pytest.mark.parametrize(
    "chunk",
    [
        cyclic(), {"id": "a", "deep": nested(5000)}, {"id": "a", "score": math.nan},
        {"id": "a", "metadata": {"n": math.inf}},
        {"id": "a", "metadata": {"set": {1}}}, {"id": "a", "metadata": {"n": 10**5000}}, "text", 7, None,
    ],
    ids=["cyclic", "deep", "nan", "infinite", "set", "too many digits", "text", "number", "none"],
)
def test_what_json_cannot_hold_is_refused(chunk: Any) -> None:
    with pytest.raises(SourceError):
        serialize_chunks([chunk])


BROKEN = {
    "empty": "", "open": "{", "object": "{}", "number": "7", "numbers": "[7]", "null": "[null]", "deep": "[" * 100_000,
    "nan": "[NaN]", "none": None, "bytes": b"[]", "digits": "[" + "9" * 5000 + "]",
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=list(BROKEN))
def test_broken_json_is_refused(text: Any) -> None:
    with pytest.raises(SourceError):
        deserialize_chunks(text)


def test_sources_can_be_written() -> None:
    source = Source("a", "x", 0.5, document="d", position=2, updated="1970-01-02", tokens=4, metadata={"title": "T"})
    (chunk,) = deserialize_chunks(serialize_chunks([source]))
    assert chunk == {
        "id": "a", "text": "x", "score": 0.5, "tokenCount": 4,
        "metadata": {"sourceId": "d", "sectionIndex": 2, "timestamp": 86400.0, "title": "T"},
    }
    assert Reorderer().reorder([chunk]) == [chunk]


@pytest.mark.parametrize("mode", ["loose", None, ["strict"]])
def test_an_unknown_mode_is_refused(mode: Any) -> None:
    with pytest.raises(OptionError):
        prepare_chunks([], mode)


def test_messages_name_the_chunk_and_are_short() -> None:
    with pytest.raises(SourceError) as caught:
        prepare_chunks([{"id": "a" * 500, "text": "x", "score": "y" * 5000}])
    assert (caught.value.index, caught.value.field) == (0, "score")
    assert len(str(caught.value)) < 300


# Counters


def test_counters_by_name_and_model() -> None:
    assert create_tiktoken_counter()("hello world") == 2
    assert create_tiktoken_counter(encoding="cl100k_base").name == "cl100k_base"  # type: ignore[attr-defined]
    assert create_tiktoken_counter(model="gpt-4o-mini")("hello world") == 2
    for wrong in ({"encoding": "words"}, {"model": "claude-sonnet-4-5"}, {"model": "nobody-knows"}):
        with pytest.raises(OptionError):
            create_tiktoken_counter(**wrong)
    with pytest.raises(OptionError, match="did you mean"):
        token_counter_factory("chars4")
    with pytest.raises(OptionError):
        token_counter_factory(None)  # type: ignore[arg-type]


# Routing


def test_routing() -> None:
    chunks = [{"id": "a", "text": "x", "score": 1, "metadata": {"sourceId": "d", "sectionIndex": 1}}]
    assert resolve_auto_strategy(chunks, "Give an overview") == "preserveOrder"
    assert resolve_auto_strategy(chunks, "Give an overview", source_field="doc") == "scoreSpread"
    assert metadata_coverage(chunks).position == 1.0
    assert detect_query_intent("x", {"intentDetector": lambda query: "narrative"}) == "narrative"
    for wrong in (("x", {"temporal_query_terms": [1]}), ("x", 5), (7, None)):
        with pytest.raises(OptionError):
            detect_query_intent(*wrong)  # type: ignore[arg-type]


# Helpers

HITS = [{"id": name, "text": f"text of {name}", "score": score, "metadata": {"timestamp": at}}
        for at, (name, score) in enumerate(zip("abcdef", (0.9, 0.2, 0.7, 0.5, 0.4, 0.1), strict=True))]


def test_helpers() -> None:
    assert [one["id"] for one in reorder_for_logs(HITS, top_k=2)] == ["f", "e"]  # type: ignore[index]
    assert [one["id"] for one in reorder_for_chat_history(HITS, top_k=2)] == ["a", "c"]  # type: ignore[index]
    assert len(reorder_for_docs_qa(HITS, "when?", max_chars=1)) == 4, "the floor"
    with pytest.raises(OptionError):
        reorder_for_docs_qa(HITS, top_k=2, min_top_k=4)
    case = bench_case(HITS, key_points=["text of f"], top_k=2)
    assert case["reordered_ids"] == ["a", "c"]
    assert set(case["baseline"]) == {"key_point_recall", "position_effectiveness", "ndcg"}


def test_a_reranker_is_not_passed_over() -> None:
    """These functions cannot await one, and the old scores would look like its own."""
    for function in (reorder_for_chat_history, reorder_for_docs_qa, reorder_for_logs):
        with pytest.raises(OptionError, match="get_preset"):
            function(HITS, reranker=object())
    with pytest.raises(OptionError, match="areorder"):
        library.reorder_vector_store_results([], reranker=object())


# Adapters


@dataclass
class Document:
    """As LangChain has it."""

    page_content: str
    metadata: dict[str, Any] = field(default_factory=dict)
    id: str | None = None


@dataclass
class Node:
    """As LlamaIndex has it."""

    body: str
    metadata: dict[str, Any]

    def get_content(self) -> str:
        return self.body


@dataclass
class Scored:
    node: Node
    score: float | None


@dataclass
class Haystack:
    content: str
    score: float | None
    meta: dict[str, Any]
    id: str = "same"


@pytest.mark.parametrize(
    ("name", "items"),
    [
        ("reorder_langchain_documents", [Document("a", {"score": 0.2}), Document("b", {"score": 0.9}), Document("c")]),
        ("reorder_langchain_pairs", [(Document("a"), 0.2), (Document("b"), 0.9), (Document("c"), None)]),
        (
            "reorder_llamaindex_nodes",
            [Scored(Node("a", {}), 0.2), Scored(Node("b", {}), 0.9), Scored(Node("c", {}), None)],
        ),
        ("reorder_haystack_documents", [Haystack("a", 0.2, {}), Haystack("b", 0.9, {}), Haystack("c", None, {})]),
        (
            "reorder_vector_store_results",
            [{"content": "a", "score": 0.2}, {"content": "b", "score": 0.9}, {"content": "c"}],
        ),
    ],
)
def test_the_same_objects_come_back(name: str, items: list[Any]) -> None:
    found = getattr(library, name)(items)
    assert [id(one) for one in found] == [id(items[at]) for at in (1, 2, 0)]
    assert [id(one) for one in getattr(library, name)(items, reorderer=Reorderer(top_k=1))] == [id(items[1])]


@pytest.mark.parametrize("name", [name for name in library.__all__ if name.startswith("reorder_l")][:4])
def test_items_that_cannot_be_read(name: str) -> None:
    for items in (None, "text", {"a": 1}, iter([])):
        with pytest.raises(SourceError):
            getattr(library, name)(items)
    for items in ([7], [None], [object()]):
        if name == "reorder_for_logs":
            continue
        with pytest.raises(SourceError) as caught:
            getattr(library, name)(items)
        assert caught.value.index == 0


# Hooks


class Span:
    def __init__(self) -> None:
        self.ended = 0

    def set_attribute(self, name: str, value: Any) -> None:
        raise RuntimeError("the exporter is gone")

    def end(self) -> None:
        self.ended += 1


def test_a_span_is_ended_whatever_happens() -> None:
    """A span that stays open is never exported."""
    span = Span()

    class Tracer:
        def start_span(self, name: str) -> Span:
            return span

    with pytest.raises(RuntimeError):
        create_otel_hooks(Tracer()).on_trace_step("score", 1.0, {})
    assert span.ended == 1


def test_hooks_are_options() -> None:
    names: list[str] = []

    class Quiet(Span):
        def set_attribute(self, name: str, value: Any) -> None:
            pass

        def add_event(self, name: str) -> None:
            pass

    class Tracer:
        def start_span(self, name: str) -> Span:
            names.append(name)
            return Quiet()

    Reorderer(**create_otel_hooks(Tracer(), span_name="mine")._asdict(), deduplicate=True).reorder(HITS)
    assert names == ["mine.dedup", "mine.score", "mine.strategy", "mine.budget", "mine.diagnostics"]
    seen: dict[str, float] = {}
    hook = create_metrics_hooks(lambda name, value, labels: seen.update({name: value}))
    Reorderer(on_diagnostics=hook, top_k=2).reorder(HITS)
    assert seen["rag_chunk_reorder_budget_pruned_total"] == 4


def test_diagnostics_are_told_from_other_things() -> None:
    assert is_reorder_diagnostics(Diagnostics())
    assert is_reorder_diagnostics(Diagnostics().to_dict())
    for other in (None, 7, {}, [], {**Diagnostics().to_dict(), "inputCount": True}):
        assert not is_reorder_diagnostics(other)


@pytest.mark.parametrize("metadata", [
    None, {}, {"timestamp": 5, "sectionIndex": 2.5, "sourceReliability": np.float64(0.5), "document": "d", "k": [1]},
    {"document": 7, "sourceId": "s", "timestamp": None},
])
def test_a_chunk_becomes_the_source_that_it_says(metadata: dict[str, Any] | None) -> None:
    """Such sources are made without their checks; if it fails, one is made that no check would let pass."""
    given = {"id": "a", "text": "x", "score": 1, **({} if metadata is None else {"metadata": metadata})}
    chunk = prepare_chunks([given], "coerce")[0][0]
    fast = as_source(chunk)
    names = [one.name for one in fields(Source)]
    assert fast == Source(**{name: getattr(fast, name) for name in names})
    assert fast.origin is chunk
    assert type(fast.reliability) in (float, type(None))
    assert fast.document == ("d" if metadata and "k" in metadata else None)
    assert fast.metadata == (chunk.get("metadata") or {})  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "make",
    [
        lambda: create_otel_hooks(object()), lambda: create_metrics_hooks(5),  # type: ignore[arg-type]
        lambda: create_metrics_hooks(print, 5),  # type: ignore[arg-type]
    ],
    ids=["tracer", "counter", "gauge"],
)
def test_hooks_that_cannot_work_are_refused_at_once(make: Any) -> None:
    """They failed with a bare AttributeError or TypeError in the first call of the reorderer, after all its work."""
    with pytest.raises(OptionError, match="expected a function"):
        make()


def test_the_place_of_what_contains_itself_is_short() -> None:
    with pytest.raises(SourceError) as caught:
        serialize_chunks([cyclic()])
    assert len(str(caught.value)) < 200


def test_adapters_take_a_configuration() -> None:
    """rag-chunk-reorder's adapters have their options under `config`."""
    items = [{"content": "a", "score": 0.2}, {"content": "b", "score": 0.9}]
    assert library.reorder_haystack_documents(items, config={"topK": 1}) == items[1:]
    with pytest.raises(OptionError, match="reranker: a reranker has to be awaited"):
        library.reorder_haystack_documents(items, config={"reranker": Rerank(lambda query, sources: [1.0, 2.0])})
    with pytest.raises(OptionError, match="top_k"):
        library.reorder_haystack_documents(items, reorderer=Reorderer(), top_k=0)


@pytest.mark.parametrize("options", [{"validation_mode": "coerce"}, {"config": {"validationMode": "coerce"}}])
def test_the_mode_goes_on_to_a_ready_reorderer(options: dict[str, Any]) -> None:
    """In a configuration it was not looked at: what the caller asked to be repaired ended the call."""
    items = [{"content": "a", "score": "bad"}, {"content": "b", "score": 0.9}]
    assert library.reorder_vercel_ai_results(items, reorderer=Reorderer(), **options) == items[::-1]
