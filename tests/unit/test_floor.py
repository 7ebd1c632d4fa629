"""The cheap lower bound of a price: where it passes the price, a source that fits is refused without being counted."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from promptpack import Packing, Payload, PromptBuilder, Source, TemplateSet, Window
from promptpack.setforms import json_inside
from promptpack.tokens import counter

TEXTS = [
    "/ one, two", "/\n/ a. b", "one,\n/two. /", "a,\r\n/b", "\n\n  a; b! c? ", "1, 2. 3: 4", "a,\x1fb, c",
    "\u0301, a. b", "x\x1c,\x1d y", "a.\u2028b,\u3000c.\x85d", "日本, 語. 。", "²: Ⅷ, ſ. ", ",,, ... ;; a,, b",
    "a,", "a,\n", "/", "\ud800, a",
]


class Characters:
    """A counter of a user's own that adds up, and gives its count as its bound."""

    additive = True

    def __call__(self, text: str) -> int:
        return len(text)

    def floor(self, text: str, limit: int) -> int:
        return len(text)


@pytest.mark.parametrize("of", ["chars", Characters()], ids=["chars", "own"])
@pytest.mark.parametrize("hidden", ["\u200b", "\x00", "\U000e0041"])
def test_hidden_characters_that_are_not_sent_are_not_counted_either(of, hidden):
    """Escaping makes one sign of a hidden run: a bound taken before would refuse a source that fits."""
    source = Source("a", f"One{hidden * 9000} two.", 0.9)
    payload = PromptBuilder(700, counter=of, packing=Packing(select="top")).add_sources([source]).render()
    assert [one.source.id for one in payload.sources] == ["a"]


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base", "words"])
@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_a_bound_is_no_more_than_the_count(name, text):
    """A source that fits would be refused."""
    known = counter(name)
    assert all(known.floor(text, limit) <= max(known(text), limit) for limit in range(12))
    assert known.floor(text, 10**6) <= known(text)


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
def test_a_bound_does_not_depend_on_what_was_asked_before(name):
    """What is told of a dropped source would differ from one payload to the next."""
    known = counter(name)
    for text in TEXTS:
        first = [known.floor(f"{text} {name} up", limit) for limit in range(12)]
        down = [known.floor(f"{text} {name} down", limit) for limit in reversed(range(12))]
        assert first == down[::-1]


def fits_exactly(text: str, **options: object) -> bool:
    """Tell whether a text is sent where there is just the room for it: a bound above its price would refuse it."""
    def sent(window: int) -> Payload:
        builder = PromptBuilder(Window(window, answer=0), packing=Packing(select="top"), **options)  # type: ignore[arg-type]
        return builder.add_sources([Source("a", text, 0.9)]).render()

    wide = sent(90_000)
    return len(wide.sources) == 1 == len(sent(wide.tokens).sources)


@pytest.mark.parametrize("template", ["default", "command", "claude"])
def test_a_text_that_joins_the_line_before_it_is_not_refused(template):
    """A slash behind a line break is of one token with it, so that the first word costs nothing."""
    assert fits_exactly("// " + "returned question " * 60 + "/", template=template)


@pytest.mark.parametrize("text", ["one\ntwo\n" * 150, "one\ttwo\t" * 150, "one\r\ntwo\r\n" * 150])
def test_words_that_json_joins_are_not_refused(text):
    """In a JSON string a line break is a sign within a word: fewer words than in the text."""
    assert fits_exactly(text, template="json", counter="words")


@pytest.mark.parametrize("of", ["chars", Characters()], ids=["chars", "own"])
@pytest.mark.parametrize("printed", ["text|trim", "text|wordwrap(40)", "text.split()|join(' ')"])
def test_a_text_that_the_template_shortens_is_not_refused(of, printed):
    """A template may drop blanks, which a counter by characters has in its bound."""
    shown = TemplateSet.from_string(source=f"{{{{ label }}}}\n{{{{ {printed} }}}}")
    assert fits_exactly("Some words." + " " * 5000, template=shown, counter=of)


@given(st.lists(st.sampled_from([
    "a", "B", "word", "1", ".", ",", "'s", "/", "\\", '"', "n", "-", "\u017f", "\u3042", "\u0301", " ",
    "\n", "\t", "\r\n", "\v",
])))
@example(["it", "\n", "'s", ",", "\n", ".", "\n", "1", "\n", "/"])
def test_a_bound_holds_for_the_inside_of_a_json_string(pieces):
    """The bound is taken before the text is written as JSON, where line breaks are signs within words."""
    text = "".join(pieces)
    for name in ("o200k_base", "cl100k_base"):
        assert counter(name).floor(text, 10**6) <= counter(name)(json_inside(text))
