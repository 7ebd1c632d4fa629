"""The tables of the terminal: the bar, every number of the account, all sources, and what was left out."""

from __future__ import annotations

import dataclasses
import io

from rich.console import Console

from promptpack import Budget, Payload, PromptBuilder, Source, Window
from promptpack.view.tables import LISTED, print_payload, print_verification


def shown(payload: Payload, width: int = 100, *, colour: bool = False, **options: object) -> str:
    console = Console(
        file=io.StringIO(), width=width, force_terminal=colour, color_system="standard" if colour else None
    )
    print_payload(payload, console, **options)  # type: ignore[arg-type]
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def payload(count: int = 3) -> Payload:
    sources = [Source(f"c{n}", f"Text number {n}.", 1 / (n + 1)) for n in range(count)]
    builder = PromptBuilder(Window(1_000 + 40 * count, answer=100, margin=50), counter="words")
    return builder.add_sources([*sources, Source("empty", " ")]).with_question("Why?").render()


def test_the_bar_shows_the_window_in_proportion() -> None:
    """If it fails, the bar says something other than the table below it."""
    bar = shown(payload()).splitlines()[0]
    assert len(bar) == 100
    whole = payload().budget.window
    assert abs(bar.count("a") - 100 * 100 / whole) <= 1
    assert abs(bar.count("-") - 50 * 100 / whole) <= 1
    assert list(dict.fromkeys(bar)) == ["s", "#", "q", "f", ".", "-", "a"]
    assert len(shown(payload(), width=40).splitlines()[0]) == 40


def test_colours_are_for_terminals_only() -> None:
    """If it fails, a file or a pipe gets the codes of colours."""
    assert "\x1b[" in shown(payload(), colour=True)
    assert "\x1b[" not in shown(payload())


def test_every_source_is_a_line_where_all_are_asked_for() -> None:
    """If it fails, `promptpack explain` leaves sources out, or the short form of `render --explain` says nothing."""
    many = payload(LISTED + 30)
    whole = shown(many, listed=None)
    assert all(f" {one.label} " in whole and f" {one.chunk_ids[0]} " in whole for one in many.sources)
    assert "more" not in whole
    assert "30 more" in shown(many)
    rows = [line for line in shown(many).splitlines() if any(f" {one} " in line for one in ("start", "middle", "end"))]
    assert len(rows) == LISTED


def test_what_was_sent_of_a_source_has_a_column() -> None:
    """If it fails, the terminal does not tell which part of a source the model sees."""
    made = payload()
    assert "characters sent" not in shown(made)
    first, *others = made.sources
    part = dataclasses.replace(first, text=first.source.text[5:8], ranges=((5, 8),))
    text = shown(dataclasses.replace(made, sources=(part, *others)))
    row = next(line for line in text.splitlines() if f" {first.label} " in line)
    assert "characters sent" in text
    assert f"5-8 of {len(first.source.text)}" in row
    assert text.count(" all ") == len(others)


def test_what_was_left_out_and_changed_is_told() -> None:
    """If it fails, a drop, an escape or a note is silent."""
    made = payload()
    report = dataclasses.replace(made.report, notes=("a note",), escaped=(("c1", "close", 2),) * (LISTED + 1))
    text = shown(dataclasses.replace(made, report=report))
    for told in ("empty", "1 source not sent", "note: a note", "escaped in c1: 2 close", "and in 1 more"):
        assert told in text


def test_odd_numbers_are_shown() -> None:
    """If it fails, a stored payload with numbers that do not add up ends in an error of Python."""
    made = payload()
    for budget in (Budget(window=0), Budget(window=5, used=900, system=9_000), Budget(window=10**5_000, answer=3)):
        assert "window" in shown(dataclasses.replace(made, budget=budget))
    odd = dataclasses.replace(made.sources[0], label="[red]x\x1b[31m", rank=-5, tokens=10**5_000)
    text = shown(dataclasses.replace(made, sources=(odd,)))
    assert "[red]x\\x1b[31m" in text
    assert "about 2^" in text


def test_a_verification_is_told() -> None:
    """If it fails, the answer that was given to `explain` is not checked before the reader's eyes."""
    console = Console(file=io.StringIO(), width=100)
    print_verification(payload().verify('Yes [S1]. It says "this is nowhere to be found" [S2]. No [S9].'), console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    for told in ("S1, S2", "S9", "this is nowhere to be found (nowhere)", "not ok"):
        assert told in text
