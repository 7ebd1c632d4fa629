"""`promptpack reorder`: both spellings of its flags, its counter, its outputs, and faults in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from promptpack.cli import main

CHUNKS = [
    {"id": "a", "text": "a lamp is blue", "score": 0.2}, {"id": "b", "text": "the copper pot", "score": 0.9},
    {"id": "c", "text": "a lamp is blue!", "score": 0.4}, {"id": "d", "text": "a red kettle", "score": 0.3},
]


def run(*args: str) -> Any:
    return CliRunner().invoke(main, list(args))


def test_reorder_takes_both_spellings(tmp_path: Path) -> None:
    data = tmp_path / "chunks.json"
    data.write_text(json.dumps(CHUNKS), encoding="utf-8")
    camel = run("reorder", "-i", str(data), "--topK", "2", "--scoreNormalization", "minMax", "--includePriorityScore")
    snake = run(
        "reorder", "-i", str(data), "--top-k", "2", "--score-normalization", "min_max", "--include-priority-score"
    )
    assert camel.exit_code == snake.exit_code == 0, camel.output + snake.output
    assert camel.stdout == snake.stdout
    assert [one["id"] for one in json.loads(camel.stdout)] == ["b", "c"]


def test_reorder_has_a_counter(tmp_path: Path) -> None:
    data = tmp_path / "chunks.json"
    data.write_text(json.dumps(CHUNKS), encoding="utf-8")
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
