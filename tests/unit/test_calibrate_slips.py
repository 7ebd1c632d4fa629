"""Misspelt fields of the questions to measure with, and fields that are an application's own."""

from __future__ import annotations

from typing import Any

import pytest

from promptpack.calibration import read_questions
from promptpack.errors import SourceError

ROW: dict[str, Any] = {"question": "Who did it?", "answers": ["Ada"], "passage": "Ada did it.", "distractors": ["No."]}
OTHER: dict[str, Any] = {
    "question": "Who?", "answer": "Bo", "sources": [{"id": "a", "text": "Bo did."}], "relevant": ["a"],
}


@pytest.mark.parametrize(("row", "right", "wrong"), [
    (ROW, "question", "qestion"), (ROW, "answers", "anwsers"), (ROW, "passage", "pasage"),
    (ROW, "distractors", "distracters"), (OTHER, "relevant", "relevent"), (OTHER, "sources", "souces"),
    (OTHER, "question", "Question"),
])
def test_a_misspelt_field_is_an_error(row: dict[str, Any], right: str, wrong: str) -> None:
    """If this fails, distractors or relevant ids that are there are passed over, and the curve is another one."""
    given = {wrong if name == right else name: value for name, value in row.items()}
    with pytest.raises(SourceError, match=rf"^questions\[1\]: unknown field '{wrong}'; did you mean '{right}'\?$"):
        read_questions([ROW, given])


@pytest.mark.parametrize("row", [
    {**ROW, "topic": "x", "_id": 3, "source": "a.pdf", "title": "x"}, {**ROW, "relevent": ["a"], "source": ["x"]},
    {**OTHER, "contexts": ["x"], "passages": ["x"], "distracters": ["x"]}, {**ROW, "qestion": "x"},
    {**OTHER, "relevant": None, "relevent": None}, {**ROW, "d" * 100_000: 1},
])
def test_fields_that_are_another_s_are_left_alone(row: dict[str, Any]) -> None:
    assert read_questions([row])[0].question == row["question"]
