"""Counts add up where the rules say so: the ground on which a payload is measured in parts."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpack.tokens import bpe, counter, cuts_here
from promptpack.tokens.boundary import rule_p
from promptpack.tokens.vocabulary import encoding

EXACT = ["o200k_base", "cl100k_base"]
ADDITIVE = [*EXACT, "estimate", "words", "chars"]

# Characters that meet at the edges of pieces: what the split patterns tell apart, and what surprises them.
PIECES = st.sampled_from([
    " ", "  ", "\n", "\r\n", "\r", "\t", "\x0b", "\x85", "\xa0", "\u2028", "\u3000", "\x1c", "\x00",
    "/", "//", "*/", "\n/", "<", ">", "</", "[", "]", ".", "...", ",", "'", "\u2019", "'s", "'ll", "'S",
    "'\u017f", "\u017f",
    "_", "-",
    "a", "the", "The", "THE", "word", "camelCase", "123", "7", "0000", "\u00b2", "\u0301",
    "\u0308", "e\u0301",
    "\u00fc", "\u0416\u0443\u043a", "\u4e2d\u6587", "\u3072\u3089", "\u0e44\u0e17\u0e22", "\u0e31",
    "\u0928\u092e",
    "\u094d", "\u0627\u0644", "\U0001f680", "\u200d", "\ufe0f", "\U0001f1e9", "\ufeff", "\ufffd",
    "\ud800", "\udc00",
    "<|endoftext|>", "source_1", "id=\"S1\"",
])
TEXT = st.lists(PIECES, max_size=14).map("".join) | st.text(max_size=12)


@pytest.mark.parametrize("name", ADDITIVE)
@settings(max_examples=250, deadline=None)
@given(before=TEXT, after=TEXT)
def test_counts_add_up_where_the_rules_say_so(name, before, after):
    """If this fails a payload measured in parts is larger than it was said to be."""
    if not cuts_here(before, after):
        return
    count = counter(name)._measure
    assert count(before) + count(after) == count(before + after)


@pytest.mark.parametrize("name", ADDITIVE)
@settings(max_examples=120, deadline=None)
@given(text=st.lists(PIECES, max_size=60).map("".join))
def test_counts_add_up_at_all_cuts_of_a_text_at_once(name, text):
    count = counter(name)._measure
    cuts = [0, *(i for i in range(1, len(text)) if cuts_here(text[i - 1], text[i])), len(text)]
    assert sum(count(text[a:b]) for a, b in pairwise(cuts)) == count(text)


@pytest.mark.parametrize("name", EXACT)
@settings(max_examples=200, deadline=None)
@given(before=TEXT, after=TEXT)
def test_rule_p_holds_for_the_vocabularies(name, before, after):
    if not before or not after or not rule_p(before[-1], after[0]):
        return
    count = counter(name)._measure
    assert count(before) + count(after) == count(before + after)


@pytest.mark.parametrize("name", EXACT)
@settings(max_examples=150, deadline=None)
@given(text=st.lists(PIECES | PIECES.map(lambda piece: piece * 12), max_size=120).map("".join))
def test_long_texts_count_as_short_ones(name, text):
    """The path for texts too long for tiktoken, taken by short ones, gives tiktoken's own tokens."""
    expected = encoding(name).encode_ordinary(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bpe, "LONG", 8)
        assert bpe.tokens(name, text) == expected


@pytest.mark.parametrize("name", EXACT)
@settings(max_examples=150, deadline=None)
@given(text=st.lists(PIECES, max_size=40).map("".join), limit=st.integers(0, 50))
def test_a_cut_never_passes_its_limit(name, text, limit):
    count = counter(name)
    start, end = count.prefix(text, limit), count.suffix(text, limit)
    assert text.startswith(start)
    assert text.endswith(end)
    assert count._measure(start) <= limit
    assert count._measure(end) <= limit


@pytest.mark.parametrize("name", [*ADDITIVE, "chars/4"])
@settings(max_examples=200, deadline=None)
@given(text=st.lists(PIECES, max_size=40).map("".join), limit=st.integers(0, 30))
def test_floor_is_never_above_the_count(name, text, limit):
    """If this fails a source that fits is turned away uncounted."""
    count = counter(name)
    assert count.floor(text, limit) <= count._measure(text)


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
@given(text=st.text(st.sampled_from("ab1_ ,.;:!?)(\n\t\r/'’\u00a0\u3000é中٣"), max_size=60), limit=st.integers(0, 40))
def test_a_floor_is_never_above_the_count(name, text, limit):
    """A bound that is too high would drop a source that fits, without a word."""
    known = counter(name)
    assert known.floor(text, limit) <= known(text)
    assert known.floor(text, limit) == counter(name, fast=False).floor(text, limit)  # whatever was asked before
