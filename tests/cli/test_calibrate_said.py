"""What `promptpack calibrate` says of rows and flags that are wrong, before it asks for anything."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from promptpack.cli import main

pytest.importorskip("httpx")

ROW: dict[str, Any] = {"question": "Who did it?", "answers": ["Ada"], "passage": "Ada did it.", "distractors": ["No."]}
OTHER = {"question": "Who?", "answer": "Bo", "sources": [{"id": "a", "text": "Bo did."}], "relevant": ["a"]}


def run(folder: Path, rows: list[Any], *arguments: str) -> Result:
    text = "".join(f"\n{json.dumps(one)}\n" for one in rows)  # an empty line before each
    (folder / "q.jsonl").write_text(text, encoding="utf-8")
    (folder / "b.toml").write_text("[one]\nwindow = 4096\n[two]\nwindow = 4096\n", encoding="utf-8")
    return CliRunner().invoke(
        main, ["calibrate", "q.jsonl", "--base-url", "http://127.0.0.1:9/v1", "-m", "m", "--retries", "0", *arguments]
    )


@pytest.mark.parametrize("arguments", [("--passages", "2", "--positions", "2"), ("--compare", "b.toml")])
@pytest.mark.parametrize(("row", "said"), [
    ({"qestion": "Why?"}, "unknown field 'qestion'; did you mean 'question'?"),
    ({"question": "Why?", "answrs": ["x"]}, "unknown field 'answrs'; did you mean 'answers'?"),
    ({"question": "Why?", "answer": 3}, "answers: expected a text or a list of texts, got 3"),
    ({**ROW, "id": "1"}, "id: '1' is that of line 2, too"),
])
def test_a_bad_row_is_named_by_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: Any, said: str, arguments: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run(tmp_path, [{**ROW, "id": 1}, row], *arguments)
    assert (done.exit_code, done.stderr) == (2, f"Error: q.jsonl: line 4: {said}\n")


@pytest.mark.parametrize(("arguments", "said"), [
    (("--passages", "1"), "--passages: expected 2 or more, got 1"),
    (("--positions", "1"), "--positions: expected 2 or more, got 1"),
    (("--questions", "0"), "--questions: expected 1 or more, got 0"),
    (("--measure", "x"), "--measure: unknown value 'x'"), (("-w", "0"), "--window: expected 1 to"),
    (("--chat-template", "x"), "--chat-template: 'x' is neither"), (("-t", "x"), "--template: unknown set 'x'"),
    (("--answer-tokens", "0"), "--answer-tokens: expected 1 or more, got 0"),
    (("--concurrency", "0"), "--concurrency: expected 1 or more"), (("--timeout", "0"), "--timeout: expected seconds"),
    (("--base-url", "x"), "--base-url: expected an address"), (("-m", ""), "--model: expected a name"),
    (("--passages", "2", "--positions", "2", "--price", "-1"), "--price: expected two numbers of 0 or more"),
])
def test_errors_name_the_flag_that_was_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run(tmp_path, [ROW], *arguments)
    assert done.exit_code == 2
    assert done.stderr.splitlines()[-1].startswith(f"Error: {said}")
    assert "pathlib" not in done.stderr


def test_rows_without_a_passage_are_not_called_a_flag(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = run(tmp_path, [{**OTHER, "relevant": ["b"]}])
    assert done.stderr.startswith("Error: questions: none of them names the passage")
