"""Parts of an input that can be worked on apart: a whole file, a byte range of lines, a row group of Parquet."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from promptpack.batch.archives import MAGIC, no_archive
from promptpack.batch.chunks import LARGEST_ROW, Chunk, Place, read_lines
from promptpack.batch.codecs import READ_ERRORS, codec_of, open_lines
from promptpack.errors import OptionError, SourceError, quote

SIZE = 64_000_000  # bytes of a shard
_PIECE = 1_000_000


@dataclass(frozen=True, slots=True)
class Shard:
    """What is to be read. start, stop: bytes of a file of lines, at the ends of lines; group: a row group of Parquet.

    Numbers of rows count within the shard where it does not start at 0; the names of rows without ids follow from
    their places in the file, so that they are the same however it is divided. name: of the file, where an input has
    several; it goes into these names.
    """

    path: str
    start: int = 0
    stop: int | None = None
    group: int | None = None
    name: str = ""

    @classmethod
    def of(cls, value: str | Path | Shard) -> Shard:
        """Return a shard as it is, and a path as the whole file ("-" is standard input)."""
        if isinstance(value, Shard):
            return value
        if not isinstance(value, str | Path) or not str(value):
            raise OptionError(f"input: expected a path, got {quote(value)}", name="input", given=value)
        return cls(str(value))

    @property
    def parquet(self) -> bool:
        """Whether the file is Parquet, by its name."""
        return self.path != "-" and Path(self.path).suffix.lower() in (".parquet", ".pq")

    def total(self) -> int | None:
        """Return the size in the unit of positions: bytes, or rows of Parquet; None where it is not known."""
        if self.path == "-" or self.group is not None:
            return None
        if self.parquet:
            from promptpack.batch.parquet import row_count

            return row_count(self.path)
        if codec_of(self.path) != "plain":
            return None
        return (Path(self.path).stat().st_size if self.stop is None else self.stop) - self.start

    def chunks(self, stdin: BinaryIO, *, position: int = 0, rows: int = 0, largest: int = LARGEST_ROW,
               apart: bool = False) -> Iterator[Chunk]:
        """Yield the rows from a position on, before which there are `rows`; SourceError where reading fails.

        apart: whether other processes work on them, who then read them from the file by themselves, where it is one
        that allows that.
        """
        found = self._chunks(stdin, position, rows, largest, apart)
        yield from (replace(one, origin=self.name) for one in found) if self.name else found

    def _chunks(self, stdin: BinaryIO, position: int, rows: int, largest: int, apart: bool) -> Iterator[Chunk]:
        if self.parquet:
            from promptpack.batch.parquet import read_parquet

            yield from read_parquet(self.path, skip=position, group=self.group, largest=largest)
            return
        at = max(position, self.start)
        stream = stdin if self.path == "-" else open_lines(self.path)
        place = None
        try:
            if self.path != "-" and codec_of(self.path) == "plain":
                if at == 0:
                    no_archive(_start(stream), self.path)
                stream.seek(at)
                place = Place.of(self.path, stream, largest) if apart else None
            else:
                _pass_over(stream, at)
            found = read_lines(stream, first=rows + 1, start=at, stop=self.stop, largest=largest, place=place)
            yield from _of_lines(found) if self.path == "-" else found
        finally:
            if self.path != "-":
                stream.close()


def _start(stream: BinaryIO) -> bytes:
    """Return the first bytes."""
    try:
        return stream.read(MAGIC)
    except OSError:  # reading it tells
        return b""


def _of_lines(chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    """Yield the chunks of standard input; OptionError where they are no lines."""
    for each in chunks:
        if each.first == 1 and each.rows:
            no_archive(bytes(each.rows[0].data[:MAGIC]), "-")
        yield each


def _pass_over(stream: BinaryIO, count: int) -> None:
    """Read what a run has read before; SourceError where there is less."""
    left = count
    while left:
        try:
            piece = stream.read(min(left, _PIECE))
        except READ_ERRORS as error:
            raise SourceError(f"input: cannot be read: {quote(str(error))}", field="input") from error
        if not piece:
            raise SourceError(
                f"input: ends before byte {count}, up to which the unfinished run has read it", field="input"
            )
        left -= len(piece)


def shards(path: str | Path, size: int = SIZE) -> list[Shard]:
    """Divide a file: lines into ranges of about `size` bytes, Parquet into row groups; others are one shard.

    Reads no more than the lines at the cuts.

    >>> shards("-")
    [Shard(path='-', start=0, stop=None, group=None, name='')]
    """
    check_size(size)
    whole = Shard.of(path)
    if whole.path == "-":
        return [whole]
    if whole.parquet:
        from promptpack.batch.parquet import row_groups

        return [Shard(whole.path, group=number) for number in range(row_groups(whole.path))]
    if codec_of(whole.path) != "plain":
        return [whole]
    cuts = [0]
    with open_lines(whole.path) as file:
        end = file.seek(0, os.SEEK_END)
        while cuts[-1] + size < end:
            file.seek(cuts[-1] + size - 1)
            while (piece := file.readline(_PIECE)) and not piece.endswith(b"\n"):
                pass
            if not piece or file.tell() >= end:
                break
            cuts.append(file.tell())
    return [Shard(whole.path, start, stop) for start, stop in zip(cuts, [*cuts[1:], end], strict=True)]


def check_size(size: object) -> None:
    """OptionError for what is no size of a shard."""
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise OptionError(f"size: expected a number of bytes from 1, got {quote(size)}", name="size", given=size)
