"""What a run holds, and where: rows that workers read for themselves, results in slots, memory that does not grow."""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
import pickle
import subprocess
import sys
import tempfile
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from processes import ENVIRONMENT, leaving

from promptpack.batch import Job, Options, StoppedError, run_batch
from promptpack.batch.chunks import Chunk, Place, Raw, read_lines
from promptpack.batch.job import Done
from promptpack.batch.shard import Shard
from promptpack.batch.slots import SIZE, Slots, Stored
from promptpack.builder import PromptBuilder
from promptpack.errors import SourceError

JOB = Job(PromptBuilder(2000, counter="words"))
linux = pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="there are no files in memory")


def lines(n: int, size: int = 0) -> bytes:
    return b"".join(
        json.dumps({"id": f"q{i}", "question": "Why?", "sources": [f"Because of {i}." + " x" * size]}).encode() + b"\n"
        for i in range(n)
    )


def same_but_for(folder: Path, source: Path, monkeypatch: pytest.MonkeyPatch, **patch: Any) -> None:
    """Compare what a worker makes, with functions of `os` replaced, with what this process makes."""
    run_batch(source, folder / "plain.jsonl", JOB, Options(workers=0))
    for name, function in patch.items():
        monkeypatch.setattr(os, name, function)
    run_batch(source, folder / "out.jsonl", JOB, Options(workers=1))
    assert (folder / "out.jsonl").read_bytes() == (folder / "plain.jsonl").read_bytes()


@linux
def test_a_slot_holds_a_value_and_its_neighbours_keep_theirs() -> None:
    slots = Slots()
    full = Done((), b"x" * (SIZE - 1000), ())
    words = [slots.put(0, full), slots.put(1, Done((), b"y" * 100_000, (b"beside",)))]
    assert [type(one) for one in words] == [Stored, Stored]
    assert slots.get(0, words[0]) == full
    found = slots.get(1, words[1])
    assert (found, type(found.block)) == (Done((), b"y" * 100_000, (b"beside",)), bytes)
    slots.close()


@linux
def test_what_is_small_or_too_large_goes_through_the_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slot would save nothing, or run into the next one."""
    slots = Slots()
    for size in (10, SIZE + 1):
        value = Done((), b"x" * size)
        assert slots.put(0, value) is value
        assert slots.get(0, value) is value
    slots.close()
    assert slots.put(0, value) is value


def test_a_block_is_carried_apart_and_comes_back_as_bytes() -> None:
    """Pickled with the rest, a block of megabytes would be copied once more on either side."""
    buffers: list[pickle.PickleBuffer] = []
    done = Done((), b"x" * 100_000, (b"a",))
    assert len(pickle.dumps(done, protocol=5, buffer_callback=buffers.append)) < 1000
    for protocol in (4, 5):
        found = pickle.loads(pickle.dumps(done, protocol=protocol))
        assert (found, type(found.block)) == (done, bytes)


@linux
@pytest.mark.parametrize("name", ["memfd_create", "pwrite"])
def test_without_room_for_slots_all_goes_through_pipes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A system without such files, and one that is out of memory for them, must lose nothing."""
    def full(*_: Any) -> Any:
        raise OSError(errno.ENOSPC, "no room")

    (tmp_path / "in.jsonl.gz").write_bytes(gzip.compress(lines(100, 500)))
    same_but_for(tmp_path, tmp_path / "in.jsonl.gz", monkeypatch, **{name: full})


@linux
def test_large_results_come_by_the_slots_and_no_file_stays_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through a pipe, a chunk would be some twenty switches between processes."""
    (tmp_path / "in.jsonl").write_bytes(lines(200, 500))
    words = []
    get = Slots.get

    def noted(self: Slots, slot: int, word: Any) -> Any:
        words.append(word)
        return get(self, slot, word)

    monkeypatch.setattr(Slots, "get", noted)
    run_batch(tmp_path / "in.jsonl", tmp_path / "warm.jsonl", JOB, Options(workers=1))  # starts what stays
    before = len(os.listdir("/proc/self/fd"))
    words.clear()
    run_batch(tmp_path / "in.jsonl", tmp_path / "out.jsonl", JOB, Options(workers=1))
    assert [type(one) for one in words] == [Stored] * 7
    assert len(os.listdir("/proc/self/fd")) <= before


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([b"{}", b"", b"\r", b"x" * 30, b"y" * 70, b"\xef\xbb\xbf{}"]), max_size=90),
    st.sampled_from([b"\n", b"\r\n"]), st.booleans(), st.sampled_from([20, 1000]),
)
def test_rows_that_are_read_in_their_place_are_those_of_the_stream(
    parts: list[bytes], ends: bytes, last: bool, largest: int
) -> None:
    """Else a dead letter would name another line than the one that failed, or a resumed run differ."""
    data = ends.join(parts) + (ends if last else b"")
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        shard = Shard(file.name)
        apart = list(shard.chunks(io.BytesIO(), largest=largest, apart=True))
        whole = list(shard.chunks(io.BytesIO(), largest=largest))
        assert [(one.first, one.count, one.end) for one in apart] == [(one.first, one.count, one.end) for one in whole]
        assert all(one.rows == () for one in apart)
        assert [pickle.loads(pickle.dumps(one)).read() for one in apart] == [one.rows for one in whole]
        for one in apart:
            if one.count > 1:
                assert [raw for half in one.halves() for raw in half.read()] == list(one.read())


def chunk_of(path: Path, largest: int = 1000) -> Chunk:
    with path.open("rb") as stream:
        return next(read_lines(stream, place=Place.of(str(path), stream, largest), largest=largest))


def test_an_input_that_changes_is_no_other_input(tmp_path: Path) -> None:
    """Rows of a file that has taken the name of the input must not stand among its own."""
    path = tmp_path / "in.jsonl"
    for change in (
        lambda: path.write_bytes(b"{}\n{}\n{"),  # cut off
        lambda: path.write_bytes(b"{}\n{ }\n{}\n"),  # lines of other lengths
        lambda: (tmp_path / "new").write_bytes(b"{}\n{}\n{}\n") and (tmp_path / "new").replace(path),
        path.unlink,
    ):
        path.write_bytes(b"{}\n{}\n{}\n")
        chunk = chunk_of(path)
        assert [raw.data for raw in chunk.read()] == [b"{}"] * 3
        change()
        with pytest.raises(SourceError, match=r"in.jsonl: (was changed|cannot be read)"):
            chunk.read()
    path.write_bytes(b"{}\n{}\n{}\n")
    chunk = chunk_of(path)
    with path.open("ab") as file:  # what comes later does no harm
        file.write(b"{}\n")
    assert chunk.read()[-1] == Raw(3, 6, 3, b"{}")


def test_an_input_that_changes_stops_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(lines(300))
    chunks = Shard.chunks

    def renamed(self: Shard, *args: Any, **options: Any) -> Any:
        for one in chunks(self, *args, **options):
            yield one
            if path.exists():
                path.rename(tmp_path / "other.jsonl")

    monkeypatch.setattr(Shard, "chunks", renamed)
    with pytest.raises(StoppedError, match="cannot be read"):
        run_batch(path, tmp_path / "out.jsonl", JOB, Options(workers=1))


def test_names_that_mean_another_file_elsewhere_are_no_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers begin in another folder, and with another standard input."""
    (tmp_path / "in.jsonl").write_bytes(lines(40))
    monkeypatch.chdir(tmp_path)
    assert run_batch("in.jsonl", "out.jsonl", JOB, Options(workers=1)).payloads == 40
    if not Path("/dev/stdin").exists():
        return
    command = [sys.executable, "-m", "promptpack", "batch", "/dev/stdin", "again.jsonl", "-w", "2000", "-c", "words",
               "-j", "1", "-q"]
    with Path("in.jsonl").open("rb") as file:
        done = subprocess.run(command, stdin=file, capture_output=True, env=ENVIRONMENT, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert Path("again.jsonl").read_bytes() == Path("out.jsonl").read_bytes()


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz"])
def test_memory_does_not_grow_with_the_rows(tmp_path: Path, ending: str) -> None:
    """Ten times the rows; were each kept, or its result, that would be megabytes more. Counted, not timed."""
    peaks = []
    for count in (320, 3200):
        path = tmp_path / f"in{count}.{ending}"
        data = lines(count, 700)
        path.write_bytes(gzip.compress(data, 1) if ending.endswith("gz") else data)
        tracemalloc.start()
        try:
            run_batch(path, tmp_path / f"out{count}.jsonl", JOB, Options(workers=1))
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
        assert len((tmp_path / f"out{count}.jsonl").read_bytes().splitlines()) == count
    assert peaks[1] < peaks[0] + 500_000, peaks  # the input is 5 MB longer, and the output as much


def test_leaving_ends_this_process_and_costs_a_worker_its_row(tmp_path: Path) -> None:
    """A handler of SIGTERM calls sys.exit in the middle of a row: that row is not bad, and the run has to end."""
    rows = [{"id": name, "question": "Why?", "sources": [f"Text {name}."]} for name in ("a", "leave", "c")]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    job = Job(PromptBuilder(2000, counter=leaving))
    with pytest.raises(SystemExit):
        run_batch(tmp_path / "in.jsonl", tmp_path / "out.jsonl", job, Options(workers=0))
    assert [one.name for one in tmp_path.iterdir()] == ["in.jsonl"]
    summary = run_batch(tmp_path / "in.jsonl", tmp_path / "out.jsonl", job, Options(workers=1))
    assert (summary.payloads, summary.failed) == (2, {"SystemExit": 1})
