"""Requests: model, limit of the answer, tool schemas in each provider's form, and errors that name the choices."""

from __future__ import annotations

import json

import pytest

from promptpack.builder import PromptBuilder
from promptpack.errors import OptionError
from promptpack.payload import Payload
from promptpack.window import Window

WINDOW = Window(4000, answer=321)
SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}}
FORMS = [
    {"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": SCHEMA}},
    {"type": "function", "name": "look", "description": "Looks.", "parameters": SCHEMA},
    {"name": "look", "description": "Looks.", "input_schema": SCHEMA},
    {"type": "custom", "name": "look", "description": "Looks.", "input_schema": SCHEMA},
    {"functionDeclarations": [{"name": "look", "description": "Looks.", "parametersJsonSchema": SCHEMA}]},
    {"function_declarations": [{"name": "look", "description": "Looks.", "parameters": SCHEMA}]},
    {"toolSpec": {"name": "look", "description": "Looks.", "inputSchema": {"json": SCHEMA}}},
    {"name": "look", "description": "Looks.", "parameters": SCHEMA},
]
LIMITS = {
    "openai": lambda made: made["max_completion_tokens"],
    "openai-responses": lambda made: made["max_output_tokens"],
    "anthropic": lambda made: made["max_tokens"],
    "gemini": lambda made: made["config"]["max_output_tokens"],
    "cohere": lambda made: made["max_tokens"],
    "bedrock": lambda made: made["inferenceConfig"]["maxTokens"],
}


def payload(*tools, window=WINDOW, **options) -> Payload:
    made = PromptBuilder(window, **options).with_question("Why?").add_sources(["A text."])
    return (made.with_tools(tools) if tools else made).render()


@pytest.mark.parametrize("provider", LIMITS)
def test_the_answer_reserve_becomes_the_limit(provider) -> None:
    """If it fails, the answer can be longer than the room that was kept for it, or is cut short."""
    assert LIMITS[provider](payload().request(provider, model="m")) == 321


@pytest.mark.parametrize("provider", [name for name in LIMITS if name != "anthropic"])
def test_without_a_reserve_there_is_no_limit(provider) -> None:
    """If it fails, a limit of 0 is sent, which APIs refuse."""
    made = payload(window=Window(4000, answer=0)).request(provider, model="m")
    with pytest.raises(KeyError):
        LIMITS[provider](made)


def test_anthropic_needs_a_limit() -> None:
    """If it fails, a request is built that the API refuses for want of max_tokens."""
    with pytest.raises(OptionError, match=r"Window\.answer"):
        payload(window=Window(4000, answer=0)).request("anthropic", model="m")


def test_the_model_is_the_payloads_own() -> None:
    """If it fails, a request names another model than the one it was counted for, or none."""
    assert payload(model="gpt-4o").request("openai")["model"] == "gpt-4o"
    assert payload(model="gpt-4o").request("bedrock", model="m")["modelId"] == "m"
    for wrong in (None, "", 3):
        with pytest.raises(OptionError, match="model"):
            payload().request("openai", model=wrong)


@pytest.mark.parametrize(("provider", "options", "words"), [
    ("antropic", {}, ["antropic", "anthropic", "openai-responses", "bedrock"]),
    (None, {}, ["provider", "openai"]),
    ("openai", {"rolle": "system"}, ["rolle", "role"]),
    ("gemini", {"citations": "native"}, ["citations"]),
])
def test_what_is_unknown_raises_with_the_choices(provider, options, words) -> None:
    """If it fails, a slip of the pen is ignored, or a KeyError comes out."""
    with pytest.raises(OptionError) as caught:
        payload().request(provider, model="m", **options)
    assert all(word in str(caught.value) for word in words)


@pytest.mark.parametrize("form", FORMS, ids=range(len(FORMS)))
def test_tools_in_any_form_come_out_in_each(form) -> None:
    """If it fails, a tool that came in one provider's form is unknown to another."""
    one = payload(form)
    assert one.tools == (form,)
    plain = {"name": "look", "description": "Looks."}
    assert one.request("openai", model="m")["tools"] == [
        {"type": "function", "function": {**plain, "parameters": SCHEMA}}]
    assert one.request("openai-responses", model="m")["tools"] == [
        {"type": "function", **plain, "parameters": SCHEMA, "strict": False}]
    assert one.request("anthropic", model="m")["tools"] == [{**plain, "input_schema": SCHEMA}]
    assert one.request("gemini", model="m")["config"]["tools"] == [
        {"functionDeclarations": [{**plain, "parametersJsonSchema": SCHEMA}]}]
    assert one.request("cohere", model="m")["tools"] == one.request("openai", model="m")["tools"]
    assert one.request("bedrock", model="m")["toolConfig"] == {
        "tools": [{"toolSpec": {**plain, "inputSchema": {"json": SCHEMA}}}]}


def test_tools_of_a_provider_pass_through() -> None:
    """If it fails, a provider's own web search is turned into a function that nobody answers."""
    search = {"type": "web_search_20250305", "name": "web_search", "max_uses": 2}
    assert payload(search).request("anthropic", model="m")["tools"] == [search]
    assert payload({"googleSearch": {}}).request("gemini", model="m")["config"]["tools"] == [{"googleSearch": {}}]
    both = {"functionDeclarations": [{"name": "a"}], "googleSearch": {}}
    made = payload(both).request("gemini", model="m")["config"]["tools"]
    assert [list(one) for one in made] == [["functionDeclarations"], ["googleSearch"]]


def test_custom_tools() -> None:
    """If it fails, a tool that takes free text loses its input where only objects are known."""
    tool = {"type": "custom", "custom": {"name": "run", "format": {"type": "text"}}}
    one = payload(tool)
    assert one.request("openai", model="m")["tools"] == [tool]
    assert one.request("openai-responses", model="m")["tools"] == [{"type": "custom", **tool["custom"]}]
    assert one.request("anthropic", model="m")["tools"][0]["input_schema"]["required"] == ["input"]
    flat = payload({"type": "custom", "name": "run"})
    assert flat.request("openai", model="m")["tools"] == [{"type": "custom", "custom": {"name": "run"}}]


def test_strict_is_passed_on() -> None:
    """If it fails, a schema that was to be kept to is a suggestion."""
    tool = {"type": "function", "function": {"name": "look", "parameters": SCHEMA, "strict": True}}
    one = payload(tool)
    assert one.request("openai", model="m")["tools"] == [tool]
    assert one.request("openai-responses", model="m")["tools"][0]["strict"] is True
    assert one.request("cohere", model="m")["strict_tools"] is True
    assert "strict_tools" not in payload(tool, FORMS[0]).request("cohere", model="m")


@pytest.mark.parametrize("tool", [
    {"type": "function", "function": {"parameters": SCHEMA}}, {"type": "function"},
    {"type": "function", "function": {"name": "a", "parameters": "x"}}, {"functionDeclarations": ["a"]},
    {"name": "a", "description": 3, "parameters": SCHEMA}, {"name": 3, "parameters": SCHEMA},
])
def test_broken_schemas_are_named(tool) -> None:
    """If it fails, a broken schema is sent, or raises a bare error."""
    with pytest.raises(OptionError, match="schema 0"):
        payload(tool).request("anthropic", model="m")


def test_tools_are_counted() -> None:
    """If it fails, the schemas are sent on top of a full window."""
    one = payload(FORMS[0])
    assert one.tokens - payload().tokens == one.budget.tools > 0


def test_requests_are_plain_data() -> None:
    """If it fails, escaped text leaves the library as a subclass of str, or a request shares data with the payload."""
    one = payload(*FORMS[:3])
    for provider in LIMITS:
        made = one.request(provider, model="m")
        assert json.loads(json.dumps(made)) == made
        before = json.dumps(one.to_dict())
        _spoil(made)
        assert json.dumps(one.to_dict()) == before


def _spoil(value) -> None:
    assert type(value) in (dict, list, str, int, bool, type(None))
    if isinstance(value, dict):
        for one in value.values():
            _spoil(one)
        value["spoilt"] = True
    elif isinstance(value, list):
        for one in value:
            _spoil(one)
        value.append("spoilt")
