"""Hugging Face tokenizers: exact counts, cuts that fit, hostile text, errors that name the remedy.

The tokenizers are trained here, so that no file and no network is needed.
"""

from __future__ import annotations

import builtins
import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from promptpack import PromptBuilder
from promptpack.errors import OptionError, SourceError, TokenizerError
from promptpack.tokens import counter, hf_counter, is_tokenizer
from promptpack.tokens.custom import CallableCounter
from promptpack.tokens.huggingface import SlowCounter

tokenizers: Any = pytest.importorskip("tokenizers", reason="the extra 'hf' (tokenizers) is not installed")

CORPUS = [
    "You can return any lamp within 45 days, or 30.", "Faulty lamps: covered for three years.", "naïve 返品 😀",
] * 20
KINDS = ("bpe", "wordpiece", "unigram", "metaspace")
TEXTS = [
    "", " ", "lamp", "You can return any lamp within 45 days.", "  two  spaces \n\n\t", "a\x00b",
    "naïve cafe\u0301 返品は三十日", "👨\u200d👩\u200d👧 🇩🇪🇫🇷 e\u0301\u0302 ok " * 4, "</s><s>[CLS]<|endoftext|>",
    "x" * 500, "lamp " * 300, "a\ud83d\ude80b\ud800c" * 5,
    "\u0928\u092e\u0938\u094d\u0924\u0947 " * 9,
]


def trained(kind: str) -> Any:
    models, trainers = tokenizers.models, tokenizers.trainers
    special = ["<s>", "</s>", "[UNK]", "[CLS]"]
    if kind == "bpe":
        made = tokenizers.Tokenizer(models.BPE())
        made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(
            vocab_size=400, special_tokens=special, initial_alphabet=alphabet, show_progress=False
        )
    elif kind == "wordpiece":
        made = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
        made.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
        made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(vocab_size=200, special_tokens=special, show_progress=False)
    elif kind == "unigram":
        made = tokenizers.Tokenizer(models.Unigram())
        made.normalizer = tokenizers.normalizers.NFKC()
        made.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
        trainer = trainers.UnigramTrainer(
            vocab_size=120, special_tokens=special, unk_token="[UNK]", show_progress=False
        )
    else:
        made = tokenizers.Tokenizer(models.BPE(byte_fallback=True, unk_token="[UNK]"))
        made.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
        trainer = trainers.BpeTrainer(vocab_size=150, special_tokens=special, show_progress=False)
    made.train_from_iterator(CORPUS, trainer)
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", made.token_to_id("<s>")), ("</s>", made.token_to_id("</s>"))]
    )
    return made


MADE = {kind: trained(kind) for kind in KINDS}


@pytest.fixture(params=KINDS)
def made(request: pytest.FixtureRequest) -> Any:
    return MADE[request.param]


def test_counts_are_the_tokenizers_own(made: Any) -> None:
    """If this fails a budget counted "exactly" is not: no token for the start and end of a text is added."""
    count = hf_counter(made)
    assert (count.exact, count.additive) == (True, False)
    for text in CORPUS[:3]:
        assert count(text) == len(made.encode(text, add_special_tokens=False).ids)
        assert count(text) < len(made.encode(text).ids)
    assert count("") == 0
    assert count.count_many(CORPUS[:2]) == [count(text) for text in CORPUS[:2]]


@pytest.mark.parametrize("kind", ["bpe"])
def test_text_that_spells_a_special_token_is_plain_text(kind: str) -> None:
    """Sources are data: a marker in one is not the marker."""
    assert len(MADE[kind].encode("</s>", add_special_tokens=False).ids) == 1
    assert hf_counter(MADE[kind])("</s>") > 1


def test_hostile_text_counts(made: Any) -> None:
    """A lone surrogate or a NUL must not end the whole run in a bare TypeError."""
    count = hf_counter(made)
    assert count("a\ud800b") == count("a\ufffdb")
    assert count("\ud83d\ude80") == count("\U0001f680")
    assert count("a\x00b") >= 1
    with pytest.raises(SourceError, match="expected a text"):
        count(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_a_cut_fits_and_splits_no_character(made: Any, text: str) -> None:
    count = hf_counter(made)
    edges = {0} | {found.end() for found in regex.finditer(r"\X", text)}
    for limit in (0, 1, 2, 3, 7, 40, 10_000):
        start, end = count.prefix(text, limit), count.suffix(text, limit)
        assert text.startswith(start)
        assert text.endswith(end)
        assert count(start) <= limit
        assert count(end) <= limit
        assert len(start) in edges
        assert len(text) - len(end) in edges
        if count(text) <= limit:
            assert start == end == text


def test_a_cut_is_long(made: Any) -> None:
    """A cut that always gave the empty text would fit as well."""
    count = hf_counter(made)
    text = "You can return any lamp within 45 days. " * 20
    for limit in (5, 20, 60):
        assert count(count.prefix(text, limit)) >= limit - 2
        assert count(count.suffix(text, limit)) >= limit - 2


@given(st.text(max_size=80), st.integers(0, 30))
def test_any_cut_fits(text: str, limit: int) -> None:
    for kind in KINDS:
        count = hf_counter(MADE[kind])
        start, end = count.prefix(text, limit), count.suffix(text, limit)
        assert text.startswith(start)
        assert text.endswith(end)
        assert max(count(start), count(end)) <= limit or not start


def test_what_was_given_is_not_changed_and_does_not_cap_counts() -> None:
    """A tokenizer set up for a model's input truncates: its counts would stop at the cap in silence."""
    given = trained("bpe")
    given.enable_truncation(4)
    given.enable_padding(length=64)
    count = hf_counter(given)
    assert count("lamp " * 100) > 64
    assert count("lamp") < 64
    assert given.truncation["max_length"] == 4
    assert given.encode_special_tokens is False


def test_counts_are_the_same_each_time() -> None:
    """A tokenizer saved in training drops merges at random."""
    given = trained("bpe")
    given.model.dropout = 0.5
    text = "You can return any lamp within 45 days. " * 30
    counts = {hf_counter(given)._measure(text) for _ in range(4)}
    assert counts == {hf_counter(trained("bpe"))(text)}
    assert given.model.dropout == 0.5


def test_a_file_counts_like_the_object(made: Any, tmp_path: Path) -> None:
    folder = tmp_path / "our-model"
    folder.mkdir()
    made.save(str(folder / "tokenizer.json"))
    path = folder / "tokenizer.json"
    count = counter(str(path))
    assert count(CORPUS[0]) == hf_counter(made)(CORPUS[0])
    assert count.name == "our-model"
    assert counter(path) is count is hf_counter(path)
    assert hf_counter(path, name="ours").name == "ours"
    again = pickle.loads(pickle.dumps(count))
    assert (again.name, again(CORPUS[0])) == (count.name, count(CORPUS[0]))


def test_a_file_that_changed_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    MADE["bpe"].save(str(path))
    first = counter(path)
    before = first(CORPUS[0])
    MADE["metaspace"].save(str(path))
    os.utime(path, ns=(1, 1))
    second = counter(path)
    assert second is not first
    assert second(CORPUS[0]) == hf_counter(MADE["metaspace"])(CORPUS[0])
    assert first(CORPUS[0]) == before


def test_objects_pickle(made: Any) -> None:
    count = hf_counter(made, name="ours")
    again = pickle.loads(pickle.dumps(count))
    assert (again.name, again("any lamp")) == ("ours", count("any lamp"))


class Fast:
    """As the fast tokenizers of transformers: callable, and with the tokenizer of the package tokenizers inside."""

    name_or_path = "org/our-model"

    def __init__(self, inner: Any) -> None:
        self.backend_tokenizer = inner

    def __call__(self, text: str) -> dict[str, list[int]]:
        return {"input_ids": self.encode(text)}

    def encode(self, text: str, *, add_special_tokens: bool = True) -> list[int]:
        return list(self.backend_tokenizer.encode(text, add_special_tokens=add_special_tokens).ids)

    def convert_tokens_to_ids(self, tokens: list[str]) -> list[int]:
        return [self.backend_tokenizer.token_to_id(token) for token in tokens]


class Slow:
    """As the slow tokenizers of transformers: only ids, no offsets."""

    def __call__(self, text: str) -> dict[str, list[int]]:
        return {"input_ids": self.encode(text)}

    def encode(self, text: str, *, add_special_tokens: bool = True) -> list[int]:
        text.encode("utf-8")
        ids = list(range(len(text.split())))
        return [0, *ids, 1] if add_special_tokens else ids

    def convert_tokens_to_ids(self, tokens: list[str]) -> list[int]:
        return [0 for _ in tokens]


def test_tokenizers_of_transformers() -> None:
    """They are callable, and what they return is no number: taken for a callable, each count would fail."""
    fast = counter(Fast(MADE["bpe"]))  # type: ignore[arg-type]
    assert fast(CORPUS[0]) == hf_counter(MADE["bpe"])(CORPUS[0])
    assert fast.name == "org/our-model"
    slow = counter(Slow())  # type: ignore[arg-type]
    assert slow("one two three") == 3
    assert slow("a\ud800b c") == 2
    assert slow.prefix("one two three", 2) == "one two "
    assert slow.name == "Slow"


def test_only_tokenizers_are_taken_for_tokenizers() -> None:
    assert not any(is_tokenizer(value) for value in (len, "x", None, Fast, "x".encode, 5))
    assert isinstance(counter(len), CallableCounter)


def test_a_slow_tokenizer_that_gives_no_list_is_named() -> None:
    class Odd(Slow):
        def encode(self, text: str, *, add_special_tokens: bool = True) -> Any:
            return 7

    with pytest.raises(TokenizerError, match="encode must return a list of ids") as caught:
        SlowCounter(Odd(), "odd")("text")
    assert caught.value.name == "odd"


@pytest.mark.parametrize("value", [None, 5, object(), Fast, ["x"]], ids=lambda value: type(value).__name__)
def test_what_is_no_tokenizer_is_refused(value: Any) -> None:
    with pytest.raises(OptionError, match=r"^tokenizer: expected the path of a tokenizer.json") as caught:
        hf_counter(value)
    assert caught.value.name == "tokenizer"
    with pytest.raises(OptionError, match=r"^name: expected a text"):
        hf_counter("x.json", name=" ")


@pytest.mark.parametrize("content", [None, b"", b"{}", b"\xff\xfe", b'{"model": 5}', b"not json"], ids=repr)
def test_a_missing_or_damaged_file_is_named(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "broken" / "tokenizer.json"
    path.parent.mkdir()
    if content is not None:
        path.write_bytes(content)
    count = counter(path)  # nothing is read before the first count
    with pytest.raises(TokenizerError, match="broken") as caught:
        count("text")
    assert "broken" in caught.value.name


def test_a_path_that_cannot_be_is_no_bare_error() -> None:
    with pytest.raises(TokenizerError, match="cannot be read"):
        counter("a\x00b.json")("text")


def test_without_the_extra_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    MADE["bpe"].save(str(path))
    real = builtins.__import__

    def guarded(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.split(".")[0] == "tokenizers":
            raise ImportError("No module named 'tokenizers'")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", guarded)
    with pytest.raises(TokenizerError, match=r"pip install \"promptpack-rag\[hf\]\".*estimate"):
        hf_counter(path, name="ours")("text")


def test_a_payload_is_counted_as_a_whole(made: Any) -> None:
    """Prefix spaces and merges over joins make sums wrong; only the whole message's count keeps the promise."""
    builder = PromptBuilder(900, counter=made).add_sources(CORPUS[:3] * 3).with_question("How long?")
    payload = builder.render()
    texts = [message.text for message in payload.messages]
    encoded = [len(made.encode(text, add_special_tokens=False).ids) for text in texts]
    assert payload.tokens == sum(encoded) + 3 * len(texts) + 3
    assert payload.tokens <= payload.budget.input
    assert payload.report.exact
    assert payload.sources
    assert builder.with_question("How long?").render() == payload


def test_an_object_is_copied_once_by_a_builder() -> None:
    """Copying a vocabulary of 100,000 tokens for every payload would cost more than the payload."""
    builder = PromptBuilder(900, counter=MADE["bpe"])
    assert builder.with_question("Why?").counter is builder.counter
    assert callable(builder.counter)


def test_counting_is_linear_in_the_text() -> None:
    """Cutting tokenises only as much as the limit calls for."""
    seen: list[int] = []

    class Counted:
        def __init__(self, inner: Any) -> None:
            self.inner = inner

        def encode(self, text: str, **options: Any) -> Any:
            seen.append(len(text))
            return self.inner.encode(text, **options)

    count = hf_counter(MADE["bpe"])
    count._tokenizer = Counted(MADE["bpe"])  # type: ignore[attr-defined]
    count.prefix("You can return any lamp. " * 20_000, 10)
    count.suffix("You can return any lamp. " * 20_000, 10)
    assert sum(seen) < 10_000


def test_json_names_are_files_and_nothing_else() -> None:
    assert json.loads(MADE["bpe"].to_str())["model"]["type"] == "BPE"
    with pytest.raises(OptionError, match="counter: unknown value"):
        counter("no-such-counter")
