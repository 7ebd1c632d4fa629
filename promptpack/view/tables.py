"""Tables on standard error: the account of a payload, its sources, what was left out, and a checked answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from promptpack.shown import visible

if TYPE_CHECKING:
    from promptpack.citations import Claim, Quotation, Verification
    from promptpack.payload import Payload
    from promptpack.window import Budget

_WRONG = ("elsewhere", "missing")
_LISTED = 200  # rows of one table; the payload itself has them all


def _safe(text: str) -> str:
    return escape(visible(text))


def print_payload(payload: Payload, console: Console | None = None) -> None:
    """Print the account, the sources in prompt order, and what was left out and why."""
    out = console or Console(stderr=True)
    out.print(_budget(payload.budget))
    out.print(_sources(payload))
    if payload.dropped:
        out.print(_dropped(payload))
    if payload.dropped_turns:
        out.print(_turns(payload))
    for place, kind, count in payload.report.escaped[:_LISTED]:
        out.print(f"escaped in {_safe(place)}: {count} {escape(kind)}", highlight=False)
    for note in payload.report.notes:
        out.print(f"note: {_safe(note)}", highlight=False)


def print_verification(result: Verification, console: Console | None = None) -> None:
    """Print which citations are good, and every fault with its place."""
    out = console or Console(stderr=True)
    table = Table(title="citations", title_justify="left", show_header=False)
    table.add_column("what")
    table.add_column("which", overflow="fold")
    rows = [
        ("known", ", ".join(result.known)), ("cited chunks", ", ".join(result.cited)),
        ("unknown", ", ".join(result.unknown)), ("stale", ", ".join(result.stale)),
        ("malformed", ", ".join(one.text[:80] for one in result.malformed)),
        ("unsupported", "\n".join(_unsupported(one) for one in result.unsupported[:_LISTED])),
        ("quoted wrongly", "\n".join(_misquoted(one) for one in result.quotes[:_LISTED] if one.found in _WRONG)),
        ("never cited", ", ".join(result.unused)), ("sentences without", str(len(result.uncited))),
        ("coverage", f"{result.coverage:.0%}"), ("verdict", "ok" if result.ok else "not ok"),
    ]
    for name, value in rows:
        if value:
            table.add_row(name, "\n".join(map(_safe, value.split("\n"))))
    out.print(table)


def _unsupported(claim: Claim) -> str:
    missing = f", without {', '.join(claim.missing)}" if claim.missing else ""
    return f"{visible(claim.text[:80])} ({claim.support:.0%}{missing})"


def _misquoted(one: Quotation) -> str:
    return f"{visible(one.text[:80])} ({'nowhere' if one.label is None else f'in {one.label}'})"


def _budget(budget: Budget) -> Table:
    table = Table(title="budget (tokens)", title_justify="left")
    table.add_column("part")
    table.add_column("tokens", justify="right")
    table.add_column("of the window", justify="right")
    table.add_column("")
    packed = budget.used - budget.fixed
    rows = [
        ("system", budget.system, ""), ("tools", budget.tools, ""), ("history", budget.history, ""),
        ("sources", packed, f"of {budget.sources:,} available"), ("question", budget.question, ""),
        ("frame", budget.frame, "template and roles"), ("free", budget.left, ""), ("margin", budget.margin, ""),
        ("answer", budget.answer, "reserved"),
    ]
    for name, tokens, note in rows:
        if tokens or name in ("system", "sources", "question", "free", "answer"):
            table.add_row(name, f"{tokens:,}", f"{tokens / budget.window:.1%}", note)
    table.add_section()
    table.add_row("window", f"{budget.window:,}", "100.0%", "" if budget.exact else "counts are estimated")
    return table


def _sources(payload: Payload) -> Table:
    table = Table(title=f"{len(payload.sources)} sources, in prompt order", title_justify="left")
    for name in ("label", "region", "rank", "tokens", "chunks"):
        table.add_column(name, justify="right" if name in ("rank", "tokens") else "left", overflow="fold")
    for one in payload.sources[:_LISTED]:
        cut = "" if one.text == one.source.text else " (not its whole text)"
        table.add_row(one.label, one.region, str(one.rank), f"{one.tokens:,}", _safe(", ".join(one.chunk_ids) + cut))
    if len(payload.sources) > _LISTED:
        table.add_row("...", "", "", "", f"{len(payload.sources) - _LISTED} more")
    return table


def _dropped(payload: Payload) -> Table:
    table = Table(title=f"{len(payload.dropped)} sources not sent", title_justify="left")
    table.add_column("rank", justify="right")
    table.add_column("chunk", overflow="fold")
    table.add_column("reason")
    table.add_column("detail", overflow="fold")
    for out in payload.dropped[:_LISTED]:
        table.add_row(str(out.rank), _safe(out.source.id), str(out.reason), _safe(out.detail))
    if len(payload.dropped) > _LISTED:
        table.add_row("", f"{len(payload.dropped) - _LISTED} more", "", "")
    return table


def _turns(payload: Payload) -> Table:
    table = Table(title=f"{len(payload.dropped_turns)} turns not sent", title_justify="left")
    table.add_column("message", justify="right")
    table.add_column("tokens", justify="right")
    table.add_column("detail", overflow="fold")
    for turn in payload.dropped_turns[:_LISTED]:
        table.add_row(str(turn.turn.index), f"{turn.size:,}", _safe(turn.detail))
    return table
