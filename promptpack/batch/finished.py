"""What is known of a run that is over: whether there is something to go on with, and how many rows it skipped."""

from __future__ import annotations

from pathlib import Path

from promptpack.batch.journal import Journal, failed_of
from promptpack.batch.options import Options
from promptpack.batch.outputs import Lock, Plan
from promptpack.batch.run import beside_path


def finished_before(target: str, options: Options) -> Path | None:
    """Return the output where it is there and no journal tells of an unfinished run, so that nothing is to be done.

    What it holds is not known: the journal, which tells of the job, goes when a run ends. A lock that a killed run left
    is removed; OptionError where another run holds it.
    """
    if target == "-" or not options.resume or Path(target).is_dir():
        return None
    out = Path(target)
    first = Plan(out, split=(None, None) if options.split else None).part(1)
    lock = beside_path(out, "lock")
    if lock.exists():
        with Lock(lock):  # which removes it
            pass
    there = Journal(beside_path(out, "journal"), "").exists() or beside_path(out, "parts").exists()
    return first if first.exists() and not there else None


def failed_before(target: str) -> int:
    """Return how many rows a finished run skipped, as far as its journal tells."""
    return failed_of(beside_path(Path(target), "journal")) or 0


def said_of(there: Path, failed: int) -> str:
    """Return what is said of an output that nothing is done about.

    >>> said_of(Path("out.jsonl"), 1)
    'out.jsonl is complete, but for 1 row that failed; there is nothing to go on with'
    """
    if failed:  # the journal of that run stayed
        rows = f"{failed:,} row{'s' * (failed != 1)}"
        return f"{there} is complete, but for {rows} that failed; there is nothing to go on with"
    return f"{there} exists and no journal tells of an unfinished run: nothing is done; its content was not checked"
