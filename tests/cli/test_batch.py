"""`promptpack batch` and `batch-verify`: files and streams, exit codes, what is said and where."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from promptpack.cli import main

REPO = Path(__file__).parents[2]
ROWS = [
    {"id": "q1", "question": "How long?", "sources": [{"id": "a", "text": "Returns are free for 30 days."}]},
    {"id": "q2", "question": "Why?", "sources": ["Because."]},
]


def run(*arguments: str, cwd: Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "promptpack", *arguments], cwd=cwd, input=stdin, capture_output=True, check=False,
        env={**os.environ, "PYTHONPATH": str(REPO)},
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(one) + "\n" for one in ROWS))
    return tmp_path


def test_a_batch_of_lines(folder: Path) -> None:
    done = run("batch", "in.jsonl", "out.jsonl", "-j", "1", "--price", "2.5", cwd=folder)
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"2 rows: 2 payloads, 0 failed" in done.stderr
    assert b"estimated cost" in done.stderr
    assert b"\x1b" not in done.stderr  # no progress where nobody looks
    first, _ = (json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines())
    assert first["budget"]["window"] == 8192
    assert sorted(one.name for one in folder.iterdir()) == ["in.jsonl", "out.jsonl"]


def test_streams_equal_files(folder: Path) -> None:
    run("batch", "in.jsonl", "out.jsonl", "-j", "0", "-q", cwd=folder)
    done = run("batch", "-", "-", "-j", "0", "-q", cwd=folder, stdin=(folder / "in.jsonl").read_bytes())
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == (folder / "out.jsonl").read_bytes()


def test_bad_rows_give_3_and_raising_gives_1(folder: Path) -> None:
    (folder / "in.jsonl").write_bytes((folder / "in.jsonl").read_bytes() + b"oops\n")
    done = run("batch", "in.jsonl", "out.jsonl", "-j", "0", cwd=folder)
    assert done.returncode == 3
    assert b"bad rows, with the reason of each: out.dead.jsonl" in done.stderr
    assert json.loads((folder / "out.dead.jsonl").read_text())["line"] == 3
    done = run("batch", "in.jsonl", "-", "-j", "0", cwd=folder)
    assert (folder / "stdout.dead.jsonl").exists()
    assert done.stderr.rstrip().endswith(b": stdout.dead.jsonl")
    done = run("batch", "in.jsonl", "-", "-j", "0", "--on-error", "skip", cwd=folder)
    assert (done.returncode, done.stdout.count(b"\n")) == (3, 2)
    done = run("batch", "in.jsonl", "out.jsonl", "-j", "0", "--on-error", "raise", cwd=folder)
    assert done.returncode == 1
    assert b"row 3" in done.stderr
    assert b"--resume" in done.stderr
    assert len((folder / "out.jsonl").read_bytes().splitlines()) == 2  # that of the run before
    done = run("batch", "in.jsonl", "out.jsonl", "-j", "0", "--resume", cwd=folder)
    assert done.returncode == 3
    done = run("batch", "in.jsonl", "out.jsonl", "-j", "0", "--resume", cwd=folder)
    assert done.returncode == 3
    assert b"its content was not checked" in done.stderr


@pytest.mark.parametrize("arguments", [
    ("no.jsonl", "out.jsonl"), ("in.jsonl", "in.jsonl"), ("in.jsonl", "out.jsonl", "-f", "openai-batch"),
    ("in.jsonl", "out.jsonl", "--column", "query"), ("in.jsonl", "out.jsonl", "--column", "qestion=query"),
    ("in.jsonl", "out.jsonl", "-j", "-3"), ("in.jsonl", "out.jsonl", "--price", "nan"),
    ("in.jsonl", "out.jsonl", "--resume", "--restart"), ("in.jsonl", "out.jsonl", "-w", "0"),
    ("in.jsonl", "out.jsonl", "--column", "id=a", "--column", "id=b"),
    ("in.jsonl", "out.jsonl", "--on-error", "skip", "--dead", "dead.jsonl"),
    ("in.jsonl", "out.jsonl", "-f", "nothing"), ("in.jsonl", "out.jsonl", "--escape", "spotlight"),
])
def test_bad_usage_gives_2(folder: Path, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())
    done = CliRunner().invoke(main, ["batch", *arguments])
    assert done.exit_code == 2, done.output
    assert isinstance(done.exception, SystemExit)
    assert sorted(folder.iterdir()) == before
    assert not (folder / "out.jsonl").exists()


def test_there_and_back(folder: Path) -> None:
    done = run("batch", "in.jsonl", "out.jsonl", "-f", "anthropic-batch", "-m", "claude-sonnet-4-5", "-j", "0", "-q",
               "--labels", "labels.jsonl", "--select", "prefix", "--fields", "auto", "-s", "You sell lamps.",
               cwd=folder)
    assert done.returncode == 0, done.stderr
    line = json.loads((folder / "out.jsonl").read_text().splitlines()[0])
    assert line["params"]["model"] == "claude-sonnet-4-5"
    assert line["params"]["system"].startswith("You sell lamps.")
    results = "".join(
        json.dumps({"custom_id": name, "result": {"type": "succeeded", "message": {
            "role": "assistant", "content": [{"type": "text", "text": text}]}}}) + "\n"
        for name, text in (("q2", "It is so [S7]."), ("q1", "For 30 days [S1].")))
    done = run("batch-verify", "-", "--payloads", "labels.jsonl", cwd=folder, stdin=results.encode())
    assert done.returncode == 3
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(one["id"], one["status"], one["unknown"]) for one in told] == [("q2", "wrong", ["S7"]), ("q1", "ok", [])]
    assert b"2 results: 1 ok, 1 not ok" in done.stderr
    (folder / "results.jsonl").write_text(results.replace("S7", "S1"))
    done = run("batch-verify", "results.jsonl", "-p", "labels.jsonl", "-o", "checked.jsonl", "-q", cwd=folder)
    assert (done.returncode, done.stderr) == (0, b"")
    assert len((folder / "checked.jsonl").read_text().splitlines()) == 2
    done = run("batch-verify", "results.jsonl", "-p", "out.jsonl", cwd=folder)
    assert done.returncode == 2
    assert b"expected a label map" in done.stderr


@pytest.mark.parametrize(("output", "more"), [
    ("results.jsonl", ()), ("./labels.jsonl", ()), ("checked.jsonl.gz", ()), ("checked.parquet", ()),
    ("checked.jsonl", ("--min-support", "0.5")), ("no/checked.jsonl", ()),
])
def test_checking_never_writes_over_what_it_reads_and_leaves_nothing(
    folder: Path, output: str, more: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    (folder / "labels.jsonl").write_text('{"custom_id": "q1", "id": "q1", "labels": {"S1": ["a"]}}\n')
    (folder / "results.jsonl").write_text('{"custom_id": "q1", "answer": "For 30 days [S1]."}\n')
    before = {one.name: one.read_bytes() for one in folder.iterdir()}
    done = CliRunner().invoke(main, ["batch-verify", "results.jsonl", "-p", "labels.jsonl", "-o", output, *more])
    assert done.exit_code == 2, done.output
    assert {one.name: one.read_bytes() for one in folder.iterdir()} == before


def test_a_closed_pipe_ends_it_quietly(folder: Path) -> None:
    (folder / "in.jsonl").write_bytes((folder / "in.jsonl").read_bytes() * 500)
    done = subprocess.run(
        f"{sys.executable} -m promptpack batch in.jsonl - -j 0 -c words -q --on-error skip | head -1", shell=True,
        cwd=folder, capture_output=True, check=False, env={**os.environ, "PYTHONPATH": str(REPO)},
    )
    assert done.stdout.count(b"\n") == 1
    assert b"Traceback" not in done.stderr


def test_folders_go_in_and_out_and_the_same_command_goes_on(folder: Path) -> None:
    """A folder is divided; rows of several files keep names of their own, and a finished folder is not made again."""
    (folder / "many").mkdir()
    for name in ("a", "b"):
        given = [{**one, "id": f"{name}-{one['id']}"} for one in ROWS]
        (folder / "many" / f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in given) + "oops\n" * 2)
    done = run("batch", "many", "out.jsonl", "-j", "0", cwd=folder)
    assert done.returncode == 3
    assert b"8 rows: 4 payloads, 4 failed" in done.stderr
    ids = [json.loads(line)["id"] for line in (folder / "out.jsonl").read_text().splitlines()]
    assert ids == ["a-q1", "a-q2", "b-q1", "b-q2"]
    dead = [json.loads(line) for line in (folder / "out.dead.jsonl").read_text().splitlines()]
    assert [(one["file"], one["line"]) for one in dead] == [
        ("a.jsonl", 3), ("a.jsonl", 4), ("b.jsonl", 3), ("b.jsonl", 4)]
    for _ in range(2):
        done = run("batch", "many", "made/", "-j", "0", "--shard-size", "100", "--resume", cwd=folder)
        assert done.returncode == 3
        assert b"8 rows: 4 payloads, 4 failed" in done.stderr
    lines = [line for one in sorted((folder / "made").glob("part-*.jsonl")) if "dead" not in one.name
             for line in one.read_text().splitlines()]
    assert lines == (folder / "out.jsonl").read_text().splitlines()
    done = run("batch", "many", "out2.jsonl", "-j", "0", "--on-error", "raise", cwd=folder)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        1, (b"Error: a.jsonl, row 3: row: broken JSON at column 1: Expecting value; the same command goes on, "
            b"and past such a row with --on-error dead-letter"))


@pytest.mark.parametrize("arguments", [
    ("in.jsonl", "out.jsonl", "--ray-address", "auto"), ("in.jsonl", "out.jsonl", "--shard-size", "9"),
    ("in.jsonl", "out/", "--shard-size", "0"), ("in.jsonl", "-", "--engine", "ray"),
    ("in.jsonl", "out.jsonl", "--engine", "ray", "-j", "0"), ("in.jsonl", "out.jsonl", "--engine", "spark"),
])
def test_options_of_an_engine_that_do_not_fit_give_2(
    folder: Path, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())
    done = CliRunner().invoke(main, ["batch", *arguments])
    assert done.exit_code == 2, done.output
    assert isinstance(done.exception, SystemExit)
    assert sorted(folder.iterdir()) == before
