"""From a file of rows to a file of payloads: read, render, write, keep the journal."""

from __future__ import annotations

import copy
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from promptpack.batch.chunks import LARGEST_ROW, Chunk
from promptpack.batch.codecs import codec_of
from promptpack.batch.dead import dead_line
from promptpack.batch.engine import ordered, vocabularies_of, worker_count
from promptpack.batch.job import Done, Job, Lost, Made
from promptpack.batch.journal import Journal, State, digest, identity
from promptpack.batch.listing import Listing, repeated
from promptpack.batch.options import Options, RowError, StoppedError
from promptpack.batch.outputs import Lock, Outputs, Plan, beside_name, check_plain, complete
from promptpack.batch.seen import Seen
from promptpack.batch.shard import Shard
from promptpack.batch.tally import Summary
from promptpack.errors import OptionError, SourceError, quote
from promptpack.files import can_be_written

Watch = Callable[[State, "int | None"], None]


def run_batch(
    source: str | Path | Shard, target: str | Path, job: Job, options: Options | None = None,
    *, watch: Watch | None = None,
) -> Summary:
    """Render each row of a file into a file; return the totals.

    source: JSON Lines (.gz and .zst are decompressed), Parquet, or "-" for standard input. target: lines, compressed
    by its ending, Parquet, or "-". Rows come out in the order of the input. The target and the files beside it appear
    when all is written; until then there are OUT.part and OUT.journal, with which `resume` goes on to the same bytes.
    watch: called after each chunk with the state and the size of the input in the same unit as `state.position`.

    Raises RowError for the first bad row where on_error is "raise", StoppedError where the input can be read or the
    output written no further, OptionError for options that do not fit together. What a run into a stream wrote beside
    it is given its name also where it stops.
    """
    return _run(Shard.of(source), target, job, options or Options(), watch)


def _run(
    shard: Shard, target: str | Path, job: Job, chosen: Options, watch: Watch | None, listing: Path | None = None
) -> Summary:
    out = None if str(target) == "-" else Path(target)
    job = job_for(job, out)
    plan = plan_of(shard, out, job, chosen)
    with ExitStack() as stack:
        journal = None
        if out is not None:
            can_be_written(out)
            stack.enter_context(Lock(beside_path(out, "lock")))
            journal = Journal(beside_path(out, "journal"), _digest(shard, job, plan, chosen))
        elif chosen.resume:
            raise OptionError("resume: standard output cannot be gone on with", name="resume", given=True)
        elif shard.path != "-":
            identity(shard.path)
        state = _begin(journal, plan, chosen)
        ids = None if out is None else beside_path(out, "ids")
        seen = Seen(ids, last=state.rows) if listing is None else Listing(listing)
        stack.callback(seen.close)
        if not state.finished:
            state = _work(shard, job, plan, chosen, journal, state, seen, watch)
        with _written(plan, state):
            complete(plan, state)
        seen.close()
        seen.remove()
        if journal is not None:
            with _written(plan, state):
                journal.end(state.summary, skipped=chosen.on_error == "skip")
        return state.summary


def pack_shard(
    source: str | Path | Shard, target: str | Path, job: Job, *, workers: int = 0, on_error: str = "dead-letter",
    largest_row: int = LARGEST_ROW, listing: str | Path | None = None,
) -> Summary:
    """Render one shard of an input into a file of its own, in this process; what a task of a cluster runs.

    The target, its label maps and its dead letters appear when they are complete, the target last; a rerun begins
    anew. workers: 1 protects against rows that end their process. listing: a file to write the ids of the rendered
    rows to, for whoever compares those of several shards; without it no two rows of the shard may have one id.
    """
    # Nothing goes on from here, so that the journal is written but once, at the end.
    options = Options(workers=workers, on_error=on_error, restart=True, largest_row=largest_row, every=float("inf"))
    return _run(Shard.of(source), target, job, options, None, None if listing is None else Path(listing))


def job_for(job: Job, out: Path | None) -> Job:
    """Return the job with the codec that the name of the output calls for; OptionError where the format is another."""
    made = replace(job, codec="plain" if out is None else codec_of(str(out)), largest=job.kind.bytes)
    if (made.codec == "arrow") != (job.format == "parquet"):
        raise OptionError(
            f"format: a file whose name ends in .parquet has the format parquet, and no other has; got {job.format} "
            f"and {quote(str(out or '-'), 200)}", name="format", given=job.format,
        )
    return made


def plan_of(shard: Shard, out: Path | None, job: Job, options: Options) -> Plan:
    """Return where things go; OptionError for options that do not fit together."""
    kind = job.kind
    beside = dead = None
    if kind.beside:
        if out is None and options.beside is None:
            raise OptionError(
                f"beside: lines of the format {job.format} have no room for the label maps; say where these go "
                "(--labels FILE)", name="beside", given=None,
            )
        beside = Path(options.beside) if options.beside else beside_name(out or Path(), "labels")
    elif options.beside is not None:
        raise OptionError(
            f"beside: the format {job.format} holds the label maps itself", name="beside", given=options.beside
        )
    if options.on_error != "skip":  # "raise" writes none, and a resumed run may
        dead = Path(options.dead) if options.dead else beside_name(out or Path("stdout"), "dead")
    if options.split and (job.codec != "plain" or out is None):
        raise OptionError(
            "split: parts are plain files, which is what providers take; name an output that is neither compressed "
            "nor Parquet nor standard output", name="split", given=True,
        )
    for one in (out, beside, dead):
        if one is not None:
            check_plain(one)
    paths = [one.resolve() for one in (out, beside, dead) if one is not None]
    if shard.path != "-":
        paths.append(Path(shard.path).resolve())
    if len(set(paths)) != len(paths):
        raise OptionError("output: two of the input, the output and the files beside it are one file", name="output",
                          given=str(out))
    return Plan(out, job.codec, beside, dead, (kind.rows, kind.bytes) if options.split else None)


def no_older(plan: Plan) -> None:
    """OptionError where there are parts of an output from an earlier run, which would stand among the new ones."""
    if found := plan.older():
        raise OptionError(
            f"split: {found[-1]} is there from an earlier run; remove its parts, or choose another name",
            name="split", given=True,
        )


def beside_path(out: Path, ending: str) -> Path:
    """Return the name of a file that a run keeps beside its output as long as it lasts."""
    return out.with_name(f"{out.name}.{ending}")


def _digest(shard: Shard, job: Job, plan: Plan, options: Options) -> str:
    known = None if shard.path == "-" else identity(shard.path)
    return digest([known, shard.start, shard.stop, shard.group, job, plan, options.largest_row])


def _begin(journal: Journal | None, plan: Plan, options: Options) -> State:
    """Return where to begin; OptionError where that is not what the options say."""
    if journal is None:
        return State()
    if options.resume:
        if journal.exists():
            return journal.read()
        if plan.part(1).exists():
            raise OptionError(
                f"resume: {plan.part(1)} exists, and no journal tells of a run to go on with; leave --resume out to "
                "make it anew", name="resume", given=True,
            )
        return State()
    if journal.exists() and not options.restart:
        raise OptionError(
            f"output: {journal.path} tells of a run that was not finished; go on with --resume, or begin anew with "
            "--restart", name="output", given=str(plan.out),
        )
    if not options.restart:
        no_older(plan)
    journal.remove()
    for path in plan.older(".part"):
        path.unlink()
    return State()


def _work(
    shard: Shard, job: Job, plan: Plan, options: Options, journal: Journal | None, state: State,
    seen: Seen | Listing, watch: Watch | None,
) -> State:
    total = shard.total()
    outputs = Outputs(plan, state)
    state = replace(state, sizes=dict(outputs.sizes), parts=[list(one) for one in outputs.parts])
    last = time.monotonic()
    workers = worker_count(options.workers)
    chunks = shard.chunks(
        sys.stdin.buffer, position=state.position, rows=state.rows, largest=options.largest_row, apart=workers > 0
    )
    results = ordered(chunks, job, workers, vocabularies=vocabularies_of(job.builder))

    def commit() -> None:
        if journal is not None:
            with _written(plan, state):
                outputs.sync()
                seen.commit()
                journal.write(state)

    try:
        for chunk, found in results:
            with _written(plan, state):
                done = without_repeated(job, seen, found)
                if options.on_error == "raise":
                    _raise_first(done)
                outputs.write(done, _dead(chunk, done) if plan.dead is not None else [])
            state = _after(state, chunk, done, outputs)
            if watch is not None:
                watch(state, total)
            if time.monotonic() - last >= options.every:
                commit()
                last = time.monotonic()
        state = replace(state, finished=True)
    except SourceError as error:
        raise StoppedError(f"stopped after {state.rows:,} rows: {error}", rows=state.rows) from error
    finally:
        results.close()
        try:
            if state.rows or state.finished:
                commit()
        finally:
            outputs.close()
            if journal is None:
                if not state.finished:
                    with suppress(OSError):  # it must not hide why the run ended
                        outputs.keep()
            elif not (state.rows or state.finished):  # there is nothing to go on with
                outputs.discard()
                seen.close()
                seen.remove()
    return state


@contextmanager
def _written(plan: Plan, state: State) -> Iterator[None]:
    """StoppedError where what is written finds no room, or the reader of standard output goes away."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        why = getattr(error, "strerror", None) or error
        said = "its reader went away" if isinstance(error, BrokenPipeError) else f"cannot be written: {why}"
        raise StoppedError(
            f"stopped after {state.rows:,} rows: {plan.out or 'standard output'}: {said}",
            rows=state.rows,
        ) from error


def without_repeated(job: Job, seen: Seen | Listing, done: Done) -> Done:
    """Return what became of a chunk without the rows whose id an earlier row has."""
    made = [one for one in done.entries if isinstance(one, Made)]
    if isinstance(seen, Listing):
        seen.add(made)
        return done
    twice = seen.add([(one.number, one.key) for one in made])
    return job.without(done, {
        one.number: repeated(one.id, str(twice[one.number])) for one in made if one.number in twice
    }) if twice else done


def _raise_first(done: Done) -> None:
    for one in done.entries:
        if isinstance(one, Lost):
            raise RowError.of(one.number, one.failure)


def _after(state: State, chunk: Chunk, done: Done, outputs: Outputs) -> State:
    summary = copy.deepcopy(state.summary)  # the state changes as a whole, or not at all
    for one in done.entries:
        if isinstance(one, Lost):
            summary.fail(one.failure.type)
        else:
            summary.add(one.tally)
    return State(
        chunk.end, state.rows + chunk.count, dict(outputs.sizes), [list(one) for one in outputs.parts], summary
    )


def _dead(chunk: Chunk, done: Done) -> list[bytes]:
    lost = {one.number: one.failure for one in done.entries if isinstance(one, Lost)}
    return [dead_line(raw, lost[raw.number]) for raw in chunk.read() if raw.number in lost] if lost else []
