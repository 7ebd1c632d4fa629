"""What `promptpack batch` says: flags as they were typed, columns, finished runs, and a disk that is full."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from promptpack.cli import main

REPO = Path(__file__).parents[2]
ROWS: list[dict[str, Any]] = [
    {"id": f"q{n}", "question": "How long?", "sources": [f"Returns are free for {n} days."]} for n in range(60)
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(one) + "\n" for one in ROWS), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["batch", *arguments, "-j", "0", "-q"])


@pytest.mark.parametrize(("arguments", "said"), [
    (("--max-row-bytes", "0"), "--max-row-bytes: expected a number of bytes from 1, got 0"),
    (("--labels", "x"), "--labels: the format payload holds the label maps itself"),
    (("--on-error", "skip", "--dead", "x"), "--dead: --on-error is skip, which writes no dead letters, got 'x'"),
    (("--resume", "--restart"), "--resume, --restart: only one of the two"),
    (("-f", "openai-batch"), "--model: the format openai-batch needs the name of a model"),
    (("-f", "parquet"), "--format: a file whose name ends in .parquet"),
    (("--min-score", "nan"), "--min-score: expected a finite number"),
    (("--price", "-1"), "--price: expected a number of 0 or more"), (("-w", "0"), "--window: expected 1 to"),
    (("--place", "curve:no"), "--place: 'no' cannot be read"), (("--column", "x=y"), "--column: unknown value 'x'"),
    (("--column", "question=sources"), "--column: 'sources' is named for two parts"),
    (("-t", "no"), "--template: unknown set 'no'."),
])
def test_errors_name_the_flag_that_was_typed(folder: Path, arguments: tuple[str, ...], said: str) -> None:
    done = run("in.jsonl", "out.jsonl", *arguments)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"Error: {said}")
    assert "pathlib" not in done.stderr


@pytest.mark.parametrize(("arguments", "said"), [
    (("--shard-size", "0"), "--shard-size: expected a number of bytes from 1, got 0"),
    (("--labels", "x"), "--labels: a folder has such a file"), (("--split",), "--split: a folder has a file for each"),
])
def test_errors_of_a_folder_name_the_flag_that_was_typed(folder: Path, arguments: tuple[str, ...], said: str) -> None:
    done = run("in.jsonl", "out/", *arguments)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"Error: {said}")


def test_errors_of_batch_verify_name_the_flag_that_was_typed(folder: Path) -> None:
    done = CliRunner().invoke(main, ["batch-verify", "in.jsonl", "-p", "in.jsonl", "-o", "in.jsonl"])
    assert done.exit_code == 2
    assert done.stderr.startswith("Error: --output: in.jsonl is read, too")


def test_a_column_that_is_not_there(folder: Path) -> None:
    done = run("in.jsonl", "out.jsonl", "--column", "question=qestion")
    assert done.exit_code == 2
    assert done.stderr == (
        "Error: --column: unknown value 'qestion'; did you mean 'question'? Known: id, question, sources\n"
    )
    assert not list(folder.glob("out*"))
    rows = [*ROWS, {**ROWS[0], "id": "long", "note": "x" * 1_000_000}, {**ROWS[0], "id": "last", "turns": []}]
    (folder / "in.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    done = run("in.jsonl", "out.jsonl", "--column", "history=turns")
    assert done.exit_code == 0
    assert done.stderr == "in.jsonl: columns that are named (--column) and that none of the first rows has: 'turns'\n"


def test_a_column_that_is_not_in_parquet(folder: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="the extra batch is not installed")
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(ROWS), folder / "in.parquet")
    done = run("in.parquet", "out.jsonl", "--column", "id=key")
    assert (done.exit_code, done.stderr) == (2, "Error: --column: unknown value 'key'. Known: id, question, sources\n")


@pytest.mark.parametrize("output", ["out.jsonl", "out.jsonl with shards", "out/"])
def test_a_finished_run_that_skipped_rows_says_so_again(
    folder: Path, output: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, a script that goes on until the exit code is 0 takes a batch with lost rows for a whole one."""
    more: tuple[str, ...] = ()
    if output.endswith("shards"):  # one file from shards, without a cluster
        from functools import partial

        from promptpack.batch.divided import run_divided

        monkeypatch.setattr("promptpack.cli_batch._divided", lambda *_: partial(run_divided, size=2000))
    target = output.split()[0]
    with (folder / "in.jsonl").open("a", encoding="utf-8") as file:
        file.write("oops\n{}\n")
    for _ in range(2):  # also over what is there
        assert run("in.jsonl", target, "--on-error", "skip", "--restart", *more).exit_code == 3
    assert not list(folder.glob("*dead*"))
    for _ in range(2):
        done = run("in.jsonl", target, "--on-error", "skip", "--resume")
        assert done.exit_code == 3
        if target == "out.jsonl":
            assert done.stderr == (
                "out.jsonl is complete, but for 2 rows that failed; there is nothing to go on with\n"
            )
    if target == "out.jsonl":
        assert run("in.jsonl", target, "--on-error", "skip").exit_code == 3  # no unfinished run is in its way
        (folder / "in.jsonl").write_text(json.dumps(ROWS[0]) + "\n", encoding="utf-8")
        assert run("in.jsonl", target, "--on-error", "skip").exit_code == 0
        assert sorted(one.name for one in folder.iterdir()) == ["in.jsonl", "out.jsonl"]
        assert run("in.jsonl", target, "--on-error", "skip", "--resume").exit_code == 0


def test_an_output_that_was_removed_is_made_anew(folder: Path) -> None:
    with (folder / "in.jsonl").open("a", encoding="utf-8") as file:
        file.write("oops\n")
    assert run("in.jsonl", "out.jsonl", "--on-error", "skip").exit_code == 3
    whole = (folder / "out.jsonl").read_bytes()
    (folder / "out.jsonl").unlink()
    assert run("in.jsonl", "out.jsonl", "--on-error", "skip", "--resume").exit_code == 3
    assert (folder / "out.jsonl").read_bytes() == whole


@pytest.mark.skipif(sys.platform == "win32", reason="there is no limit to the size of files")
def test_a_full_disk_stops_the_joining_which_goes_on(folder: Path) -> None:
    def command(out: str, most: int = 2**40) -> subprocess.CompletedProcess[str]:
        script = (
            f"import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, ({most}, {most}))\n"
            "from functools import partial\nimport promptpack.cli_batch as found\n"
            "from promptpack.batch.divided import run_divided\n"
            "found._divided = lambda *_: partial(run_divided, size=2000)\n"
            "from promptpack.cli import main\nmain(sys.argv[1:])"
        )
        return subprocess.run(
            [sys.executable, "-c", script, "batch", "in.jsonl", out, "-j", "0", "-q"], capture_output=True, text=True,
            check=False, env={**os.environ, "PYTHONPATH": str(REPO)},
        )

    assert command("whole.jsonl").returncode == 0
    whole = (folder / "whole.jsonl").read_bytes()
    done = command("out.jsonl", most=len(whole) // 2)
    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("Error: stopped after ")
    assert done.stderr.endswith("File too large; the same command goes on\n")
    assert list((folder / "out.jsonl.parts").glob("*.done"))
    assert command("out.jsonl").returncode == 0
    assert (folder / "out.jsonl").read_bytes() == whole
    assert not list(folder.glob("out.jsonl.*"))
