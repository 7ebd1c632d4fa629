"""What the documentation shows is what happens: README blocks, commands, examples."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.S | re.M)
PYTHON = [code for language, code in BLOCKS if language == "python"]
COMMANDS = [code.strip() for language, code in BLOCKS if language == "console"]
SET_UP = 'python3 -m venv .venv && .venv/bin/pip install -q -e ".[test]" && '


class Client:
    """Stands for an OpenAI client: answers with what it is told to."""

    def __init__(self, answer: str) -> None:
        self.chat = SimpleNamespace(completions=self)
        self._answer = answer

    def create(self, *, model: str, messages: list[dict[str, Any]]) -> Any:
        assert messages
        return SimpleNamespace(choices=[SimpleNamespace(message=SimpleNamespace(content=self._answer))])


def names() -> dict[str, Any]:
    """What the blocks take for granted: hits, a question, a client."""
    hits = [
        {"id": "returns#1", "text": "You can return any lamp within 45 days.", "score": 0.9, "updated": "2026-03-01",
         "metadata": {"title": "Returns", "section": "Time limit"}},
        {"id": "returns#3", "text": "We send the money back within 6 working days.", "score": 0.8},
        {"id": "warranty#1", "text": "Faulty lamps are covered for three years.", "score": 0.6},
    ]
    return {"hits": hits, "question": "How long do I have?", "client": Client("You have 45 days [S1].")}


def test_readme_blocks_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The Python blocks run one after the other, and print what the comments behind their prints say."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)  # some write files
    namespace = names()
    for number, code in enumerate(PYTHON):
        exec(compile(code, f"README.md, Python block {number}", "exec"), namespace)
        shown = capsys.readouterr().out.strip().splitlines()
        told = [line.split("  # ", 1)[1] for line in code.splitlines() if line.startswith("print(") and "  # " in line]
        assert shown == told, f"block {number}"


def test_the_output_that_the_readme_shows_is_the_output() -> None:
    """The block after "What comes out" is what the example prints."""
    shown = next(code for language, code in BLOCKS if language == "text" and code.startswith("SYSTEM"))
    namespace = names()
    exec(PYTHON[0], namespace)
    assert namespace["payload"].text + "\n" == shown


def test_two_commands_do_all_the_set_up() -> None:
    assert [command.startswith(SET_UP) for command in COMMANDS[:2]] == [True, True]
    assert all("\n" not in command for command in COMMANDS[:2])


def test_ci_calls_the_test_command_of_the_readme() -> None:
    command = COMMANDS[1]
    assert command.endswith("pytest -q -n 2")
    assert command in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()


def test_the_first_command_renders_the_example_data() -> None:
    arguments = shlex.split(COMMANDS[0].removeprefix(SET_UP))
    assert arguments[0] == ".venv/bin/promptpack"
    done = subprocess.run(
        [sys.executable, "-m", "promptpack", *arguments[1:]], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("SYSTEM\n")
    assert "window" in done.stderr


def test_the_example_data_is_what_the_issue_of_a_real_store_is() -> None:
    """30 or more chunks, with overlaps, copies, dates, and one that is far too large for a small window."""
    import json

    from promptpack import Source, counter, pack

    lines = (ROOT / "examples/data/support.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert len(rows) >= 30
    assert any(counter("o200k_base")(row["text"]) > 2500 for row in rows)
    assert len({row["updated"] for row in rows if row.get("updated")}) > 5
    packed = pack([Source(row["id"], row["text"], row["score"]) for row in rows])
    assert [out for out in packed.dropped if out.reason == "duplicate"]


def test_no_path_of_a_machine_and_no_unfinished_mark() -> None:
    command = ["git", "ls-files", "*.py", "*.md", "*.toml", "*.j2"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    files = [ROOT / name for name in done.stdout.split()] if done.returncode == 0 else []
    marks = re.compile("|".join(["TO" + "DO", "FIX" + "ME", "/wo" + "rk/", "/home" + "/"]))
    for path in files:
        if path.is_file():
            found = marks.search(path.read_text(encoding="utf-8"))
            assert not found, f"{path}: {found.group()}"
