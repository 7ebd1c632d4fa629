"""Files within the providers' limits: the true numbers at the boundary, sizes, names, resuming, labels, large rows."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from processes import killed_at

from promptpack.batch import Job, Options, run_batch, run_divided
from promptpack.batch.formats import FORMATS
from promptpack.batch.job import Done, Made
from promptpack.batch.journal import State
from promptpack.batch.outputs import Outputs, Plan, complete
from promptpack.batch.tally import Tally
from promptpack.builder import PromptBuilder
from promptpack.window import Window

BUILDER = PromptBuilder(Window(2000, answer=100), counter="words")
LIMITED = [name for name, one in FORMATS.items() if one.rows or one.bytes]
NONE = Tally(0, 0, 0, (), 0)
# What the providers' documentation says, in November 2026: requests and bytes of a file, or of a body.
DOCUMENTED = {
    "openai-batch": (50_000, 200_000_000), "anthropic-batch": (100_000, 256_000_000),
    "gemini-batch": (None, 2_000_000_000), "chat-finetune": (None, 512_000_000), "vllm-batch": (None, None),
    "payload": (None, None), "parquet": (None, None),
}


def chunks(lines: Sequence[bytes]) -> Iterator[Done]:
    """What workers make of chunks of 32 rows."""
    for at in range(0, len(lines), 32):
        some = lines[at:at + 32]
        yield Done(tuple(Made(0, "", b"", len(one), NONE) for one in some), b"".join(some))


def written(folder: Path, lines: Sequence[bytes], limits: tuple[int | None, int | None]) -> list[Path]:
    plan = Plan(folder / "out.jsonl", split=limits)
    outputs = Outputs(plan, State())
    for done in chunks(lines):
        outputs.write(done, [])
    outputs.sync()
    outputs.close()
    complete(plan, State(sizes=dict(outputs.sizes), parts=[list(one) for one in outputs.parts]))
    found = sorted(folder.glob("out*"))
    assert [one.name for one in found] == [f"out-{number:05d}.jsonl" for number in range(1, len(found) + 1)]
    assert b"".join(one.read_bytes() for one in found) == b"".join(lines)
    return found


def given(folder: Path, count: int, **more: Any) -> Path:
    made = [
        {"id": f"q{i}" if i % 3 else f"doc/{i}", "question": f"What of {i}?", "answer": f"Text {i} [S1].",
         "sources": [{"id": f"d{i}-{j}", "text": f"Text {i} {j}. " * (1 + i % 4)} for j in range(3)], **more}
        for i in range(count)
    ]
    (folder / "in.jsonl").write_text("".join(json.dumps(one) + "\n" for one in made))
    return folder / "in.jsonl"


def job(form: str) -> Job:
    kind = FORMATS[form]
    return Job(BUILDER, form, model="m" if kind.model else None)


def read(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def name_of(line: dict[str, Any]) -> str:
    return str(line.get("custom_id") or line.get("key"))


def lowered(monkeypatch: pytest.MonkeyPatch, form: str, rows: int | None, size: int | None) -> None:
    monkeypatch.setitem(FORMATS, form, replace(FORMATS[form], rows=rows, bytes=size))  # type: ignore[index]


def test_every_format_keeps_to_the_documented_limits() -> None:
    """A file that is one request or one byte too large is refused as a whole."""
    assert set(FORMATS) == set(DOCUMENTED)
    for name, (rows, size) in DOCUMENTED.items():
        found = FORMATS[name]
        assert found.rows == rows, name
        assert (found.bytes is None) == (size is None), name
        assert found.bytes is None or size is None or size - 100 < found.bytes <= size, name


def test_the_lines_of_a_file_fit_the_body_that_anthropic_takes() -> None:
    """Its limit is of the body, in which commas stand for the line feeds, and an object around the list."""
    lines = [b'{"custom_id":"a","params":{}}'] * 10
    size = sum(len(one) + 1 for one in lines)
    body = len(b'{"requests":[' + b",".join(lines) + b"]}")
    assert body - size <= 256_000_000 - (FORMATS["anthropic-batch"].bytes or 0)


@pytest.mark.parametrize("form", [name for name, one in FORMATS.items() if one.rows])
def test_the_number_of_requests_at_the_true_limit(tmp_path: Path, form: str) -> None:
    """One request too many makes a second file, not one fewer."""
    rows = FORMATS[form].rows or 0
    for count, expected in ((rows, [rows]), (rows + 1, [rows, 1])):
        folder = tmp_path / str(count)
        folder.mkdir()
        parts = written(folder, [b"{}\n"] * count, (rows, FORMATS[form].bytes))
        assert [one.read_bytes().count(b"\n") for one in parts] == expected


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_the_size_at_the_limit(tmp_path: Path, more: int) -> None:
    """A file may have just the most bytes."""
    lines = [b"x" * 99 + b"\n"] * 10
    parts = written(tmp_path, lines, (None, 500 + more))
    assert [one.stat().st_size for one in parts] == ([400, 400, 200] if more < 0 else [500, 500])


@pytest.mark.parametrize("form", LIMITED)
def test_files_of_every_format_are_as_large_as_may_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """Nothing is lost or moved, no file passes the limit, and none could have taken the next request, too."""
    source = given(tmp_path, 60)
    run_batch(source, tmp_path / "whole.jsonl", job(form), Options(workers=0))
    whole = (tmp_path / "whole.jsonl").read_bytes()
    most = 5 * max(map(len, whole.splitlines(keepends=True)))
    lowered(monkeypatch, form, 9, most)
    run_batch(source, tmp_path / "out.jsonl", job(form), Options(workers=0, split=True))
    parts = [one.read_bytes().splitlines(keepends=True) for one in sorted(tmp_path.glob("out-*.jsonl"))]
    assert len(parts) > 6
    assert b"".join(line for part in parts for line in part) == whole
    for part, after in zip(parts, [*parts[1:], [b"x" * most]], strict=True):
        size = sum(map(len, part))
        assert len(part) <= 9
        assert size <= most
        assert len(part) == 9 or size + len(after[0]) > most
    labels = read(tmp_path / "out.labels.jsonl")
    assert labels == read(tmp_path / "whole.labels.jsonl")
    if form != "chat-finetune":
        assert [one["custom_id"] for one in labels] == [name_of(json.loads(line)) for part in parts for line in part]


@pytest.mark.parametrize("form", LIMITED)
def test_a_request_larger_than_a_whole_file_is_a_bad_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """It could be in no file; the others are."""
    lowered(monkeypatch, form, None, 1500)
    source = given(tmp_path, 4)
    lines = source.read_text().splitlines()
    large = json.loads(lines[2])
    large["question"] = "Why? " * 300
    lines[2] = json.dumps(large)
    source.write_text("\n".join(lines))
    for split in (False, True):
        (tmp_path / str(split)).mkdir()
        out = tmp_path / str(split) / "out.jsonl"
        summary = run_batch(source, out, job(form), Options(workers=0, split=split))
        assert (summary.rows, summary.failures) == (4, 1)
        (dead,) = read(out.with_name("out.dead.jsonl"))
        assert (dead["line"], dead["id"]) == (3, "q2")
        assert dead["error"]["message"].endswith(f"bytes; a file of {form} holds 1,500")
        assert len(read(out.with_name("out.labels.jsonl"))) == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Python 3.12: forking beside threads
@pytest.mark.parametrize("form", LIMITED)
def test_a_run_that_was_killed_goes_on_in_the_middle_of_its_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """The same parts byte for byte, whether it was killed while writing the first, a later one, or at the end."""
    lowered(monkeypatch, form, 20, None)
    source = given(tmp_path, 90)
    (tmp_path / "plain").mkdir()
    run_batch(source, tmp_path / "plain" / "out.jsonl", job(form), Options(workers=0, split=True))
    expected = {one.name: one.read_bytes() for one in (tmp_path / "plain").iterdir()}
    assert [name for name in sorted(expected) if "-" in name] == [f"out-{n:05d}.jsonl" for n in range(1, 6)]
    step, alive = 1, False
    while not alive:
        folder = tmp_path / f"killed-{step}"
        folder.mkdir()
        alive = killed_at(step, lambda target: run_batch(
            source, target, job(form), Options(workers=0, split=True, every=0)), folder / "out.jsonl")
        if not (alive or ((folder / "out-00001.jsonl").exists() and not (folder / "out.jsonl.journal").exists())):
            run_batch(source, folder / "out.jsonl", job(form), Options(workers=0, split=True, resume=True))
        assert {one.name: one.read_bytes() for one in folder.iterdir() if one.suffix == ".jsonl"} == expected, step
        step += 11


@pytest.mark.parametrize("form", LIMITED)
def test_a_divided_job_makes_the_same_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    """Shards end anywhere; the files that they are joined into end where the limits say."""
    lowered(monkeypatch, form, 7, 4000)
    source = given(tmp_path, 50)
    made = []
    for name in ("local", "divided"):
        (tmp_path / name).mkdir()
        out = tmp_path / name / "out.jsonl"
        if name == "local":
            run_batch(source, out, job(form), Options(workers=0, split=True))
        else:
            run_divided(source, out, job(form), Options(workers=0, split=True), size=3000)
        made.append({one.name: one.read_bytes() for one in (tmp_path / name).iterdir()})
    assert made[0] == made[1]
    assert len(made[0]) > 8


def test_parts_are_found_in_their_order_whatever_their_number(tmp_path: Path) -> None:
    """A hundred thousand parts have a digit more."""
    plan = Plan(tmp_path / "out.jsonl", split=(1, None))
    names = [plan.part(number) for number in (2, 99_999, 100_000)]
    for one in [*names, tmp_path / "out-1.jsonl", tmp_path / "out-00001.jsonl.part"]:
        one.write_text("")
    assert plan.older() == names


def test_a_file_that_is_too_large_without_parts_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who forgot --split hears of it here, and not from the provider."""
    from click.testing import CliRunner

    from promptpack.cli import main

    source = given(tmp_path, 10)
    command = ["batch", str(source), str(tmp_path / "out.jsonl"), "-f", "openai-batch", "-m", "gpt-4o", "-j", "0"]
    done = CliRunner().invoke(main, command)
    assert (done.exit_code, "Warning" in done.stderr) == (0, False)
    size = (tmp_path / "out.jsonl").stat().st_size
    lowered(monkeypatch, "openai-batch", 9, size)
    done = CliRunner().invoke(main, command)
    assert done.stderr.splitlines()[-1] == (
        f"Warning: a file of openai-batch holds at most 9 requests in {size:,} bytes, and this one 10 in {size:,}; "
        "--split writes several")
    lowered(monkeypatch, "openai-batch", None, size - 1)
    assert f"at most {size - 1:,} bytes" in CliRunner().invoke(main, command).stderr
    assert "Warning" not in CliRunner().invoke(main, [*command, "--split"]).stderr
