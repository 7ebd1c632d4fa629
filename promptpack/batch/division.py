"""How an input is divided for many workers: the files of a folder, each in shards of a size that follows from it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from promptpack.batch.shard import Shard, shards
from promptpack.errors import OptionError, quote

SMALLEST, LARGEST = 16_000_000, 256_000_000  # bytes of a shard: a second or two of work, half a minute
_WANTED = 2000  # shards of a large input: enough for hundreds of processors, few enough for a folder
_ENDINGS = (".jsonl", ".ndjson", ".json", ".parquet", ".pq")
_PACKED = (".gz", ".zst", ".zstd")


def inputs(source: str | Path) -> list[Path]:
    """Return the files of an input: the file itself, or those of a folder, in the order of their names.

    Names that begin with a dot or an underscore are left out, as other tools do. OptionError for a file in the folder
    that is neither JSON Lines nor Parquet by its name, and for a folder without files.
    """
    path = Path(source)
    if not path.is_dir():
        return [path]
    found = sorted(one for one in path.iterdir() if one.is_file() and one.name[0] not in "._")
    for one in found:
        name = one.name.lower()
        for ending in _PACKED:
            name = name.removesuffix(ending)
        if not name.endswith(_ENDINGS):
            raise OptionError(
                f"input: {quote(one.name)} in {quote(str(path), 200)} is neither JSON Lines nor Parquet by its name; "
                f"known are {', '.join(_ENDINGS)}, and of lines also {', '.join(_PACKED)}", name="input",
                given=str(one),
            )
    if not found:
        raise OptionError(f"input: the folder {quote(str(path), 200)} has no files", name="input", given=str(path))
    return found


def divide(source: str | Path, size: int | None = None) -> list[Shard]:
    """Return the shards of a file or of a folder's files, in order.

    size: bytes of a shard of lines. None takes a two-thousandth of the input, but 16 to 256 MB; it depends on nothing
    else, so that a job that goes on elsewhere is divided as before. Compressed files are one shard, and each row
    group of Parquet is one.
    """
    files = inputs(source)
    for one in files:
        if not one.exists():
            raise OptionError(f"input: {quote(str(one), 200)}: there is no such file", name="input", given=str(one))
    if size is None:
        size = min(LARGEST, max(SMALLEST, sum(one.stat().st_size for one in files) // _WANTED))
    several = Path(source).is_dir()
    return [
        replace(shard, name=one.name) if several else shard for one in files for shard in shards(one.absolute(), size)
    ]
