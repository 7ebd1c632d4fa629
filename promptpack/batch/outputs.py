"""The files of a run: staged beside their names, cut to what the journal says, renamed when all is written."""

from __future__ import annotations

import errno
import os
import re
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from promptpack.batch.codecs import codec_for
from promptpack.batch.job import Done, Made
from promptpack.batch.journal import State, sync_folder
from promptpack.errors import OptionError, PromptpackError, quote

_ENDINGS = (".gz", ".zst", ".zstd")
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


@dataclass(frozen=True, slots=True)
class Plan:
    """Where things go. out: None is standard output. beside, dead: None where such lines are not kept.

    split: the most requests and bytes of a part (None: no limit); then the parts are OUT-00001 and so on.
    """

    out: Path | None
    codec: str = "plain"
    beside: Path | None = None
    dead: Path | None = None
    split: tuple[int | None, int | None] | None = None

    def part(self, number: int) -> Path:
        """Return the name of a part of the output, from 1; the output itself where there are no parts."""
        if self.out is None:
            raise OptionError("split: standard output has no parts", name="split", given=None)
        if self.split is None:
            return self.out
        return self.out.with_name(f"{self.out.stem}-{number:05d}{self.out.suffix}")

    def older(self, ending: str = "") -> list[Path]:
        """Return the parts that are there from an earlier run; with an ending, those that it was writing."""
        if self.out is None or self.split is None or not self.out.parent.is_dir():
            return []
        name = re.compile(re.escape(self.out.stem) + r"-[0-9]{5,}" + re.escape(self.out.suffix + ending))
        found = (one for one in self.out.parent.iterdir() if name.fullmatch(one.name))
        return sorted(found, key=lambda one: (len(one.name), one.name))  # by number, which may have more digits


def beside_name(out: Path, what: str) -> Path:
    """Return the name of a file that belongs to an output.

    >>> beside_name(Path("runs/out.jsonl.gz"), "dead").as_posix()
    'runs/out.dead.jsonl'
    """
    stem = out.name
    for ending in (*_ENDINGS, ".jsonl", ".parquet", ".pq", ".json", ".ndjson"):
        stem = stem.removesuffix(ending)
    return out.with_name(f"{stem or out.name}.{what}.jsonl")


def check_plain(path: Path) -> None:
    """OptionError for what a finished file cannot take the place of: a device, a pipe, a name of an open file.

    Files appear by being renamed, and a rename onto /dev/null would replace that for everybody.
    """
    device = path.parent in (Path("/dev"), Path("/dev/fd")) or path.parts[:2] == ("/", "proc")
    if device or (path.exists() and not path.is_file() and not path.is_dir()):
        raise OptionError(
            f"output: {quote(str(path), 200)} is no plain file, and a finished one takes its place; - is standard "
            "output", name="output", given=str(path),
        )


def staged(path: Path) -> Path:
    """Return the name of a file as long as it is not complete."""
    return path.with_name(path.name + ".part")


class Outputs:
    """The open files of a run, which goes on where `state` says."""

    def __init__(self, plan: Plan, state: State) -> None:
        self._plan = plan
        self._files: dict[str, BinaryIO] = {}
        self.sizes = dict(state.sizes)
        self.parts = [list(one) for one in state.parts] or [[0, 0]]
        try:
            if plan.out is None:
                self._out: BinaryIO = sys.stdout.buffer
            else:
                self._out = self._open("out", plan.part(len(self.parts)), self.parts[-1][1])
            for name, path in (("beside", plan.beside), ("dead", plan.dead)):
                if path is not None:
                    self._files[name] = self._open(name, path, self.sizes.setdefault(name, 0))
        except OSError as error:
            self.close()
            raise OptionError(f"output: {error.filename}: cannot be written: {error.strerror}", name="output",
                              given=str(plan.out)) from error

    def _open(self, name: str, path: Path, size: int) -> BinaryIO:
        file = staged(path).open("r+b" if size else "wb")
        if size:
            if file.seek(0, os.SEEK_END) < size:
                file.close()
                raise PromptpackError(f"{staged(path)}: is shorter than its journal says; start over with --restart")
            file.truncate(size)
            file.seek(size)
        if name == "out":
            self._files["out"] = file
        return file

    def write(self, done: Done, dead: list[bytes]) -> None:
        """Write what became of a chunk; what goes beside it first, so that it tells of every row a reader may get."""
        for name, lines in (("beside", done.beside), ("dead", dead)):
            if name in self._files and lines:
                data = b"".join(lines)
                self._files[name].write(data)
                self.sizes[name] += len(data)
        made = [one.size for one in done.entries if isinstance(one, Made)]
        if self._plan.split is None:
            self._put(done.block, len(made))
        else:
            at = 0
            for size in made:  # a part is closed where the next request would pass its limits
                rows, most = self._plan.split
                held, length = self.parts[-1]
                if held and ((rows is not None and held >= rows) or (most is not None and length + size > most)):
                    self._roll()
                self._put(done.block[at:at + size], 1)
                at += size

    def put(self, data: bytes) -> None:
        """Write a piece of the output as it is."""
        self._put(data, 0)

    def _put(self, data: bytes, rows: int) -> None:
        self._out.write(data)
        self.parts[-1][0] += rows
        self.parts[-1][1] += len(data)
        if self._plan.out is None:
            self._out.flush()

    def _roll(self) -> None:
        self._sync(self._out)
        self._out.close()
        self.parts.append([0, 0])
        self._out = self._open("out", self._plan.part(len(self.parts)), 0)

    def sync(self) -> None:
        """Make sure that what was written is on disk."""
        for file in self._files.values():
            self._sync(file)

    @staticmethod
    def _sync(file: BinaryIO) -> None:
        file.flush()
        os.fsync(file.fileno())

    def discard(self) -> None:
        """Delete what is staged."""
        plan = self._plan
        for path in (plan.part(1) if plan.out is not None else None, plan.beside, plan.dead):
            if path is not None:
                staged(path).unlink(missing_ok=True)

    def keep(self) -> None:
        """Name the files beside a stream that was stopped, as far as they hold something: no run goes on from there."""
        for name, path in (("beside", self._plan.beside), ("dead", self._plan.dead)):
            if path is not None and self.sizes.get(name):
                staged(path).replace(path)
            elif path is not None:
                staged(path).unlink(missing_ok=True)

    def close(self) -> None:
        """Close the files; what is staged stays."""
        for file in self._files.values():
            with suppress(OSError):
                file.close()


def complete(plan: Plan, state: State) -> None:
    """Give the files of a finished run their names, those beside the output first; doing it again does no harm."""
    folders = set()
    for name, path in (("dead", plan.dead), ("beside", plan.beside)):
        if path is None:
            continue
        if name == "dead" and not state.sizes.get(name):
            staged(path).unlink(missing_ok=True)
            path.unlink(missing_ok=True)  # of an earlier run: it would tell of rows that are fine now
        elif staged(path).exists():
            staged(path).replace(path)
        folders.add(path.parent)
    for number in range(1, len(state.parts) + 1) if plan.out is not None else ():
        path = plan.part(number)
        folders.add(path.parent)
        if staged(path).exists():
            _named(staged(path), path, plan.codec)
    if plan.split is not None:
        for path in plan.older()[len(state.parts):]:  # of the run that this one replaces
            path.unlink()
    for folder in sorted(folders):
        sync_folder(folder)


def _named(ready: Path, path: Path, codec: str) -> None:
    if codec != "arrow":
        if not ready.stat().st_size:
            ready.write_bytes(_empty(codec))
        ready.replace(path)
        return
    from promptpack.batch.parquet import write_parquet

    fresh = path.with_name(path.name + ".new")
    write_parquet(ready, fresh)
    with fresh.open("rb") as file:
        os.fsync(file.fileno())
    fresh.replace(path)
    ready.unlink()


def _empty(codec: str) -> bytes:
    """Return a file without lines, which is not empty where it is compressed."""
    made: Any = codec_for(codec).encode([b""])
    return bytes(made)


class Lock:
    """Keeps two runs from writing the same output; given free when the process ends, however it does."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None

    def __enter__(self) -> Lock:
        try:
            import fcntl
        except ImportError:  # Windows
            return self
        try:
            self._file = self._path.open("ab")
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if self._file is not None:
                self._file.close()
            raise OptionError(f"output: another run is writing it ({self._path})", name="output", given=None) from None
        except OSError as error:
            if self._file is not None and error.errno in _NO_LOCKS:  # a file system without them
                return self
            if self._file is not None:
                self._file.close()
            raise OptionError(
                f"output: {self._path}: cannot be written: {error.strerror}", name="output", given=None
            ) from error
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._path.unlink(missing_ok=True)
            self._file.close()
