"""The size of a source that is not sent: its cost, or a bound that calls itself one; the same in every process."""

from __future__ import annotations

from promptpack import Packing, PromptBuilder, Source, count_tokens
from promptpack.tokens import counter
from promptpack.tokens.bpe import BpeCounter

WORDS = ["lamp", "returns", "money", "days", "order-4711", "https://shop.example/returns?a=1", "warranty"]


def sources(n, words=200):
    return [
        Source(f"s{i}", " ".join(WORDS[(i * 7 + k * k) % len(WORDS)] for k in range(words)), 1 - i / 100)
        for i in range(n)
    ]


def test_what_was_counted_before_does_not_change_a_payload():
    """If this fails a payload depends on what its process did before, down to where a text is cut."""
    builder = PromptBuilder(1500, counter="cl100k_base").add_sources(sources(20)).with_question("How long?")
    before = builder.render()
    for one in before.dropped:
        count_tokens(one.source.text, "cl100k_base")
    assert builder.render().to_dict() == before.to_dict()


def test_a_floor_follows_from_the_text_alone():
    text = " ".join(WORDS)
    for count in (BpeCounter("o200k_base", fast=False), counter("estimate"), counter(lambda text: len(text))):
        before = count.floor(text, 3)
        assert count(text) > before
        assert count.floor(text, 3) == before


def test_a_bound_is_not_given_for_the_size_of_a_repeat():
    """If this fails the size of a duplicate, or of a source below min_score, is a bound that looks like a cost."""
    first = Source("a", "How long " + "word " * 60, 0.9)
    repeats = [first, Source("b", first.text + " ", 0.8), Source("c", "weak " * 30, 0.1)]
    for name in ("o200k_base", lambda text: len(text)):
        builder = PromptBuilder(8000, counter=name, packing=Packing(min_score=0.5)).add_sources(repeats)
        payload = builder.render()
        count = counter(name)
        assert [str(out.reason) for out in payload.dropped] == ["duplicate", "min_score"]
        for out in payload.dropped:
            if f"at least {out.cost} tokens" not in out.detail:
                assert out.cost >= count(out.source.text)
            assert out.cost > 0
