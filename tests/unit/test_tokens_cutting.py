"""Cutting to a number of tokens: it fits, it is long, and no character is harmed."""

from __future__ import annotations

from itertools import pairwise

import pytest
import regex

from promptpack.tokens import counter, counter_names, grapheme_ceil, grapheme_floor
from promptpack.tokens.boundary import cuts_here, last_cut, next_cut, parts, rule_n, rule_p, rule_s
from promptpack.tokens.cutting import LONGEST_CLUSTER, longest_end, longest_start
from promptpack.tokens.families import ALIASES, FAMILIES
from promptpack.tokens.vocabulary import encoding
from promptpack.wellformed import repaired

ALWAYS = [name for name in counter_names() if name not in FAMILIES and name not in ALIASES]
EXACT = ["o200k_base", "cl100k_base"]
TEXTS = [
    "",
    "The refund is paid within ten days, counted from the day on which the parcel arrives.",
    "first line\nsecond line\n\n\n    indented /path/to/file\n/root\r\nlast",
    "返品は購入後三十日以内に領収書を添えてお申し込みください。退货政策规定所有商品可在三十天内退回。" * 5,
    "การคืนสินค้าภายในสามสิบวันพร้อมใบเสร็จ" * 6,
    "👨\u200d👩\u200d👧\u200d👦🏽🇩🇪🇫🇷🇯🇵e\u0301\u0302\u0303 ok " * 12,
    "supercalifragilisticexpialidocious" * 20,
    "\u0928\u092e\u0938\u094d\u0924\u0947 \u0915\u094d\u0937\u0924\u094d\u0930\u093f\u092f " * 20,
    "a\ud83d\ude80b\ud800c \udfff \ud83d\ude80\ud83d\ude80 end" * 6,
    "3f2b8c1e-9d47-4a60-8b1c-7e5f0a2d6c39 " * 10,
    " " * 300 + "x" + "\n" * 300,
]


def boundaries(text):
    return {0} | {found.end() for found in regex.finditer(r"\X", text)}


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
@pytest.mark.parametrize("name", ALWAYS)
def test_a_cut_fits_and_splits_no_character(name, text):
    count = counter(name)
    edges = boundaries(text)
    for limit in (0, 1, 2, 3, 5, 8, 13, 40, 100, 10_000):
        start, end = count.prefix(text, limit), count.suffix(text, limit)
        assert text.startswith(start)
        assert text.endswith(end)
        assert count(start) <= limit
        assert count(end) <= limit
        assert len(start) in edges
        assert len(text) - len(end) in edges
        if count(text) <= limit:
            assert start == end == text
        # cutting twice changes nothing
        assert count.prefix(start, limit) == start
        assert count.suffix(end, limit) == end


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("text", TEXTS[1:4], ids=range(3))
def test_a_cut_is_what_the_tokens_spell(name, text):
    """If this fails a cut wastes room: in plain text it is exactly the first (or last) n tokens."""
    known = encoding(name)
    ids = known.encode_ordinary(text)
    edges = boundaries(text)
    checked = 0
    for limit in range(1, len(ids)):
        head, tail = known.decode_bytes(ids[:limit]), known.decode_bytes(ids[-limit:])
        for spelled, cut in ((head, counter(name).prefix), (tail, counter(name).suffix)):
            whole = spelled.decode("utf-8", "ignore")
            edge = len(whole) if spelled is head else len(text) - len(whole)
            if whole.encode() == spelled and edge in edges and len(known.encode_ordinary(whole)) <= limit:
                assert cut(text, limit) == whole
                checked += 1
    assert checked > len(ids) / 2


@pytest.mark.parametrize("name", EXACT)
def test_a_cut_reads_no_more_than_it_must(name, monkeypatch):
    """If this fails the start of a large file costs what the whole file costs."""
    from promptpack.tokens import bpe

    seen = []
    tokens = bpe.tokens
    monkeypatch.setattr(bpe, "tokens", lambda name, text: seen.append(len(text)) or tokens(name, text))
    bpe.codec.cache_clear()
    text = "some words of a long document, again and again. " * 20_000
    assert counter(name).prefix(text, 10) == "some words of a long document, again and again"
    assert len(counter(name).suffix(text, 10)) < 60
    assert sum(seen) < 3000


def test_words_are_cut_after_a_word():
    count = counter("words")
    assert count.prefix("  one two  three ", 2) == "  one two"
    assert count.suffix("one two  three ", 2) == "two  three "
    assert count.prefix("one two", 0) == count.suffix("one two", 0) == ""


def test_quarters_take_four_characters_a_token():
    count = counter("chars/4")
    assert count.prefix("one two three four", 2) == "one two "
    assert count.suffix("one two three four", 2) == "ree four"


def test_a_counter_that_jumps_still_gets_a_cut_that_fits():
    """Bisection is told to expect growing counts; one that falls must not make it break its promise."""
    def jumpy(text):
        return len(text) % 7

    for limit in range(8):
        assert jumpy(longest_start("x" * 50, limit, jumpy)) <= limit
        assert jumpy(longest_end("x" * 50, limit, jumpy)) <= limit


def test_bisection_takes_few_counts():
    """If this fails a cut with a slow counter takes a count for each character."""
    calls = []

    def counting(text):
        calls.append(len(text))
        return len(text) // 3

    assert len(longest_start("abc" * 100_000, 5000, counting)) == 15_002
    assert len(calls) < 45


@pytest.mark.parametrize("text", [*TEXTS[1:], "\r\n" * 80, "\u1100\u1161\u11a8" * 60, "🇩🇪" * 100], ids=ascii)
def test_grapheme_edges_are_those_of_the_whole_text(text):
    """The search looks at a window only; here it is compared with segmenting all of the text."""
    edges = sorted(boundaries(text))
    for index in range(-1, len(text) + 2):
        inside = min(max(index, 0), len(text))
        assert grapheme_floor(text, index) == max(edge for edge in edges if edge <= inside)
        assert grapheme_ceil(text, index) == min(edge for edge in edges if edge >= inside)


def test_an_endless_cluster_is_cut_at_its_bound():
    text = "a" + "\u0301" * 20_000
    assert grapheme_floor(text, 3000) == 0
    found = grapheme_floor(text, 15_000)
    assert 15_000 - LONGEST_CLUSTER <= found <= 15_000


@pytest.mark.parametrize(
    ("before", "after", "rules"),
    [
        ("\n", "<", "n"), ("\r", "a", "n"), ("\n", "/", ""), ("\n", " ", ""), ("\n", "\n", ""),
        ("\n", "\x1c", "n"), ("d", " ", "sp"), (".", " ", "s"), ("d", "\n", "p"), ("d", "\u3000", "sp"),
        (" ", "n", ""), ("d", ".", "p"), ("d", "'", ""), ("d", "e", ""), ("d", "\u0301", ""),
        ("\x1c", " ", "s"), ("[", "\n", ""), (".", "c", ""), ("9", "<", "p"),
    ],
)
def test_rules(before, after, rules):
    known = {"n": rule_n, "s": rule_s, "p": rule_p}
    assert "".join(name for name, rule in known.items() if rule(before, after)) == rules
    assert cuts_here("x" + before, after + "x") == bool(set(rules) & {"n", "s"})


def test_edges_of_empty_texts_add_up():
    assert cuts_here("", "x")
    assert cuts_here("x", "")
    assert cuts_here("", "")


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_cuts_are_found_where_the_rules_are(text):
    right = [0, *(i for i in range(1, len(text)) if cuts_here(text[:i], text[i:])), len(text)]
    for index in range(len(text) + 1):
        assert next_cut(text, index) == min(cut for cut in right if cut >= index)
        assert last_cut(text, index) == max(cut for cut in right if cut <= index)
    for size in (1, 10, 100):
        found = list(parts(text, size))
        assert "".join(found) == text
        assert all(cuts_here(a, b) for a, b in pairwise(found))


def test_repair_is_tiktokens():
    for text in ("plain", "a\ud83d\ude80b", "\ud800", "\ude80\ud83d"):
        assert repaired(text) == text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
