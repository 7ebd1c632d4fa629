"""Where a command says the fault is: the file and the line of a bad row, and the output that could not be written."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

GOOD = '{"id": "a", "text": "Fine.", "score": 0.5}'
FULL = Path("/dev/full")


def run(*arguments: str, cwd: Path, stdout: object = subprocess.PIPE) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "promptpack", *arguments], cwd=cwd, stdout=stdout, stderr=subprocess.PIPE, check=False,  # type: ignore[call-overload]
    )
    return done.returncode, done.stderr.decode()


@pytest.mark.parametrize(("row", "told"), [
    ('{"id": "a", "title": "none"}', "there is no text"),
    ('{"id": "a", "text": 5}', "text: expected a text"),
    ('{"id": "a", "text": "x", "score": NaN}', "score: expected a finite number, got nan"),
    ('{"id": "a", "text": "x", "position": Infinity}', "position: expected a finite number, got inf"),
    ('{"id": "a", "text": "x", "score": "high"}', "score: expected a number"),
    ('{"id": [], "text": "x"}', "id: expected"),
    ('{"id": "a", "text": " ", "required": true}', "a required source has no text"),
    ('{"id": "a", "text": "x", "distance": 0.5}', "a distance"),
    ("7", "cannot read a value of type int"),
    ('{"id": "a"', "broken JSON"),
])
def test_a_bad_row_is_named_by_file_and_line(tmp_path: Path, row: str, told: str) -> None:
    """If this fails, one bad row of many thousands has to be searched for by hand."""
    (tmp_path / "one.jsonl").write_text(f"{GOOD}\n{GOOD}\n", encoding="utf-8")
    (tmp_path / "two.jsonl").write_text(f"\n{GOOD}\n\n{row}\n{GOOD}\n", encoding="utf-8")
    code, said = run("render", "one.jsonl", "two.jsonl", cwd=tmp_path)
    assert code == 2
    assert said.startswith("Error: two.jsonl: line 4: ")
    assert told in said
    assert "sources[" not in said
    assert "~" not in said


def test_a_bad_row_of_a_list_is_named_by_its_place_in_that_file(tmp_path: Path) -> None:
    """If this fails, the number counts the rows of other files, too."""
    good = json.loads(GOOD)
    (tmp_path / "one.json").write_text(json.dumps([good, good]), encoding="utf-8")
    (tmp_path / "two.json").write_text(json.dumps({"hits": [good, {"id": "b"}]}), encoding="utf-8")
    (tmp_path / "alone.jsonl").write_text('\n\n{"id": "b"}\n', encoding="utf-8")
    assert run("render", "one.json", "two.json", cwd=tmp_path)[1].startswith("Error: two.json: hits[1]: there is no")
    assert run("render", "alone.jsonl", cwd=tmp_path)[1].startswith("Error: alone.jsonl: line 3: there is no")


def test_other_commands_name_the_line_as_well(tmp_path: Path) -> None:
    """If this fails, `reorder`, `eval --sources` or `render --history` name a number that stands in no file."""
    (tmp_path / "hits.jsonl").write_text(f'{GOOD}\n\n{{"id": "b", "text": "x", "score": NaN}}\n', encoding="utf-8")
    (tmp_path / "talk.jsonl").write_text('["user", "Hi"]\n\n["pirate", "Hi"]\n', encoding="utf-8")
    (tmp_path / "good.jsonl").write_text(GOOD, encoding="utf-8")
    asked = {"question": "q", "retrieved": ["a"], "relevant": ["a"]}
    (tmp_path / "cases.jsonl").write_text(json.dumps(asked), encoding="utf-8")
    for arguments in (("reorder", "-i", "hits.jsonl"), ("reorder", "--jsonl", "-i", "hits.jsonl"),
                      ("eval", "cases.jsonl", "-s", "hits.jsonl")):
        code, said = run(*arguments, cwd=tmp_path)
        assert code == 2
        assert "hits.jsonl: line 3" in said
        assert "'b'" in said
    assert "talk.jsonl: line 3: history: " in run("render", "good.jsonl", "--history", "talk.jsonl", cwd=tmp_path)[1]


@pytest.mark.skipif(not FULL.exists(), reason="there is no device that is always full")
@pytest.mark.parametrize("arguments", [
    ("render", "hits.jsonl", "-q", "x"), ("count", "hits.jsonl"), ("templates",), ("templates", "show", "default"),
    ("verify", "answer.txt", "-p", "payload.json"), ("pack", "hits.jsonl", "-b", "100"), ("models",),
    ("explain", "payload.json"), ("reorder", "-i", "hits.jsonl"), ("--help",), ("render", "--help"),
], ids=" ".join)
def test_a_full_disk_is_one_line_and_exit_code_2(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """If this fails, a script sees a traceback, or takes a payload that is not whole for a whole one."""
    (tmp_path / "hits.jsonl").write_text(GOOD, encoding="utf-8")
    (tmp_path / "answer.txt").write_text("Fine [S1].", encoding="utf-8")
    if "payload.json" in arguments:
        run("render", "hits.jsonl", "-f", "payload", "-o", "payload.json", cwd=tmp_path)
    with FULL.open("wb") as full:
        code, said = run(*arguments, cwd=tmp_path, stdout=full)
    assert (code, said) == (2, "Error: standard output: cannot be written: No space left on device\n")
