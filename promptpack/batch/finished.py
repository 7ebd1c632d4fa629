"""What is known of a run that is over: that there is nothing to go on with, and how many rows it skipped."""

from __future__ import annotations

from pathlib import Path

from promptpack.batch.journal import Journal, failed_of
from promptpack.batch.options import Options
from promptpack.batch.outputs import Plan
from promptpack.batch.run import beside_path


def finished_before(target: str, options: Options) -> bool:
    """Tell whether there is nothing to go on with: the output is there, and no journal of an unfinished run."""
    if target == "-" or not options.resume or Path(target).is_dir():
        return False
    out = Path(target)
    first = Plan(out, split=(None, None) if options.split else None).part(1)
    return first.exists() and not Journal(beside_path(out, "journal"), "").exists() and not (
        beside_path(out, "parts").exists()
    )


def failed_before(target: str) -> int:
    """Return how many rows a finished run skipped, as far as its journal tells."""
    return failed_of(beside_path(Path(target), "journal")) or 0
