"""Rows as they are read: in chunks of bounded size, each row with its place, so that no input has to fit in memory."""

from __future__ import annotations

import os
import pickle
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

from promptpack.batch.codecs import READ_ERRORS
from promptpack.batch.worker import stops
from promptpack.errors import OptionError, SourceError, quote

ROWS = 32  # rows of a chunk: enough to make sending it cheap, few enough to lose little and to start soon
# Of a chunk, as read: more would push the vocabulary out of the machine's caches. A longer row is a chunk of its own.
BYTES = 400_000
LARGEST_ROW = 32_000_000  # bytes
_PIECE = 1_000_000
_AHEAD = 1 << 18
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Raw:
    """One row as it was read: its number from 1, where it starts, how long it is in bytes, a fault in reading it."""

    number: int
    offset: int
    size: int
    data: Any
    fault: str | None = None

    def place(self, origin: str = "") -> str:
        """Return the name of a row that has no id; it does not depend on how the input was divided."""
        return f"at-{origin}-{self.offset}" if origin else f"at-{self.offset}"


@dataclass(frozen=True, slots=True)
class Place:
    """Where the lines of a chunk stand, for whoever works on them to read: a file, told from another that takes its
    name; the byte that they begin at; the most bytes of a line.
    """

    path: str
    file: tuple[int, int]
    start: int = 0
    largest: int = LARGEST_ROW

    @classmethod
    def of(cls, path: str, stream: BinaryIO, largest: int) -> Place | None:
        """Return the beginning of a file that a stream is of, or None where no other process can read it: a pipe, or a
        file without a name.
        """
        found = os.fstat(stream.fileno())
        whole = os.path.realpath(path)  # /dev/stdin is another file in another process
        if not stat.S_ISREG(found.st_mode) or not os.path.exists(whole) or not os.path.samestat(found, os.stat(whole)):
            return None
        return cls(whole, (found.st_dev, found.st_ino), 0, largest)

    def read(self, chunk: Chunk) -> tuple[Raw, ...]:
        """Return the lines; SourceError where they can no longer be read as they were."""
        try:
            with open(self.path, "rb", buffering=_AHEAD) as stream:
                found = os.fstat(stream.fileno())
                stream.seek(self.start)
                rows = tuple(
                    raw for each in read_lines(
                        stream, first=chunk.first, start=self.start, stop=chunk.end, largest=self.largest
                    ) for raw in each.rows
                )
        except OSError as error:
            raise SourceError(f"input: {self.path}: cannot be read: {error.strerror}", field="input") from error
        end = rows[-1].offset + rows[-1].size if rows else self.start
        if ((found.st_dev, found.st_ino), len(rows), end) != (self.file, chunk.count, chunk.end):
            raise SourceError(f"input: {self.path}: was changed while it was read", field="input")
        return rows


@dataclass(frozen=True, slots=True)
class Chunk:
    """Neighbouring rows. kind: "lines" (JSON as bytes), "pickle", "object", or "arrow" (a record batch in `table`).

    first: the number of the first row. end: where the input goes on after the chunk. origin: the name of the file,
    where an input has several. place: where the rows are read from, if they are not in `rows`.
    """

    kind: str
    first: int
    count: int
    end: int
    rows: tuple[Raw, ...] = ()
    table: bytes = b""
    origin: str = ""
    place: Place | None = None

    def read(self) -> tuple[Raw, ...]:
        """Return the rows."""
        if self.kind == "arrow":
            from promptpack.batch.parquet import rows_of

            return rows_of(self)
        return self.rows if self.place is None else self.place.read(self)

    def halves(self) -> tuple[Chunk, Chunk]:
        """Return the chunk as two, for finding the row that ends its worker."""
        middle = self.count // 2
        if self.kind == "arrow":
            from promptpack.batch.parquet import divided

            first, rest = divided(self, middle)
            return replace(first, origin=self.origin), replace(rest, origin=self.origin)
        rows = self.read()
        return (
            replace(self, count=middle, rows=rows[:middle], place=None),
            replace(self, first=self.first + middle, count=self.count - middle, rows=rows[middle:], place=None),
        )


def read_lines(stream: BinaryIO, *, first: int = 1, start: int = 0, stop: int | None = None,
               largest: int = LARGEST_ROW, place: Place | None = None) -> Iterator[Chunk]:
    """Yield the lines of a stream that stands at `start`, in chunks; a line that starts at `stop` or later is left.

    place: of the file that the stream is of; the chunks then say where their lines are, and do not hold them. Lines end
    in a line feed, and what is before it may be a carriage return. A line of more than `largest` bytes is a fault: its
    first bytes are kept, and no more of it is ever in memory. Raises SourceError where reading fails.
    """
    rows: list[Raw] = []
    offset, number, held = start, first, 0

    def chunk() -> Chunk:
        if place is None:
            return Chunk("lines", rows[0].number, len(rows), offset, tuple(rows))
        return Chunk("lines", rows[0].number, len(rows), offset, place=replace(place, start=rows[0].offset))

    while stop is None or offset < stop:
        try:
            line = stream.readline(largest + 2)
        except READ_ERRORS as error:
            raise SourceError(f"input: cannot be read after line {number - 1}: {quote(str(error))}",
                              field="input") from error
        if not line:
            break
        size, fault = len(line), None
        if size > largest + 1 and not line.endswith(b"\n"):
            size += _skip(stream)
            line, fault = line[:1000], f"row: {size:,} bytes; the most is {largest:,} (--max-row-bytes)"
        data = b""
        if place is None:
            data = line.removesuffix(b"\n").removesuffix(b"\r")
            if offset == 0:
                data = data.removeprefix(_BOM)
        rows.append(Raw(number, offset, size, data, fault))
        offset, number, held = offset + size, number + 1, held + len(line)
        if len(rows) >= ROWS or held >= BYTES:
            yield chunk()
            rows, held = [], 0
    if rows:
        yield chunk()


def _skip(stream: BinaryIO) -> int:
    """Read to the end of the line and return how many bytes that were."""
    size = 0
    while piece := stream.readline(_PIECE):
        size += len(piece)
        if piece.endswith(b"\n"):
            break
    return size


def read_objects(rows: Iterable[Any], *, pickled: bool) -> Iterator[Chunk]:
    """Yield the rows of an iterable in chunks: mappings, or lines of JSON as text or bytes.

    pickled: as bytes, for another process; a row that cannot be pickled carries the fault.
    """
    if isinstance(rows, str | bytes | Mapping) or not isinstance(rows, Iterable):
        raise OptionError(f"rows: expected an iterable of rows, got {quote(rows)}", name="rows", given=rows)
    held: list[Raw] = []
    size = 0
    for number, row in enumerate(rows, 1):
        made = _raw(number, row, pickled)
        held.append(made)
        size += made.size
        if len(held) >= ROWS or size >= BYTES:
            yield _objects(held, pickled)
            held, size = [], 0
    if held:
        yield _objects(held, pickled)


def _raw(number: int, row: Any, pickled: bool) -> Raw:
    if not pickled:
        return Raw(number, number - 1, 0, row)
    try:
        data = pickle.dumps(row, protocol=pickle.HIGHEST_PROTOCOL)
    except BaseException as error:  # a foreign object raises what it likes
        if stops(error):
            raise
        fault = f"row: cannot be sent to another process: {type(error).__name__}: {quote(str(error))}"
        return Raw(number, number - 1, 0, None, fault)
    return Raw(number, number - 1, len(data), data)


def _objects(rows: list[Raw], pickled: bool) -> Chunk:
    return Chunk("pickle" if pickled else "object", rows[0].number, len(rows), rows[-1].number, tuple(rows))
