"""count_tokens by any name: a counter's, a model's, or one that nobody knows."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from promptpack import PromptBuilder, count_tokens
from promptpack.counting import _warn, counter_for
from promptpack.errors import OptionError, SourceError, TokenizerError
from promptpack.profiles import Profile
from promptpack.tokens import counter
from promptpack.tokens.vocabulary import NOT_SHIPPED, encoding


@pytest.mark.parametrize(
    ("name", "counted_by"),
    [
        ("o200k_base", "o200k_base"), ("words", "words"), ("gpt-4o", "o200k_base"), ("o1", "o200k_base"),
        ("openai/gpt-4o-mini", "o200k_base"), ("gpt-4-0613", "cl100k_base"),
        ("ft:gpt-3.5-turbo:org::id", "cl100k_base"),
        ("gemma2-9b-it", "estimate"), ("qwen2.5-7b-instruct", "estimate"), ("claude-sonnet-4-5", "estimate"),
        ("davinci:ft-personal:shop-2023-05-23-20-00-00", "estimate"), ("our-own-model-v3", "estimate"),
    ],
)
def test_names(name: str, counted_by: str) -> None:
    """New model names appear weekly; one that is not known must lead to an estimate, never to a crash."""
    assert counter_for(name) is counter(counted_by)
    assert count_tokens("hello world, again", name) == counter(counted_by)("hello world, again")


def test_an_unknown_model_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """An estimate in silence is taken for a count."""
    _warn.cache_clear()
    with caplog.at_level(logging.WARNING, logger="promptpack"):
        for _ in range(3):
            count_tokens("hello", "our-own-model-v9")
            count_tokens("hello", "claude-opus-5")
    assert caplog.messages == ["the model 'our-own-model-v9' is not known: its tokens are estimated"]


@pytest.mark.parametrize("name", ["o200k_bse", "O200K_BASE", "cl100k-base", "word", "estimated"])
def test_a_misspelled_counter_is_no_model(name: str) -> None:
    with pytest.raises(OptionError, match=r"^counter: unknown value .*did you mean"):
        count_tokens("hello", name)


@pytest.mark.parametrize("name", ["", " ", 5, None, [], b"words"], ids=repr)
def test_what_is_no_name(name: Any) -> None:
    with pytest.raises(OptionError):
        count_tokens("hello", name)


def test_text_that_is_none() -> None:
    for name in ("words", "gpt-4o", "our-own-model-v3"):
        with pytest.raises(SourceError, match="expected a text"):
            count_tokens(None, name)  # type: ignore[arg-type]


def test_callables_and_files(tmp_path: Path) -> None:
    assert count_tokens("abc", len) == 3
    assert count_tokens("abc", Profile("ours", counter="chars")) == 3
    assert counter_for(tmp_path / "tokenizer.json").name == tmp_path.name
    assert counter_for("x/tokenizer.json").name == "x"


@pytest.mark.parametrize("name", [*NOT_SHIPPED, "P50K_base"])
def test_a_vocabulary_that_is_not_shipped_is_an_error(name: str) -> None:
    """If this fails, who asks for an exact count by that vocabulary gets an estimate, and is not told."""
    for ask in (lambda: count_tokens("abc", name), lambda: counter(name), lambda: PromptBuilder(99, counter=name)):
        with pytest.raises(TokenizerError, match=f"{name.lower()}.*does not come with the package.*estimate") as caught:
            ask()
        assert caught.value.name == name.lower()
    with pytest.raises(TokenizerError):
        encoding(name.lower())
