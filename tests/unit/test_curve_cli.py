"""`--place curve:FILE` on the command line, and what is said of a file that is no curve."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from promptpack import PositionCurve
from promptpack.cli import main

HITS = [{"id": name, "text": f"Text {name} has five words.", "score": 1 - i / 10} for i, name in enumerate("abcd")]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hits.json").write_text(json.dumps(HITS), encoding="utf-8")
    row = {"id": "r", "question": "Which?", "sources": HITS}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    PositionCurve([(0, 0.2), (1, 0.8)], model="mine", measure="exact", questions=9).save(tmp_path / "curve.json")
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def test_render_places_by_the_file(folder: Path) -> None:
    done = run("render", "hits.json", "--place", "curve:curve.json", "-f", "payload")
    assert done.exit_code == 0, done.output
    payload = json.loads(done.stdout)
    assert [one["source"]["id"] for one in payload["sources"]] == list("dcba")
    assert "under the curve of 'mine' (exact, 9 questions)" in payload["report"]["notes"][-1]


def test_batch_places_by_the_file(folder: Path) -> None:
    done = run("batch", "rows.jsonl", "out.jsonl", "--place", "curve:curve.json", "-j", "0", "-q")
    assert done.exit_code == 0, done.output
    row = json.loads((folder / "out.jsonl").read_text(encoding="utf-8"))
    told = json.dumps(row)
    assert 0 < told.index("Text d has") < told.index("Text a has")


def test_bench_compares_placements_under_the_file(folder: Path) -> None:
    done = run("bench", "position", "--trials", "3", "--curve", "curve.json")
    assert done.exit_code == 0
    assert "| the curve |" in done.stdout


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("curve:none.json", "'none.json' cannot be read: No such file"),
        ("curve:hits.json", "'hits.json': expected a mapping"),
        ("curve:", "cannot be read"),
        ("curve", "place: unknown value 'curve'"),
    ],
)
def test_a_bad_file_is_one_line_and_exit_code_2(place: str, told: str, folder: Path) -> None:
    for done in (run("render", "hits.json", "--place", place),
                 run("batch", "rows.jsonl", "out.jsonl", "-j", "0", "--place", place)):
        assert done.exit_code == 2
        assert told in done.stderr
        assert done.stderr.count("\n") == 1
