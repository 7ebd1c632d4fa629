"""What a model's name says, and what is said where a name says nothing."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from datetime import date
from fnmatch import fnmatchcase
from typing import Any

import pytest

from promptpack import PromptBuilder, Window
from promptpack.errors import OptionError
from promptpack.profiles import (
    UNKNOWN_MARGIN,
    Profile,
    bare_name,
    load_models,
    model_patterns,
    planned,
    profile,
    required_profile,
)
from promptpack.templates import template_names
from promptpack.tokens import counter, counter_names


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
        ("gpt-5.4-mini-2026-03-17", 400_000, "o200k_base"),
        ("gpt-5.5-pro", 1_050_000, "o200k_base"),
        ("gpt-5.3-chat-latest", 128_000, "o200k_base"),
        ("gpt-6.1-sol", 922_000, "estimate"),
        ("claude-opus-4-1", 200_000, "estimate"),
        ("claude-sonnet-4-6", 1_000_000, "estimate"),
        ("claude-opus-5-5", 1_000_000, "estimate"),
        ("global.anthropic.claude-haiku-5-5-v1:0", 1_000_000, "estimate"),
        ("gemini-1.5-pro-002", 2_097_152, "estimate"),
        ("gemini-2.5-pro-preview-tts", 8192, "estimate"),
        ("meta-llama/Llama-2-13b-chat-hf", 4096, "estimate"),
        ("codellama/CodeLlama-34b-Instruct-hf", 16_384, "estimate"),
        ("meta-llama/Meta-Llama-3-8B-Instruct", 8192, "estimate"),
        ("meta-llama/Meta-Llama-3.1-70B-Instruct", 128_000, "estimate"),
        ("us.meta.llama3-2-3b-instruct-v1:0", 128_000, "estimate"),
        ("llama3.3:70b", 128_000, "estimate"),
        ("meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8", 1_000_000, "estimate"),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", 10_000_000, "estimate"),
        ("mistralai/Mistral-7B-Instruct-v0.1", 8192, "estimate"),
        ("mistralai/Mistral-7B-Instruct-v0.3", 32_000, "estimate"),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", 32_000, "estimate"),
        ("mistralai/Mixtral-8x22B-Instruct-v0.1", 65_536, "estimate"),
        ("mistral-large-2411", 128_000, "estimate"),
        ("mistral-large-latest", 256_000, "estimate"),
        ("open-mistral-nemo", 128_000, "estimate"),
        ("codestral-2508", 128_000, "estimate"),
        ("ministral-8b-2410", 128_000, "estimate"),
        ("mistralai/Mistral-Small-3.2-24B-Instruct-2506", 128_000, "estimate"),
        ("Qwen/Qwen1.5-72B-Chat", 32_768, "estimate"),
        ("qwen2-72b-instruct", 32_768, "estimate"),
        ("Qwen/Qwen2.5-7B-Instruct", 32_768, "estimate"),
        ("Qwen/Qwen3-14B", 32_768, "estimate"),
        ("Qwen/Qwen3-235B-A22B-Instruct-2507", 262_144, "estimate"),
        ("qwen3:8b", 32_768, "estimate"),
        ("deepseek-chat", 128_000, "estimate"),
        ("deepseek-ai/DeepSeek-V3", 65_536, "estimate"),
        ("deepseek-ai/DeepSeek-V3.1", 128_000, "estimate"),
        ("deepseek-v4-pro", 1_000_000, "estimate"),
        ("deepseek-ai/DeepSeek-R1-Distill-Llama-70B", 128_000, "estimate"),
        ("google/gemma-2-9b-it", 8192, "estimate"),
        ("gemma2-9b-it", 8192, "estimate"),
        ("gemma-7b-it", 8192, "estimate"),
        ("google/gemma-3-27b-it", 131_072, "estimate"),
        ("google/gemma-3-1b-it", 32_768, "estimate"),
        ("google/gemma-4-31B-it", 256_000, "estimate"),
        ("command-r-plus-08-2024", 128_000, "estimate"),
        ("c4ai-command-r-v01", 128_000, "estimate"),
        ("command-a-03-2025", 256_000, "estimate"),
        ("ibm-granite/granite-3.0-8b-instruct", 4096, "estimate"),
        ("ibm-granite/granite-3.3-8b-instruct", 128_000, "estimate"),
        ("ibm/granite-4-h-small", 131_000, "estimate"),
        ("microsoft/Phi-3-mini-4k-instruct", 4096, "estimate"),
        ("microsoft/phi-4", 16_384, "estimate"),
    ],
)
def test_known_models(model: str, window: int, counter: str) -> None:
    """A window that is too large breaks the first promise: the payload would not fit."""
    found = profile(model)
    assert (found.model, found.window, found.counter, found.known) == (model, window, counter, True)
    assert required_profile(model) == found


def test_without_a_model() -> None:
    """The golden payloads have no model: their counter, template set and overhead must stay what they are."""
    assert profile(None) == Profile(None, None, "o200k_base", None, 3, 3, 0.0, True)


@pytest.mark.parametrize(
    "model", ["our-own-v3", "xgpt-4o", "gpt", "[gpt-4o]", "*", "\x00", "\ud800", "gpt-4o/", "x" * 10**6], ids=ascii
)
def test_unknown_models_are_estimated_and_marked(model: str) -> None:
    found = profile(model)
    assert (found.window, found.counter, found.known, found.margin) == (None, "estimate", False, UNKNOWN_MARGIN)
    with pytest.raises(OptionError, match=r"^model: unknown value") as caught:
        required_profile(model)
    assert caught.value.known
    str(caught.value).encode("utf-8")


def test_unknown_models_come_with_a_suggestion() -> None:
    with pytest.raises(OptionError, match=r"did you mean 'gpt-4o\*'"):
        required_profile("gtp-4o")


@pytest.mark.parametrize(("model", "as_", "window"), [
    ("gpt-4-o", "gpt-4o", 128_000), ("gpt4o-mini", "gpt-4o-mini", 128_000), ("gpt-4-1-mini", "gpt-4.1-mini", 1_047_576),
    ("anthropic/claude-opus-4.8", "claude-opus-4-8", 1_000_000), ("Qwen/qwen2-5-7b", "qwen2.5-7b", 32_768),
])
def test_other_signs_between_the_parts_make_no_other_model(model: str, as_: str, window: int) -> None:
    """If it fails, a wildcard gives the model another window: 8,192 for gpt-4-o, 200,000 for claude-opus-4.8."""
    found = required_profile(model)
    assert found == replace(required_profile(as_), model=model)
    assert found.window == window


@pytest.mark.parametrize(("model", "meant"), [
    ("claude-sonet-5", "claude-sonnet-5"), ("claude-opsu-4-7", "claude-opus-4-7"), ("gpt-40-mini", "gpt-4o-mini"),
    ("gpt-4-trubo-preview", "gpt-4-turbo-preview"), ("mistral-lagre-2411", "mistral-large-2411"),
])
def test_a_misspelt_name_is_not_taken_by_a_wildcard(model: str, meant: str) -> None:
    """If it fails, a slip of the pen gives the window, the counter and the template of some other model, in silence."""
    with pytest.raises(OptionError, match=f"did you mean '{meant}'"):
        required_profile(model)
    payload = PromptBuilder(4000, model=model).with_question("Why?").render()
    assert not payload.budget.exact
    assert f"the model '{model}' is not known (did you mean '{meant}'?)" in payload.report.notes[-1]


@pytest.mark.parametrize("model", [
    "gpt-4-0613", "gpt-4-0314", "llama-3-1b", "llama-3-2b", "qwen2-57b-a14b", "claude-sonnet-4.5", "claude-3.5-sonnet",
    "deepseek-v3", "gpt-4", "o3-deep-research", "gemini-2.5-flash-lite", "gpt-4o-mini-tts", "claude-sonnet-4-20250514",
])
def test_real_names_are_no_misspellings(model: str) -> None:
    """If it fails, a model that is sold under this name gets another row than the one that its pattern says."""
    loaded = load_models()
    found = next(row for row in loaded.rows if any(fnmatchcase(model, pattern) for pattern in row.match))
    assert loaded.find(model) is found


def test_what_fits_a_row_of_your_own_is_never_a_misspelling() -> None:
    """If it fails, a fine-tune that is called gpt-40 cannot be used."""
    mine = {"model": [{"match": ["gpt-40*", "claude-sonet*"], "window": 700, "counter": "words"}]}
    for model in ("gpt-40-ours", "claude-sonet-5"):
        assert required_profile(model, mine).window == 700


@pytest.mark.parametrize("model", ["a-" * 128, "o" * 256, "-" * 256, "4o" * 128, "lo-" * 85, "\xe9-\ud800" * 80])
def test_names_that_are_none_are_looked_up_all_the_same(model: str) -> None:
    """If it fails, a name from outside ends in an error that is not the library's."""
    assert load_models().find(model) is None


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
    # an extra may be missing: a model's name means the same on every machine
    assert found.counter in ("o200k_base", "cl100k_base", "estimate")
    assert (found.margin > 0) is (found.counter == "estimate")
    assert found.exact_counter is None or counter(found.exact_counter).exact
    assert found.source
    assert found.checked
    assert date(2026, 1, 1) <= found.checked
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


def test_a_profile_by_hand() -> None:
    mine = Profile("ours", window=700, counter="words", message=10, reply=20)
    payload = PromptBuilder.for_model(mine).with_question("Why?").render()
    assert (payload.budget.window, payload.report.model) == (700, "ours")
    words = sum(len(message.text.split()) for message in payload.messages)
    assert payload.tokens == words + 10 * len(payload.messages) + 20
    with pytest.raises(OptionError, match="No window is known"):
        PromptBuilder.for_model(Profile("ours"))


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"model": ""}, "model"), ({"model": 5}, "model"), ({"message": -1}, "message"), ({"reply": True}, "reply"),
        ({"margin": 1.0}, "margin"), ({"margin": "x"}, "margin"), ({"margin": float("nan")}, "margin"),
        ({"window": 0}, "window"),
    ],
)
def test_a_profile_that_cannot_be(options: Any, name: str) -> None:
    with pytest.raises(OptionError) as caught:
        Profile(**options)
    assert caught.value.name == name


def test_the_margin_of_an_estimate_is_kept_free() -> None:
    """An estimate that is a little low must not pass the window; a window of your own stays as it is."""
    assert planned(1000, 0.0) == Window(1000)
    assert planned(1001, 0.25).margin == 251
    assert planned(Window(1000, margin=3), 0.25).margin == 3
    share = profile("claude-opus-5").margin
    for window in (4000, 100_000):
        budget = PromptBuilder(window, model="claude-opus-5").with_question("Why?").render().budget
        assert budget.margin == window * share
    builder = PromptBuilder.for_model("claude-opus-5")
    assert Window.of(builder.window) == Window(1_000_000, margin=int(1_000_000 * share))
    assert PromptBuilder(Window(4000), model="claude-opus-5").with_question("Why?").render().budget.margin == 0
    # a counter of your own is taken at its word
    assert PromptBuilder(4000, model="claude-opus-5", counter=len).with_question("Why?").render().budget.margin == 0
    assert Window.of(PromptBuilder.for_model("llama-3.1-8b", counter="words").window).margin == 0


def test_the_report_says_what_is_estimated() -> None:
    def notes(model: str, **options: Any) -> str:
        return " ".join(PromptBuilder(4000, model=model, **options).with_question("Why?").render().report.notes)

    assert "the model 'our-own-model-v3' is not known" in notes("our-own-model-v3")
    assert notes("qwen2.5-7b-instruct").endswith("Exact: counter='qwen3'")
    assert notes("claude-opus-5").endswith("may differ from the model's; 1000 tokens are kept free for that")
    assert notes("gpt-4o") == ""
    assert notes("our-own-model-v3", counter="words") == ""
    assert "counts by chars/4 are estimates" in notes("our-own-model-v3", counter="chars/4")
