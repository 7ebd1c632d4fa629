"""The command `models`, and models of your own on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from promptpack.cli import main

ROW = '[[model]]\nmatch = ["ours*"]\nwindow = 700\ncounter = "words"\nmessage = 1\nreply = 1\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ours.toml").write_text(ROW, encoding="utf-8")
    (tmp_path / "hits.jsonl").write_text(
        '{"id": "a", "text": "One lamp.", "title": "T"}\n{"id": "b", "text": "Two lamps.", "title": "T"}\n',
        encoding="utf-8",
    )
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def test_the_list_and_one_model(folder: Path) -> None:
    lines = run("models").stdout.splitlines()
    assert len(lines) > 200
    assert all(len(line.split("\t")) == 4 for line in lines)
    own = run("models", "--models", str(folder / "ours.toml")).stdout.splitlines()
    assert own[0] == "ours*\t700\twords\tdefault"
    assert own[1:] == lines
    told = dict(line.split("\t") for line in run("models", "gemma-2-9b-it").stdout.splitlines())
    assert told["window"] == "8192"
    assert told["system role"] == "no"
    assert told["source"]
    for name in ("gpt-4-o", "gpt-4o"):  # which row a name has led to
        assert "patterns\tgpt-4o*, chatgpt-4o*, gpt-4.5*\n" in run("models", name).stdout


def test_an_unknown_model_is_bad_usage() -> None:
    done = run("models", "gtp-4o")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "did you mean 'gpt-4o*'" in done.stderr


def test_models_of_your_own(folder: Path) -> None:
    """If this fails a window of your own model has to be given by hand in every call."""
    own = ("-m", "ours-v2", "--models", str(folder / "ours.toml"))
    done = run("render", str(folder / "hits.jsonl"), *own, "-f", "payload")
    assert done.exit_code == 0, done.stderr
    payload = json.loads(done.stdout)
    assert payload["budget"]["window"] == 700
    assert payload["report"]["model"] == "ours-v2"
    (folder / "text.txt").write_text("one two three", encoding="utf-8")
    assert run("count", str(folder / "text.txt"), *own).stdout == "3\n"
    broken = folder / "broken.toml"
    broken.write_text(ROW.replace("window", "windows"), encoding="utf-8")
    done = run("render", str(folder / "hits.jsonl"), "-m", "x", "--models", str(broken))
    assert done.exit_code == 2
    assert "broken.toml: model 1 ('ours*')" in done.stderr


def test_the_margin_of_a_models_estimate(folder: Path) -> None:
    def margin(*arguments: str) -> int:
        done = run("render", str(folder / "hits.jsonl"), "-w", "4000", "-f", "payload", *arguments)
        assert done.exit_code == 0, done.stderr
        found: int = json.loads(done.stdout)["budget"]["margin"]
        return found

    assert margin() == margin("-m", "gpt-4o") == margin("-m", "claude-opus-5", "--margin", "0") == 0
    assert margin("-m", "claude-opus-5") == 1000
    assert margin("-m", "claude-opus-5", "-c", "words") == 0


def test_auto_fields(folder: Path) -> None:
    done = run("render", str(folder / "hits.jsonl"), "--fields", "auto")
    assert 'chunk="a"' in done.stdout
    assert "title" not in done.stdout


@pytest.mark.parametrize(("name", "said"), [
    ("claude-sonet-5", "Error: model: unknown value 'claude-sonet-5'; did you mean 'claude-sonnet-5'? No window"),
    ("zzz", "Error: model: unknown value 'zzz'. No window"),
])
def test_an_unknown_model_names_what_the_command_line_can_do(name: str, said: str) -> None:
    done = run("models", name)
    assert done.exit_code == 2
    assert done.stderr.startswith(said)
    assert "--models FILE" in done.stderr
    assert "PromptBuilder" not in done.stderr
    assert "models=" not in done.stderr
