"""Tables for the terminal: the account of a payload, its sources, what was left out, and a checked answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from promptpack.shown import visible
from promptpack.view.account import Part, cells, count, further, window_parts
from promptpack.view.answer import WRONG_QUOTES
from promptpack.view.kept import quoted, sent_part

if TYPE_CHECKING:
    from promptpack.citations import Claim, Quotation, Verification
    from promptpack.payload import Payload
    from promptpack.window import Budget

LISTED = 200  # rows of one table; the payload itself has them all
_NARROWEST, _WIDEST = 20, 100  # cells of the bar
_LOOKS = {
    "system": ("s", "black on magenta"), "tools": ("t", "black on bright_magenta"), "history": ("h", "black on cyan"),
    "sources": ("#", "white on blue"), "question": ("q", "black on red"), "frame": ("f", "black on white"),
    "other": ("o", "black on yellow"), "free": (".", "bright_black"), "margin": ("-", "bright_black"),
    "answer": ("a", "black on green"),
}


def _safe(text: str) -> str:
    return escape(visible(text))


def print_payload(payload: Payload, console: Console | None = None, *, listed: int | None = LISTED) -> None:
    """Print the window as a bar, the account, the sources in prompt order, and what was left out and why.

    listed: the most rows of one table, None for all; where there are more, the table says how many.
    """
    out = console or Console(stderr=True)
    parts = window_parts(payload.budget)
    out.print(_bar(parts, max(_NARROWEST, min(out.width, _WIDEST))))
    out.print(_budget(payload.budget, parts))
    out.print(_sources(payload, listed))
    if any(quoted(one) for one in payload.sources[:listed]):
        out.print(_parts(payload, listed))
    if payload.dropped:
        out.print(_dropped(payload, listed))
    if payload.dropped_turns:
        out.print(_turns(payload, listed))
    for place, kind, times in payload.report.escaped[:listed]:
        out.print(f"escaped in {_safe(place)}: {count(times)} {_safe(kind)}", highlight=False)
    if listed is not None and len(payload.report.escaped) > listed:
        out.print(f"... and in {len(payload.report.escaped) - listed} more", highlight=False)
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
        ("unsupported", "\n".join(_unsupported(one) for one in result.unsupported[:LISTED])),
        ("quoted wrongly", "\n".join(_misquoted(one) for one in result.quotes[:LISTED] if one.found in WRONG_QUOTES)),
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


def _bar(parts: Sequence[Part], width: int) -> Text:
    """Return the window as one line: each part by its letter, so that it can be read without colours, too."""
    bar = Text(no_wrap=True, overflow="crop")
    for part, size in zip(parts, cells(parts, width), strict=True):
        letter, colour = _LOOKS[part.name]
        bar.append(letter * size, style=colour)
    return bar


def _budget(budget: Budget, parts: Sequence[Part]) -> Table:
    table = Table(title="budget (tokens)", title_justify="left")
    table.add_column("")
    table.add_column("part")
    table.add_column("tokens", justify="right")
    table.add_column("of the window", justify="right")
    table.add_column("")
    for part in parts:
        letter, colour = _LOOKS[part.name]
        table.add_row(Text(letter, style=colour), part.name, count(part.tokens), f"{part.share:.1%}", part.note)
    for name, tokens, note in further(budget):
        table.add_row("", _safe(name), count(tokens), "", note)
    table.add_section()
    table.add_row("", "window", count(budget.window), "100.0%", "" if budget.exact else "counts are estimated")
    return table


def _sources(payload: Payload, listed: int | None) -> Table:
    """Return a row for each source; what of its text is sent has a column where that is not the whole of all.

    Runs of sentences are placed by what they are worth for the question, so that their order by that is told, too.
    """
    parts = [sent_part(one) for one in payload.sources[:listed]]
    table = Table(title=f"{_many(len(payload.sources), 'source')}, in prompt order", title_justify="left")
    some = any(parts)
    best = sorted(payload.sources, key=lambda one: (-one.value, one.rank)) if _by_worth(payload) else []
    worth = {one.label: place for place, one in enumerate(best, 1)}
    names = (
        "label", "region", "rank", *(("by worth",) if best else ()), "tokens",
        *(("characters sent",) if some else ()), "chunks",
    )
    for name in names:
        table.add_column(name, justify="right" if name in ("rank", "by worth", "tokens") else "left", overflow="fold")
    for one, sent in zip(payload.sources[:listed], parts, strict=True):
        row = [_safe(one.label), one.region, count(one.rank), *([count(worth[one.label])] if best else [])]
        row.append(count(one.tokens))
        row += [sent or "all"] if some else []
        table.add_row(*row, _safe(", ".join(one.chunk_ids)))
    _more(table, len(payload.sources), listed, len(names) - 1)
    return table


def _parts(payload: Payload, listed: int | None) -> Table:
    """Return how each stretch begins that was sent of a source which did not go whole."""
    table = Table(title="sent in part", title_justify="left")
    for name in ("label", "characters", "first words"):
        table.add_column(name, overflow="fold")
    for one in payload.sources[:listed]:
        for number, (place, words) in enumerate(quoted(one)):
            table.add_row("" if number else _safe(one.label), place, escape(words))
    return table


def _by_worth(payload: Payload) -> bool:
    return payload.report.select.startswith("spans")


def _dropped(payload: Payload, listed: int | None) -> Table:
    table = Table(title=f"{_many(len(payload.dropped), 'source')} not sent", title_justify="left")
    table.add_column("rank", justify="right")
    table.add_column("chunk", overflow="fold")
    table.add_column("reason")
    table.add_column("detail", overflow="fold")
    for out in payload.dropped[:listed]:
        table.add_row(count(out.rank), _safe(out.source.id), str(out.reason), _safe(out.detail))
    _more(table, len(payload.dropped), listed, 1)
    return table


def _turns(payload: Payload, listed: int | None) -> Table:
    table = Table(title=f"{_many(len(payload.dropped_turns), 'turn')} not sent", title_justify="left")
    table.add_column("message", justify="right")
    table.add_column("tokens", justify="right")
    table.add_column("detail", overflow="fold")
    for turn in payload.dropped_turns[:listed]:
        table.add_row(count(turn.turn.index), count(turn.size), _safe(turn.detail))
    _more(table, len(payload.dropped_turns), listed, 2)
    return table


def _many(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _more(table: Table, rows: int, listed: int | None, column: int) -> None:
    """Say how many rows a table leaves out."""
    if listed is not None and rows > listed:
        told = [""] * len(table.columns)
        told[0], told[column] = "...", f"{rows - listed:,} more"
        table.add_row(*told)
