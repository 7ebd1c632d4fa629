"""Intervals and the report: what is claimed of differences, and that each number is explained."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from promptpack import OptionError, Source
from promptpack.cli import main
from promptpack.evaluation.cases import Answer, Case
from promptpack.evaluation.columns import COLUMNS
from promptpack.evaluation.harness import Comparison, compare
from promptpack.evaluation.intervals import intervals
from promptpack.evaluation.report import report

DATA = Path(__file__).parents[2] / "examples" / "data"


@given(st.lists(st.lists(st.floats(-5, 5), min_size=2, max_size=12), max_size=4))
def test_an_interval_lies_within_the_values(columns: list[list[float]]) -> None:
    for values, interval in zip(columns, intervals(columns), strict=True):
        assert interval is not None
        low, high = interval
        assert min(values) - 1e-9 <= low <= high <= max(values) + 1e-9
    assert intervals(columns) == intervals(columns), "the same values give the same interval"


def test_what_cannot_be_estimated_has_no_interval() -> None:
    assert intervals([[1.0], [], [2.0, 2.0]]) == [None, None, (2.0, 2.0)]
    for level in (0.0, 1.0, 95, "0.95"):
        with pytest.raises(OptionError, match="level"):
            intervals([[1.0]], level=level)  # type: ignore[arg-type]


def test_intervals_hold_what_they_promise() -> None:
    """Of 200 samples of 40 the true mean is in about 95 of 100; far fewer would claim too much."""
    rng = random.Random(3)
    columns = [[float(rng.random() < 0.3) for _ in range(40)] for _ in range(200)]
    held = sum(low <= 0.3 <= high for low, high in filter(None, intervals(columns)))
    assert 180 <= held <= 199


def test_an_interval_follows_the_normal_one_where_that_is_known() -> None:
    rng = random.Random(5)
    values = [rng.gauss(0, 1) for _ in range(400)]
    mean = sum(values) / 400
    spread = (sum((one - mean) ** 2 for one in values) / 400) ** 0.5 / 20
    ((low, high),) = filter(None, intervals([values]))
    assert low == pytest.approx(mean - 1.96 * spread, abs=spread / 4)
    assert high == pytest.approx(mean + 1.96 * spread, abs=spread / 4)


def comparison() -> Comparison:
    base = tuple(at % 2 / 2 for at in range(20))
    return Comparison(20, {
        "retrieved": {"recall_at_k": base, "ndcg": base, "f1": base, "span_recall": (None,) * 20},
        "fold": {
            "recall_at_k": tuple(one + 0.25 for one in base), "ndcg": base, "f1": (None, *base[1:]),
            "span_recall": (None,) * 20,
        },
    }, relevant=40, unretrieved=3)


def test_differences_go_question_by_question() -> None:
    """Between questions values vary far more than between policies: unpaired, a sure gain would look like chance."""
    found = comparison()
    ((low, high),) = filter(None, [found.intervals()["fold"]["recall_at_k"]])
    assert high - low > 0.15
    assert found.differences("retrieved") == {
        "fold": {"recall_at_k": (0.25, (0.25, 0.25)), "ndcg": (0.0, (0.0, 0.0)), "f1": (0.0, (0.0, 0.0))},
    }
    assert found.differences("fold")["retrieved"]["recall_at_k"][0] == -0.25
    with pytest.raises(OptionError, match="did you mean 'fold'"):
        found.differences("fol")


def cell(text: str, row: str, column: int, after: str) -> str:
    table = text.split(after, 1)[1]
    line = next(line for line in table.splitlines() if line.startswith(f"| {row} "))
    return line.strip("| ").split("|")[column].strip()


def test_the_report_marks_what_is_more_than_chance() -> None:
    text = report(comparison(), "20 questions.", budget=100)
    assert cell(text, "recall@k", 2, "## What is sent").startswith("0.250 [")
    assert cell(text, "recall@k", 1, "## Difference from retrieved") == "**+0.250 [+0.250, +0.250]**"
    assert cell(text, "nDCG", 1, "## Difference from retrieved") == "="
    assert cell(text, "span recall", 2, "## What is sent") == "-"
    assert "3 of 40 relevant ids are not among the sources" in text
    assert "Without a budget" not in text


def test_the_report_explains_every_row_and_what_is_missing() -> None:
    """A number that nobody explains is read as the reader likes."""
    case = Case((Source("a", "x", 1.0),), relevant={"a": 1.0})
    text = report(compare([case]), "1 question.", budget=None)
    for metric, column in COLUMNS.items():
        line = next(line for line in text.splitlines() if line.startswith(f"* **{column.title}**: "))
        missing = metric not in ("sources", "tokens", "recall_at_k", "precision_at_k", "ndcg", "position_effectiveness")
        assert ("no question has what it needs" in line) == missing
    assert "## Answers" not in text, "without answers there is no table of them"
    assert "Without a budget the policy spans sends whole sources" in text
    assert "## Difference" not in report(compare([case], ["fold"]), "1 question.", budget=None)
    answered = Case((Source("a", "x", 1.0),), prediction=Answer("x"))
    assert "## Answers" in report(compare([answered]), "1 question.", budget=None)


def test_the_example_data_can_be_compared(tmp_path: Path) -> None:
    """What the README shows: each policy side by side on 30 questions; parts of more sources hold more answers."""
    out = tmp_path / "report.md"
    arguments = ["eval", str(DATA / "evaluation.jsonl"), "-s", str(DATA / "support.jsonl"), "-b", "400", "-r", str(out)]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    text = out.read_text(encoding="utf-8")
    assert "30 questions" in text
    assert cell(text, "mean", 8, "## What is sent") == "spans"
    whole, spans = (float(cell(text, "answer in window", at, "## What is sent").split()[0]) for at in (2, 8))
    assert 0.8 < whole < spans <= 1
    assert cell(text, "answerability", 1, "## Answers") == "30"
    assert "no question has what it needs" not in text
    first = done.stdout
    assert CliRunner().invoke(main, arguments).stdout == first


def test_the_example_data_are_what_their_script_makes() -> None:
    done = subprocess.run(
        [sys.executable, str(DATA / "make_evaluation.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
