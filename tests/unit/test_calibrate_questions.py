"""Rows of questions: both forms, distractors from other rows, and what is told about them."""

from __future__ import annotations

from typing import Any

import pytest
from fake_endpoint import questions

from promptpack.builder import PromptBuilder
from promptpack.calibration.measure import plan
from promptpack.calibration.probes import WITHOUT, places
from promptpack.calibration.questions import holds, prepared, read_questions
from promptpack.errors import OptionError, SourceError

ROW: dict[str, Any] = {"question": "Who?", "answers": ["Ada"], "passage": "Ada did it."}


@pytest.mark.parametrize(("changes", "told"), [
    ({"question": None}, "question: expected a text"), ({"question": " "}, "question: expected a text"),
    ({"answers": []}, "answers: expected a text or a list"), ({"answers": None}, "answers: expected"),
    ({"answers": [7]}, "answers: expected"), ({"answers": ["..."]}, "answers: an answer has no word"),
    ({"id": 1.5}, "id: expected"), ({"passage": None}, "passage: expected either"),
    ({"sources": ["x"]}, "passage: expected either"), ({"passage": {"id": "a"}}, "passage: "),
    ({"distractors": "one text"}, "distractors: "), ({"distractors": [None]}, "distractors: "),
    ({"passage": None, "sources": ["x"], "relevant": {}}, "relevant: expected a list of ids"),
])
def test_rows_that_are_wrong_are_named(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(SourceError, match=rf"questions\[1\]: {told}"):
        read_questions([ROW, {**ROW, **changes}])


def test_a_row_that_is_no_object_and_ids_that_repeat() -> None:
    with pytest.raises(SourceError, match=r"questions\[0\]: expected an object"):
        read_questions(["text"])
    with pytest.raises(SourceError, match=r"questions\[1\]: id: 'a' is that of questions\[0\]"):
        read_questions([{**ROW, "id": "a"}, {**ROW, "id": "a"}])


def test_sources_are_split_by_what_is_relevant() -> None:
    """If this fails, a second passage with the answer stands among the distractors and flattens the curve."""
    rows = [{"id": name, "text": f"Text {name}."} for name in "abcd"]
    one, = read_questions([{"question": "Who?", "answer": "Ada", "sources": rows, "relevant": ["c", "b"]}])
    assert one.needed is not None
    assert (one.needed.id, [source.id for source in one.others], one.left_out) == ("b", ["a", "d"], 1)
    assert len(one.sources) == 4


def test_distractors_come_from_other_rows_but_never_with_the_answer() -> None:
    rows = [
        {**ROW, "id": "a"}, {**ROW, "id": "b", "passage": "Ada again."},
        {**ROW, "id": "c", "answers": ["Bob"], "passage": "Bob did it."},
        {**ROW, "id": "d", "answers": ["Cy"], "passage": "Cy did it."},
    ]
    made, remarks = prepared(read_questions(rows), 3)
    assert [[source.text for source in one.others] for one in made] == [
        ["Bob did it.", "Cy did it."], ["Bob did it.", "Cy did it."], ["Cy did it.", "Ada did it."],
        ["Ada did it.", "Ada again."],
    ]
    assert remarks == ["4 questions have distractors from other questions"]
    with pytest.raises(SourceError, match="question 'a': 4 passages need 3 distractors, and there are 2"):
        prepared(read_questions(rows), 4)


def test_what_may_spoil_a_measurement_is_told() -> None:
    """If this fails, a flat curve looks like a finding."""
    rows = [
        {**ROW, "id": 1, "passage": "Nothing here.", "distractors": ["x", "y"]},
        {**ROW, "id": 2, "distractors": ["Ada, once more.", "y"]},
        {"id": 3, "question": "Who?", "answer": "Ada", "sources": ["x", "y", "z"]},
        {**ROW, "id": 4, "distractors": ["x", "y"]},
    ]
    assert prepared(read_questions(rows), 3, 2)[1] == [
        "1 questions name no passage that answers them and are left out", "1 further questions are not used",
        "1 questions have a needed passage without their answer, word for word",
        "1 questions have a distractor that holds their answer, which flattens the curve",
    ]


@pytest.mark.parametrize(("numbers", "told"), [
    ((1, None), "passages: expected 2"), ((True, None), "passages: expected"), ((3, 0), "questions: expected 1"),
])
def test_numbers_that_cannot_be(numbers: tuple[Any, Any], told: str) -> None:
    with pytest.raises(OptionError, match=told):
        prepared(read_questions([ROW]), *numbers)
    with pytest.raises(OptionError, match="none of them names the passage"):
        prepared([], 3)


@pytest.mark.parametrize(("text", "answer", "found"), [
    ("It was PARIS.", "Paris", True), ("Parisian", "Paris", False), ("In the Paris, Texas", "paris texas", True),
    ("a copper-kettle", "copper kettle", True), ("", "x", False),
])
def test_an_answer_is_looked_for_word_for_word(text: str, answer: str, found: bool) -> None:
    assert holds(text, [answer]) is found


def test_places_are_spread_from_end_to_end() -> None:
    assert places(9, 9) == list(range(9))
    assert places(20, 5) == [0, 5, 10, 14, 19]
    assert places(9, 2) == [0, 8]
    for numbers, told in (((9, 1), "positions: expected 2"), ((3, 4), "4 places need as many passages")):
        with pytest.raises(OptionError, match=told):
            places(*numbers)


def test_probes_differ_by_nothing_but_the_place() -> None:
    """If this fails, something else than the place is measured: scores, required or pinned sources move passages."""
    row = questions(1, 4)[0]
    row["passage"] = {"text": row["passage"], "score": 0.1, "id": "needed", "metadata": {"pinned": True}}
    row["distractors"] = [{"text": text, "score": 0.9, "id": f"d{at}"} for at, text in enumerate(row["distractors"])]
    made = plan([row], PromptBuilder(window=4000).with_packing(place="best_last", top_k=1), passages=4, positions=4)
    probes = {one.name: one for one in made.all()}
    assert list(probes) == [WITHOUT, "3", "2", "1", "0"]
    for at in range(4):
        body = probes[str(at)].messages[1]["content"]
        blocks = body.split("</source_")[:-1]
        assert ["KEY" in block for block in blocks] == [place == at for place in range(4)]
    assert "KEY" not in str(probes[WITHOUT].messages)
    xs = [probes[str(at)].x for at in range(4)]
    assert xs == sorted(xs)  # type: ignore[type-var]
    assert len({one.key for one in probes.values()}) == 5


def test_passages_that_do_not_fit_are_an_error() -> None:
    """If this fails, a place is measured in a prompt that lacks passages."""
    with pytest.raises(SourceError, match=r"question 'q0': \d+ of 8 passages do not fit the window of 200 tokens"):
        plan(questions(1), PromptBuilder(window=200))
