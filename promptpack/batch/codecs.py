"""How the records of a chunk become bytes of a file: lines, plain or compressed, or an Arrow record batch.

Each chunk is a block that stands by itself (a gzip member, a Zstandard frame, an Arrow message), so that a file can be
cut at the end of any block and go on there, and the bytes do not depend on when that happened.
"""

from __future__ import annotations

import gzip
import importlib
import zlib
from collections.abc import Sequence
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

from promptpack.errors import OptionError, SourceError

_LEVEL = 6


class Codec(Protocol):
    """Turns records into a block, and a block back into records."""

    def encode(self, records: Sequence[Any]) -> bytes:
        """Return the block; the same records give the same bytes."""
        ...

    def decode(self, block: bytes) -> list[Any]:
        """Return the records of a block."""
        ...


class Plain:
    """Lines as they are."""

    def encode(self, records: Sequence[Any]) -> bytes:
        """Return the lines in one."""
        return b"".join(records)

    def decode(self, block: bytes) -> list[Any]:
        """Return the lines, each with its line feed."""
        return block.splitlines(keepends=True) if b"\r" not in block else _lines(block)


class Gzip(Plain):
    """Lines in a gzip member without name and time."""

    def encode(self, records: Sequence[Any]) -> bytes:
        """Return the compressed lines; nothing for none."""
        return gzip.compress(b"".join(records), _LEVEL, mtime=0) if records else b""

    def decode(self, block: bytes) -> list[Any]:
        """Return the lines."""
        return super().decode(gzip.decompress(block))


class Zstd(Plain):
    """Lines in a Zstandard frame; needs Python 3.14 or the package zstandard."""

    def encode(self, records: Sequence[Any]) -> bytes:
        """Return the compressed lines; nothing for none."""
        if not records:
            return b""
        own, package = _zstd()
        data = b"".join(records)
        return cast("bytes", own.compress(data) if own else package.ZstdCompressor().compress(data))

    def decode(self, block: bytes) -> list[Any]:
        """Return the lines."""
        if not block:
            return []
        own, package = _zstd()
        return super().decode(own.decompress(block) if own else package.ZstdDecompressor().decompress(block))


class Arrow:
    """Records as an Arrow message of `promptpack.batch.arrow.SCHEMA`; needs the extra `batch`."""

    def encode(self, records: Sequence[Any]) -> bytes:
        """Return the message; nothing for no records."""
        from promptpack.batch.arrow import message

        return message(records) if records else b""

    def decode(self, block: bytes) -> list[Any]:
        """Return the records."""
        from promptpack.batch.arrow import records

        return records(block) if block else []


_CODECS: dict[str, type[Codec]] = {"plain": Plain, "gzip": Gzip, "zstd": Zstd, "arrow": Arrow}


def codec_for(name: str) -> Codec:
    """Return a codec by its name."""
    return _CODECS[name]()


def codec_of(path: str) -> str:
    """Return the name of the codec that a file's name calls for, by its ending.

    OptionError where it needs a package that is not installed.

    >>> codec_of("out.jsonl"), codec_of("out.jsonl.gz")
    ('plain', 'gzip')
    """
    ending = Path(path).suffix.lower()
    if ending == ".gz":
        return "gzip"
    if ending in (".zst", ".zstd"):
        _zstd()
        return "zstd"
    if ending in (".parquet", ".pq"):
        need_arrow()
        return "arrow"
    return "plain"


def open_lines(path: str) -> BinaryIO:
    """Open a file of lines for reading, decompressed by the ending of its name; SourceError where that fails."""
    name = codec_of(path)
    try:
        if name == "gzip":
            return cast("BinaryIO", gzip.open(path, "rb"))
        if name == "zstd":
            from promptpack.batch.frames import Frames

            own, package = _zstd()
            opener = own.ZstdDecompressor if own else lambda: package.ZstdDecompressor().decompressobj()
            return BufferedReader(Frames(path, opener), 1 << 20)
        return Path(path).open("rb", buffering=1 << 20)
    except OSError as error:
        raise SourceError(f"{path}: cannot be read: {error.strerror}", field="input") from error


def need_arrow() -> Any:
    """Return pyarrow; OptionError that names the extra where it is not installed."""
    try:
        import pyarrow
    except ImportError as error:
        raise OptionError(
            'Parquet and Arrow need pyarrow: pip install "promptpack-rag[batch]"', name="pyarrow", given=None
        ) from error
    return pyarrow


def _zstd() -> tuple[Any, Any]:
    """Return the module of Python 3.14, or the package zstandard; OptionError where there is neither."""
    for own, name in ((True, "compression.zstd"), (False, "zstandard")):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        return (module, None) if own else (None, module)
    raise OptionError(
        "Zstandard files need Python 3.14 or the package zstandard: pip install zstandard", name="zstd", given=None
    )


def _lines(block: bytes) -> list[bytes]:
    """Split at line feeds alone."""
    lines = [line + b"\n" for line in block.split(b"\n")]
    return lines[:-1]  # what follows the last line feed is nothing


READ_ERRORS = (OSError, EOFError, zlib.error, ValueError)
