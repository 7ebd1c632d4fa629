"""The example questions and curves: they can be measured with, and read."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptpack.builder import PromptBuilder
from promptpack.calibration import plan
from promptpack.curves import PositionCurve
from promptpack.files import read_json_lines
from promptpack.packing.curve import Curve

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def test_the_example_questions_are_ready_to_be_measured() -> None:
    """If this fails, who tries the command with the example gets an error, or a spoilt curve."""
    made = plan(read_json_lines(str(EXAMPLES / "calibrate.jsonl")), PromptBuilder(window=8192))
    assert (len(made.probes), len(made.all())) == (20, 200)
    assert made.remarks == ("20 questions have distractors from other questions",)


@pytest.mark.parametrize("path", sorted((EXAMPLES / "curves").glob("*.json")), ids=lambda path: path.name)
def test_the_example_curves_place_sources(path: Path) -> None:
    curve = PositionCurve.load(path)
    assert curve.model
    assert curve.questions
    assert all(point.low is not None for point in curve.points)
    hits = [{"id": str(rank), "text": f"Text {rank}.", "score": 1 / rank} for rank in range(1, 6)]
    builder = PromptBuilder(window=2000).with_packing(select="top", place=Curve(curve)).add_sources(hits)
    assert sorted(one.source.id for one in builder.render().sources) == ["1", "2", "3", "4", "5"]
