"""The plain account of a payload: which sentences of a source were sent, by their first words, fit for a terminal."""

from __future__ import annotations

import dataclasses
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from promptpack import Cut, Payload, PromptBuilder, Source
from promptpack.view.kept import first_words, quoted
from promptpack.view.tables import print_payload

HOSTILE = "A [red]lamp[/red]\x1b[31m is\u202e here\n\nand \x9b2J\ud800 there. "


def tables(payload: Payload) -> str:
    console = Console(file=io.StringIO(), width=120)
    print_payload(payload, console)
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def in_part(text: str, *ranges: tuple[int, int]) -> Payload:
    """Return a payload whose first source was sent in these parts, the second whole."""
    sources = [Source("a", text, 1.0), Source("b", "Whole.", 0.5)]
    made = PromptBuilder(9_000, counter="words").add_sources(sources).render()
    first, other = made.sources
    part = dataclasses.replace(first, text=" ".join(text[a:b] for a, b in ranges), ranges=ranges)
    return dataclasses.replace(made, sources=(part, other))


def test_the_sentences_that_were_sent_are_shown() -> None:
    """If it fails, a reader has offsets and nothing else to tell what the model saw."""
    payload = in_part("One is here. Two is there. Three is nowhere.", (0, 12), (27, 44))
    lines = payload.explain().splitlines()
    row = next(at for at, line in enumerate(lines) if line.endswith("a  (characters 0-12, 27-44 of 44)"))
    assert lines[row + 1:row + 3] == ['     0-12   "One is here."', '     27-44  "Three is nowhere."']
    assert lines[row + 3].endswith("tokens  b")
    assert payload.why("a").endswith(', characters 0-12, 27-44 of 44: "One is here.", "Three is nowhere."')
    assert payload.why("b").endswith("tokens")
    shown = tables(payload)
    for told in ("sent in part", '"One is here."', '"Three is nowhere."', "27-44"):
        assert told in shown
    assert "sent in part" not in tables(dataclasses.replace(payload, sources=payload.sources[1:]))


def test_a_cut_text_is_shown_likewise() -> None:
    """If it fails, a source that was shortened looks as if it had been sent whole."""
    long = Source("long", "One short sentence. " * 60, 0.9, cut=Cut(min_tokens=10))
    payload = PromptBuilder(120, counter="words").add_sources([long]).with_question("Why?").render()
    (one,) = payload.sources
    assert one.text != long.text
    begins = '"One short sentence. One short sentence. One short sentence.…"'
    ((place, words),) = quoted(one)
    assert (place.split("-")[0], words) == ("0", begins)
    assert f"  (characters {place} of 1,200)\n     {place}  {begins}" in payload.explain()
    assert payload.why("long").endswith(f", characters {place} of 1,200: {begins}")
    lost = dataclasses.replace(payload, sources=(dataclasses.replace(one, text="Another text."),))
    assert lost.explain().count("(not its whole text)") == 1
    assert lost.why("long").endswith(", not its whole text")


def test_many_stretches_are_counted() -> None:
    """If it fails, one source of many small parts fills the page."""
    text = "Some words. " * 30
    payload = in_part(text, *((12 * k, 12 * k + 11) for k in range(0, 30, 3)))
    assert payload.explain().count('"Some words."') == tables(payload).count('"Some words."') == 6
    assert "and 4 more" in payload.explain()
    assert "and 4 more" in tables(payload)
    assert payload.why("a").endswith('"Some words.", and 4 more')


def test_nothing_of_a_text_reaches_the_terminal_as_a_command() -> None:
    """If it fails, a text that was found can colour the terminal, clear it, or forge a line of the report."""
    payload = in_part(HOSTILE * 3, (0, len(HOSTILE)), (2 * len(HOSTILE), 3 * len(HOSTILE)))
    for told in (payload.explain(), payload.why("a"), tables(payload)):
        told.encode("utf-8")
        assert "[red]lamp[/red]\\x1b[31m is\\u202e here and" in told
        assert all(char.isprintable() or char == "\n" for char in told)
    assert "\n" not in payload.why("a")


@pytest.mark.parametrize(("text", "told"), [
    ("", ""), (" \n ", ""), ("One two.", "One two."), ("One two three four.", "One two three…"),
    ("One two three.", "One two three."), ("x" * 40, "x" * 15 + "…"), ("ab " + "x" * 40, "ab " + "x" * 12 + "…"),
    ("\n" * 9_000 + "One.", "One."), ("One." + "\n" * 9_000 + "Two.", "One.…"), ("ランプ" * 9, "ランプ" * 5 + "…"),
])
def test_first_words(text: str, told: str) -> None:
    """If it fails, words are cut in two where they need not be, or a long text is shown at length."""
    assert first_words(text, 16) == told


@given(st.text(max_size=90), st.integers(8, 70))
def test_first_words_are_one_line_of_the_length(text: str, limit: int) -> None:
    """If it fails, some text breaks out of its line."""
    told = first_words(text, limit)
    assert len(told) <= limit
    assert told.isprintable()
