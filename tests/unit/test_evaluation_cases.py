"""Reading a data set: both spellings, what stands for what, and faults that name the case and the field."""

from __future__ import annotations

import math
from typing import Any

import pytest

from promptpack import OptionError, PromptpackError, Source, SourceError
from promptpack.evaluation.cases import Answer, Case, read_case, read_cases, unread_fields

CHUNKS = [{"id": "a", "text": "a lamp", "score": 0.2}, {"id": "b", "text": "a pot", "score": 0.9}]
SHARED = (Source("a", "a lamp", 0.2), Source("b", "a pot", 0.9), Source("c", "a kettle", 0.1))


def test_both_spellings_of_a_case() -> None:
    one = read_case({
        "query": "Which pot?", "chunks": CHUNKS, "keyPoints": ["pot"], "relevantIds": ["b"], "relevantSpans": ["a pot"],
        "answer": "The pot", "reference": "pot",
    })
    other = read_case({
        "question": "Which pot?", "sources": CHUNKS, "key_points": ["pot"], "relevant": {"b": 1, "a": 0},
        "spans": "a pot", "prediction": {"text": "The pot"}, "references": ["pot"],
    })
    assert one == other
    assert one.relevant == {"b": 1.0}


def test_ids_may_be_numbers() -> None:
    """Sources take them; if judgements do not, or stay numbers, nothing is ever relevant."""
    case = read_case({"sources": [{"id": 7, "text": "x"}], "relevant": [7], "needs": [[7], 7]})
    assert (case.sources[0].id, case.relevant, case.needs) == ("7", {"7": 1.0}, (("7",), ("7",)))


@pytest.mark.parametrize(
    ("retrieved", "wanted"),
    [
        (["c", "a"], [("c", None), ("a", None)]), ([["c", 0.7], ["b", 2]], [("c", 0.7), ("b", 2)]),
        ({"b": 0.5, "a": 0.25}, [("b", 0.5), ("a", 0.25)]), ([], []), (None, [("a", 0.2), ("b", 0.9), ("c", 0.1)]),
    ],
)
def test_a_case_picks_from_shared_sources(retrieved: Any, wanted: list[tuple[str, float | None]]) -> None:
    """A collection need not be repeated for each question, but each question has its own ranking."""
    case = read_case({"retrieved": retrieved}, sources=SHARED)
    assert [(source.id, source.score) for source in case.sources] == wanted
    assert [source.text for source in case.sources] == [
        next(one.text for one in SHARED if one.id == source.id) for source in case.sources
    ]
    assert [one.id for one in read_case({"sources": CHUNKS, "retrieved": ["b"]}, sources=SHARED).sources] == ["b"]


def test_answers_and_what_they_cite() -> None:
    labels = {"S1": "b", "S2": ["a", "b"]}
    case = read_case({
        "sources": CHUNKS, "prediction": "A pot [S1].", "labels": labels, "predictions": {"fold": "A lamp."},
    })
    assert case.answer("near") == Answer("A pot [S1].", {"S1": ("b",), "S2": ("a", "b")})
    assert case.answer("fold") == Answer("A lamp.")
    stored = {"prefix": "S", "carried": {"S1": ["b"]}, "sent": ["S1"]}
    given = {"sources": CHUNKS, "predictions": {"spans": {"text": "A pot [S1].", "labels": stored}}}
    assert read_case(given).answer("spans") == Answer("A pot [S1].", {"S1": ("b",)})
    assert read_case(given).answer("fold") is None


def test_labels_of_a_payload_can_be_used_as_they_are_stored() -> None:
    from promptpack import PromptBuilder

    payload = PromptBuilder(2000).add_sources(CHUNKS).with_question("Which?").render()
    answer = {"text": "A pot [S1].", "labels": payload.to_dict()["labels"]}
    found = read_case({"sources": CHUNKS, "prediction": answer}).prediction
    assert found is not None
    assert found.labels == {"S1": ("b",), "S2": ("a",)}


@pytest.mark.parametrize(
    ("item", "field"),
    [
        (7, "case"), ({}, "sources"), ({"chunks": [7]}, "sources"), ({"chunks": [], "query": 7}, "question"),
        ({"chunks": [], "keyPoints": [1]}, "key_points"), ({"chunks": [], "relevant": {"a": -1}}, "relevant"),
        ({"chunks": [], "relevant": {"a": math.nan}}, "relevant"), ({"chunks": [], "relevant": [["a"]]}, "relevant"),
        ({"chunks": [], "relevant": 1.5}, "relevant"), ({"chunks": [], "relevant": [True]}, "relevant"),
        ({"chunks": [], "needs": "a"}, "needs"), ({"chunks": [], "needs": [{"a": 1}]}, "needs"),
        ({"chunks": "text"}, "sources"), ({"chunks": [], "prediction": 7}, "prediction"),
        ({"chunks": [], "prediction": {"labels": {}}}, "prediction"),
        ({"chunks": [], "predictions": []}, "predictions"),
        ({"chunks": [], "predictions": {"fold": None}}, "predictions"),
        ({"chunks": [], "prediction": "x", "labels": ["S1"]}, "labels"),
        ({"chunks": CHUNKS, "prediction": "x", "labels": {"S1": "zz"}}, "prediction"),
        ({"chunks": CHUNKS, "prediction": "x", "labels": {1: "a"}}, "labels"),
        ({"chunks": CHUNKS, "prediction": "x", "labels": {"S1": "a", "D2": "b"}}, "labels"),
        ({"chunks": CHUNKS, "retrieved": ["zz"]}, "retrieved"), ({"chunks": CHUNKS, "retrieved": "a"}, "retrieved"),
        ({"chunks": CHUNKS, "retrieved": [["a", "high"]]}, "score"), ({"chunks": [["x", math.inf]]}, "score"),
        ({"chunks": [{"text": "x", "priority": math.nan}]}, "priority"),
    ],
)
def test_a_case_that_cannot_be_read_is_named(item: Any, field: str) -> None:
    good = {"sources": CHUNKS}
    with pytest.raises(SourceError, match=r"^cases\[1\]: ") as caught:
        list(read_cases([good, item]))
    assert (caught.value.field, caught.value.index) == (field, 1)
    with pytest.raises(SourceError, match=r"^data\.jsonl: line 5: "):
        list(read_cases([good, item], places=["data.jsonl: line 2", "data.jsonl: line 5"]))


@pytest.mark.parametrize(("item", "field", "meant"), [
    ({"sources": CHUNKS, "key_point": ["x"]}, "key_point", "key_points"),
    ({"sources": CHUNKS, "Key-Points": ["x"]}, "Key-Points", "key"),
    ({"sources": CHUNKS, "relevent": ["a"]}, "relevent", "relevant"), ({"soruces": CHUNKS}, "soruces", "sources"),
    ({"source": CHUNKS}, "source", "sources"), ({"sources": CHUNKS, "retreived": ["a"]}, "retreived", "retrieved"),
    ({"sources": CHUNKS, "prediction": "x", "lables": {"S1": "a"}}, "lables", "labels"),
    ({"sources": CHUNKS, "prediction": {"text": "x", "label": {"S1": "a"}}}, "label", "labels"),
])
def test_a_misspelt_field_is_an_error(item: Any, field: str, meant: str) -> None:
    """If it fails, a measure is left out, or another answer is measured, because of a letter."""
    shared = [Source("a", "x")]
    with pytest.raises(SourceError, match=rf"^cases\[0\]: unknown field '{field}'; did you mean '{meant}") as caught:
        read_case(item, sources=shared)
    assert caught.value.field == field


def test_other_fields_of_a_data_set_are_passed_over_and_counted() -> None:
    """If it fails, a data set has to be rewritten before it can be used; or nobody sees what is not read."""
    more = {"id": 1, "topic": "lamps", "source": "a web page", "question_id": 7, "reference_id": 8, "spam": None, 5: 6}
    item = {"sources": CHUNKS, "query": "Why?", "spans": ["x"], "references": ["x"]}
    assert read_case({**item, **more}) == read_case(item)
    assert read_case({"source": "a web page", "query": "Why?"}, sources=[Source("a", "x")]).question == "Why?"
    names = ("topic", "source", "question_id", "reference_id", "spam", "5")
    assert unread_fields([item, {**item, **more}, "no case"]) == dict.fromkeys(names, 1)


def test_an_answer_to_no_policy_is_named() -> None:
    """An answer under a misspelt name would be left out, and another one measured."""
    with pytest.raises(OptionError, match=r"^cases\[0\]: predictions: policy: .* did you mean 'fold'"):
        read_case({"sources": CHUNKS, "predictions": {"fol": "x"}})


def test_a_case_checks_itself() -> None:
    with pytest.raises(PromptpackError, match=r"sources\[0\] 'a': score: expected a finite number, got nan"):
        Case((Source("a", "x", math.nan),))
