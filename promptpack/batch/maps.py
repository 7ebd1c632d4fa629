"""The label maps of a batch, or its payloads, found by the names of their requests: in a file, or in those of a folder.

Held in memory are the names and places of the lines, and one file is open at a time: a folder may have thousands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from promptpack.batch.archives import no_archive
from promptpack.batch.codecs import READ_ERRORS, open_lines
from promptpack.batch.rows import parse_line
from promptpack.errors import OptionError, PromptpackError, SourceError, quote


class Maps:
    """The lines of the files. places: by the name of each request its file, where its line starts, and the row's id."""

    def __init__(self, path: str) -> None:
        self._files = map_files(path)
        self._open: tuple[str, BinaryIO] | None = None
        self.places: dict[str, tuple[int, int, str]] = {}
        try:
            for number, each in enumerate(self._files):
                self._read(number, each)
        except BaseException:
            self.close()
            raise

    def _read(self, file: int, path: str) -> None:
        offset = number = 0
        stream = self._at(path)
        while data := read_line(stream, path, number):
            number += 1
            value = as_object(data, f"{path}: line {number}")
            name = value.get("custom_id", value.get("id"))
            if not isinstance(name, str) or "labels" not in value:
                raise SourceError(
                    f"{path}: line {number}: expected a label map or a payload with its custom_id, got "
                    f"{', '.join(quote(key, 20) for key in list(value)[:8]) or 'nothing'}", field="payloads",
                    index=number,
                )
            if name in self.places:
                raise SourceError(f"{path}: line {number}: custom_id {quote(name)} occurs twice", field="payloads",
                                  index=number)
            self.places[name] = (file, offset, str(value.get("id", name)))
            offset += len(data)

    def id_of(self, name: str) -> str:
        """Return the id of the row that a request is of."""
        return self.places[name][2]

    def line(self, name: str) -> Mapping[str, Any]:
        """Return the line of a request."""
        file, offset, _ = self.places[name]
        stream = self._at(self._files[file])
        stream.seek(offset)
        return as_object(read_line(stream, self._files[file], 0), f"payload {quote(name)}")

    def _at(self, path: str) -> BinaryIO:
        """Return the file, which is the one that is open from now on."""
        if self._open is None or self._open[0] != path:
            self.close()
            self._open = path, open_lines(path)
        return self._open[1]

    def close(self) -> None:
        """Close the file that is open."""
        if self._open is not None:
            self._open[1].close()
            self._open = None


def map_files(path: str) -> list[str]:
    """Return the files that hold the label maps: the file itself, or those of a folder that a batch wrote, in order.

    OptionError for what is compressed or Parquet, and for a folder without such files.
    """
    folder = Path(path)
    found = [path]
    if folder.is_dir():
        parts = [one for one in folder.iterdir() if one.name.startswith("part-") and not one.name.endswith(".part")]
        maps = [one for one in parts if one.name.endswith(".labels.jsonl")]
        lines = [one for one in parts if not one.name.endswith(".dead.jsonl")]
        found = [str(one) for one in sorted(maps or lines, key=lambda one: (len(one.name), one.name))]
        if not found:
            raise OptionError(
                f"payloads: the folder {quote(path, 200)} has no part-*.labels.jsonl and no part-*.jsonl, which are "
                "what `promptpack batch` writes into a folder", name="payloads", given=path,
            )
    for one in found:
        ending = Path(one).suffix.lower()
        if ending in (".parquet", ".pq"):
            raise OptionError(
                f"payloads: {quote(one, 200)} is Parquet, which does not hold all that a check needs; make the batch "
                "with --format payload into a .jsonl file, and give that", name="payloads", given=path,
            )
        if ending in (".gz", ".zst", ".zstd"):
            raise OptionError(
                f"payloads: {quote(one, 200)} is compressed, and lines have to be found in it one by one; unpack it "
                f"({'gzip' if ending == '.gz' else 'zstd'} -dk FILE), and give plain lines", name="payloads",
                given=path,
            )
    return found


def lines_of(stream: BinaryIO, path: str) -> Iterator[bytes]:
    """Yield the lines of a file that are not empty; SourceError where it cannot be read."""
    number = 0
    while data := read_line(stream, path, number):
        number += 1
        if number == 1:
            no_archive(data, path, "results")
        if data.strip():
            yield data.removeprefix(b"\xef\xbb\xbf") if number == 1 else data


def read_line(stream: BinaryIO, path: str, number: int) -> bytes:
    """Return the next line; SourceError where it cannot be read."""
    try:
        return stream.readline()
    except READ_ERRORS as error:
        raise SourceError(f"{path}: cannot be read after line {number}: {quote(str(error))}", field="file") from error


def as_object(data: bytes, where: str) -> Mapping[str, Any]:
    """Return the object of a line; SourceError for what is none."""
    try:
        value = parse_line(data.removeprefix(b"\xef\xbb\xbf"))
    except PromptpackError as error:
        raise SourceError(f"{where}: {error}", field="payloads") from error
    if not isinstance(value, Mapping):
        raise SourceError(f"{where}: expected an object, got {quote(value)}", field="payloads")
    return value
