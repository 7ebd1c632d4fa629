"""Arrow in, Arrow out: `pack_batch`, one result row for each row, in order, for any engine that speaks Arrow.

This module is loaded by who asks for it: it needs pyarrow, the extra `batch`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from promptpack.batch.codecs import need_arrow
from promptpack.batch.rows import Columns, Failure, check_builder, custom_id, filled, known_id, parse_line, read_row
from promptpack.errors import OptionError, SourceError, quote
from promptpack.message import Message
from promptpack.message import to_openai as plain_message
from promptpack.stored_values import flat
from promptpack.wellformed import encodes

if TYPE_CHECKING:
    import pyarrow

    from promptpack.builder import PromptBuilder
    from promptpack.payload import Payload

JSON_COLUMNS = ("metadata", "meta", "payload")  # inside a source: kept as JSON text, since engines change nested data


def schema() -> pyarrow.Schema:
    """Return the columns of the result.

    id, custom_id: the row's id, and the name of its request. messages: role and content; what a message has beside a
    text (parts, tool calls) is a JSON object in `extra`, and a content of parts is null and stands there. labels: label
    and chunk ids, in prompt order. tokens: of the whole payload. report: a JSON object with the budget, the notes and
    what was left out. error: null, or the class, the message and the row's id.

    >>> schema().names
    ['id', 'custom_id', 'messages', 'labels', 'tokens', 'report', 'error']
    """
    pa = need_arrow()
    text = pa.string()
    return pa.schema([
        ("id", text), ("custom_id", text),
        ("messages", pa.list_(pa.struct([("role", text), ("content", text), ("extra", text)]))),
        ("labels", pa.list_(pa.struct([("label", text), ("chunk_ids", pa.list_(text))]))),
        ("tokens", pa.int64()), ("report", text),
        ("error", pa.struct([("type", text), ("message", text), ("id", text)])),
    ])


def pack_batch(
    batch: pyarrow.RecordBatch | pyarrow.Table, builder: PromptBuilder,
    columns: Columns | Mapping[str, str] | None = None, *, line: str | None = None,
) -> pyarrow.Table:
    """Render each row of a batch; return a table of as many rows in the same order (`schema`).

    columns: where the parts of a row stand (`promptpack.batch.rows.Columns`). sources and history may be lists of
    structs, lists of texts, or JSON text; a source's `metadata` may be JSON text. line: the column that holds each row
    as a line of JSON instead, which is how JSON Lines pass through engines unchanged.

    A bad row gives nulls and an `error`, and never ends the batch. No state is kept between calls but the counters'
    memo, and the function pickles (`functools.partial(pack_batch, builder=builder)`). Needs the extra `batch`.
    Raises OptionError where a column is missing from the batch, since then every row would fail.

    >>> import pyarrow as pa
    >>> from promptpack import PromptBuilder
    >>> row = {"id": "q1", "question": "How long?", "sources": [{"id": "a", "text": "30 days."}]}
    >>> rows = pa.Table.from_pylist([row])
    >>> pack_batch(rows, PromptBuilder(2000)).column("labels").to_pylist()
    [[{'label': 'S1', 'chunk_ids': ['a']}]]
    """
    pa = need_arrow()
    if not isinstance(batch, pa.RecordBatch | pa.Table):
        raise OptionError(f"batch: expected a RecordBatch or a Table, got {quote(batch)}", name="batch", given=batch)
    check_builder(builder)
    found = Columns.of(columns)
    wanted = (found.question, found.sources) if line is None else (line,)
    for name in wanted:
        if name not in batch.schema.names:
            raise OptionError.unknown("column", name, batch.schema.names)
    made = []
    for number, raw in enumerate(batch.to_pylist()):
        id_ = None
        try:
            data = parse_line(str(raw[line] or "").encode("utf-8", "surrogatepass")) if line else opened(raw, found)
            id_ = known_id(data, found)
            row = read_row(data, found, f"at-{number}")
            id_ = row.id
            made.append(record(filled(builder, row).render(), row.id))
        except Exception as error:  # a row can be wrong in any way, and so can a user's callable
            failure = Failure.of(error, id_ or known_id(raw, found))
            made.append({
                "id": failure.id, "error": {"type": failure.type, "message": failure.message, "id": failure.id},
            })
    return pa.Table.from_pylist(made, schema=schema())


def opened(raw: Mapping[str, Any], columns: Columns) -> dict[str, Any]:
    """Return a row of Arrow with the JSON in it read: lists that are texts, and the metadata of sources."""
    row = dict(raw)
    for name in (columns.sources, columns.history):
        if isinstance(row.get(name), str):
            row[name] = _json(name, row[name])
    sources = row.get(columns.sources)
    if isinstance(sources, list):
        row[columns.sources] = [_source(one, index) for index, one in enumerate(sources)]
    if isinstance(row.get(columns.history), list):  # a struct has every key in every row
        row[columns.history] = [
            {key: value for key, value in one.items() if value is not None} if isinstance(one, dict) else one
            for one in row[columns.history]
        ]
    return row


def _source(one: Any, index: int) -> Any:
    if not isinstance(one, dict):
        return one
    found = {key: value for key, value in one.items() if value is not None}
    for name in JSON_COLUMNS:
        if isinstance(found.get(name), str):
            found[name] = _json(f"sources[{index}]: {name}", found[name])
    return found


def _json(name: str, text: str) -> Any:
    try:
        return parse_line(text.encode("utf-8", "surrogatepass"))
    except SourceError as error:
        raise SourceError(f"{name}: {str(error).removeprefix('row: ')}", field=name) from error


def record(payload: Payload, id_: str) -> dict[str, Any]:
    """Return the result row of a payload."""
    return {
        "id": _well(id_), "custom_id": custom_id(id_),
        "messages": [_message(one) for one in payload.messages],
        "labels": [
            {"label": label, "chunk_ids": [_well(one) for one in ids]} for label, ids in payload.labels.items()
        ],
        "tokens": payload.tokens, "report": _dumped(account(payload)), "error": None,
    }


def account(payload: Payload) -> dict[str, Any]:
    """Return the account of a payload as plain data: the budget, how it was counted, and what was left out."""
    report = payload.report
    return {
        "tokens": payload.tokens, "budget": flat(payload.budget), "counter": report.counter, "exact": report.exact,
        "template": report.template, "model": report.model, "notes": list(report.notes),
        "dropped": [
            {"id": one.source.id, "reason": str(one.reason), "rank": one.rank, "cost": one.cost}
            for one in payload.dropped
        ],
        "dropped_turns": [{"index": one.turn.index, "reason": one.reason} for one in payload.dropped_turns],
    }


def _message(message: Message) -> dict[str, Any]:
    made = plain_message(message)
    content = made.get("content")
    plain = isinstance(content, str) and encodes(content)
    extra = {key: value for key, value in made.items() if key != "role" and not (key == "content" and plain)}
    if extra == {"content": None}:
        extra = {}
    return {"role": made["role"], "content": content if plain else None, "extra": _dumped(extra) if extra else None}


def _dumped(value: Any) -> str:
    made = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return made if encodes(made) else json.dumps(value, separators=(",", ":"))


def _well(text: str) -> str:
    """Return a text that Arrow can hold: lone surrogates become escapes."""
    return text if encodes(text) else text.encode("utf-8", "backslashreplace").decode()


def message(records: Sequence[Mapping[str, Any]]) -> bytes:
    """Return records as one Arrow message of the schema."""
    pa = need_arrow()
    return bytes(pa.RecordBatch.from_pylist(list(records), schema=schema()).serialize())


def records(block: bytes) -> list[dict[str, Any]]:
    """Return the records of an Arrow message."""
    pa = need_arrow()
    return list(pa.ipc.read_record_batch(pa.py_buffer(block), schema()).to_pylist())
