"""The journal of a run: how far it is, written so that a run ended at any moment goes on from there.

The files of a run are synced to disk before the journal names their sizes, and the journal is replaced as a whole. A
run that goes on cuts its files to those sizes and reads on at the place that the journal names; since every block of
the output follows from the input alone, the result is byte for byte that of a run that was never ended.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any

from promptpack.batch.tally import Summary
from promptpack.errors import OptionError, PromptpackError, quote
from promptpack.tokens.base import BaseCounter
from promptpack.version import __version__

FORMAT = 1
_ENDS = 65_536  # bytes at either end of an input that tell it from others


@dataclass(slots=True)
class State:
    """How far a run is.

    position: where the input goes on: a byte, or for Parquet a row. rows: how many rows were read. sizes: of the files,
    by what they hold. parts: the requests and bytes of each part of the output. finished: whether all is written, and
    only the names of the files are to be changed.
    """

    position: int = 0
    rows: int = 0
    sizes: dict[str, int] = field(default_factory=dict)
    parts: list[list[int]] = field(default_factory=list)
    summary: Summary = field(default_factory=Summary)
    finished: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "position": self.position, "rows": self.rows, "sizes": dict(self.sizes),
            "parts": [list(one) for one in self.parts], "summary": self.summary.to_dict(), "finished": self.finished,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> State:
        """Read what `to_dict` wrote."""
        return cls(**{**data, "summary": Summary.from_dict(data["summary"])})


@dataclass(frozen=True, slots=True)
class Journal:
    """The file. job: a digest of everything that decides the result; a run goes on only where it is the same."""

    path: Path
    job: str

    def exists(self) -> bool:
        """Tell whether a run was begun and not finished."""
        return self.path.exists() and failed_of(self.path) is None

    def read(self) -> State:
        """Return how far the run is; OptionError where it was begun with other options or another input."""
        try:
            data = json.loads(self.path.read_bytes())
            job, state = data["job"], State.from_dict(data["state"]) if data["format"] == FORMAT else None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise PromptpackError(
                f"{self.path}: this is no journal that can be read ({type(error).__name__}); start over with --restart"
            ) from error
        if state is None or job != self.job:
            raise OptionError(
                f"{self.path}: that run had other options, another input or another version; start over with "
                "--restart, or give the options that it had", name="resume", given=None,
            )
        return state

    def write(self, state: State) -> None:
        """Replace the journal as a whole."""
        write_whole(self.path, {"format": FORMAT, "job": self.job, "state": state.to_dict()})

    def remove(self) -> None:
        """Delete the journal: the run is over."""
        self.path.unlink(missing_ok=True)

    def end(self, summary: Summary, *, skipped: bool) -> None:
        """The run is over. skipped: rows that failed have no file that tells of them, so that the journal stays."""
        if skipped and summary.failures:
            write_whole(self.path, {"format": FORMAT, "failed": summary.failures})
        else:
            self.remove()


def failed_of(path: Path) -> int | None:
    """Return how many rows failed in a run that is over, where a journal tells of one (`Journal.end`)."""
    try:
        data = json.loads(path.read_bytes())
        failed = data.get("failed") if isinstance(data, dict) else None
    except (OSError, ValueError):
        return None
    return failed if isinstance(failed, int) else None


def write_whole(path: Path, data: Any) -> None:
    """Write a file of JSON that is there as a whole or not at all."""
    fresh = path.with_name(f"{path.name}.new")
    with fresh.open("w", encoding="utf-8") as file:
        file.write(json.dumps(data))
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make sure that new names of files are on disk; where a system cannot, it need not."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def digest(parts: Iterable[Any]) -> str:
    """Return a digest of values, the same in every process: of data by what it holds, of functions by their names.

    >>> digest([1, "a"]) == digest([1, "a"]) != digest([1, "b"])
    True
    """
    made = hashlib.blake2b(digest_size=16)
    made.update(__version__.encode())
    for part in parts:
        made.update(json.dumps(_plain(part, 0), sort_keys=True).encode())
    return made.hexdigest()


def _plain(value: Any, depth: int) -> Any:
    if depth > 32:
        return "..."
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, BaseCounter):
        own = getattr(value, "function", None)
        return ["counter", value.name, None if own is None else _plain(own, depth + 1)]
    if is_dataclass(value) and not isinstance(value, type):
        held = {one.name: _plain(getattr(value, one.name), depth + 1) for one in fields(value) if one.compare}
        return [type(value).__qualname__, held]
    if isinstance(value, Mapping):
        return [[_plain(key, depth + 1), _plain(one, depth + 1)] for key, one in value.items()]
    if isinstance(value, Set):
        return sorted(json.dumps(_plain(one, depth + 1)) for one in value)
    if isinstance(value, list | tuple):
        return [_plain(one, depth + 1) for one in value]
    if isinstance(value, Path):
        return str(value)
    name = getattr(value, "__qualname__", None) or type(value).__qualname__
    return [str(getattr(value, "__module__", "")), str(name)]


def identity(path: str) -> list[Any]:
    """Return what tells an input file from another: its size, and a digest of its first and last 64 KiB."""
    file = Path(path)
    try:
        size = file.stat().st_size
        made = hashlib.blake2b(digest_size=16)
        with file.open("rb") as stream:
            made.update(stream.read(_ENDS))
            stream.seek(max(0, size - _ENDS))
            made.update(stream.read(_ENDS))
    except OSError as error:
        raise OptionError(f"{quote(path, 200)}: cannot be read: {error.strerror}", name="input", given=path) from error
    return [size, made.hexdigest()]
