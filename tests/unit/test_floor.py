"""The cheap lower bound of a price: where it passes the price, a source that fits is refused without being counted."""

from __future__ import annotations

import pytest

from promptpack import Packing, PromptBuilder, Source
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
