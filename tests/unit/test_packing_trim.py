"""Cuts: where they fall, what is kept, what they cost."""

from __future__ import annotations

import pytest

from promptpack.packing.edges import edge_after, edge_before, spans
from promptpack.packing.trim import by_relevance, shorten
from promptpack.source import Cut

FAMILY = "👨‍👩‍👧‍👦"


def words(text):
    return len(text.split())


NUMBERED = " ".join(f"w{n}" for n in range(1, 51))
STORY = (
    "The shop opens at nine. Deliveries come on Monday. The refund period is thirty days. "
    "A receipt is needed for it. Gift cards are excluded. The cat sleeps in the window."
)


@pytest.mark.parametrize(
    ("cut", "limit", "result"),
    [
        (Cut("start", at="word"), 4, "w1 w2 w3 …"),
        (Cut("end", at="word"), 4, "… w48 w49 w50"),
        (Cut("ends", at="word"), 4, "w1 … w49 w50"),
        (Cut("ends", at="word"), 6, "w1 w2 … w48 w49 w50"),
        (Cut("start", at="word", marker=""), 3, "w1 w2 w3"),
        (Cut("start", at="word", marker=" [cut here]"), 5, "w1 w2 w3 [cut here]"),
        (Cut("start", at="word"), 1, ""),  # the mark alone says nothing
        (Cut("ends", at="word"), 2, ""),
        (Cut("start", at="word"), 0, ""),
        (Cut("start", at="word"), -3, ""),
        (Cut("start", at="word"), 50, NUMBERED),
    ],
)
def test_parts_and_marks(cut, limit, result):
    """If this fails, another part stays than asked for, or the mark is not inside the limit."""
    assert shorten(NUMBERED, limit, cut, words) == result


@pytest.mark.parametrize(
    ("keep", "limit", "result"),
    [
        ("start", 10, "The shop opens at nine. Deliveries come on Monday. …"),
        ("end", 12, "… Gift cards are excluded. The cat sleeps in the window."),
        ("ends", 13, "The shop opens at nine. … The cat sleeps in the window."),
        ("start", 4, "The shop opens …"),  # no sentence fits: words
        ("relevant", 9, "… The refund period is thirty days. …"),
        ("relevant", 16, "… The refund period is thirty days. A receipt is needed for it. …"),
    ],
)
def test_sentences(keep, limit, result):
    """If this fails, a cut falls inside a sentence although a whole one fits."""
    assert shorten(STORY, limit, Cut(keep), words, question="How long is the refund period?") == result


def test_relevant_without_anything_to_go_by_keeps_the_start():
    start = shorten(STORY, 10, Cut("start"), words)
    assert shorten(STORY, 10, Cut("relevant"), words) == start
    assert shorten(STORY, 10, Cut("relevant"), words, question="Quantum chromodynamics?") == start


def test_relevant_sentence_that_is_too_long_is_kept_from_its_start():
    result = shorten(STORY, 6, Cut("relevant"), words, question="refund period")
    assert result == "… The refund period is …"


def test_relevance_counts_rare_words_and_neighbours():
    order = by_relevance(["The a.", "The b.", "The zebra.", "The c."], "the zebra")
    assert order[0] == 2
    assert by_relevance(["x"], None) is None
    assert by_relevance([], "x") is None
    assert by_relevance(["東京の本社は港区にあります。", "返品は三十日以内です。"], "返品の期限") == [1, 0]


@pytest.mark.parametrize("keep", ["start", "end", "ends"])
@pytest.mark.parametrize("at", ["character", "token", "word", "sentence"])
@pytest.mark.parametrize(
    "text",
    [f"ab{FAMILY}{FAMILY}{FAMILY}", "x🏳️‍🌈y🇩🇪🇫🇷z", "e\u0301a\u0300o\u0302 u\u0308", "नमस्ते दुनिया क्षत्रिय",
     "한국어 각", "a\r\nb\r\nc"],
)
def test_no_cut_falls_inside_a_cluster(text, at, keep):
    """If this fails, an emoji loses a person, a letter its accent, or a syllable its vowel."""
    import regex

    clusters = regex.findall(r"\X", text)
    whole = {"".join(clusters[:n]) for n in range(len(clusters) + 1)}
    tails = {"".join(clusters[n:]) for n in range(len(clusters) + 1)}
    for limit in range(len(text) + 2):
        result = shorten(text, limit, Cut(keep, 0, at, "|"), len)
        assert len(result) <= limit
        if result and result != text:
            head, tail = result.split("|")
            assert head in whole
            assert tail in tails


def test_largest_number_of_clusters_is_kept():
    """If this fails, room is left although one more character would fit."""
    import regex

    text = f"ab{FAMILY}{FAMILY}{FAMILY}"
    clusters = regex.findall(r"\X", text)
    for limit in range(len(text)):
        result = shorten(text, limit, Cut("start", 0, "character", ""), len)
        kept = len(regex.findall(r"\X", result))
        assert len("".join(clusters[:kept + 1])) > limit


def chars4(text):
    return max(1, round(len(text) / 4)) if text else 0


def test_token_cuts_use_what_the_counter_carries():
    """If this fails, cuts at tokens do not agree with the counter's own."""
    text = "one two three four five six seven eight nine ten eleven twelve"
    parts = {"prefix": lambda t, n: t[:4 * n], "suffix": lambda t, n: t[-4 * n:]}
    assert shorten(text, 3, Cut("start", 0, "token", ""), chars4, **parts) == "one two thre"
    assert shorten(text, 3, Cut("end", 0, "token", ""), chars4, **parts) == "leven twelve"
    ends = Cut("ends", 0, "token", "\n...\n")
    assert shorten(text, 6, ends, chars4, **parts) == "one two \n...\nleven twelve"


def test_a_counter_that_decodes_half_a_character_is_not_believed():
    """If this fails, U+FFFD gets into a text that had none."""
    result = shorten("日本語のテキスト", 12, Cut("start", 0, "token", ""), lambda t: len(t.encode()),
                     prefix=lambda t, n: t.encode()[:n - 1].decode(errors="replace"))
    assert result == "日本語の"


@pytest.mark.parametrize("keep", ["start", "end", "ends", "relevant"])
@pytest.mark.parametrize("at", ["sentence", "word", "token", "character"])
def test_the_number_of_counts_is_bounded(keep, at):
    """If this fails, a long text is counted once for each word, which is quadratic."""
    text = " ".join(f"Word{n} is here." if n % 3 == 0 else f"word{n}" for n in range(20_000))
    counts = 0

    def count(piece):
        nonlocal counts
        counts += 1
        return len(piece) // 5

    for limit in (1, 10, 1000, 30_000):
        counts = 0
        shorten(text, limit, Cut(keep, 0, at), count, question="word9999")
        assert counts <= 1 + 3 * 38


def test_texts_of_one_endless_word():
    assert shorten("x" * 100_000, 10, Cut("start"), len) == "x" * 8 + " …"
    assert shorten("漢" * 100_000, 10, Cut("start"), len) == "漢" * 8 + " …"
    assert shorten(" " * 1000, 10, Cut("start", at="word"), len) == " " * 8 + " …"


def test_scripts_without_spaces_have_words_to_cut_at():
    """If this fails, a Chinese text is cut only at its few spaces."""
    assert shorten("返品は三十日以内に。受け付けます", 10, Cut(at="word"), len) == "返品は三十日以内 …"
    assert spans("ab 返品。x", "word") == ([0, 3, 4, 6], [2, 4, 6, 7])


def test_edges_of_clusters():
    text = "ae\u0301b"
    assert [edge_before(text, n) for n in range(5)] == [0, 1, 1, 3, 4]
    assert [edge_after(text, n) for n in range(5)] == [0, 1, 3, 3, 4]
    assert edge_before("\u0301" * 5, 3) == 0
    assert edge_before("🇩🇪🇫🇷", 3) == 2
