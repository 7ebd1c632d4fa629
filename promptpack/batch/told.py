"""What there is to say of a run that ended: where its bad rows are, and which of its files nobody takes."""

from __future__ import annotations

from pathlib import Path

from promptpack.batch.formats import Format, beyond
from promptpack.batch.options import Options
from promptpack.batch.outputs import beside_name
from promptpack.batch.sinks import requests_of
from promptpack.batch.tally import Summary


def letters(target: str, options: Options) -> str | None:
    """Return where the bad rows of a run are, for who reads it; None where there are none, or none were kept."""
    if options.on_error != "dead-letter":
        return None
    if target != "-" and Path(target).is_dir():
        found = sorted(Path(target).glob("part-*.dead.jsonl"))
        if len(found) > 1:
            return f"{Path(target) / 'part-*.dead.jsonl'} ({len(found):,} files)"
        return str(found[0]) if found else None
    left = Path(options.dead) if options.dead else beside_name(Path("stdout" if target == "-" else target), "dead")
    return str(left) if left.is_file() else None


def ended(target: str, kind: Format, summary: Summary, options: Options) -> list[str]:
    """Return what there is to say besides the totals."""
    found = []
    if summary.failures and (there := letters(target, options)):
        found.append(f"bad rows, with the reason of each: {there}")
    if target == "-" or options.split:
        return found
    out = Path(target)
    if out.is_file() and (told := beyond(kind, summary.payloads, out.stat().st_size)):
        found.append(f"Warning: {told}; --split writes several")
    for name, requests in requests_of(out).items() if out.is_dir() else ():
        part = out / name
        if part.is_file() and (told := beyond(kind, requests, part.stat().st_size)):
            found.append(f"Warning: {part}: {told}; a smaller --shard-size makes smaller ones")
    return found
