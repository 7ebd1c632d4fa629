"""Fields of a row that look misspelt, and columns that an input does not have."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from promptpack import render_many
from promptpack.batch import Columns, Job, Options, pack_batch, run_batch
from promptpack.batch.naming import HEAD, unseen
from promptpack.batch.rows import read_row
from promptpack.builder import PromptBuilder
from promptpack.errors import OptionError, SourceError

ROW: dict[str, Any] = {"question": "How long?", "sources": ["For 30 days."]}
TURNS = [{"role": "user", "content": "Hello"}]
BUILDER = PromptBuilder(2000, counter="words")


@pytest.mark.parametrize(("field", "value", "meant"), [
    ("hystory", TURNS, "history"), ("histroy", TURNS, "history"), ("History", TURNS, "history"),
    ("hystory", "[]", "history"),  # JSON text, as Arrow may hold it
    ("sytem", "You sell lamps.", "system"), ("System", "You sell lamps.", "system"),
])
def test_a_misspelt_field_is_a_bad_row(field: str, value: Any, meant: str) -> None:
    """If this fails, the history or the system text of a whole batch is left out, and nobody is told."""
    with pytest.raises(SourceError, match=f"unknown field '{field}'; did you mean '{meant}'") as found:
        read_row({**ROW, field: value}, Columns(), "at-0")
    assert found.value.field == field
    assert read_row({**ROW, field: value, meant: None}, Columns(), "at-0").question == "How long?"


@pytest.mark.parametrize(("row", "said"), [
    ({"qestion": "Why?", "sources": []}, "column, and an unknown field 'qestion'; did you mean 'question'? It has "),
    ({"question": "Why?", "souces": []}, "did you mean 'sources'?"),
    ({"question": "Why?"}, "sources: the row has no such column; it has 'question'."),
])
def test_a_missing_part_names_the_field_that_looks_like_it(row: dict[str, Any], said: str) -> None:
    with pytest.raises(SourceError) as found:
        read_row(row, Columns(), "at-0")
    assert said in str(found.value)


def test_a_column_that_a_row_has_not_names_what_is_close() -> None:
    with pytest.raises(SourceError, match="qury: the row has no such column; did you mean 'query'"):
        read_row({"query": "Why?", "sources": []}, Columns(question="qury"), "at-0")


@pytest.mark.parametrize("own", [
    {"answers": ["30 days"]}, {"Answer": "30 days"}, {"answers": "30 days"}, {"source": "a.pdf"}, {"_id": 3},
    {"ID": 3}, {"topic": "returns"}, {"systems": ["iOS"]}, {"system_id": "x"}, {"story": []}, {"histories": []},
    {"hystory": None}, {"hystory": 3}, {"sytem": ["x"]}, {"hystory": TURNS, "history": TURNS}, {"h" * 100_000: 1},
    {3: 4}, {"questions": ["a", "b"]}, {"query": "x"}, {"title": "x", "url": "x", "date": "x", "score": 1, "lang": "x"},
])
def test_fields_of_an_application_are_left_alone(own: dict[Any, Any]) -> None:
    assert read_row({**ROW, **own}, Columns(), "at-0").question == "How long?"


@pytest.mark.parametrize(("columns", "own"), [
    (Columns(history="turns"), {"turn": 3}), (Columns(history="turns1"), {"turns2": TURNS}),
    (Columns(system="text_a"), {"text_c": "x"}), (Columns(history="turns"), {"history": TURNS}),
])
def test_columns_that_only_look_alike_are_left_alone(columns: Columns, own: dict[str, Any]) -> None:
    assert read_row({**ROW, **own}, columns, "at-0").question == "How long?"


def test_rows_that_are_misspelt_cost_themselves_alone(tmp_path: Path) -> None:
    rows = [{**ROW, "id": "a", "topic": "x"}, {**ROW, "id": "b", "hystory": TURNS}]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    summary = run_batch(tmp_path / "in.jsonl", tmp_path / "out.jsonl", Job(BUILDER), Options(workers=0))
    assert (summary.payloads, summary.failed) == (1, {"SourceError": 1})
    dead = json.loads((tmp_path / "out.dead.jsonl").read_text(encoding="utf-8"))
    assert (dead["line"], dead["id"]) == (2, "b")
    assert "did you mean 'history'?" in dead["error"]["message"]
    good, bad = render_many(rows, BUILDER, workers=0)
    assert good.payload is not None
    assert bad.error is not None
    assert "did you mean 'history'?" in bad.error.message


@pytest.mark.parametrize("line", [None, "line"])
def test_misspelt_columns_of_arrow(tmp_path: Path, line: str | None) -> None:
    """Every row of a table has every column: only those that have something in the misspelt one are bad."""
    pa = pytest.importorskip("pyarrow", reason="the extra batch is not installed")
    rows = [{**ROW, "id": "a", "topic": "x"}, {**ROW, "id": "b", "hystory": TURNS}, {**ROW, "id": "c", "sytem": "Hi."}]
    names = sorted({name for one in rows for name in one})
    table = pa.Table.from_pylist(
        [{name: one.get(name) for name in names} for one in rows] if line is None else
        [{"line": json.dumps(one)} for one in rows]
    )
    errors = [one and one["message"] for one in pack_batch(table, BUILDER, line=line).column("error").to_pylist()]
    assert errors[0] is None
    assert "did you mean 'history'?" in errors[1]
    assert "did you mean 'system'?" in errors[2]
    if line is None:
        import pyarrow.parquet as pq

        pq.write_table(table, tmp_path / "in.parquet")
        summary = run_batch(tmp_path / "in.parquet", tmp_path / "out.jsonl", Job(BUILDER), Options(workers=0))
        assert (summary.payloads, summary.failed) == (1, {"SourceError": 2})


@pytest.mark.parametrize("name", ["in.jsonl", "in.jsonl.gz", "in.parquet"])
def test_a_column_that_no_row_has(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    rows = [{**ROW, "turns": None}, {**ROW, "turns": None, "key": 1}]
    if name.endswith("parquet"):
        pa = pytest.importorskip("pyarrow", reason="the extra batch is not installed")
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"question": ["a"], "sources": [["b"]], "turns": ["[]"], "key": [1]}), path)
    else:
        data = b"not JSON\n" + b"".join(json.dumps(one).encode() + b"\n" for one in rows)
        path.write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    assert unseen([path], Columns(history="turns", id="key")) == []
    with pytest.raises(OptionError, match=r"column: unknown value 'turn'; did you mean 'turns'.* Known: key, ques"):
        unseen([path], Columns(history="turn"))


@pytest.mark.parametrize("more", [b"{}\n" * (HEAD // 2), b'{"a": "' + b"x" * HEAD + b'"}\n'])
def test_a_column_that_a_later_row_may_have_is_no_error(tmp_path: Path, more: bytes) -> None:
    (tmp_path / "in.jsonl").write_bytes(json.dumps(ROW).encode() + b"\n" + more)
    assert unseen([tmp_path / "in.jsonl"], Columns(history="turns")) == ["turns"]


@pytest.mark.parametrize("data", [b"", b"\n\n", b"nothing", b"[1]\n"])
def test_an_input_without_rows_says_nothing_of_its_columns(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "in.jsonl").write_bytes(data)
    assert unseen([tmp_path / "in.jsonl"], Columns(history="turns")) == []
    assert unseen([tmp_path / "none.jsonl"], Columns(history="turns")) == []


@pytest.mark.skipif(not Path("/dev/fd").is_dir(), reason="pipes have no names")
def test_nothing_is_taken_from_a_pipe() -> None:
    """If this fails, the first rows of `promptpack batch <(...)` are lost."""
    end, start = os.pipe()
    os.write(start, json.dumps(ROW).encode() + b"\n")
    os.close(start)
    assert unseen([Path(f"/dev/fd/{end}")], Columns(history="turns")) == []
    assert os.read(end, 9) == b'{"questio'
    os.close(end)
