"""Parquet: reading rows in chunks, and writing the file from the Arrow messages that a run has staged.

This module is loaded by who asks for it: it needs pyarrow, the extra `batch`.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any

from promptpack.batch.arrow import rows_in, schema
from promptpack.batch.chunks import BYTES, LARGEST_ROW, ROWS, Chunk, Raw
from promptpack.batch.codecs import need_arrow
from promptpack.errors import SourceError, quote

_SHORT = 1000  # bytes that are kept of a row that is too large
GROUP = 64_000_000  # bytes of a row group that is written, as Arrow holds it


def read_parquet(
    path: str, *, skip: int = 0, group: int | None = None, largest: int = LARGEST_ROW
) -> Iterator[Chunk]:
    """Yield the rows of a Parquet file in chunks, after the first `skip`; places are numbers of rows.

    group: only this row group. A row of more than `largest` bytes, as Arrow holds it, is a fault: its short columns are
    kept, and it is not rendered. Raises SourceError where the file cannot be read.
    """
    pa = need_arrow()
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path, pre_buffer=False) as file:
            meta = file.metadata
            start = 0
            for number in range(meta.num_row_groups):
                end = start + meta.row_group(number).num_rows
                if end > skip and (group is None or group == number):
                    at = start
                    for batch in file.iter_batches(batch_size=ROWS, row_groups=[number]):
                        for part in _bounded(batch, min(BYTES, largest)):
                            if at >= skip:
                                yield _chunk(part, at) if part.nbytes <= largest else _large(part, at, largest)
                            at += part.num_rows
                start = end
    except (OSError, pa.ArrowException) as error:
        raise SourceError(f"{path}: cannot be read as Parquet: {quote(str(error))}", field="input") from error


def row_groups(path: str) -> int:
    """Return the number of row groups of a file."""
    return int(_metadata(path).num_row_groups)


def row_count(path: str) -> int:
    """Return the number of rows of a file."""
    return int(_metadata(path).num_rows)


def column_names(path: str) -> list[str]:
    """Return the names of the columns of a file."""
    return [str(one) for one in _metadata(path).schema.to_arrow_schema().names]


def _metadata(path: str) -> Any:
    pa = need_arrow()
    import pyarrow.parquet as pq

    try:
        return pq.read_metadata(path)
    except (OSError, pa.ArrowException) as error:
        raise SourceError(f"{path}: cannot be read as Parquet: {quote(str(error))}", field="input") from error


def _bounded(batch: Any, most: int) -> Iterator[Any]:
    """Yield a batch, in halves as long as it is too large to be in memory several times."""
    if batch.num_rows <= 1 or batch.nbytes <= most:
        yield batch
        return
    middle = batch.num_rows // 2
    yield from _bounded(batch.slice(0, middle), most)
    yield from _bounded(batch.slice(middle), most)


def _large(batch: Any, start: int, largest: int) -> Chunk:
    """Return a chunk of one row that is too large."""
    size = batch.nbytes
    short = batch.select([name for name, column in zip(batch.schema.names, batch.columns, strict=True)
                          if column.nbytes <= _SHORT])
    fault = f"row: {size:,} bytes; the most is {largest:,} (--max-row-bytes)"
    raw = Raw(start + 1, start, size, _start(rows_in(short)[0].known), fault)
    return Chunk("lines", start + 1, 1, start + 1, (raw,))


def _start(known: dict[str, Any]) -> bytes:
    """Return what is kept of a row that is not rendered, as JSON."""
    return json.dumps(known, ensure_ascii=True, default=str)[:_SHORT].encode()


def _chunk(batch: Any, start: int) -> Chunk:
    pa = need_arrow()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return Chunk("arrow", start + 1, batch.num_rows, start + batch.num_rows, table=sink.getvalue().to_pybytes())


def rows_of(chunk: Chunk) -> tuple[Raw, ...]:
    """Return the rows of a chunk that holds a record batch."""
    return tuple(
        Raw(chunk.first + i, chunk.first + i - 1, 0, row.known) if row.fault is None else
        Raw(chunk.first + i, chunk.first + i - 1, 0, _start(row.known), row.fault)
        for i, row in enumerate(rows_in(_table(chunk)))
    )


def divided(chunk: Chunk, middle: int) -> tuple[Chunk, Chunk]:
    """Return the chunk as two."""
    batch = _table(chunk).combine_chunks().to_batches()[0]
    start = chunk.first - 1
    return _chunk(batch.slice(0, middle), start), _chunk(batch.slice(middle), start + middle)


def _table(chunk: Chunk) -> Any:
    pa = need_arrow()
    return pa.ipc.open_stream(pa.py_buffer(chunk.table)).read_all()


def messages(path: Path, leave: Container[int]) -> Iterator[bytes]:
    """Yield the rows of a file that a run has written as Arrow messages, but for some, by their places from 0."""
    need_arrow()
    import pyarrow.parquet as pq

    at = 0
    with pq.ParquetFile(path, pre_buffer=False) as file:
        for batch in file.iter_batches(batch_size=ROWS):
            kept = [row for row in range(batch.num_rows) if at + row not in leave]
            at += batch.num_rows
            if kept:
                yield bytes((batch if len(kept) == batch.num_rows else batch.take(kept)).serialize())


def write_parquet(staged: Path, target: Path) -> None:
    """Write the messages of a staged file as Parquet, in row groups of about 64 MB; the same bytes each time."""
    pa = need_arrow()
    import pyarrow.parquet as pq

    known = schema()
    with pa.OSFile(str(staged), "rb") as source, pq.ParquetWriter(str(target), known, compression="zstd") as writer:
        held: list[Any] = []
        size = 0
        while source.tell() < source.size():
            batch = pa.ipc.read_record_batch(pa.ipc.read_message(source), known)
            held.append(batch)
            size += batch.nbytes
            if size >= GROUP:
                writer.write_table(pa.Table.from_batches(held, known))
                held, size = [], 0
        if held:
            writer.write_table(pa.Table.from_batches(held, known))
