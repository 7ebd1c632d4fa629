"""How many sources are priced before anybody asks: what is guessed may cost time, and never a price or an end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from promptpack import Packing, PromptBuilder, Source, TemplateSet
from promptpack.ahead import FIRST, price_ahead
from promptpack.tokens import counter
from promptpack.tokens.bpe import BpeCounter

TEMPLATE = "<{{ source.n }} title={{ source.title }}>\n{{ text }}\n</{{ source.n }}>"


def priced(lengths, room, pace=FIRST, noted=(), each=lambda source: len(source.text)):
    """The batches in which sources of these lengths are priced, and the pace that was found."""
    sources = [Source(str(at), "x" * length) for at, length in enumerate(lengths)]
    batches = []

    def price(new):
        batches.append([int(one.id) for one in new])
        return sum(map(each, new))

    found = price_ahead(sources, room, pace, lambda one: each(one) if int(one.id) in noted else None, price)
    return batches, found


def test_the_pace_of_the_last_payload_makes_one_batch_of_what_fits():
    batches, pace = priced([100] * 50, 1000)
    assert batches == [list(range(31))]  # guessed as prose, three bytes a token, but each byte is one
    again, _ = priced([100] * 50, 1000, pace)
    assert again == [list(range(11))]


def test_what_an_earlier_payload_noted_is_not_priced_again():
    batches, _ = priced([100] * 50, 1000, (1, 1), noted=range(8))
    assert batches == [[8, 9, 10]]
    assert priced([100] * 5, 1000, (7, 2), noted=range(5)) == ([], (7, 2))


def test_texts_that_cost_nothing_end_it():
    batches, pace = priced([0] * 3000, 100, each=lambda source: 0)
    assert [len(batch) for batch in batches] == [1024]
    assert pace == FIRST


@given(
    st.lists(st.integers(0, 400), max_size=40), st.integers(0, 3000),
    st.tuples(st.integers(1, 9), st.integers(1, 9)), st.sets(st.integers(0, 39)),
)
def test_it_ends_and_leaves_nothing_out_in_between(lengths, room, pace, noted):
    batches, _ = priced(lengths, room, pace, noted)
    flat = [at for batch in batches for at in batch]
    assert flat == [at for at in range(max(flat, default=-1) + 1) if at not in noted]


@given(st.lists(st.tuples(st.sampled_from(["word ", "\u8a9e\u8a00", "x", "a, b. ", "\u043c\u0438\u0440 "]),
                          st.integers(1, 120)), min_size=1, max_size=25), st.integers(200, 900))
def test_what_was_rendered_before_does_not_show_in_a_payload(texts, window):
    """The pace and the memos differ; if this fails a report depends on what its process did before."""
    made = [(str(at), piece * times, 1 - at / 100) for at, (piece, times) in enumerate(texts)]

    def built(template, count):
        fresh = [Source(*one, metadata={"title": f"T{one[0]}"}) for one in made]
        return PromptBuilder(window, counter=count, template=template, fields=("title",)).add_sources(fresh)

    first = built(TemplateSet.from_string(source=TEMPLATE), BpeCounter("o200k_base", fast=False)).render()
    template, count = TemplateSet.from_string(source=TEMPLATE), BpeCounter("o200k_base", fast=False)
    for piece in ("\u8a9e\u8a00", "antidisestablishmentarianism"):
        others = [Source(f"o{at}", piece * 40, metadata={"title": "Other"}) for at in range(6)]
        PromptBuilder(700, counter=count, template=template, fields=("title",)).add_sources(others).render()
        again = built(template, count)
        assert again.render().to_dict() == first.to_dict()
        assert again.render().to_dict() == first.to_dict()


def test_a_source_that_nobody_asks_for_is_no_error_whatever_was_rendered_before():
    """How far the look ahead reaches depends on the pace; it would end in an error that a first payload has not."""
    asked = [(f"a{at}", f"The lamp {at} is on. " * 40, 1 - at / 100) for at in range(30)]
    template = TemplateSet.from_string(source="{{ label }} {{ source.title if source.title }}\n{{ text }}")

    def rendered(sources, window):
        builder = PromptBuilder(window, template=template, packing=Packing(select="top"))
        return builder.add_sources(sources).render()

    def payload():
        odd = Source("odd", "The lamp is on. " * 400, 0.1, metadata={"title": {"not": "one line"}})
        return rendered([*(Source(*one) for one in asked), odd], 2000).to_dict()

    first = payload()
    # Many bytes for each token: the next look reaches over all sources.
    rendered([Source(f"b{at}", f"{at}" + ("x" + " " * 300) * 20) for at in range(5)], 20_000)
    assert payload() == first


def test_a_text_that_is_priced_by_itself_is_kept_once():
    """Kept by the counter as well, with its line break, it took the memory of many prompts twice."""
    texts = [f"Order {n} was sent on a {'very ' * (n * 7 % 60)}late day." for n in range(40)]
    builder = PromptBuilder(1000, counter="o200k_base", packing=Packing(select="top"))
    payload = builder.add_sources([{"id": str(n), "text": text} for n, text in enumerate(texts)]).render()
    assert 0 < len(payload.sources) < 40
    assert not [text for text in counter("o200k_base")._memo.table if text.startswith("Order ")]


def test_what_an_escaper_of_ones_own_leaves_is_escaped_for_others():
    """Both price the text by itself, and share what they know of texts: that it is harmless must not be shared."""
    sources = [{"id": str(n), "text": f"{n} is \x07 here."} for n in range(3)]
    lax = PromptBuilder(1000, counter="o200k_base", escape=Markup).add_sources(sources).render()
    assert "\x07" in lax.messages[-1].content
    for other in (PromptBuilder(1000, counter="o200k_base").add_sources(sources).render() for _ in range(2)):
        assert "\x07" not in other.messages[-1].content
