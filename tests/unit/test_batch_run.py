"""Runs over files: every kind of file, resuming after a crash at every step, dead letters, parts, options."""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from processes import killed_at

from promptpack.batch import Job, Options, RowError, Shard, StoppedError, Summary, pack_shard, run_batch, shards
from promptpack.batch.chunks import read_lines
from promptpack.batch.codecs import codec_of, open_lines
from promptpack.batch.formats import FORMATS
from promptpack.batch.outputs import Lock
from promptpack.batch.rows import Failure
from promptpack.builder import PromptBuilder
from promptpack.errors import OptionError
from promptpack.payload import Payload

BUILDER = PromptBuilder(2000, counter="words")
NOW = Options(workers=0)
REPO = Path(__file__).parents[2]


def rows(n: int) -> list[dict[str, Any]]:
    return [
        {"id": f"q{i}" if i % 3 else f"doc/{i}", "question": f"What of {i}?",
         "sources": [{"id": f"d{i}-{j}", "text": f"Text {i} {j}.", "metadata": {"title": "T", "n": j or "none"}}
                     for j in range(4)]}
        for i in range(n)
    ]


def lines(given: list[Any]) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in given)


def read(path: Path) -> list[Any]:
    with open_lines(str(path)) as file:
        return [json.loads(line) for line in file]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    given = rows(100)
    given[40] = {"id": "bad"}
    given[50] = given[1]
    path = tmp_path / "in.jsonl"
    path.write_bytes(lines(given))
    return path


def test_payload_lines_are_payloads(source: Path, tmp_path: Path) -> None:
    """`promptpack verify --payload` and `Payload.from_dict` take a line as it is."""
    summary = run_batch(source, tmp_path / "out.jsonl", Job(BUILDER), NOW)
    made = read(tmp_path / "out.jsonl")
    assert (len(made), summary.rows, summary.failures) == (98, 100, 2)
    row = rows(100)[7]
    assert Payload.from_dict(made[7]) == BUILDER.with_question(row["question"]).add_sources(row["sources"]).render()
    assert (made[7]["id"], made[6]["custom_id"][:3]) == ("q7", "pp-")


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "jsonl.zst"])
def test_compressed_files_go_in_and_out(source: Path, tmp_path: Path, ending: str) -> None:
    if ending.endswith("zst"):
        pytest.importorskip("zstandard", reason="there is no package for Zstandard")
    run_batch(source, tmp_path / f"out.{ending}", Job(BUILDER), NOW)
    made = read(tmp_path / f"out.{ending}")
    assert len(made) == 98
    (tmp_path / f"again.{ending}").write_bytes(
        gzip.compress(source.read_bytes()) if ending.endswith("gz") else _packed(source.read_bytes(), ending))
    run_batch(tmp_path / f"again.{ending}", tmp_path / "plain.jsonl", Job(BUILDER), NOW)
    assert read(tmp_path / "plain.jsonl") == made
    assert codec_of(f"x.{ending}") in ("plain", "gzip", "zstd")


def _packed(data: bytes, ending: str) -> bytes:
    if not ending.endswith("zst"):
        return data
    import zstandard

    half = len(data) // 2
    return zstandard.ZstdCompressor().compress(data[:half]) + zstandard.ZstdCompressor().compress(data[half:])


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz"])
def test_an_empty_input_gives_an_empty_output(tmp_path: Path, name: str) -> None:
    (tmp_path / "in.jsonl").write_bytes(b"")
    assert run_batch(tmp_path / "in.jsonl", tmp_path / name, Job(BUILDER), NOW) == Summary()
    assert read(tmp_path / name) == []
    assert bool((tmp_path / name).read_bytes()) is name.endswith("gz")  # zcat takes no file of nothing


# Where the steps begin that are tried for each kind: together they try all of the first ones.
CRASHES_FROM = {"lines": 0, "gzip": 1, "parts": 2, "parquet": 0}
# Each job is run up to a step that touches the disk, killed there, and resumed.
CRASHES = {
    "lines": ("out.jsonl", Job(BUILDER), {}),
    "gzip": ("out.jsonl.gz", Job(BUILDER, "vllm-batch", model="m"), {}),
    "parts": ("out.jsonl", Job(BUILDER, "openai-batch", model="m"), {"split": True}),
    "parquet": ("out.parquet", Job(BUILDER, "parquet"), {}),
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Python 3.12: forking beside threads
@pytest.mark.parametrize("kind", CRASHES)
def test_killed_at_any_step_a_run_resumes_to_the_same_bytes(
    source: Path, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journal must never promise more than the files hold, whatever the moment at which the power goes."""
    name, job, more = CRASHES[kind]
    if kind == "parquet":
        pytest.importorskip("pyarrow", reason="the extra batch is not installed")
    if more:
        monkeypatch.setitem(FORMATS, "openai-batch", _with_limits(FORMATS["openai-batch"], 30))  # type: ignore[index]
    (tmp_path / "plain").mkdir()
    run_batch(source, tmp_path / "plain" / name, job, Options(workers=0, **more))
    expected = contents(tmp_path / "plain")
    step, alive = CRASHES_FROM[kind], False
    while not alive:
        folder = tmp_path / f"killed-{step}"
        folder.mkdir()
        alive = killed_at(step, lambda target: run_batch(
            source, target, job, Options(workers=0, every=0, **more)), folder / name)
        # a second time, in the resumed run
        killed_at(step // 2, lambda target: run_batch(
            source, target, job, Options(workers=0, every=0, resume=True, **more)), folder / name)
        resume = Options(workers=0, resume=True, **more)
        first = next((one for one in folder.iterdir() if one.name in expected and one.name.startswith("out")
                      and "labels" not in one.name and "dead" not in one.name), None)
        if first is None or (folder / f"{name}.journal").exists():
            run_batch(source, folder / name, job, resume)
        assert contents(folder) == expected, f"killed at step {step}"
        step += 4 if step < 14 else 13
    assert step > 20, "the run was not killed at the steps that it has"


def _with_limits(one: Any, rows: int) -> Any:
    from dataclasses import replace

    return replace(one, rows=rows)


def contents(folder: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in sorted(folder.iterdir()) if not one.name.endswith(".lock")}


def test_a_run_goes_on_only_where_everything_is_the_same(source: Path, tmp_path: Path) -> None:
    """Resuming with other options would give a file of two halves that do not fit."""
    out = tmp_path / "out.jsonl"
    job = Job(BUILDER)
    with pytest.raises(RowError, match="row 41 \\('bad'\\): question"):
        run_batch(source, out, job, Options(workers=0, on_error="raise"))
    with pytest.raises(OptionError, match="--resume, or begin anew"):
        run_batch(source, out, job, NOW)
    with pytest.raises(OptionError, match="other options"):
        run_batch(source, out, Job(PromptBuilder(3000, counter="words")), Options(workers=0, resume=True))
    summary = run_batch(source, out, job, Options(workers=0, resume=True))  # bad rows are dead letters now
    assert (summary.rows, summary.failures) == (100, 2)
    assert len(read(out)) == 98
    with pytest.raises(OptionError, match="exists, and no journal tells"):
        run_batch(source, out, job, Options(workers=0, resume=True))
    source.write_bytes(source.read_bytes() + lines(rows(1)))
    with pytest.raises(RowError):
        run_batch(source, out, job, Options(workers=0, on_error="raise"))
    source.write_bytes(source.read_bytes() + lines(rows(1)))
    with pytest.raises(OptionError, match="another input"):
        run_batch(source, out, job, Options(workers=0, resume=True))
    run_batch(source, out, job, Options(workers=0, restart=True))
    assert sorted(one.name for one in tmp_path.iterdir()) == ["in.jsonl", "out.dead.jsonl", "out.jsonl"]


def test_a_run_that_did_nothing_leaves_nothing(tmp_path: Path) -> None:
    """Whoever mends the first row and tries again must not be asked about an unfinished run."""
    (tmp_path / "in.jsonl").write_text("oops\n")
    for _ in range(2):
        with pytest.raises(RowError, match="row 1: row: broken JSON"):
            run_batch(tmp_path / "in.jsonl", tmp_path / "out.jsonl", Job(BUILDER), Options(workers=0, on_error="raise"))
        assert [one.name for one in tmp_path.iterdir()] == ["in.jsonl"]
    with pytest.raises(OptionError, match="is a folder"):
        run_batch(tmp_path / "in.jsonl", tmp_path, Job(BUILDER), NOW)


@pytest.mark.parametrize("codec", ["plain", "gzip", "zstd", "arrow"])
def test_a_chunk_in_pieces_gives_the_same_bytes(codec: str) -> None:
    """What a dead worker leaves to be done again must not be seen in the output."""
    if codec in ("zstd", "arrow"):
        pytest.importorskip({"zstd": "zstandard", "arrow": "pyarrow"}[codec], reason="its package is not installed")
    given = rows(9)
    given[4] = {"id": "bad"}
    (chunk,) = read_lines(io.BytesIO(lines(given)))
    job = Job(BUILDER, "parquet" if codec == "arrow" else "payload", codec=codec, beside=True)
    whole = job(chunk)
    first, rest = chunk.halves()
    assert job.joined([job(first), job.joined([job(one) for one in rest.halves()])]) == whole
    left = job.without(whole, {2: Failure("X", "why", "q1")})
    assert left.block == job(next(read_lines(io.BytesIO(lines([*given[:1], *given[2:]]))))).block
    assert len(left.beside) == 7


def test_nothing_appears_before_all_is_written(source: Path, tmp_path: Path) -> None:
    (tmp_path / "out.jsonl").write_text("old")
    seen = []
    run_batch(source, tmp_path / "out.jsonl", Job(BUILDER), NOW,
              watch=lambda state, total: seen.append((tmp_path / "out.jsonl").read_text()))
    assert set(seen) == {"old"}
    assert len(read(tmp_path / "out.jsonl")) == 98


def test_dead_letters_of_an_earlier_run_do_not_stay(source: Path, tmp_path: Path) -> None:
    run_batch(source, tmp_path / "out.jsonl", Job(BUILDER), NOW)
    assert (tmp_path / "out.dead.jsonl").exists()
    source.write_bytes(lines(rows(3)))
    run_batch(source, tmp_path / "out.jsonl", Job(BUILDER), NOW)
    assert not (tmp_path / "out.dead.jsonl").exists()


def test_bad_rows_may_be_skipped_and_are_counted(source: Path, tmp_path: Path) -> None:
    summary = run_batch(source, tmp_path / "out.jsonl", Job(BUILDER), Options(workers=0, on_error="skip"))
    assert summary.failed == {"DuplicateIdError": 1, "SourceError": 1}
    assert not (tmp_path / "out.dead.jsonl").exists()


def test_parts_keep_to_the_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A provider refuses a whole file for one request too many."""
    from dataclasses import replace

    (tmp_path / "in.jsonl").write_bytes(lines(rows(100)))
    job = Job(BUILDER, "openai-batch", model="gpt-4o")
    run_batch(tmp_path / "in.jsonl", tmp_path / "whole.jsonl", job, NOW)
    whole = (tmp_path / "whole.jsonl").read_bytes()
    longest = max(map(len, whole.splitlines(keepends=True)))
    monkeypatch.setitem(FORMATS, "openai-batch", replace(  # type: ignore[index]
        FORMATS["openai-batch"], rows=40, bytes=longest * 30))
    run_batch(tmp_path / "in.jsonl", tmp_path / "out.jsonl", job, Options(workers=0, split=True))
    parts = [one.read_bytes() for one in sorted(tmp_path.glob("out-*.jsonl"))]
    assert b"".join(parts) == whole
    assert all(len(one) <= longest * 30 and one.count(b"\n") <= 40 for one in parts)
    assert len(parts) == 4
    assert len(read(tmp_path / "out.labels.jsonl")) == 100
    with pytest.raises(OptionError, match="earlier run"):
        run_batch(tmp_path / "in.jsonl", tmp_path / "out.jsonl", job, Options(workers=0, split=True))
    (tmp_path / "in.jsonl").write_bytes(lines(rows(10)))
    run_batch(tmp_path / "in.jsonl", tmp_path / "out.jsonl", job, Options(workers=0, split=True, restart=True))
    assert [one.name for one in sorted(tmp_path.glob("out-*.jsonl"))] == ["out-00001.jsonl"]


def test_a_request_that_no_file_may_hold_is_a_bad_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    monkeypatch.setitem(FORMATS, "openai-batch", replace(FORMATS["openai-batch"], bytes=900))  # type: ignore[index]
    given = rows(2)
    given[1]["question"] = "Why? " * 200
    (tmp_path / "in.jsonl").write_bytes(lines(given))
    run_batch(tmp_path / "in.jsonl", tmp_path / "out.jsonl", Job(BUILDER, "openai-batch", model="m"), NOW)
    (dead,) = read(tmp_path / "out.dead.jsonl")
    assert "a file of openai-batch holds 900" in dead["error"]["message"]


def test_shards_cover_a_file_and_give_what_the_whole_gives(source: Path, tmp_path: Path) -> None:
    """Each line belongs to exactly one shard, at whatever size."""
    source.write_bytes(source.read_bytes().replace(b'"id": "bad"', b'"id": null, "question": "Q", "sources": []')
                       .replace(b'"id": "q1", "question": "What of 1?"', b'"question": "What of 1?"'))
    whole = tmp_path / "whole.jsonl"
    run_batch(source, whole, Job(BUILDER), NOW)
    size = source.stat().st_size
    for each in (1, 100, 333, size // 3, size - 1, size, size + 1):
        parts = shards(source, each)
        assert [one.start for one in parts[1:]] == [one.stop for one in parts[:-1]]
        assert (parts[0].start, parts[-1].stop) == (0, size)
    made = []
    for number, shard in enumerate(shards(source, size // 5)):
        pack_shard(shard, tmp_path / f"part-{number}.jsonl", Job(BUILDER))
        made.append((tmp_path / f"part-{number}.jsonl").read_bytes())
    assert b"".join(made) == whole.read_bytes()


def test_an_input_that_breaks_off_stops_the_run(source: Path, tmp_path: Path) -> None:
    packed = gzip.compress(os.urandom(3000).hex().encode() + b"\n" + lines(rows(500)))
    (tmp_path / "in.jsonl.gz").write_bytes(packed[:-9000])
    with pytest.raises(StoppedError, match="cannot be read after line"):
        run_batch(tmp_path / "in.jsonl.gz", tmp_path / "out.jsonl", Job(BUILDER), NOW)
    assert not (tmp_path / "out.jsonl").exists()


def test_two_runs_do_not_write_one_output(source: Path, tmp_path: Path) -> None:
    pytest.importorskip("fcntl", reason="locks are those of POSIX")
    with Lock(tmp_path / "out.jsonl.lock"), pytest.raises(OptionError, match="another run"):
        run_batch(source, tmp_path / "out.jsonl", Job(BUILDER), NOW)


def test_a_file_system_without_locks_is_written_all_the_same(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that many computers share often have none; any other trouble is told."""
    fcntl = pytest.importorskip("fcntl", reason="locks are those of POSIX")
    trouble = OSError(errno.ENOLCK, "No locks available")

    def refuse(*_: Any) -> None:
        raise trouble

    monkeypatch.setattr(fcntl, "flock", refuse)
    assert run_batch(source, tmp_path / "out.jsonl", Job(BUILDER), NOW).payloads == 98
    trouble = OSError(errno.EIO, "Input/output error")
    with pytest.raises(OptionError, match="cannot be written: Input/output error"):
        run_batch(source, tmp_path / "out.jsonl", Job(BUILDER), NOW)


def test_a_template_is_read_once_and_belongs_to_the_job(source: Path, tmp_path: Path) -> None:
    """A folder that is edited in the middle of a run would give two kinds of prompts in one file."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "user.j2").write_text("{{ sources }}\n\nAsked: {{ question }}")
    job = Job(BUILDER.with_template(folder))
    (folder / "user.j2").write_text("{{ sources }}\n\nWanted: {{ question }}")
    with pytest.raises(RowError):
        run_batch(source, tmp_path / "out.jsonl", job, Options(workers=0, on_error="raise"))
    assert b"Asked: What of 1?" in (tmp_path / "out.jsonl.part").read_bytes()
    with pytest.raises(OptionError, match="other options"):
        run_batch(source, tmp_path / "out.jsonl", Job(BUILDER.with_template(folder)), Options(workers=0, resume=True))


@pytest.mark.parametrize(("target", "job", "options", "message"), [
    ("out.parquet", Job(BUILDER), {}, "has the format parquet"),
    ("out.jsonl", Job(BUILDER, "parquet"), {}, "has the format parquet"),
    ("in.jsonl", Job(BUILDER), {}, "are one file"),
    ("no/out.jsonl", Job(BUILDER), {}, "no folder"),
    ("out.jsonl.gz", Job(BUILDER), {"split": True}, "parts are plain files"),
    ("out.jsonl", Job(BUILDER), {"beside": "x.jsonl"}, "holds the label maps itself"),
    ("-", Job(BUILDER, "vllm-batch", model="m"), {}, "no room for the label maps"),
    ("-", Job(BUILDER), {"resume": True}, "standard output cannot"),
])
def test_options_that_do_not_fit_are_named(
    source: Path, tmp_path: Path, target: str, job: Job, options: dict[str, Any], message: str
) -> None:
    if target.endswith("parquet"):
        pytest.importorskip("pyarrow", reason="the extra batch is not installed")
    with pytest.raises(OptionError, match=message):
        run_batch(source, target if target == "-" else tmp_path / target, job, Options(workers=0, **options))


@pytest.mark.parametrize("options", [
    {"on_error": "ignore"}, {"resume": True, "restart": True}, {"largest_row": 0}, {"every": -1}, {"workers": -1},
])
def test_options_check_themselves(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        Options(**options)


def test_a_missing_input_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="cannot be read"):
        run_batch(tmp_path / "no.jsonl", tmp_path / "out.jsonl", Job(BUILDER), NOW)
    with pytest.raises(OptionError, match="expected a path"):
        Shard.of("")


def test_totals_say_what_became_of_all_sources(tmp_path: Path) -> None:
    given = [{"id": 1, "question": "Why?", "sources": ["One.", "One.", "word " * 5000, "Two."]}]
    (tmp_path / "in.jsonl").write_bytes(lines(given))
    summary = run_batch(tmp_path / "in.jsonl", tmp_path / "out.jsonl", Job(BUILDER), NOW)
    payload = BUILDER.with_question("Why?").add_sources(given[0]["sources"]).render()
    assert summary.tokens == summary.largest == payload.tokens
    assert summary.came[0] == 4
    assert sum(count for count, _ in summary.dropped.values()) == len(payload.dropped) == 2
    assert summary.cost(3.0) == payload.tokens * 3 / 1e6


@pytest.mark.parametrize("options", [{}, {"dead": "pipe"}, {"beside": "pipe"}])
def test_a_device_or_a_pipe_is_never_replaced(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    job = Job(BUILDER, "vllm-batch", model="m")
    for out in ("out.jsonl",) if options else ("pipe", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
        with pytest.raises(OptionError, match="no plain file"):
            run_batch(source, out, job, Options(workers=0, **options))
    assert (tmp_path / "pipe").is_fifo()
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.skipif(sys.platform == "win32", reason="there is no limit to the size of files")
def test_a_full_disk_stops_the_run_which_goes_on(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_bytes(lines(rows(200)))

    def command(out: str, *more: str, most: int = 2**40) -> subprocess.CompletedProcess[str]:
        script = (
            f"import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, ({most}, {most}))\n"
            "from promptpack.cli import main\nmain(sys.argv[1:])"
        )
        return subprocess.run(
            [sys.executable, "-c", script, "batch", "in.jsonl", out, "-j", "0", "-q", *more], cwd=tmp_path,
            capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(REPO)},
        )

    command("whole.jsonl")
    whole = (tmp_path / "whole.jsonl").read_bytes()
    done = command("out.jsonl", most=len(whole) // 2)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: stopped after ")
    assert done.stderr.endswith("out.jsonl: cannot be written: File too large; --resume goes on\n")
    assert command("out.jsonl", "--resume").returncode == 0
    assert (tmp_path / "out.jsonl").read_bytes() == whole
