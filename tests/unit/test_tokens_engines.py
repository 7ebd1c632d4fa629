"""The extras count as tiktoken does, and texts that break tiktoken's pattern are counted all the same."""

from __future__ import annotations

import builtins
import pickle
import random
import sysconfig
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest

from promptpack.errors import TokenizerError
from promptpack.tokens import bpe, counter, cuts_here
from promptpack.tokens.bpe import BpeCounter
from promptpack.tokens.families import FAMILIES, FamilyCounter
from promptpack.tokens.fast import load
from promptpack.tokens.vocabulary import encoding

EXACT = ["o200k_base", "cl100k_base"]
MILLION = 1_200_000
SCRAPS = [
    " ", "  ", "\n", "\r\n", "\t", "\u3000", "\x85", "/", "\n/", ".", "'", "'s", "'LL", "'re", "_", "<",
    "|>", "a",
    "The", "WORD", "camelCase", "12345", "7", "\u00b2", "e\u0301", "\u0301", "\u0416", "\u4e2d\u6587",
    "\u3072",
    "\u0e44\u0e17", "\u0928\u094d", "\u0627\u0644", "\U0001f680", "\u200d", "\ufe0f", "\x00", "<|endoftext|>",
]


@pytest.fixture(scope="module")
def corpus():
    folder = Path(sysconfig.get_paths()["stdlib"])
    texts = []
    for path in sorted(folder.glob("*.py"))[:80] + sorted((folder / "encodings").glob("*.py"))[:30]:
        text = path.read_text(encoding="utf-8", errors="replace")[:20_000]
        texts += [text, *(text[start : start + 997] for start in range(0, len(text), 997))]
    chance = random.Random(7)  # a fixed seed: the same strings in every run
    texts += ["".join(chance.choices(SCRAPS, k=chance.randrange(1, 40))) for _ in range(4000)]
    texts += [mark * 3000 for mark in ("a", "A", "aA", " ", "\n", "-", "=", "\u4e2d", "\U0001f680", "9")]
    return texts


@pytest.mark.parametrize("name", EXACT)
def test_toktok_counts_as_tiktoken(name, corpus):
    """If this fails the extra `fast` must not be used: its counts are not the model's."""
    pytest.importorskip("toktok", reason="the extra 'fast' (toktok-rs) is not installed")
    fast = BpeCounter(name, fast=True)
    encode = encoding(name).encode_ordinary
    wrong = [text[:80] for text in corpus if fast._measure(text) != len(encode(text))]
    assert wrong == []
    assert fast.count_many(corpus) == [len(encode(text)) for text in corpus]


@pytest.mark.parametrize("name", EXACT)
def test_splintr_counts_as_tiktoken(name, corpus):
    """The engine behind the extra `models`, judged by the vocabularies that can be compared."""
    splintr = pytest.importorskip("splintr", reason="the extra 'models' (splintr-rs) is not installed")
    theirs = splintr.Tokenizer.from_pretrained(name).encode_ordinary
    ours = encoding(name).encode_ordinary
    assert [text[:80] for text in corpus if len(theirs(text)) != len(ours(text))] == []


def test_a_long_s_is_left_to_tiktoken():
    pytest.importorskip("toktok", reason="the extra 'fast' (toktok-rs) is not installed")
    fast = BpeCounter("o200k_base", fast=True)
    for text in ("a'\u017f'vEa", "it'\u017f's", "\u017f'\u017f'll x", "'\u017f'dEa"):
        assert fast(text) == len(encoding("o200k_base").encode_ordinary(text))
        assert fast.count_many([text, "plain"]) == [fast(text), 1]


@pytest.mark.parametrize("has_object", [True, False])
def test_a_toktok_that_counts_otherwise_is_not_used(monkeypatch, has_object):
    """If this fails a new release with another vocabulary changes every count in silence."""
    toktok = pytest.importorskip("toktok", reason="the extra 'fast' (toktok-rs) is not installed")
    assert load("o200k_base") is not None
    monkeypatch.setattr(toktok, "batch_count", lambda texts, *_: [1 for _ in texts])
    wrong = SimpleNamespace(count=lambda text: 1)
    monkeypatch.setattr(toktok, "_encoding", lambda name: wrong if has_object else None)
    assert load("o200k_base") is None
    assert BpeCounter("o200k_base")("hello world") == 2
    with pytest.raises(TokenizerError, match=r"promptpack-rag\[fast\]"):
        BpeCounter("o200k_base", fast=True)("hello world")


def test_toktok_is_used_through_its_public_call_where_there_is_no_other(monkeypatch):
    toktok = pytest.importorskip("toktok", reason="the extra 'fast' (toktok-rs) is not installed")
    monkeypatch.delattr(toktok, "_encoding")
    monkeypatch.setattr(toktok, "batch_count", _plain_batch_count)
    fast = load("o200k_base")
    assert fast is not None
    assert fast("hello world") == 2


def _plain_batch_count(texts, name, threads):
    return [len(encoding(name).encode_ordinary(text)) for text in texts]


def without(module, monkeypatch):
    real = builtins.__import__

    def guarded(name, *args, **kwargs):
        if name == module or name.startswith(module + "."):
            raise ImportError(f"No module named {module!r}")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", guarded)


def test_without_the_extra_fast_counts_are_the_same(monkeypatch):
    without("toktok", monkeypatch)
    assert BpeCounter("o200k_base")("hello world") == 2
    with pytest.raises(TokenizerError, match="pip install"):
        BpeCounter("o200k_base", fast=True)("hello world")


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_without_the_extra_models_the_remedy_is_named(name, monkeypatch):
    """If this fails a count falls back in silence, or the user sees a bare ImportError."""
    without("splintr", monkeypatch)
    with pytest.raises(TokenizerError, match=r"pip install \"promptpack-rag\[models\]\".*estimate") as caught:
        FamilyCounter(name)("some text")
    assert caught.value.name == name


def test_without_tiktoken_the_remedy_is_named(monkeypatch):
    from promptpack.tokens import vocabulary

    monkeypatch.setattr(vocabulary, "_encodings", {})
    without("tiktoken", monkeypatch)
    with pytest.raises(TokenizerError, match=r"pip install \"tiktoken>=0.13\""):
        BpeCounter("o200k_base", fast=False)("some text")


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_families(name):
    pytest.importorskip("splintr", reason="the extra 'models' (splintr-rs) is not installed")
    count = counter(name)
    assert count("") == 0
    assert count("hello world") == 2  # no token for the start of the text
    assert count("<|endoftext|></s><bos><|im_start|>") > 8  # special tokens are plain text
    assert count("a\ud800b") == count("a\ufffdb")
    assert count("a\x00b") == 3
    assert count.prefix("one two three", 2) == "one two"
    assert count(count.suffix("one two three four", 2)) <= 2
    assert count.floor("never counted before", 1) <= count("never counted before")
    assert pickle.loads(pickle.dumps(count)) is count
    if count.uniform_digits:
        for width in (1, 2, 3, 4):
            numbers = range(10 ** (width - 1), 10**width)
            assert len(set(count.count_many(f'<source_{n} id="S{n}">\n' for n in numbers))) == 1


@pytest.mark.parametrize("name", sorted(name for name in FAMILIES if FAMILIES[name].additive))
def test_families_add_up_where_the_rules_say_so(name, corpus):
    pytest.importorskip("splintr", reason="the extra 'models' (splintr-rs) is not installed")
    measure = counter(name)._measure
    for text in corpus[-3000:]:
        cuts = [0, *(i for i in range(1, len(text)) if cuts_here(text[i - 1], text[i])), len(text)]
        if len(cuts) < 50:
            assert sum(measure(text[a:b]) for a, b in pairwise(cuts)) == measure(text)


def test_qwen_reads_composed_characters():
    pytest.importorskip("splintr", reason="the extra 'models' (splintr-rs) is not installed")
    assert counter("qwen3")("cafe\u0301") == counter("qwen3")("caf\u00e9")
    assert counter("qwen2") is counter("qwen3") is counter("qwen2.5")


HUGE = {
    "spaces": " " * MILLION, "spaces before a word": " " * MILLION + "x", "tabs": "\t" * 1_000_000 + "x",
    "newlines": "\n" * MILLION,
    "in the middle": "a word. " * 20_000 + "!\n" + " " * 1_000_000 + "\n\n  /x " + "end " * 50_000,
    "one letter": "a" * 1_000_000, "surrogates": "\ud800" * 1000 + "\u3000" * 300_000 + "x",
}
# Found once by encoding the single pieces; spaces at the end of a text are one piece, before a word two.
KNOWN = {"spaces": (9375, 9375), "spaces before a word": (9377, 9377), "newlines": (75_000, 37_500)}


@pytest.mark.parametrize("kind", sorted(HUGE))
@pytest.mark.parametrize("index", [0, 1], ids=EXACT)
def test_huge_runs_are_counted(kind, index):
    """tiktoken panics on these with an exception that no `except Exception` catches."""
    text, name = HUGE[kind], EXACT[index]
    count = BpeCounter(name, fast=False)(text)
    if kind in KNOWN:
        assert count == KNOWN[kind][index]
    if kind in ("newlines", "one letter"):
        assert count == len(encoding(name).encode_ordinary(text))
    if load(name) is not None:
        assert BpeCounter(name, fast=True)(text) == count


def test_huge_runs_are_cut():
    assert counter("o200k_base").prefix(HUGE["spaces"], 3) == " " * 384
    assert counter("o200k_base").suffix(HUGE["spaces before a word"], 1) == " x"


def test_huge_runs_with_the_other_counters():
    for name in ("words", "chars", "chars/4", "estimate"):
        for text in HUGE.values():
            assert counter(name)(text) >= 0


def test_parts_of_long_texts_meet_where_counts_add_up(corpus):
    text = "\n".join(corpus)
    assert len(text) > bpe.LONG
    assert bpe.tokens("o200k_base", text) == encoding("o200k_base").encode_ordinary(text)


def test_counting_grows_linearly_with_the_text(monkeypatch):
    """Counts the characters that reach the tokenizer: twice the text, twice the characters, no more."""
    seen = []
    real = encoding("cl100k_base")

    class Recording:
        def encode_ordinary(self, text):
            seen.append(len(text))
            return real.encode_ordinary(text)

    monkeypatch.setattr(bpe, "encoding", lambda name: Recording())
    for size in (300_000, 600_000):
        seen.clear()
        bpe.tokens("cl100k_base", "word " * (size // 5))
        assert sum(seen) == size
