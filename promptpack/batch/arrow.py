"""Arrow in, Arrow out: `pack_batch`, one result row for each row, in order, for any engine that speaks Arrow.

This module is loaded by who asks for it: it needs pyarrow, the extra `batch`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from promptpack.batch.codecs import need_arrow
from promptpack.batch.naming import slips
from promptpack.batch.rows import Columns, Failure, check_builder, custom_id, filled, known_id, parse_line, read_row
from promptpack.batch.worker import stops
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


def schema_ddl() -> str:
    """Return the columns of the result as Spark writes a schema, for `DataFrame.mapInArrow`.

    >>> schema_ddl()[:42]
    'id string, custom_id string, messages arra'
    """
    return ", ".join(f"{field.name} {_ddl(field.type)}" for field in schema())


def _ddl(kind: pyarrow.DataType) -> str:
    pa = need_arrow()
    if pa.types.is_struct(kind):
        return f"struct<{', '.join(f'{one.name}: {_ddl(one.type)}' for one in kind)}>"
    if pa.types.is_list(kind):
        return f"array<{_ddl(kind.value_type)}>"
    return {"string": "string", "int64": "bigint"}[str(kind)]


def pack_batch(
    batch: pyarrow.RecordBatch | pyarrow.Table, builder: PromptBuilder,
    columns: Columns | Mapping[str, str] | None = None, *, line: str | None = None,
) -> pyarrow.Table:
    """Render each row of a batch; return a table of as many rows in the same order (`schema`).

    columns: where the parts of a row stand (`promptpack.batch.rows.Columns`). sources and history may be lists of
    structs, lists of texts, or JSON text; a source's `metadata` may be JSON text. line: the column that holds each row
    as a line of JSON instead, text or bytes, which is how JSON Lines pass through engines unchanged. Other columns are
    not looked at, but for a misspelt history or system text.

    A bad row gives nulls and an `error`, and never ends the batch. No state is kept between calls but the counters'
    memo, and the function pickles (`functools.partial(pack_batch, builder=builder)`). Needs the extra `batch`.
    Raises OptionError where a column is missing from the batch, or there twice, since then every row would fail.

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
    names = batch.schema.names
    for name in (found.question, found.sources) if line is None else (line,):
        if name not in names:
            raise OptionError.unknown("column", name, names)
    parts = [getattr(found, one.name) for one in fields(found)] if line is None else [line]
    for name in parts:
        if names.count(name) > 1:
            raise OptionError(f"column: {quote(name)} is there {names.count(name)} times", name="column", given=name)
    if line is None:  # a misspelt column makes bad rows of those that have something in it
        parts += [name for name in slips(names, found) if names.count(name) == 1]
    made = []
    for number, raw in enumerate(rows_in(batch.select([name for name in parts if name in names]))):
        id_, data = None, raw.known
        try:
            if raw.fault is not None:
                raise SourceError(raw.fault, field="row")
            data = _line(data[line]) if line is not None else opened(data, found)
            id_ = known_id(data, found)
            row = read_row(data, found, f"at-{number}")
            id_ = row.id
            made.append(record(filled(builder, row).render(), row.id))
        except BaseException as error:  # a row can be wrong in any way, and so can a user's callable
            if stops(error):
                raise
            failure = Failure.of(error, id_ or known_id(data, found))
            told = None if failure.id is None else _well(failure.id)
            made.append({"id": told, "error": {"type": failure.type, "message": failure.message, "id": told}})
    return pa.Table.from_pylist(made, schema=schema())


@dataclass(frozen=True, slots=True)
class Read:
    """A row of Arrow as Python's values; where some cannot be, a fault, and the others."""

    known: dict[str, Any]
    fault: str | None = None


def rows_in(batch: pyarrow.RecordBatch | pyarrow.Table) -> list[Read]:
    """Return the rows of a batch; a text that is no UTF-8, or a date beyond Python's, is a fault of its row alone."""
    try:
        return [Read(row) for row in batch.to_pylist()]
    except Exception:  # of one row at least; Arrow's own readers do not look whether a text is one
        return [_read(batch.slice(number, 1)) for number in range(batch.num_rows)]


def _read(row: pyarrow.RecordBatch | pyarrow.Table) -> Read:
    known, fault = {}, None
    for name, column in zip(row.schema.names, row.columns, strict=True):
        try:
            known[name] = column.to_pylist()[0]
        except Exception as error:  # UnicodeDecodeError, OverflowError, ValueError
            fault = fault or f"{quote(name)}: cannot be read from Arrow: {type(error).__name__}: {quote(str(error))}"
    return Read(known, fault)


def _line(value: Any) -> Any:
    if isinstance(value, bytes):
        return parse_line(value)
    return parse_line(("" if value is None else str(value)).encode("utf-8", "surrogatepass"))


def opened(raw: Mapping[str, Any], columns: Columns) -> dict[str, Any]:
    """Return a row of Arrow with the JSON in it read: lists that are texts, and the metadata of sources."""
    row = dict(raw)
    for name in (columns.sources, columns.history):
        if isinstance(row.get(name), str | bytes):
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
        if isinstance(found.get(name), str | bytes):
            found[name] = _json(f"sources[{index}]: {name}", found[name])
        elif isinstance(found.get(name), list) and all(isinstance(one, tuple) for one in found[name]):
            found[name] = dict(found[name])  # Arrow's maps, which Spark has where others have structs
    return found


def _json(name: str, text: str | bytes) -> Any:
    try:
        return _line(text)
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
