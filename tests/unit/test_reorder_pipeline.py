"""The steps of the reorderer: what they promise whatever the options, and for chunks of both kinds."""

from __future__ import annotations

import copy
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpack import OptionError, Reorderer, Source, SourceError

WORDS = st.lists(st.sampled_from(["lamp", "copper", "kettle", "blue"]), min_size=0, max_size=6).map(" ".join)
METADATA = st.fixed_dictionaries(
    {},
    optional={
        "timestamp": st.integers(0, 5), "sectionIndex": st.integers(0, 3), "sourceId": st.sampled_from(["x", "y", 1]),
        "sourceReliability": st.floats(0, 1), "tokenCount": st.integers(0, 4),
    },
)
CHUNKS = st.lists(
    st.fixed_dictionaries(
        {"id": st.text("abc", min_size=1, max_size=2), "text": WORDS, "score": st.sampled_from([0, 0.2, 0.5, 0.9])},
        optional={"metadata": METADATA},
    ),
    max_size=9,
)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "strategy": st.sampled_from(["scoreSpread", "preserveOrder", "chronological", "auto"]),
        "group_by": st.just("team"), "deduplicate": st.booleans(), "deduplicate_threshold": st.sampled_from([0.5, 1]),
        "start_count": st.integers(0, 3), "end_count": st.integers(0, 3), "min_score": st.sampled_from([0.1, 0.5]),
        "top_k": st.integers(2, 5), "min_top_k": st.integers(1, 2), "packing": st.sampled_from(["prefix", "edgeAware"]),
        "diversity": st.just({"enabled": True}), "weights": st.just({"time": 0.5, "section": 0.2}),
        "score_normalization": st.sampled_from(["minMax", "zScore", "softmax"]), "include_explain": st.just(True),
        "max_chars": st.integers(0, 40), "include_priority_score": st.just(True),
    },
)


@settings(max_examples=150, deadline=None)
@given(CHUNKS, OPTIONS)
def test_what_any_call_promises(chunks: list[dict[str, Any]], options: dict[str, Any]) -> None:
    """Chunks come out once, unchanged but for notes; the limits hold; the numbers add up; the input stays."""
    before = copy.deepcopy(chunks)
    reorderer = Reorderer(**options)
    found, told = reorderer.reorder_with_diagnostics(chunks, "an overview")
    assert chunks == before
    assert (found, told) == reorderer.reorder_with_diagnostics(chunks, "an overview"), "the same call, the same answer"
    left = [(one["id"], one["text"], one["score"]) for one in chunks]
    for one in found:
        left.remove((one["id"], one["text"], one["score"]))  # raises where a chunk came from nowhere
    gone = told.filtered_by_min_score + told.dedup_removed + told.budget_pruned
    assert told.input_count == len(chunks) == gone + told.output_count
    assert told.output_count == len(found) <= options.get("top_k", len(chunks))
    if "max_chars" in options:
        used = sum(len(one["text"]) for one in found)
        assert used == told.char_count_used
        floor = min(options.get("min_top_k", 0), told.output_count + told.budget_pruned)
        assert used <= options["max_chars"] or len(found) == floor
    if options.get("include_explain"):
        assert [one["metadata"]["reorderExplain"]["position"] for one in found] == list(range(len(found)))


def test_sources_come_back_as_sources() -> None:
    """Users of the library have sources; what is not changed is the same object."""
    sources = [
        Source("a", "one", 0.9, document="x", position=1, updated="2026-01-02"),
        Source("b", "two", 0.4, document="y"), Source("c", "three", None, document="x", position=0),
    ]
    assert [one.id for one in Reorderer().reorder(sources)] == ["a", "c", "b"]
    assert all(one is sources[index] for one, index in zip(Reorderer().reorder(sources), (0, 2, 1), strict=True))
    by_document = Reorderer(strategy="preserve_order").reorder(sources)
    assert [one.id for one in by_document] == ["c", "a", "b"], "document and position are read under their own names"
    assert [one.id for one in Reorderer(group_by="document").reorder(sources)] == ["a", "c", "b"]
    (first, *_) = Reorderer(include_priority_score=True, score_clamp=(0, 0.5)).reorder(sources)
    assert first.score == 0.5
    assert first.metadata == {"priorityScore": 0.5}
    assert sources[0].metadata == {}


def test_times_are_read_in_all_forms_of_a_source() -> None:
    sources = [Source("a", "1", 0.1, updated="2026-03-01"), Source("b", "2", 0.1, updated=1_600_000_000)]
    assert [one.id for one in Reorderer(strategy="chronological").reorder(sources)] == ["b", "a"]


@pytest.mark.parametrize("field", ["required", "pinned"])
def test_required_sources_are_refused(field: str) -> None:
    """They may never be dropped, which a reorderer with limits cannot promise."""
    with pytest.raises(SourceError, match="PromptBuilder keep") as caught:
        Reorderer().reorder([Source("a", "x", 0.5, **{field: True})])  # type: ignore[arg-type]
    assert caught.value.index == 0


def test_a_source_that_is_not_finite() -> None:
    source = Source("a", "x", float("nan"))
    with pytest.raises(SourceError, match="score"):
        Reorderer().reorder([source])
    found, told = Reorderer(validation_mode="coerce").reorder_with_diagnostics([source])
    assert (found[0].score, told.coerced_scores) == (0.0, 1)  # type: ignore[union-attr]


def test_numbers_of_numpy_are_numbers() -> None:
    """Vector stores answer with them."""
    import numpy as np

    chunks = [
        {"id": "a", "text": "x", "score": np.float32(0.5), "metadata": {"timestamp": np.int64(3)}},
        {"id": "b", "text": "y", "score": np.float64(0.7), "metadata": {"timestamp": np.int32(1)}},
    ]
    found = Reorderer(strategy="chronological").reorder(chunks)
    assert [(one["id"], type(one["score"])) for one in found] == [("b", float), ("a", float)]


def test_a_counter_is_asked_once_for_each_chunk() -> None:
    """Counting is what takes time: the growth is that of the number of chunks."""
    asked: list[str] = []
    chunks = [{"id": str(at), "text": f"text {at}", "score": at % 7} for at in range(300)]
    chunks[5]["tokenCount"] = 2

    def count(text: str) -> int:
        asked.append(text)
        return 3

    Reorderer(max_tokens=100, token_counter=count, top_k=9).reorder(chunks)
    assert len(asked) == 299


def test_counters_by_name() -> None:
    chunks = [{"id": "a", "text": "hello world", "score": 1}, {"id": "b", "text": "hello again", "score": 0.5}]
    for name in ("o200k_base", "whitespace"):
        _, told = Reorderer(max_tokens=2, token_counter=name).reorder_with_diagnostics(chunks)
        assert (told.token_count_used, told.output_count) == (2, 1)


@pytest.mark.parametrize("answer", [None, "1", float("nan"), float("inf")])
def test_a_comparator_must_answer_with_a_number(answer: Any) -> None:
    chunks = [{"id": name, "text": name, "score": 1} for name in "ab"]
    reorderer = Reorderer(strategy="custom", custom_comparator=lambda one, other: answer)
    if isinstance(answer, float):
        assert len(reorderer.reorder(chunks)) == 2
        return
    with pytest.raises(OptionError) as caught:
        reorderer.reorder(chunks)
    assert caught.value.name == "custom_comparator"


@pytest.mark.parametrize("chunks", [None, "ab", {"id": "a"}, iter([]), 7, {1, 2}, b"x"])
def test_only_a_list_is_a_list_of_chunks(chunks: Any) -> None:
    """A mapping or a text would pass for an empty or strange list."""
    with pytest.raises(SourceError, match="expected a list of chunks"):
        Reorderer().reorder(chunks)


def test_a_query_is_a_text() -> None:
    with pytest.raises(OptionError, match="query"):
        Reorderer().reorder([], 7)  # type: ignore[arg-type]


def test_hostile_numbers() -> None:
    chunks = [{"id": "a", "text": "x", "score": 10**400}, {"id": "b", "text": "y", "score": 1e308}]
    with pytest.raises(SourceError, match="score"):
        Reorderer().reorder(chunks)
    lenient = Reorderer(validation_mode="coerce", score_normalization="zScore", diversity={"enabled": True})
    found = lenient.reorder(chunks)
    assert [one["id"] for one in found] == ["b", "a"]


def test_priorities_beyond_the_range_of_a_float() -> None:
    """Infinite priorities tie, and make NaN further on."""
    chunks = [{"id": "a", "text": "x", "score": 1e308}, {"id": "b", "text": "y", "score": 1e307}]
    with pytest.raises(OptionError):
        Reorderer(weights={"similarity": 1e9}).reorder(chunks)


def test_reordering_needs_no_numpy_and_no_tokenizer() -> None:
    """The plain pipeline must start fast."""
    code = (
        "import sys\nfrom promptpack import Reorderer\n"
        "Reorderer(deduplicate=True, top_k=1).reorder([{'id': 'a', 'text': 'x', 'score': 1}])\n"
        "print([name for name in ('numpy', 'tiktoken', 'jinja2', 'click', 'rich', 'asyncio') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
