"""Comparing policies: the cases that are read, the limits that hold, the tables and the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from promptpack import OptionError, SourceError
from promptpack.cli import main
from promptpack.evaluation.harness import POLICIES, Case, compare, read_case, read_cases

LINE = {
    "query": "Which pot?",
    "chunks": [
        {"id": "a", "text": "a lamp is blue", "score": 0.2}, {"id": "b", "text": "the copper pot", "score": 0.9},
        {"id": "c", "text": "a lamp is blue!", "score": 0.4}, {"id": "d", "text": "a red kettle", "score": 0.3},
    ],
    "keyPoints": ["copper pot"], "relevantIds": ["b"], "prediction": "The copper pot", "references": ["copper pot"],
}


def test_both_spellings_of_a_case() -> None:
    other = {
        "question": LINE["query"], "sources": LINE["chunks"], "key_points": LINE["keyPoints"],
        "relevant": LINE["relevantIds"], "prediction": LINE["prediction"], "references": LINE["references"],
    }
    assert read_case(LINE) == read_case(other)


def test_policies_differ_where_they_should() -> None:
    found = compare([read_case(LINE)], top_k=1).rows
    assert found["retrieved"]["key_point_recall"] == 0
    assert all(row["key_point_recall"] == 1 for name, row in found.items() if name != "retrieved")
    assert compare([read_case(LINE)], top_k=4).rows["near"]["sources"] == 3
    assert compare([read_case(LINE)], top_k=4).rows["fold"]["sources"] == 4


@pytest.mark.parametrize("policy", POLICIES)
def test_the_limits_hold_for_each(policy: str) -> None:
    """A policy that sends more would win for that alone."""
    for top_k, budget in ((1, None), (None, 7), (2, 4), (3, 0)):
        row = compare([read_case(LINE)], [policy], top_k=top_k, budget=budget).rows[policy]
        assert row["sources"] <= (4 if top_k is None else top_k)
        assert budget is None or row["tokens"] <= budget


def test_a_mean_runs_over_the_cases_that_have_the_metric() -> None:
    bare = Case(read_case(LINE).sources)
    found = compare([read_case(LINE), bare], ["fold"], top_k=4)
    assert found.count == 2
    assert found.rows["fold"]["recall_at_k"] == 1.0
    assert "recall_at_k" not in compare([bare], ["fold"]).rows["fold"]
    assert compare([], ["fold"]).to_markdown() == "| policy |\n| --- |\n| fold |"


@pytest.mark.parametrize(
    ("item", "field"),
    [
        (7, "case"), ({}, "sources"), ({"chunks": [7]}, "sources"), ({"chunks": [], "query": 7}, "question"),
        ({"chunks": [], "keyPoints": [1]}, "key_points"), ({"chunks": [], "relevant": {"a": 1}}, "relevant"),
        ({"chunks": "text"}, "sources"),
    ],
)
def test_a_case_that_cannot_be_read_is_named(item: Any, field: str) -> None:
    with pytest.raises(SourceError, match=r"cases\[1\]") as caught:
        list(read_cases([LINE, item]))
    assert caught.value.field == field


def test_an_unknown_policy() -> None:
    with pytest.raises(OptionError, match="did you mean 'fold'"):
        compare([], ["fol"])


def run(*args: str) -> Any:
    return CliRunner().invoke(main, list(args))


def test_the_command_prints_and_reports(tmp_path: Path) -> None:
    data, report = tmp_path / "data.jsonl", tmp_path / "report.md"
    data.write_text(json.dumps(LINE) + "\n\n" + json.dumps(LINE) + "\n", encoding="utf-8")
    done = run("eval", str(data), "--policy", "retrieved", "--policy", "fold", "-k", "2", "--report", str(report))
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[0].startswith("| policy | sources | tokens | key point recall")
    assert [line.split(" | ")[0] for line in done.stdout.splitlines()[2:]] == ["| retrieved", "| fold"]
    assert done.stdout.strip() in report.read_text(encoding="utf-8")
    assert "2 questions" in report.read_text(encoding="utf-8")
    assert done.stderr == "", "the bar is for terminals only"


def test_questions_may_share_their_sources(tmp_path: Path) -> None:
    """A data set of questions over one collection need not repeat it in each line."""
    data, hits = tmp_path / "data.jsonl", tmp_path / "hits.json"
    data.write_text(json.dumps({"question": "Which pot?", "answered_by": ["b"]}), encoding="utf-8")
    hits.write_text(json.dumps(LINE["chunks"]), encoding="utf-8")
    assert run("eval", str(data)).stderr == "Error: cases[0]: sources: there are none\n"
    done = run("eval", str(data), "--sources", str(hits), "-p", "fold", "-k", "1")
    assert done.stdout.splitlines()[2].split(" | ")[1:4] == ["1.0", "3.0", "1.000"], done.output


@pytest.mark.parametrize(
    "args", [["eval", "missing.jsonl"], ["eval", "-p", "nope", "DATA"], ["eval", "-c", "nope", "DATA"]],
)
def test_faults_of_the_command_are_one_line(tmp_path: Path, args: list[str]) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text(json.dumps(LINE), encoding="utf-8")
    done = run(*(str(data) if arg == "DATA" else arg for arg in args))
    assert done.exit_code == 2
    assert done.stderr.startswith("Error: ")
    assert len(done.stderr.splitlines()) == 1


# `promptpack reorder`


def test_reorder_takes_both_spellings(tmp_path: Path) -> None:
    data = tmp_path / "chunks.json"
    data.write_text(json.dumps(LINE["chunks"]), encoding="utf-8")
    camel = run("reorder", "-i", str(data), "--topK", "2", "--scoreNormalization", "minMax", "--includePriorityScore")
    snake = run(
        "reorder", "-i", str(data), "--top-k", "2", "--score-normalization", "min_max", "--include-priority-score"
    )
    assert camel.exit_code == snake.exit_code == 0, camel.output + snake.output
    assert camel.stdout == snake.stdout
    assert [one["id"] for one in json.loads(camel.stdout)] == ["b", "c"]


def test_reorder_has_a_counter(tmp_path: Path) -> None:
    data = tmp_path / "chunks.json"
    data.write_text(json.dumps(LINE["chunks"]), encoding="utf-8")
    for more in ([], ["--tokenCounter", "whitespace"], ["--config", '{"tokenCounter": "char4"}']):
        done = run("reorder", "-i", str(data), "--maxTokens", "4", *more)
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)


def test_reorder_writes_where_it_is_told(tmp_path: Path) -> None:
    answers, said, out = tmp_path / "a.jsonl", tmp_path / "p.jsonl", tmp_path / "out.json"
    answers.write_text('{"references": ["red"]}\n', encoding="utf-8")
    said.write_text('{"prediction": "red"}\n', encoding="utf-8")
    done = run("reorder", "--bench", "--answers", str(answers), "--predictions", str(said), "-o", str(out))
    assert (done.exit_code, done.stdout) == (0, "")
    assert json.loads(out.read_text(encoding="utf-8"))["exactMatch"] == 1
    said.write_text("", encoding="utf-8")
    done = run("reorder", "--bench", "--answers", str(answers), "--predictions", str(said))
    assert (done.exit_code, done.stderr) == (2, "Error: --bench: 1 answers, but 0 predictions\n")


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (["--nope"], "[]"), (["--topK", "x"], "[]"), (["--config", "[1]"], "[]"), (["--config", "{"], "[]"), ([], "{"),
        ([], '[{"id": "a", "text": "x", "score": NaN}]'), ([], '[{"id": "a", "text": "x", "score": 1, "m": NaN}]'),
        (["--jsonl"], "[1]"), (["--bench"], ""), (["-o", "/nowhere/at/all"], "[]"),
    ],
)
def test_faults_of_reorder_are_one_line(args: list[str], text: str) -> None:
    done = CliRunner().invoke(main, ["reorder", *args], input=text)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: ")
    assert len(done.stderr.splitlines()) == 1
