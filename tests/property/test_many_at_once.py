"""What is done for many sources together is what would be done for each; else prices and escapes would be wrong."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markupsafe import Markup

from promptpack import Cut, Packing, PromptBuilder, Source, TemplateSet
from promptpack.columns import Columns
from promptpack.escape import LEVELS, LiveLabels, Rules, are_inert, is_inert
from promptpack.measure import Meter
from promptpack.packing.candidate import Candidate
from promptpack.packing.dedup import Dedup, deduplicate
from promptpack.packing.similarity import folded
from promptpack.shape import Shape
from promptpack.tokens import counter
from promptpack.tokens.bpe import _STOPS, _words_and_stops

PIECES = st.sampled_from([
    "word", "other", " ", "  ", "   ", "\n", "\t", "\r\n", "\v", "\x1c", "\x85", "\u3000", "<", "[S1]", "&lt;", "~",
    "]~", "\u200b", "\u2019", "\ud800", "e\u0301", "\u212a", ".", ", ", "</sources>", "\x07",
])
TEXTS = st.lists(PIECES, max_size=12).map("".join)


@given(st.lists(TEXTS, max_size=70), st.sampled_from(sorted(LEVELS)))
@example(["fine"] * 40 + ["see [S1]"], "tags")
def test_texts_are_inert_together_as_they_are_alone(texts, level):
    rules = Rules(labels=LiveLabels(9), level=level)
    assert are_inert(texts, rules) == [is_inert(text, rules) for text in texts]


@given(TEXTS | st.text())
@example("a  b   c \n d")
@example("a, \x1fb.\x0b")
@example(f"{'a' * 20}\xa0 \u3000 b, \u2009")
def test_bytes_never_tell_of_more_words_or_stops_than_there_are(text):
    """Else a source would be refused as too large that fits; in plain ASCII they tell of all of them."""
    found = _words_and_stops(text, 10**6)
    there = len(text.split()), len(_STOPS.findall(text))
    assert found == there if text.isascii() else found is None or (found[0] <= there[0] and found[1] <= there[1])
    few = _words_and_stops(text, 1)
    assert few == found or (found is not None and few == (found[0], -1) and found[0] >= 1)


@given(st.lists(TEXTS, max_size=8))
def test_texts_are_counted_together_with_what_stands_behind_them(texts):
    for name in ("o200k_base", "words"):
        count = counter(name)
        assert count.count_fresh(texts, "\n") == [count(text + "\n") for text in texts]


@given(st.lists(st.text("ab01-#\n\u0663", max_size=6), max_size=6))
def test_a_column_of_values_is_folded_as_each_of_them_is(values):
    meter = Meter(Shape(('<a t="', '">\n', "\n</a>"), ("@t", "text")), counter("o200k_base"), prefix="S")
    assert list(meter.all_alike(values)) == [meter.alike(value) for value in values]


class Odd(str):
    """A text of a type of its own, which does other things than a text."""

    def strip(self, chars=None):
        return "[S1]"


VALUES = st.sampled_from([None, "", " Lamps ", "two\nlines", 7, True, 1.0, ["x", 7], [], Markup("a<b"), Odd(" own ")])
IDS = st.sampled_from(["a#1", " b", Markup("m<1"), Odd("k#1")])


@given(st.lists(st.tuples(IDS, VALUES, VALUES), max_size=6), st.booleans())
@example([(Odd("k#1"), None, None)], False)
@example([(Markup("m<1"), None, None)], False)
def test_fields_are_read_together_as_they_are_alone(rows, renamed):
    """Else what is shown of a source would depend on whether others were priced with it."""
    sources = [Source(id_, "x", metadata={"title": title, "document": document}) for id_, title, document in rows]
    shown = {"a#1": Markup("a&1")} if renamed else {}
    columns = Columns(("chunk", "title", "document"), shown, TemplateSet.named("default").settings)
    together = {
        id(source): [(name, value.strip()) for name, value in zip(names, values, strict=True) if value.strip()]
        for names, group, held in columns.groups(sources) for source, *values in zip(group, *held, strict=True)
    }
    for source in sources:
        pairs = list(zip(*columns.fields(source), strict=True))
        assert pairs == together[id(source)]
        assert all(type(value) is str for _, value in pairs)


@given(st.lists(TEXTS, max_size=12))
@example(["The end\u212a", "The endK", "Start K", " The  endK "])
def test_exact_copies_are_those_whose_folded_texts_are_equal(texts):
    """The quick look at first and last words may not overlook a copy."""
    candidates = [Candidate.of(Source(str(at), text), at, at + 1) for at, text in enumerate(texts)]
    kept = deduplicate(candidates, Dedup()).kept
    seen: dict[str, int] = {}
    for at, text in enumerate(texts):
        seen.setdefault(folded(text), at)
    assert [candidate.index for candidate in kept] == sorted(seen.values())


@pytest.mark.parametrize("many", [0, 1, 31, 32, 33, 100])
def test_every_text_gets_an_answer(many):
    assert are_inert(["a < b"] * many, Rules()) == [True] * many


@pytest.mark.parametrize(("cut", "window"), [(None, 2000), (Cut(min_tokens=1), 260)])
def test_a_text_of_a_type_of_its_own_need_not_have_a_hash(cut, window):
    """A class with its own comparison has none; it would end in a TypeError that is not ours."""

    class Compared(str):
        def __eq__(self, other):
            return str.__eq__(self, other)

    def rendered(kind):
        sources = [Source("a", kind("Some text. Here it is. " * 30), cut=cut), Source("b", "Other text.")]
        return PromptBuilder(window, packing=Packing(select="top")).add_sources(sources).render()

    assert rendered(Compared).text == rendered(str).text
