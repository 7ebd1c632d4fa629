"""The parts of a divided job: made one by one, by whichever process, in a folder that a rerun goes on from.

    job.json         the digest of all that decides the result, and the shards
    000007.jsonl     what came of shard 7; with .labels.jsonl, .dead.jsonl, and .rows: the ids
    000007.done      the totals: the part is complete, since this file comes last
    wanted-...       there as long as somebody waits for parts that others make

Each attempt works in a folder of its own and renames its files when they are complete. Two attempts at once, as where a
node that was taken for dead was not, therefore do no harm: both give the same bytes.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from promptpack.batch.chunks import LARGEST_ROW
from promptpack.batch.job import Job
from promptpack.batch.journal import digest, identity, sync_folder, write_whole
from promptpack.batch.outputs import beside_name
from promptpack.batch.run import pack_shard
from promptpack.batch.shard import Shard
from promptpack.batch.tally import Summary
from promptpack.errors import OptionError, PromptpackError

FORMAT = 1
_TRY = "try-"
_WANTED = "wanted-"
_OURS = re.compile(rf"[0-9]{{6,}}\..*|job\.json.*|ids(-wal|-shm)?|{_WANTED}.*")


@dataclass(frozen=True, slots=True)
class Parts:
    """The folder. suffix: of the output, as ".jsonl" or ".jsonl.gz"."""

    folder: Path
    suffix: str = ".jsonl"

    def file(self, number: int, what: str = "") -> Path:
        """Return the name of a part, or of what lies beside it: "labels" or "dead"."""
        out = self.folder / f"{number:06d}{self.suffix}"
        return beside_name(out, what) if what else out

    def rows(self, number: int) -> Path:
        """Return the name of the list of a part's rows."""
        return self.folder / f"{number:06d}.rows"

    def done(self, number: int) -> Path:
        """Return the name of the file that tells that a part is complete."""
        return self.folder / f"{number:06d}.done"

    def complete(self) -> set[int]:
        """Return the numbers of the parts that are complete."""
        return {int(one.stem) for one in self.folder.glob("*.done")}

    def summary(self, number: int) -> Summary:
        """Return the totals of a complete part."""
        return Summary.from_dict(json.loads(self.done(number).read_bytes()))

    def make(
        self, number: int, shard: Shard, job: Job, *, workers: int = 0, largest_row: int = LARGEST_ROW,
    ) -> None:
        """Make a part that is not there. workers: as for `pack_shard`; 1 or more protect from rows that kill."""
        if self.done(number).exists():
            return
        scratch = Path(tempfile.mkdtemp(prefix=f"{_TRY}{number:06d}-", dir=self.folder))
        try:
            made = Parts(scratch, self.suffix)
            summary = pack_shard(
                shard, made.file(number), job, workers=workers, largest_row=largest_row, listing=made.rows(number)
            )
            write_whole(made.done(number), summary.to_dict())
            files = [made.rows(number), made.file(number)]
            files += [made.file(number, "labels")] if job.beside else []
            files += [made.file(number, "dead")] if summary.failures else []
            for name in files:  # where one is gone, somebody has cleared the folder: that is an error, and no part
                name.replace(self.folder / name.name)
            sync_folder(self.folder)
            made.done(number).replace(self.done(number))
            sync_folder(self.folder)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    @contextmanager
    def wanted(self) -> Iterator[Path]:
        """Give a file, of a name of its own, that is there as long as the caller waits for parts."""
        handle, name = tempfile.mkstemp(prefix=_WANTED, dir=self.folder)
        os.close(handle)
        try:
            yield Path(name)
        finally:
            Path(name).unlink(missing_ok=True)

    @contextmanager
    def worked_on(self) -> Iterator[None]:
        """Clear the folder where work on it fails before there is a single part: there is nothing to go on with."""
        try:
            yield
        except BaseException:
            if not self.complete():
                self.clear()
            raise

    def begun(self) -> bool:
        """Tell whether there is a job that was not finished."""
        return self._job.exists()

    def begin(self, shards: Callable[[], Sequence[Shard]], known: str, *, restart: bool) -> list[Shard]:
        """Set the folder up, or go on with it; return the shards that it was begun with. shards: gives them anew.

        OptionError where it belongs to a job with other options or another input.
        """
        told = self._job
        if told.exists() and not restart:
            try:
                data = json.loads(told.read_bytes())
                held = data["digest"] if data["format"] == FORMAT else None
                found = [Shard(**one) for one in data["shards"]]
            except (ValueError, KeyError, TypeError) as error:
                raise PromptpackError(
                    f"{told}: cannot be read ({type(error).__name__}); --restart begins anew"
                ) from error
            if held != known:
                raise OptionError(
                    f"{self.folder}: its parts have other options, another input or another version; --restart begins "
                    "anew, or give the options that they had", name="resume", given=None,
                )
            return found
        fresh = list(shards())
        self.clear()
        self.folder.mkdir(exist_ok=True)
        write_whole(told, {"format": FORMAT, "digest": known, "shards": [asdict(one) for one in fresh]})
        return fresh

    def clear(self) -> None:
        """Delete the folder, but for what is not of a job. Without its first file what is left counts for nothing."""
        if not self.folder.is_dir():
            return
        self._job.unlink(missing_ok=True)
        sync_folder(self.folder)
        for one in self.folder.iterdir():
            if one.is_dir() and one.name.startswith(_TRY):
                shutil.rmtree(one, ignore_errors=True)
            elif _OURS.fullmatch(one.name):
                one.unlink(missing_ok=True)
        with suppress(OSError):  # somebody else's files are in it
            self.folder.rmdir()

    @property
    def _job(self) -> Path:
        return self.folder / "job.json"


def fingerprint(files: Sequence[Path], job: Job, more: Sequence[Any]) -> str:
    """Return a digest of all that decides what the parts hold."""
    return digest([[[one.name, *identity(str(one))] for one in files], job, *more])
