"""Each provider's request against the types of its own SDK, without a network; skipped where an SDK is missing."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from sdk_types import accepts

from promptpack.builder import PromptBuilder
from promptpack.payload import Payload
from promptpack.source import Source
from promptpack.window import Window

ABSENT = "the extra sdk is not installed"
PNG = "iVBORw0KGgo="
TOOLS = [
    {"type": "function", "function": {
        "name": "look", "description": "Looks things up.", "strict": False,
        "parameters": {"type": "object", "properties": {"q": {"type": "string"}}, "additionalProperties": False},
    }},
    {"type": "custom", "custom": {"name": "run", "description": "Runs code."}},
    {"name": "ask", "description": "Asks a person.", "input_schema": {"type": "object", "properties": {}}},
]
HISTORY = [
    {"role": "user", "content": [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
    ]},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "call 1", "type": "function", "function": {"name": "look", "arguments": '{"q": "a"}'}},
        {"id": "call_2", "type": "custom", "custom": {"name": "run", "input": "print(1)"}},
    ]},
    {"role": "tool", "tool_call_id": "call 1", "content": "one"},
    {"role": "tool", "tool_call_id": "call_2", "content": [{"type": "text", "text": "two"}]},
    {"role": "assistant", "content": "It is a bill."},
    {"role": "user", "content": "And that?"},
    {"role": "assistant", "content": "Another one."},
]
LONG = "A rule that fills the cache. " * 300


def builder(model: str, **options: Any) -> PromptBuilder:
    made = PromptBuilder(Window(100_000, answer=500), counter="o200k_base", model=model, **options)
    return made.with_system(LONG).with_question("How long?").add_sources([
        Source("rules#1", "Returns are free. " * 400, pinned=True, metadata={"title": "Returns"}),
        Source("faq#2", "Refunds take 5 days."), Source("faq#3", "Ask us.", updated="2026-03-01"),
    ])


def payloads(model: str) -> list[Payload]:
    """The cases that differ in shape: bare, with a history and tools, cached with and without a history."""
    bare = builder(model)
    return [
        bare.render(),
        bare.add_history(HISTORY).with_tools(TOOLS).render(),
        builder(model, cache="auto").render(),
        builder(model, cache="auto").add_history(HISTORY).with_tools(TOOLS).render(),
        PromptBuilder(4000, model=model).with_question("Why?").render(),
    ]


def marks(value: Any, name: str) -> int:
    if isinstance(value, dict):
        return (name in value) + sum(marks(one, name) for one in value.values())
    return sum(marks(one, name) for one in value) if isinstance(value, list) else 0


@pytest.mark.parametrize("role", ["system", "developer"])
@pytest.mark.parametrize("model", ["gpt-4o", "gpt-5.6"])
def test_openai_chat(model: str, role: str) -> None:
    """If it fails, the chat completions API refuses the request."""
    types = pytest.importorskip("openai.types.chat.completion_create_params", reason=ABSENT)
    for one in payloads(model):
        tools = [tool for tool in one.tools if "input_schema" not in tool]
        request = one.request("openai", role=role)
        accepts(types.CompletionCreateParamsNonStreaming, request)
        assert len(request.get("tools", ())) == len(tools) + (1 if tools else 0)
        assert marks(request["messages"], "prompt_cache_breakpoint") <= 4


@pytest.mark.parametrize("role", ["instructions", "system", "developer"])
@pytest.mark.parametrize("model", ["gpt-4o", "gpt-5.6"])
def test_openai_responses(model: str, role: str) -> None:
    """If it fails, the Responses API refuses the request."""
    types = pytest.importorskip("openai.types.responses.response_create_params", reason=ABSENT)
    for one in payloads(model):
        request = one.request("openai-responses", role=role)
        accepts(types.ResponseCreateParamsNonStreaming, request)
        assert marks(request["input"], "prompt_cache_breakpoint") <= 4


@pytest.mark.parametrize("citations", [None, "native", "inline"])
def test_anthropic(citations: str | None) -> None:
    """If it fails, the Messages API refuses the request."""
    types = pytest.importorskip("anthropic.types.message_create_params", reason=ABSENT)
    for one in payloads("claude-sonnet-4-5"):
        request = one.request("anthropic", citations=citations)
        accepts(types.MessageCreateParamsNonStreaming, request)
        assert marks(request, "cache_control") <= 4
        roles = [turn["role"] for turn in request["messages"]]
        assert all(a != b for a, b in pairwise(roles))


def test_gemini() -> None:
    """If it fails, Google's SDK reads something else, or nothing, out of a part."""
    types = pytest.importorskip("google.genai.types", reason=ABSENT)
    for one in payloads("gemini-2.5-pro"):
        request = one.request("gemini")
        for content in request["contents"]:
            made = types.Content.model_validate(content)
            assert made.model_dump(mode="json", by_alias=True, exclude_none=True) == content
        config = types.GenerateContentConfig.model_validate(request["config"])
        assert config.max_output_tokens == one.budget.answer
        declared = config.tools[0].function_declarations if config.tools else []
        assert len(declared) == len(one.tools)
        assert request.keys() == {"model", "contents", "config"}


@pytest.mark.parametrize("documents", [True, False])
def test_cohere(documents: bool) -> None:
    """If it fails, Cohere's chat refuses the request."""
    cohere = pytest.importorskip("cohere", reason=ABSENT)
    import inspect

    from pydantic import TypeAdapter

    known = inspect.signature(cohere.ClientV2.chat).parameters
    for one in payloads("command-a-03-2025"):
        request = one.request("cohere", documents=documents)
        assert set(request) <= set(known)
        kinds = {"messages": cohere.ChatMessageV2, "documents": cohere.Document, "tools": cohere.ToolV2}
        for name, kind in kinds.items():
            for item in request.get(name, ()):
                made = TypeAdapter(kind).validate_python(item)
                assert made.model_dump(exclude_none=True, exclude_unset=True) == item
                assert not _extra(made), "a field that Cohere does not know"


def _extra(made: Any) -> dict[str, Any]:
    """Return the fields that a model of the SDK does not know, also of the models in it."""
    found = dict(made.model_extra or {})
    for name in type(made).model_fields:
        value = getattr(made, name)
        for one in value if isinstance(value, list) else [value]:
            if hasattr(one, "model_extra"):
                found |= _extra(one)
    return found


@pytest.mark.parametrize("citations", [None, "native"])
def test_bedrock(citations: str | None) -> None:
    """If it fails, boto3 refuses the arguments of converse()."""
    session = pytest.importorskip("botocore.session", reason=ABSENT)
    from botocore.validate import ParamValidator

    model = session.get_session().get_service_model("bedrock-runtime").operation_model("Converse").input_shape
    for one in payloads("anthropic.claude-sonnet-4-5-20250929-v1:0"):
        request = one.request("bedrock", citations=citations)
        report = ParamValidator().validate(request, model)
        assert not report.has_errors(), report.generate_report()
        assert marks(request, "cachePoint") <= 4
        for turn in request["messages"]:
            for block in turn["content"]:
                if "toolUse" in block:
                    assert " " not in block["toolUse"]["toolUseId"]
