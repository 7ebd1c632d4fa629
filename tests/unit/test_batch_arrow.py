"""Arrow in, Arrow out: rows, errors and metadata; Parquet files in and out."""

from __future__ import annotations

import functools
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from promptpack.batch import Columns, Job, Options, pack_batch, pack_shard, run_batch, shards
from promptpack.builder import PromptBuilder
from promptpack.errors import OptionError

pa = pytest.importorskip("pyarrow", reason="the extra batch is not installed")
pq = pytest.importorskip("pyarrow.parquet", reason="the extra batch is not installed")

BUILDER = PromptBuilder(2000, counter="words")
SOURCE = pa.struct([("id", pa.string()), ("text", pa.string()), ("score", pa.float64()), ("metadata", pa.string())])
SCHEMA = pa.schema([("id", pa.string()), ("question", pa.string()), ("sources", pa.list_(SOURCE))])


def rows(n: int) -> list[dict[str, Any]]:
    return [
        {"id": f"q{i}", "question": f"What of {i}?", "sources": [
            {"id": f"d{i}-{j}", "text": f"Text {i} {j}.", "score": 1.0 / (j + 1),
             "metadata": json.dumps({"title": f"T{j}", "page": j if j else "cover", "tags": ["a", 0]})}
            for j in range(3)]}
        for i in range(n)
    ]


def table(n: int = 5) -> Any:
    given = rows(n)
    if n > 3:
        given[2]["question"] = None
        given[2]["sources"] = None
        given[3]["sources"][1]["metadata"] = "{oops"
    return pa.Table.from_pylist(given, schema=SCHEMA)


def test_each_row_gives_one_in_order_and_bad_ones_carry_an_error() -> None:
    """A bad row must never end the batch, nor move its neighbours."""
    made = pack_batch(table(), BUILDER).to_pylist()
    assert [one["id"] for one in made] == [f"q{i}" for i in range(5)]
    assert [one["error"] and one["error"]["type"] for one in made] == [None, None, "SourceError", "SourceError", None]
    assert made[3]["error"]["message"].startswith("sources[1]: metadata: broken JSON")
    assert made[3]["error"]["id"] == "q3"
    assert made[3]["messages"] is None


def test_a_row_is_what_the_builder_makes_of_it() -> None:
    row = rows(1)[0]
    given = [{**one, "metadata": json.loads(one["metadata"])} for one in row["sources"]]
    payload = BUILDER.with_question(row["question"]).add_sources(given).render()
    (made,) = pack_batch(pa.Table.from_pylist([row], schema=SCHEMA), BUILDER).to_pylist()
    assert [(one["role"], one["content"]) for one in made["messages"]] == [
        (one.role, one.text) for one in payload.messages]
    assert {one["label"]: tuple(one["chunk_ids"]) for one in made["labels"]} == dict(payload.labels)
    assert made["tokens"] == payload.tokens
    assert json.loads(made["report"])["budget"]["window"] == 2000
    assert 'title="T0"' in payload.text


def test_messages_of_parts_and_calls_come_out_whole() -> None:
    history = [
        {"role": "user", "content": [{"type": "text", "text": "Look:"},
                                     {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "done"},
        {"role": "assistant", "content": "Good."},
    ]
    row = {"id": "q", "question": "Why?", "sources": json.dumps(["One."]), "history": json.dumps(history)}
    (made,) = pack_batch(pa.Table.from_pylist([row]), PromptBuilder(9000)).to_pylist()
    assert made["error"] is None, made["error"]
    whole = [
        {"role": one["role"], **({} if one["content"] is None else {"content": one["content"]}),
         **json.loads(one["extra"] or "{}")} for one in made["messages"]
    ]
    payload = PromptBuilder(9000).add_history(history).with_question("Why?").add_sources(["One."]).render()
    assert [{key: value for key, value in one.items() if value is not None} for one in whole] == [
        {key: value for key, value in one.items() if value is not None} for one in payload.to_openai()]


def test_lines_of_json_pass_through_engines_unchanged() -> None:
    """Engines' own readers of JSON change nested data; a column of lines does not."""
    row = {"id": 7, "question": "Why?", "sources": [{"text": "One.", "metadata": {"page": 1, "tags": ["a", 0]}}]}
    batch = pa.table({"value": [json.dumps(row), "{oops", ""]})
    made = pack_batch(batch, BUILDER, line="value").to_pylist()
    assert [one["error"] is None for one in made] == [True, False, False]
    assert made[0]["id"] == "7"


def test_other_columns_record_batches_and_pickles() -> None:
    """Engines send the function to their workers."""
    batch = table(3).rename_columns(["key", "query", "hits"]).to_batches()[0]
    work = functools.partial(pack_batch, builder=BUILDER,
                             columns=Columns(id="key", question="query", sources="hits"))
    made = pickle.loads(pickle.dumps(work))(batch)
    assert made.column("id").to_pylist() == ["q0", "q1", "q2"]
    assert made.column("error").null_count == 3
    assert pack_batch(table(0), BUILDER).num_rows == 0
    with pytest.raises(OptionError, match="column"):
        pack_batch(batch, BUILDER)
    with pytest.raises(OptionError, match="RecordBatch"):
        pack_batch([1], BUILDER)
    with pytest.raises(OptionError, match="expected a PromptBuilder"):
        pack_batch(batch, 2000)  # type: ignore[arg-type]


def test_parquet_goes_in_and_out(tmp_path: Path) -> None:
    given = table(100)
    pq.write_table(given, tmp_path / "in.parquet", row_group_size=30)
    summary = run_batch(tmp_path / "in.parquet", tmp_path / "out.parquet", Job(BUILDER, "parquet"), Options(workers=0))
    made = pq.read_table(tmp_path / "out.parquet")
    expected = pack_batch(given, BUILDER).to_pylist()
    assert made.to_pylist() == [one for one in expected if one["error"] is None]
    dead = [json.loads(line) for line in (tmp_path / "out.dead.jsonl").read_text().splitlines()]
    assert [(one["line"], one["id"]) for one in dead] == [(3, "q2"), (4, "q3")]
    assert dead[1]["row"]["question"] == "What of 3?"
    assert summary.failures == 2
    run_batch(tmp_path / "in.parquet", tmp_path / "lines.jsonl", Job(BUILDER), Options(workers=0))
    assert len((tmp_path / "lines.jsonl").read_text().splitlines()) == 98


def test_a_pool_reads_parquet_and_shards_are_row_groups(tmp_path: Path) -> None:
    pq.write_table(table(100), tmp_path / "in.parquet", row_group_size=30)
    job = Job(BUILDER, "openai-batch", model="m")
    run_batch(tmp_path / "in.parquet", tmp_path / "out.jsonl", job, Options(workers=1))
    whole = (tmp_path / "out.jsonl").read_bytes()
    parts = []
    for number, shard in enumerate(shards(tmp_path / "in.parquet")):
        pack_shard(shard, tmp_path / f"part{number}.jsonl", job)
        parts.append((tmp_path / f"part{number}.jsonl").read_bytes())
    assert len(parts) == 4
    assert b"".join(parts) == whole


def test_chunks_of_parquet_divide_down_to_one_row(tmp_path: Path) -> None:
    """The row that ends its worker is found by halving."""
    from promptpack.batch.parquet import read_parquet

    pq.write_table(table(40), tmp_path / "in.parquet", row_group_size=35)
    chunks = list(read_parquet(str(tmp_path / "in.parquet")))
    assert [(one.first, one.count, one.end) for one in chunks] == [(1, 32, 32), (33, 3, 35), (36, 5, 40)]
    todo, found = [chunks[0]], []
    while todo:
        one = todo.pop(0)
        if one.count == 1:
            found += one.read()
        else:
            todo = [*one.halves(), *todo]
    assert tuple(found) == chunks[0].read()
    assert list(read_parquet(str(tmp_path / "in.parquet"), skip=32)) == chunks[1:]


def test_a_file_that_is_no_parquet_is_an_error(tmp_path: Path) -> None:
    from promptpack.errors import PromptpackError

    (tmp_path / "in.parquet").write_text("no")
    with pytest.raises(PromptpackError, match=r"in\.parquet: cannot be read as Parquet"):
        run_batch(tmp_path / "in.parquet", tmp_path / "out.jsonl", Job(BUILDER), Options(workers=0))
