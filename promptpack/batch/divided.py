"""A divided job: shards of one file or of a folder made into parts by an engine, and the parts into the result."""

from __future__ import annotations

import functools
import sqlite3
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from promptpack.batch.division import divide, inputs
from promptpack.batch.engine import worker_count
from promptpack.batch.gather import Gather
from promptpack.batch.job import Job
from promptpack.batch.journal import Journal, State
from promptpack.batch.options import Options, StoppedError
from promptpack.batch.outputs import Lock
from promptpack.batch.parts import Parts, fingerprint
from promptpack.batch.run import Watch, beside_path, job_for, no_older, plan_of
from promptpack.batch.seen import Seen
from promptpack.batch.shard import Shard, check_size
from promptpack.batch.sinks import Folder, OneFile
from promptpack.batch.tally import Summary
from promptpack.errors import OptionError, SourceError, quote
from promptpack.files import can_be_written

# How the name of a part ends, by what it holds.
_SUFFIXES = {"plain": ".jsonl", "gzip": ".jsonl.gz", "zstd": ".jsonl.zst", "arrow": ".parquet"}
# Makes the parts of these numbers, in any order, and yields each number when its part is complete.
Engine = Callable[[Parts, Sequence[Shard], Job, Options, Sequence[int]], Generator[int, None, None]]


def run_divided(
    source: str | Path, target: str | Path, job: Job, options: Options | None = None,
    *, engine: Engine | None = None, size: int | None = None, watch: Watch | None = None,
) -> Summary:
    """Render a file, or the files of a folder, shard by shard; return the totals.

    source: JSON Lines, plain or compressed, or Parquet; a folder of such files. target: a file, which is what
    `run_batch` makes of the whole (compressed blocks and row groups may end elsewhere); or a folder (there already, or
    named with a final "/"), which then has a file for each shard. engine: makes the parts; None uses the processes
    of this computer (`Options.workers`) for one shard after the other. size: bytes of a shard of lines
    (`promptpack.batch.division.divide`). watch: called after each part; the unit is shards.

    Parts that are complete stay in OUT.parts, in a folder in .parts, until all is done, and the same call goes on from
    them, also where everything was killed; other options or another input are an OptionError unless
    `Options.restart`. Raises RowError and StoppedError as `run_batch` does.
    """
    chosen = options or Options()
    if "-" in (str(source), str(target)):
        raise OptionError("input, output: a stream cannot be divided; name files or folders", name="input", given="-")
    if size is not None:
        check_size(size)
    files = inputs(source)
    if Path(target).is_dir() or str(target).endswith("/"):
        with _in_order(Path(target), Path(target) / ".parts"):
            return _to_folder(source, Path(target), files, job, chosen, engine or here, size, watch)
    with _in_order(Path(target), beside_path(Path(target), "parts")):
        return _to_file(source, Path(target), files, job, chosen, engine or here, size, watch)


@contextmanager
def _in_order(out: Path, parts: Path) -> Iterator[None]:
    """StoppedError where a file finds no room or cannot be had: the same call goes on from the complete parts."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        rows = 0
        with suppress(OSError, ValueError, KeyError):
            kept = Parts(parts)
            rows = sum(kept.summary(number).rows for number in kept.complete())
        place = getattr(error, "filename", None) or out
        why = getattr(error, "strerror", None) or error
        raise StoppedError(f"stopped after {rows:,} rows: {place}: {why}", rows=rows) from error


def here(
    parts: Parts, shards: Sequence[Shard], job: Job, options: Options, numbers: Sequence[int]
) -> Generator[int, None, None]:
    """Make parts with the processes of this computer, one part after the other."""
    for number in numbers:
        parts.make(
            number, shards[number], job, workers=worker_count(options.workers), largest_row=options.largest_row
        )
        yield number


def _to_file(
    source: str | Path, out: Path, files: Sequence[Path], job: Job, options: Options, engine: Engine,
    size: int | None, watch: Watch | None,
) -> Summary:
    job = job_for(job, out)
    plan = plan_of(Shard(str(source)), out, job, options)
    can_be_written(out)
    known = fingerprint(files, job, ["file", options.largest_row])
    journal = Journal(beside_path(out, "journal"), known)
    with ExitStack() as stack:
        stack.enter_context(Lock(beside_path(out, "lock")))
        if journal.exists():
            if not options.restart:
                raise OptionError(
                    f"output: {journal.path} tells of a run of another kind that was not finished; finish that, or "
                    "begin anew with --restart", name="output", given=str(out),
                )
            journal.remove()
        parts = Parts(beside_path(out, "parts"), _SUFFIXES[job.codec])
        if not options.restart and not parts.begun():
            no_older(plan)
        shards = parts.begin(functools.partial(divide, source, size), known, restart=options.restart)
        for path in plan.older(".part"):
            path.unlink()
        sink = OneFile(plan)
        stack.callback(sink.discard)  # what is joined is joined again, and cheaply; the parts are what is kept
        summary = _gathered(parts, shards, files, sink, job, options, engine, watch)
        sink.finish()
        journal.end(summary, skipped=options.on_error == "skip")
        parts.clear()
    return summary


def _to_folder(
    source: str | Path, out: Path, files: Sequence[Path], job: Job, options: Options, engine: Engine,
    size: int | None, watch: Watch | None,
) -> Summary:
    for name in ("dead", "beside"):
        if getattr(options, name) is not None:
            raise OptionError(
                f"{name}: a folder has such a file beside each part; leave the option out, or name an output file",
                name=name, given=getattr(options, name),
            )
    if options.split:
        raise OptionError("split: a folder has a file for each shard; name an output file", name="split", given=True)
    if Path(source).resolve() == out.resolve():
        raise OptionError("output: the folder is the input", name="output", given=str(out))
    suffix = ".parquet" if job.format == "parquet" else ".jsonl"
    job = job_for(job, out / f"part{suffix}")
    if not out.parent.is_dir():
        raise OptionError(f"output: there is no folder {quote(str(out.parent), 200)}", name="output", given=str(out))
    out.mkdir(exist_ok=True)
    known = fingerprint(files, job, ["folder", options.largest_row, options.on_error != "skip"])
    sink = Folder(out, job.codec, suffix, options.on_error != "skip")
    parts = Parts(out / ".parts", suffix)
    with Lock(out / ".lock"):
        found = sink.finished(known)
        if found is not None and not options.restart:
            parts.clear()
            return found
        if options.restart:
            parts.clear()
            sink.clear()
        elif sink.named() and not parts.begun():
            raise OptionError(
                f"output: {sink.named()[-1]} is there from another job; choose another folder, or begin anew with "
                "--restart", name="output", given=str(out),
            )
        shards = parts.begin(functools.partial(divide, source, size), known, restart=options.restart)
        summary = _gathered(parts, shards, files, sink, job, options, engine, watch)
        sink.finish(known, summary)
        parts.clear()
    return summary


def _gathered(
    parts: Parts, shards: Sequence[Shard], files: Sequence[Path], sink: OneFile | Folder, job: Job, options: Options,
    engine: Engine, watch: Watch | None,
) -> Summary:
    """Make what is not there, and give the sink each part as soon as those before it are there."""
    paths = {one.name: str(one.absolute()) for one in files}  # the folder may have been moved since
    shards = [replace(one, path=paths[Path(one.path).name]) for one in shards]
    with parts.worked_on(), closing(Seen(parts.folder / "ids")) as seen:
        gather = Gather(parts, shards, sink, seen, options.on_error, options.largest_row)
        there = parts.complete()
        told = Summary()
        for number in sorted(there):
            told.merge(parts.summary(number))

        def settle() -> None:
            while gather.taken in there:
                gather.take()

        settle()
        if len(there) == len(shards):
            return gather.summary
        with closing(engine(parts, shards, job, options, [n for n in range(len(shards)) if n not in there])) as made:
            try:
                for number in made:
                    there.add(number)
                    told.merge(parts.summary(number))
                    settle()
                    if watch is not None:
                        watch(State(position=len(there), rows=told.rows, summary=told), len(shards))
            except SourceError as error:
                raise StoppedError(f"stopped after {told.rows:,} rows: {error}", rows=told.rows) from error
    return gather.summary
