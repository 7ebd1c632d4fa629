"""Rows of a batch: fifteen and more kinds of bad ones, ids, columns, and reading in chunks."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from promptpack.batch import Columns, Job, Options, run_batch
from promptpack.batch.chunks import ROWS, read_lines
from promptpack.batch.rows import custom_id, parse_line, row_id
from promptpack.builder import PromptBuilder
from promptpack.errors import OptionError, SourceError
from promptpack.source import Source

GOOD = {"question": "How long?", "sources": [{"id": "a", "text": "For 30 days."}]}


def good(id_: Any, **more: Any) -> bytes:
    return json.dumps({"id": id_, **GOOD, **more}).encode()


BAD: dict[str, tuple[bytes, str]] = {
    "broken JSON": (b'{"id": "x", oops', "broken JSON at column"),
    "cut off": (good("x")[:-4], "broken JSON"),
    "an empty line": (b"", "an empty line"),
    "white space": (b" \t", "an empty line"),
    "not an object": (b"[1, 2]", "expected an object"),
    "null": (b"null", "expected an object"),
    "not UTF-8": (b'{"id": "\xff\xfe"}', "not UTF-8 (byte 8)"),
    "NaN": (good("x").replace(b'"a"', b"NaN"), "NaN is no JSON number"),
    "infinity": (good("x").replace(b'"a"', b"-Infinity"), "-Infinity is no JSON number"),
    "a score beyond numbers": (good("x").replace(b'"id": "a"', b'"id": "a", "score": 1e999'), "score"),
    "nested too deep": (b"[" * 90_000, "nested too deep"),
    "a number too long": (b'{"id": ' + b"9" * 5000 + b"}", "too long"),
    "no question": (b'{"id": "x", "sources": ["a"], "query": "Why?"}', "question: the row has no such column"),
    "no sources": (b'{"id": "x", "question": "Why?"}', "sources: the row has no such column"),
    "nothing to ask": (b'{"id": "x", "question": null, "sources": []}', "nothing to ask"),
    "a question of the wrong type": (good("x", question=7), "question: expected a text, got 7"),
    "sources of the wrong type": (good("x", sources="a text"), "sources: expected a list"),
    "a source without text": (good("x", sources=[{"id": "a"}]), "sources[0]: there is no text"),
    "a source of the wrong type": (good("x", sources=[7]), "sources[0]"),
    "an id of the wrong type": (good(["x"]), "id: expected a text"),
    "an empty id": (good(""), "id: expected a text"),
    "a history of the wrong type": (good("x", history={"role": "user"}), "history: expected a list"),
    "a role that is none": (good("x", history=[{"role": "king", "content": "Hi"}]), "role"),
    "a required source that is too large": (
        good("x", sources=[{"id": "a", "text": "word " * 9000, "required": True}]), "do not fit the window"),
    "a question that is too large": (good("x", question="word " * 9000), "do not fit the window"),
    "an id that came before": (good("before"), "id: 'before' names row 1, too"),
    "a number that came before as text": (good(7), "id: '7' names row 2, too"),
    "a row that is too large": (good("x", padding="x" * 200_000), "the most is 100,000"),
}


def test_bad_rows_of_every_kind_go_to_the_dead_letters_and_all_others_are_delivered(tmp_path: Path) -> None:
    """One bad row must cost nothing but itself, and say where it is and why."""
    lines = [good("before"), good("7")]
    for number, (data, _) in enumerate(BAD.values()):
        lines += [data, good(f"good-{number}")]
    (tmp_path / "in.jsonl").write_bytes(b"\n".join(lines))
    job = Job(PromptBuilder(2000, counter="words"))
    summary = run_batch(tmp_path / "in.jsonl", tmp_path / "out.jsonl", job, Options(workers=0, largest_row=100_000))
    made = [json.loads(line)["id"] for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert made == ["before", "7", *(f"good-{number}" for number in range(len(BAD)))]
    dead = [json.loads(line) for line in (tmp_path / "out.dead.jsonl").read_text().splitlines()]
    assert summary.failures == len(dead) == len(BAD)
    assert summary.rows == len(lines)
    offset = 0
    told = {one["line"]: one for one in dead}
    for number, line in enumerate(lines, 1):
        if number in told:
            kind, (data, reason) = list(BAD.items())[(number - 3) // 2]
            assert reason in told[number]["error"]["message"], kind
            assert told[number]["offset"] == offset, kind
            assert len(told[number]["error"]["message"]) < 2100
            if "row" in told[number]:
                assert told[number]["row"].encode() == data
            elif "row_base64" in told[number]:
                import base64

                assert base64.b64decode(told[number]["row_base64"]) == data
            else:
                assert told[number]["bytes"] == len(line) + 1
        offset += len(line) + 1


def test_a_row_that_fails_for_a_foreign_reason_is_a_bad_row(tmp_path: Path) -> None:
    """What a user's callable raises, `sys.exit` included, must not end the run."""
    (tmp_path / "in.jsonl").write_bytes(b"\n".join([good("a"), good("b", question="exit"), good("c")]))
    job = Job(PromptBuilder(2000, counter="words", escape=exits))
    summary = run_batch(tmp_path / "in.jsonl", tmp_path / "out.jsonl", job, Options(workers=0))
    assert summary.failed == {"SystemExit": 1}


def exits(text: str) -> Any:
    from markupsafe import Markup

    if text == "exit":
        raise SystemExit(5)
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
