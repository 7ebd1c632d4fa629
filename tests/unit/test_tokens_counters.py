"""Every counter by its name: what it counts, what it refuses, how it is shared, kept and pickled."""

from __future__ import annotations

import copy
import pickle
import re
import threading

import pytest
from markupsafe import Markup

from promptpack.counting import count_tokens
from promptpack.errors import OptionError, SourceError, TokenizerError
from promptpack.protocols import TokenCounter
from promptpack.tokens import counter, counter_names
from promptpack.tokens.bpe import BpeCounter
from promptpack.tokens.custom import CallableCounter
from promptpack.tokens.families import ALIASES, FAMILIES
from promptpack.tokens.memo import Memo
from promptpack.tokens.vocabulary import encoding

ALWAYS = [name for name in counter_names() if name not in FAMILIES and name not in ALIASES]
EXACT = ["o200k_base", "cl100k_base"]
HOSTILE = [
    "", " ", "\n", "a", "\x00", "a\x00b", "\ud800", "a\udfffb", "\ud83d\ude80", "<|endoftext|>",
    "\u017f's", "a'\u017f'vEa", "e\u0301" * 50,
    "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\ufeffx", "\r\n\r\n/x",
    "\x1c\x1d", "\u3000\u3000x", "9" * 1000, "\u0e44\u0e17\u0e22" * 30,
]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("words", "one two\tthree\n", 3), ("words", "", 0), ("words", " \n", 0),
        ("chars", "", 0), ("chars", "cafe\u0301", 5), ("chars", "\U0001f680", 1),
        ("chars/4", "", 0), ("chars/4", "a", 1), ("chars/4", "abcdef", 2), ("chars/4", "a" * 10, 2),
        ("chars/4", "a" * 14, 4), ("chars/4", "a" * 400, 100),
        ("o200k_base", "", 0), ("cl100k_base", "", 0), ("estimate", "", 0),
        ("cl100k_base", "The token <|endoftext|> ends a document.", 12),
        ("o200k_base", "The token <|endoftext|> ends a document.", 13),
    ],
)
def test_count(name, text, expected):
    assert count_tokens(text, name) == expected
    assert counter(name)(text) == expected
    assert counter(name)(text) == expected  # the second count comes from the memo


def test_default_is_the_exact_o200k():
    assert counter() is counter("o200k_base")
    assert count_tokens("hello world") == 2


@pytest.mark.parametrize("name", ALWAYS)
@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_no_text_is_refused(name, text):
    count = counter(name)(text)
    assert type(count) is int
    assert count >= 0
    assert counter(name).floor(text, 5) <= count


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("fast", [None, False])
@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_exact_counters_count_as_tiktoken(name, fast, text):
    assert counter(name, fast=fast)(text) == len(encoding(name).encode_ordinary(text))


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("fast", [None, False])
def test_many_counts_are_single_counts(name, fast):
    """One call for many texts, with repeats, surrogates and special text among them."""
    fresh = BpeCounter(name, fast=fast)
    texts = [*HOSTILE, *HOSTILE, Markup("<b>x</b>")]
    assert fresh.count_many(iter(texts)) == [len(encoding(name).encode_ordinary(text)) for text in texts]
    clean = BpeCounter(name, fast=fast)
    assert clean.count_many(["one", "one two", "one"]) == [1, 2, 1]
    assert clean.count_many([]) == []


@pytest.mark.parametrize("name", ALWAYS)
@pytest.mark.parametrize("value", [None, 3, b"bytes", ["a"], {}])
def test_what_is_no_text_is_named(name, value):
    count = counter(name)
    for call in (
        count, lambda v: count.floor(v, 1), lambda v: count.prefix(v, 1), lambda v: count.suffix(v, 1),
        lambda v: count.count_many([v]),
    ):
        with pytest.raises(SourceError, match="expected a text"):
            call(value)


@pytest.mark.parametrize("limit", [1.5, True, "3", None])
@pytest.mark.parametrize("name", ALWAYS)
def test_a_limit_must_be_a_whole_number(name, limit):
    for cut in (counter(name).prefix, counter(name).suffix):
        with pytest.raises(OptionError, match="whole number"):
            cut("text", limit)


@pytest.mark.parametrize("name", ALWAYS)
def test_no_room_leaves_nothing(name):
    for limit in (0, -1, -1000):
        assert counter(name).prefix("text", limit) == counter(name).suffix("text", limit) == ""


@pytest.mark.parametrize(
    ("given", "hint"),
    [("o200k", "'o200k_base'"), ("cl100k-base", "'cl100k_base'"), ("word", "'words'"), (None, "Known:"),
     (4, "Known:"), ("", "Known:"), (str, "Known:"), (["words"], "Known:")],
)
def test_unknown_names_are_refused_with_a_hint(given, hint):
    with pytest.raises(OptionError, match=re.escape(hint)) as caught:
        counter(given)
    assert "o200k_base" in caught.value.known


def test_fast_must_be_a_flag():
    with pytest.raises(OptionError, match="fast"):
        counter("o200k_base", fast="yes")


@pytest.mark.parametrize("name", ALWAYS)
def test_one_object_for_a_name_also_after_pickling(name):
    """If this fails each builder fills a memo of its own, and process pools copy 32 MB of texts."""
    count = counter(name)
    count("a text that is in the memo")
    assert counter(name) is count
    assert counter(count) is count
    assert len(pickle.dumps(count)) < 300
    assert pickle.loads(pickle.dumps(count)) is count
    assert copy.deepcopy(count) is count
    assert isinstance(count, TokenCounter)
    plain = counter("o200k_base", fast=False)
    assert plain is not counter("o200k_base")
    assert pickle.loads(pickle.dumps(plain)) is plain


@pytest.mark.parametrize(
    ("name", "exact", "additive", "uniform"),
    [("o200k_base", True, True, True), ("cl100k_base", True, True, True), ("estimate", False, True, True),
     ("words", True, True, True), ("chars", True, True, True), ("chars/4", False, False, True)],
)
def test_what_a_counter_says_of_itself(name, exact, additive, uniform):
    count = counter(name)
    assert (count.name, count.exact, count.additive, count.uniform_digits) == (name, exact, additive, uniform)


# callables


def pieces(text):
    """A module-level counter, which pickles."""
    return len(re.findall(r"\w+|[^\w\s]|\n", text))


class Rich:
    """A counter that carries everything a counter may carry."""

    name = "rich"
    exact = False
    additive = True
    uniform_digits = True
    calls = 0

    def __call__(self, text):
        self.calls += 1
        return len(text)

    def floor(self, text, limit):
        return 1

    def prefix(self, text, n):
        return text[:n]

    def suffix(self, text, n):
        return text[len(text) - n:]

    def count_many(self, texts):
        return [len(text) for text in texts]


def test_a_callable_is_taken_at_its_word():
    count = counter(pieces)
    assert (count.name, count.exact, count.additive, count.uniform_digits) == ("pieces", True, False, False)
    assert count("one, two\n") == 4
    assert count_tokens("one, two\n", pieces) == 4
    assert count.floor("a b", 1) == 0
    assert pickle.loads(pickle.dumps(count))("one, two") == 3
    assert counter(lambda text: 1).name == "<lambda>"
    assert counter(len).name == "len"


def test_a_callable_keeps_what_it_carries():
    rich = Rich()
    count = counter(rich)
    assert (count.name, count.exact, count.additive, count.uniform_digits) == ("rich", False, True, True)
    assert count.floor("abc", 9) == 1
    assert count.prefix("abcdef", 2) == "ab"
    assert count.suffix("abcdef", 2) == "ef"
    assert count.count_many(["a", "bc", "a"]) == [1, 2, 1]
    calls = rich.calls
    assert count("abcdef") == count("abcdef") == 6
    assert rich.calls == calls + 1  # the second one comes from the memo


@pytest.mark.parametrize("result", [-1, 1.0, "3", None, True, [1]])
def test_a_wrong_result_is_named(result):
    """If this fails a counter that returns nonsense makes a payload of the wrong size."""
    def broken(text):
        return result

    with pytest.raises(TokenizerError, match=r"'broken'.*whole number") as caught:
        counter(broken)("text")
    assert caught.value.name == "broken"


def test_numpy_integers_are_whole_numbers():
    numpy = pytest.importorskip("numpy")
    count = counter(lambda text: numpy.int64(3))("x")
    assert (count, type(count)) == (3, int)


@pytest.mark.parametrize(
    ("attribute", "value", "message"),
    [
        ("prefix", lambda text, n: "other", "must return a part"),
        ("prefix", lambda text, n: None, "must return a part"),
        ("prefix", lambda text, n: text, "costs 6"),
        ("suffix", lambda text, n: text[:1], "must return a part"),
        ("floor", lambda text, n: -1, "whole number"),
        ("count_many", lambda texts: [1], "1 counts for 2 texts"),
        ("count_many", lambda texts: [1, -1], "whole number"),
    ],
)
def test_wrong_extras_of_a_callable_are_named(attribute, value, message):
    def own(text):
        return len(text)

    setattr(own, attribute, value)
    count = counter(own)
    calls = {
        "prefix": lambda: count.prefix("abcdef", 2), "suffix": lambda: count.suffix("abcdef", 2),
        "floor": lambda: count.floor("abcdef", 2), "count_many": lambda: count.count_many(["ab", "cd"]),
    }
    with pytest.raises(TokenizerError, match=message):
        calls[attribute]()


@pytest.mark.parametrize("flag", ["exact", "additive", "uniform_digits"])
def test_a_flag_of_a_callable_must_be_a_bool(flag):
    def own(text):
        return 1

    setattr(own, flag, "yes")
    with pytest.raises(TokenizerError, match=flag):
        counter(own)


def test_errors_of_a_callable_pass_through():
    def failing(text):
        raise TypeError("my own")

    with pytest.raises(TypeError, match="my own"):
        counter(failing)("text")


# the memo


def test_memo_keeps_its_bounds_and_drops_the_oldest():
    memo = Memo(max_bytes=10_000, max_entries=50, max_text=200)
    for number in range(500):
        memo.put(f"text {number}", number)
        assert len(memo.table) <= 50
    assert memo.table["text 499"] == 499
    assert "text 0" not in memo.table
    for number in range(500):
        memo.put(f"{number} " + "x" * 100, number)
    assert sum(len(text) for text in memo.table) < 10_000
    memo.put("y" * 300, 1)
    assert "y" * 300 not in memo.table
    memo.clear()
    assert memo.table == {}


def test_memo_holds_its_bounds_under_threads():
    memo = Memo(max_entries=64)
    failures = []

    def work(start):
        try:
            for number in range(start, start + 3000):
                memo.put(str(number), number)
                found = memo.table.get(str(number - 5))
                if found not in (None, number - 5):
                    failures.append((number, found))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(start,)) for start in (0, 1000, 2000, 3000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(memo.table) <= 64


def test_a_known_text_is_not_tokenised_again():
    """If this fails a chunk that comes back every turn is tokenised every turn."""
    count = BpeCounter("cl100k_base", fast=False)
    expected = count("some text")

    def fail(text):
        raise AssertionError("tokenised again")

    count._engine = fail
    assert count("".join(["some", " text"])) == expected
    assert count.floor("some text", 0) == expected
    assert count.prefix("some text", expected) == "some text"


def test_a_str_subclass_is_kept_as_plain_text():
    class Odd(str):
        def __hash__(self):
            return 7

        def __eq__(self, other):
            return True

    count = CallableCounter(pieces)
    assert count(Odd("one two")) == 2
    assert [type(text) for text in count._memo.table] == [str]
    assert count("one two three") == 3


def test_threads_share_a_counter():
    count = BpeCounter("o200k_base")
    texts = [f"chunk number {number} of the corpus, with some words" for number in range(300)]
    expected = [len(encoding("o200k_base").encode_ordinary(text)) for text in texts]
    results = []
    threads = [threading.Thread(target=lambda: results.append([count(t) for t in texts])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 4
