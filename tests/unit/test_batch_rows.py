"""Rows of a batch: what a row may be, ids, columns, and reading in chunks. The bad ones: test_batch_bad_rows."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from bad_rows import GOOD, good

from promptpack.batch import Columns, Job, Options, run_batch
from promptpack.batch.chunks import ROWS, read_lines
from promptpack.batch.rows import custom_id, parse_line, row_id
from promptpack.builder import PromptBuilder
from promptpack.errors import OptionError, SourceError
from promptpack.source import Source


def test_a_row_that_fails_for_a_foreign_reason_is_a_bad_row(tmp_path: Path) -> None:
    """What a user's callable raises must not end the run, nor what native code panics with: that is no Exception."""
    (tmp_path / "in.jsonl").write_bytes(b"\n".join([good("a"), good("b", question="panic"), good("c")]))
    job = Job(PromptBuilder(2000, counter="words", escape=panics))
    summary = run_batch(tmp_path / "in.jsonl", tmp_path / "out.jsonl", job, Options(workers=0))
    assert summary.failed == {"PanicException": 1}


class PanicException(BaseException):  # as pyo3 calls it
    """What Rust code raises."""


def panics(text: str) -> Any:
    from markupsafe import Markup

    if text == "panic":
        raise PanicException("index out of bounds")
    return Markup(text)


def test_a_dead_letter_can_be_sent_in_again(tmp_path: Path) -> None:
    """The row stands in the dead letters as it came, so that it can be mended and rendered."""
    (tmp_path / "in.jsonl").write_bytes(good("ä\u2028x", question=5))
    run_batch(tmp_path / "in.jsonl", tmp_path / "out.jsonl", Job(PromptBuilder(2000)), Options(workers=0))
    row = json.loads(json.loads((tmp_path / "out.dead.jsonl").read_text())["row"])
    assert row["id"] == "ä\u2028x"


@pytest.mark.parametrize("ends", [b"\n", b"\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_lines_are_read_with_either_end_and_a_byte_order_mark(ends: bytes, last: bool) -> None:
    data = b"\xef\xbb\xbf" + ends.join([b"{}"] * 70) + (ends if last else b"")
    chunks = list(read_lines(io.BytesIO(data)))
    assert [chunk.count for chunk in chunks] == [ROWS, ROWS, 6]
    assert [raw.data for chunk in chunks for raw in chunk.rows] == [b"{}"] * 70
    assert chunks[-1].end == len(data)
    assert [raw.number for chunk in chunks for raw in chunk.rows] == list(range(1, 71))


def test_a_long_line_is_never_whole_in_memory() -> None:
    """A row of gigabytes must not end the run."""
    asked: list[int] = []

    class Stream(io.BytesIO):
        def readline(self, size: int | None = -1, /) -> bytes:
            asked.append(size or 0)
            return super().readline(size)

    data = b"x" * 5_000_000 + b"\n{}\n"
    rows = [raw for chunk in read_lines(Stream(data), largest=1000) for raw in chunk.rows]
    assert max(asked) <= 1_000_000
    assert [(raw.size, len(raw.data), raw.fault is None) for raw in rows] == [(5_000_001, 1000, False), (3, 2, True)]


def test_a_line_of_just_the_most_bytes_is_fine() -> None:
    for ends in (b"\n", b""):
        (chunk,) = read_lines(io.BytesIO(b"x" * 50 + ends), largest=50)
        assert chunk.rows[0].fault is None


def test_rows_without_an_id_are_named_by_their_place() -> None:
    assert row_id(None, "id", "at-12") == "at-12"
    assert row_id(7, "id", "") == "7"
    with pytest.raises(SourceError, match="id: expected a text"):
        row_id(True, "id", "")


@pytest.mark.parametrize(("id_", "same"), [("q-1", True), ("a" * 64, True), ("a" * 65, False), ("docs/1", False),
                                           ("é", False), ("a\n", False), ("", False)])
def test_custom_ids_are_what_providers_take(id_: str, same: bool) -> None:
    assert (custom_id(id_) == id_) is same
    assert custom_id(id_).isascii()
    assert len(custom_id(id_)) <= 64


def test_columns_have_other_names_where_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text(json.dumps({"qid": 1, "query": "Why?", "hits": ["A text."]}))
    job = Job(PromptBuilder(2000), columns=Columns.of({"id": "qid", "question": "query", "sources": "hits"}))
    run_batch(tmp_path / "in.jsonl", tmp_path / "out.jsonl", job, Options(workers=0))
    assert json.loads((tmp_path / "out.jsonl").read_text())["id"] == "1"
    with pytest.raises(OptionError, match="did you mean 'question'"):
        Columns.of({"qestion": "query"})
    with pytest.raises(OptionError, match="two parts"):
        Columns(id="question")


def test_a_row_brings_history_and_system_text() -> None:
    """What a row does not bring stays as the builder has it."""
    from promptpack.batch import render_many

    builder = PromptBuilder(2000, counter="words").with_system("You sell lamps.").add_sources([Source("z", "Always.")])
    rows: list[dict[str, Any]] = [
        {**GOOD, "system": "You sell bulbs.", "history": [{"role": "user", "content": "Hi"},
                                                         {"role": "assistant", "content": "Hello."}]},
        GOOD,
    ]
    first, second = (one.unwrap() for one in render_many(rows, builder, workers=0))
    assert "bulbs" in first.messages[0].text
    assert [one.role for one in first.messages] == ["system", "user", "assistant", "user"]
    assert "lamps" in second.messages[0].text
    assert list(second.labels.values()) == [("z",), ("a",)]


def test_lines_are_parsed_strictly() -> None:
    with pytest.raises(SourceError, match="nested too deep"):
        parse_line(b"[" * 100_000)
