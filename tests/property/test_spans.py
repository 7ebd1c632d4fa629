"""What holds for spans whatever the sources, the question and the budget are."""

from __future__ import annotations

from itertools import pairwise
from math import fsum

from hypothesis import given, settings
from hypothesis import strategies as st

from promptpack.packing import Packing, pack
from promptpack.packing.spans_parts import BELOW, GAP, bounds, joined, places
from promptpack.packing.spans_text import units
from promptpack.source import Source

WORDS = ["late", "fee", "invoice", "the", "is", "of", "March", "1999", "paid", "Berlin", "a", "customer"]
worded = st.lists(st.sampled_from(WORDS), min_size=3, max_size=14).map(" ".join)
sentences = worded.map(lambda text: text.capitalize() + ".")
leaning = worded.map(lambda text: f"It is {text}.")
headed = worded.map(lambda text: f"\n\n## {text[:20].strip()}\n\nThe {text}.")
chunks = st.lists(st.one_of(sentences, leaning, headed), min_size=1, max_size=6).map(" ".join)
odd = st.text(alphabet="aB. \n。！คा\u0301é\U0001f600\r-", max_size=60)


@st.composite
def sources(draw):
    texts = draw(st.lists(st.one_of(chunks, odd), min_size=1, max_size=6))
    return [
        Source(
            f"s{k}", text, draw(st.one_of(st.none(), st.floats(-5, 5))),
            document=draw(st.sampled_from([None, "d", "e"])),
            metadata=draw(st.sampled_from([{}, {"title": "Late fee"}, {"title": "Berlin (city)"}, {"title": None}])),
        )
        for k, text in enumerate(texts)
    ]


questions = st.one_of(st.none(), st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join), odd)
SPANS = Packing(select="spans", dedup="off")


def chars(source):
    return len(source.text) + 3


@settings(max_examples=120, deadline=None)
@given(sources(), questions, st.integers(0, 400))
def test_a_packed_span_is_text_of_its_source(hits, question, budget):
    """If this fails, a budget is passed, a source is lost, or what is sent is not the source's text at those ranges."""
    packed = pack(hits, budget, packing=SPANS, cost=chars, question=question)
    assert packed.used == sum(len(one.text) + 3 for one in packed) <= budget
    assert sorted([*packed.ids, *(drop.source.id for drop in packed.dropped)]) == sorted(hit.id for hit in hits)
    for one in packed:
        ranges = one.ranges or ((0, len(one.source.text)),)
        assert one.text in {joined(one.source.text, ranges, mark, bounds(one.source.text)) for mark in (GAP, BELOW)}
        assert all(a[1] <= b[0] for a, b in pairwise(ranges))
        assert places(one.text, one.source.text, one.ranges, 0, len(one.text)) == ranges or not one.text
        assert 0 <= one.value <= 1 + 1e-9
    assert pack(hits, budget, packing=SPANS, cost=chars, question=question) == packed


@settings(max_examples=80, deadline=None)
@given(
    sources(), st.none() | st.lists(st.sampled_from(WORDS[:3]), min_size=1, max_size=3).map(" ".join),
    st.integers(0, 300), st.integers(0, 60),
)
def test_a_larger_budget_never_holds_less(hits, question, budget, more):
    """If this fails, more room makes the prompt worse."""
    def words(source):
        return len(source.text.split()) + 2

    def value(room):
        return fsum(one.value for one in pack(hits, room, packing=SPANS, cost=words, question=question))

    assert value(budget + more) >= value(budget) - 1e-6


@settings(max_examples=80, deadline=None)
@given(sources(), st.integers(0, 300))
def test_without_a_question_spans_hold_what_top_holds(hits, budget):
    """If this fails, spans without a question are below top."""
    top = pack(hits, budget, packing=Packing(dedup="off"), cost=chars)
    spans = pack(hits, budget, packing=SPANS, cost=chars)
    assert {one.source.id for one in top} <= {one.source.id for one in spans if not one.ranges}


@settings(max_examples=150, deadline=None)
@given(st.one_of(chunks, odd))
def test_units_cover_the_text(text):
    """If this fails, some characters can never be sent in part."""
    found = units(text)
    left = list(text)
    for start, end in found:
        assert start < end
        left[start:end] = [" "] * (end - start)
    assert not "".join(left).strip()
    assert all(a[1] <= b[0] for a, b in pairwise(found))
