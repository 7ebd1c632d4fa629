"""How `promptpack batch` ends: a reader that goes away, inputs of another kind, finished runs, parts too large."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import promptpack.batch.formats as formats
from promptpack.cli import main

REPO = Path(__file__).parents[2]
LINES = [
    "oops" if n % 32 == 5 else json.dumps({"id": f"q{n}", "question": "How long?", "sources": [f"Free for {n} days."]})
    for n in range(1500)
]
DATA = "".join(one + "\n" for one in LINES).encode()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "in.jsonl").write_bytes(DATA)
    (tmp_path / "few.jsonl").write_text("\n".join(LINES[:8]) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(main, ["batch", *arguments, "-j", "0", "-c", "words"], input=stdin)


@pytest.mark.skipif(sys.platform == "win32", reason="pipes are those of POSIX")
@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_reader_that_goes_away_stops_the_run_in_order(folder: Path, workers: str) -> None:
    """If this fails, `| head` calls a part of the batch all of it, and the bad rows up to there are lost."""
    with (folder / "in.jsonl").open("rb") as given:
        process = subprocess.Popen(
            [sys.executable, "-m", "promptpack", "batch", "-", "-", "-f", "openai-batch", "-m", "gpt-4o", "-c", "words",
             "--labels", "maps.jsonl", "-j", workers], stdin=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(REPO)},
        )
        assert process.stdout is not None
        assert process.stderr is not None
        got = process.stdout.read(10)
        process.stdout.close()
        said = process.stderr.read().decode()
        process.stderr.close()
        assert process.wait(60) == 1
    assert got == b'{"custom_i'
    assert said.splitlines()[0].endswith("standard output: its reader went away")
    assert len(said.splitlines()) == 1
    assert sorted(one.name for one in folder.iterdir()) == [
        "few.jsonl", "in.jsonl", "maps.jsonl", "stdout.dead.jsonl"]
    assert json.loads((folder / "stdout.dead.jsonl").read_bytes().splitlines()[0])["line"] == 6
    assert json.loads((folder / "maps.jsonl").read_bytes().splitlines()[0])["id"] == "q0"


def test_a_stream_that_stops_leaves_nothing_half_done(folder: Path) -> None:
    """If this fails, files named .part stay beside a run that can never be gone on with."""
    (folder / "cut.jsonl.gz").write_bytes(gzip.compress(os.urandom(5000).hex().encode() + b"\n" + DATA)[:-500])
    assert run("cut.jsonl.gz", "-", "-q").exit_code == 1
    assert not list(folder.glob("*.part"))
    assert (folder / "stdout.dead.jsonl").exists()


@pytest.mark.parametrize(("start", "said"), [
    (gzip.compress(DATA), "gzip -dc"), (b"\x28\xb5\x2f\xfd and more", "zstd -dc"),
    (b"PAR1\0\n", "give the file by its"),
], ids=["gzip", "zstd", "parquet"])
def test_an_input_that_is_no_lines_is_told_at_once(folder: Path, start: bytes, said: str) -> None:
    """If this fails, an archive in a pipe becomes hundreds of dead letters, each with a piece of binary data."""
    before = sorted(folder.iterdir())
    done = run("-", "out.jsonl", stdin=start)
    assert (done.exit_code, said in done.stderr) == (2, True), done.stderr
    assert done.stderr.startswith("Error: input: standard input is ")
    assert sorted(folder.iterdir()) == before
    (folder / "named.jsonl").write_bytes(start)
    done = run("named.jsonl", "out.jsonl")
    assert done.exit_code == 2
    assert "name it so that it ends in ." in done.stderr
    assert not list(folder.glob("out*"))
    done = CliRunner().invoke(main, ["batch-verify", "-", "-p", "empty.jsonl"], input=start)
    assert done.exit_code == 2
    (folder / "empty.jsonl").write_bytes(b"")
    done = CliRunner().invoke(main, ["batch-verify", "-", "-p", "empty.jsonl"], input=start)
    assert (done.exit_code, done.stderr.startswith("Error: results: standard input is ")) == (2, True)


def test_what_nobody_knows_is_not_called_complete(folder: Path) -> None:
    """If this fails, any file of that name is taken for the finished batch; or a lock that was left stays for good."""
    (folder / "out.jsonl").write_text("junk\n", encoding="utf-8")
    (folder / "out.jsonl.lock").write_bytes(b"")
    done = run("few.jsonl", "out.jsonl", "--resume")
    assert (done.exit_code, done.stderr) == (0, (
        "out.jsonl exists and no journal tells of an unfinished run: nothing is done; its content was not checked\n"))
    assert sorted(one.name for one in folder.iterdir()) == ["few.jsonl", "in.jsonl", "out.jsonl"]


@pytest.mark.parametrize("more", [(), ("--resume",), ("--restart",)])
def test_a_lock_that_was_left_is_removed_at_the_end(folder: Path, more: tuple[str, ...]) -> None:
    """If this fails, each run that was killed in its last moment leaves a file for good."""
    (folder / "out.jsonl.lock").write_bytes(b"")
    (folder / "made").mkdir()
    (folder / "made" / ".lock").write_bytes(b"")
    for out in ("out.jsonl", "made/"):
        for _ in range(2):
            assert run("few.jsonl", out, *more).exit_code == 3
    assert not list(folder.rglob("*.lock"))


def test_bad_rows_of_a_folder_are_named(folder: Path) -> None:
    """If this fails, exit code 3 of a folder does not say where the reasons are."""
    done = run("few.jsonl", "made/")
    assert done.exit_code == 3
    assert done.stderr.splitlines()[-1] == "bad rows, with the reason of each: made/part-000000.dead.jsonl"
    done = run("in.jsonl", "many/", "--shard-size", "20000")
    count = len(list((folder / "many").glob("*.dead.jsonl")))
    assert count > 2
    assert done.stderr.splitlines()[-1] == f"bad rows, with the reason of each: many/part-*.dead.jsonl ({count} files)"
    done = run("few.jsonl", "skipped/", "--on-error", "skip")
    assert (done.exit_code, "bad rows" in done.stderr) == (3, False)


def test_each_part_that_is_too_large_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, who batched a folder hears of a part that is too large from the provider."""
    from dataclasses import replace

    known: Any = formats.FORMATS
    monkeypatch.setitem(known, "openai-batch", replace(known["openai-batch"], rows=300))
    command = ("in.jsonl", "many/", "--shard-size", "50000", "-f", "openai-batch", "-m", "gpt-4o")
    for _ in range(2):  # the second finds all done
        told = [one for one in run(*command).stderr.splitlines() if one.startswith("Warning")]
        parts = [one for one in sorted((folder / "many").glob("part-??????.jsonl"))
                 if len(one.read_bytes().splitlines()) > 300]
        assert 0 < len(parts) < len(list((folder / "many").glob("part-??????.jsonl")))
        assert [one.split(": ")[1] for one in told] == [f"many/{one.name}" for one in parts]
        assert all("a file of openai-batch holds at most 300 requests" in one for one in told)
    assert "Warning" not in run(*command, "-q").stderr
