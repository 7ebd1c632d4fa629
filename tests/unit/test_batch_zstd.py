"""Zstandard inputs: one that breaks off is never taken for a whole one, in whichever command it is read."""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from promptpack.batch import Job, Options, StoppedError, run_batch, run_divided, verify_results
from promptpack.batch.codecs import open_lines
from promptpack.builder import PromptBuilder
from promptpack.cli import main
from promptpack.errors import SourceError

zstandard: Any = pytest.importorskip("zstandard", reason="there is no package for Zstandard")
JOB = Job(PromptBuilder(2000, counter="words"))
NOW = Options(workers=0)
RANDOM = random.Random(7)
LINES = b"".join(
    json.dumps({"id": f"q{n}", "question": RANDOM.randbytes(12).hex(), "sources": [f"{n} days."], "answer": "Yes [S1]."}
               ).encode() + b"\n" for n in range(120)
)
SKIPPABLE = struct.pack("<II", 0x184D2A53, 7) + b"skip me"


def packed(data: bytes, **more: Any) -> bytes:
    return bytes(zstandard.ZstdCompressor(**more).compress(data))


FRAMES = [packed(LINES[:3000]), SKIPPABLE, packed(LINES[3000:6000], write_checksum=True),
          packed(LINES[6000:], write_content_size=False)]
WHOLE = b"".join(FRAMES)
ENDS = {0, len(FRAMES[0]), len(FRAMES[0] + SKIPPABLE), len(b"".join(FRAMES[:3])), len(WHOLE)}


def read(path: Path, data: bytes) -> bytes:
    path.write_bytes(data)
    with open_lines(str(path)) as file:
        return b"".join(file)


def test_an_end_within_a_frame_is_an_error_at_every_byte(tmp_path: Path) -> None:
    """If this fails, a download that broke off loses the rest of its rows, and the exit code says that all is well."""
    path = tmp_path / "in.zst"
    assert read(path, WHOLE) == LINES
    for cut in range(len(WHOLE)):
        if cut in ENDS:  # a file of fewer frames, which is a whole one
            assert LINES.startswith(read(path, WHOLE[:cut]))
        else:
            with pytest.raises((EOFError, OSError)):
                read(path, WHOLE[:cut])


@pytest.mark.parametrize(("data", "content"), [
    (b"", b""), (SKIPPABLE, b""), (packed(b""), b""), (packed(b"") + SKIPPABLE + packed(b"a\n"), b"a\n"),
    (SKIPPABLE * 3 + WHOLE, LINES),
], ids=["empty", "skippable", "no content", "three", "several"])
def test_files_that_are_whole_are_read_whole(tmp_path: Path, data: bytes, content: bytes) -> None:
    """If this fails, the search for broken files refuses good ones."""
    assert read(tmp_path / "in.zst", data) == content


@pytest.mark.parametrize("more", [b"x", b"\0\0\0", b"no frame at all", b"\x28\xb5\x2f"])
def test_what_follows_and_is_no_frame_is_an_error(tmp_path: Path, more: bytes) -> None:
    """If this fails, rows after a damaged place are lost without a word, or end in a foreign exception."""
    with pytest.raises((EOFError, OSError)):
        read(tmp_path / "in.zst", WHOLE + more)


@pytest.mark.parametrize("data", [WHOLE[:-1], WHOLE[:len(WHOLE) // 2], WHOLE + b"garbage"], ids=["end", "half", "more"])
@pytest.mark.parametrize("way", ["run_batch", "folder", "workers"])
def test_a_run_stops_and_makes_no_output(tmp_path: Path, data: bytes, way: str) -> None:
    """If this fails, `promptpack batch` takes part of an input for all of it."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl.zst").write_bytes(data)
    run: Any = run_divided if way == "folder" else run_batch
    given, out = ("in", "out/") if way == "folder" else ("in/a.jsonl.zst", "out.jsonl")
    with pytest.raises(StoppedError, match=r"stopped after \d+ rows: .*cannot be read after line"):
        run(tmp_path / given, f"{tmp_path}/{out}", JOB, Options(workers=1 if way == "workers" else 0))
    assert not list(tmp_path.glob("out/part-*"))
    assert not (tmp_path / "out.jsonl").exists()


def test_the_command_exits_1_and_makes_all_rows_of_the_whole_file_later(tmp_path: Path) -> None:
    """If this fails, a script takes the run over a broken file for a good one, or cannot begin anew after it."""
    path, out = tmp_path / "in.jsonl.zst", tmp_path / "out.jsonl"
    path.write_bytes(WHOLE[:-40])
    done = CliRunner().invoke(main, ["batch", str(path), str(out), "-j", "0", "-c", "words"])
    assert (done.exit_code, out.exists()) == (1, False)
    assert "cannot be read after line" in done.stderr
    path.write_bytes(WHOLE)
    assert run_batch(path, out, JOB, Options(workers=0, restart=True)).payloads == 120


def test_results_that_break_off_are_no_results(tmp_path: Path) -> None:
    """If this fails, `batch-verify` calls the answers that were cut off missing."""
    maps = [{"custom_id": f"q{n}", "id": f"q{n}", "labels": {"S1": ["a"]}} for n in range(120)]
    (tmp_path / "maps.jsonl").write_text("".join(json.dumps(one) + "\n" for one in maps))
    path = tmp_path / "results.jsonl.zst"
    path.write_bytes(WHOLE)
    assert {one["status"] for one in verify_results(str(path), str(tmp_path / "maps.jsonl"))} == {"ok"}
    path.write_bytes(WHOLE[:-5])
    with pytest.raises(SourceError, match="cannot be read after line"):
        list(verify_results(str(path), str(tmp_path / "maps.jsonl")))
    done = CliRunner().invoke(main, ["batch-verify", str(path), "-p", str(tmp_path / "maps.jsonl"), "-q"])
    assert done.exit_code == 2
    assert "within a frame" in done.stderr


def test_a_damaged_gzip_file_stops_the_run(tmp_path: Path) -> None:
    """If this fails, damage in the middle ends in a traceback: zlib's error is of no common class."""
    import gzip

    data = bytearray(gzip.compress(LINES))
    data[len(data) // 2] ^= 0xFF
    (tmp_path / "in.jsonl.gz").write_bytes(bytes(data))
    with pytest.raises(StoppedError, match="cannot be read after line"):
        run_batch(tmp_path / "in.jsonl.gz", tmp_path / "out.jsonl", JOB, NOW)
