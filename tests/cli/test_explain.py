"""`promptpack explain`: tables on standard output, a page in a file, errors in one line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from promptpack import Payload, PromptBuilder, Source

ANSWER = "You have 45 days [S1]. Bulbs are free [S9]."


def run(*arguments: str, cwd: Path, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "promptpack", "explain", *arguments], cwd=cwd, input=stdin, capture_output=True,
        check=False, env={**os.environ, **environment},
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    sources = [Source("returns#1", "You can return any lamp within 45 days. ランプ", 0.9), Source("empty#1", " ")]
    made = PromptBuilder(window=800).add_sources(sources).with_question("How long?").render()
    (tmp_path / "payload.json").write_text(json.dumps(made.to_dict()), encoding="utf-8")
    (tmp_path / "answer.txt").write_text(ANSWER, encoding="utf-8")
    return tmp_path


def stored(folder: Path) -> Payload:
    return Payload.from_dict(json.loads((folder / "payload.json").read_text(encoding="utf-8")))


def test_the_tables_are_the_output(folder: Path) -> None:
    """If it fails, `explain | less` shows nothing."""
    done = run("payload.json", cwd=folder, COLUMNS="100")
    assert (done.returncode, done.stderr) == (0, b"")
    text = done.stdout.decode()
    assert text.startswith("s")
    for told in ("sources", "returns#1", "middle", "empty#1", "not sent", "800"):
        assert told in text
    assert "\x1b" not in text
    piped = run("-", cwd=folder, stdin=(folder / "payload.json").read_bytes(), COLUMNS="100")
    assert piped.stdout == done.stdout


def test_the_page_is_that_of_the_library(folder: Path) -> None:
    """If it fails, the page of the command lacks the answer, or is another than `to_html` makes."""
    done = run("--html", "page.html", "payload.json", "--answer", "answer.txt", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert (folder / "page.html").read_text(encoding="utf-8") == stored(folder).to_html(answer=ANSWER)
    out = run("payload.json", "--html", "-", cwd=folder, LC_ALL="C", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert out.stdout.decode("utf-8") == stored(folder).to_html()


def test_an_answer_is_checked(folder: Path) -> None:
    """If it fails, `--answer` does nothing in the terminal, or `--min-support` never reaches the check."""
    done = run("payload.json", "-a", "-", cwd=folder, stdin=ANSWER.encode())
    assert done.returncode == 0
    assert "S9" in done.stdout.decode()
    run("payload.json", "-a", "answer.txt", "--min-support", "0.99", "--html", "page.html", cwd=folder)
    assert "does not support" in (folder / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(("arguments", "told"), [
    (("missing.json",), "missing.json: cannot be read"),
    (("answer.txt",), "broken JSON"),
    (("payload.json", "-a", "missing.txt"), "missing.txt"),
    (("-", "-a", "-"), "only one"),
    (("payload.json", "--min-support", "0.5"), "no --answer"),
    (("payload.json", "-a", "answer.txt", "--min-support", "7"), "min_support"),
    (("payload.json", "--html", "no/such/folder.html"), "cannot be written"),
    (("list.json",), "expected a mapping"),
])
def test_errors_are_one_line(folder: Path, arguments: tuple[str, ...], told: str) -> None:
    """If it fails, bad input ends in a traceback."""
    (folder / "list.json").write_text("[]", encoding="utf-8")
    done = run(*arguments, cwd=folder)
    assert (done.returncode, done.stdout) == (2, b"")
    assert told in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()
    assert len(done.stderr.decode().strip().splitlines()) == 1
