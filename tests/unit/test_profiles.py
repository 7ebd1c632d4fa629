"""What a model's name says, and what is said where a name says nothing."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from promptpack.errors import OptionError
from promptpack.profiles import Profile, bare_name, model_patterns, profile, required_profile
from promptpack.templates import template_names
from promptpack.tokens import counter_names


@pytest.mark.parametrize(
    ("model", "window", "counter"),
    [
        ("gpt-4o", 128_000, "o200k_base"),
        ("gpt-4o-mini-2024-07-18", 128_000, "o200k_base"),
        ("OpenAI/GPT-4o", 128_000, "o200k_base"),
        ("openrouter/openai/gpt-4o:beta", 128_000, "o200k_base"),
        ("ft:gpt-4o-mini-2024-07-18:org:name:id", 128_000, "o200k_base"),
        ("gpt-4.1", 1_047_576, "o200k_base"),
        ("gpt-4.1-nano", 1_047_576, "o200k_base"),
        ("gpt-4.5-preview", 128_000, "o200k_base"),
        ("gpt-4", 8192, "cl100k_base"),
        ("gpt-4-0613", 8192, "cl100k_base"),
        ("gpt-4-32k-0613", 32_768, "cl100k_base"),
        ("gpt-4-turbo-preview", 128_000, "cl100k_base"),
        ("gpt-4-1106-preview", 128_000, "cl100k_base"),
        ("gpt-3.5-turbo", 16_385, "cl100k_base"),
        ("gpt-3.5-turbo-instruct", 4096, "cl100k_base"),
        ("azure/gpt-35-turbo", 16_385, "cl100k_base"),
        ("gpt-5", 400_000, "o200k_base"),
        ("gpt-5-mini", 400_000, "o200k_base"),
        ("gpt-5-chat-latest", 128_000, "o200k_base"),
        ("o1", 200_000, "o200k_base"),
        ("o1-mini", 128_000, "o200k_base"),
        ("o3-mini", 200_000, "o200k_base"),
        ("o4-mini", 200_000, "o200k_base"),
        ("gpt-oss-120b", 131_072, "o200k_base"),
        ("claude-sonnet-4-5", 200_000, "estimate"),
        ("claude-2.0", 100_000, "estimate"),
        ("claude-2.1", 200_000, "estimate"),
        ("anthropic.claude-3-5-sonnet-20240620-v1:0", 200_000, "estimate"),
        ("us.anthropic.claude-sonnet-4-20250514-v1:0", 200_000, "estimate"),
        ("models/gemini-2.5-pro", 1_048_576, "estimate"),
        ("gemini-pro", 32_760, "estimate"),
        (" gpt-4o ", 128_000, "o200k_base"),
    ],
)
def test_known_models(model: str, window: int, counter: str) -> None:
    """A window that is too large breaks the first promise: the payload would not fit."""
    found = profile(model)
    assert (found.model, found.window, found.counter, found.known) == (model, window, counter, True)
    assert required_profile(model) == found


def test_without_a_model() -> None:
    assert profile(None) == Profile(None, None, "o200k_base", None, 3, 3, 0.0, True)


@pytest.mark.parametrize(
    "model", ["our-own-v3", "xgpt-4o", "gpt", "[gpt-4o]", "*", "\x00", "\ud800", "gpt-4o/", "x" * 10**6], ids=ascii
)
def test_unknown_models_are_estimated_and_marked(model: str) -> None:
    found = profile(model)
    assert (found.window, found.counter, found.known) == (None, "estimate", False)
    with pytest.raises(OptionError, match=r"^model: unknown value") as caught:
        required_profile(model)
    assert caught.value.known
    str(caught.value).encode("utf-8")


def test_unknown_models_come_with_a_suggestion() -> None:
    with pytest.raises(OptionError, match=r"did you mean 'gpt-4o\*'"):
        required_profile("gtp-4o")


@pytest.mark.parametrize("model", ["", "  ", 5, True, b"gpt-4o", ["gpt-4o"], object()], ids=lambda v: type(v).__name__)
def test_values_that_are_no_name(model: Any) -> None:
    for ask in (profile, required_profile):
        with pytest.raises(OptionError, match=r"^model: expected a name") as caught:
            ask(model)
        assert caught.value.name == "model"


def test_a_required_model_has_to_be_named() -> None:
    """None went through as a model of window 0."""
    with pytest.raises(OptionError, match="model: expected a name"):
        required_profile(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("pattern", model_patterns())
def test_every_row_can_be_reached_and_says_what_exists(pattern: str) -> None:
    """A row behind a wider one is never read; a wrong counter would fail in the middle of rendering."""
    found = profile(pattern.replace("*", ""))
    assert found.known
    assert found.window
    assert found.window >= 4096
    assert found.counter in counter_names()
    assert found.template is None or found.template in template_names()
    assert found.message >= 3
    assert found.reply >= 0
    assert 0 <= found.margin < 0.5
    assert (found.margin > 0) is (found.counter == "estimate")
    assert profile(pattern.replace("*", "-new")).known or not pattern.endswith("*")


def test_the_first_pattern_that_fits_is_a_row_of_its_own() -> None:
    from fnmatch import fnmatchcase

    seen: list[str] = []
    for pattern in model_patterns():
        hidden = [other for other in seen if fnmatchcase(pattern.replace("*", ""), other)]
        assert not hidden, f"{pattern} is never reached: {hidden} comes first"
        seen.append(pattern)


@pytest.mark.parametrize(
    ("model", "bare"), [("GPT-4o", "gpt-4o"), ("a/b/c", "c"), ("ft:x:y", "x"), ("x:free", "x"), ("ft:", ""), (":", "")]
)
def test_bare_name(model: str, bare: str) -> None:
    assert bare_name(model) == bare


def test_profiles_are_values() -> None:
    found = profile("gpt-4o")
    assert pickle.loads(pickle.dumps(found)) == copy.deepcopy(found) == found
    assert hash(copy.copy(found)) == hash(found)
