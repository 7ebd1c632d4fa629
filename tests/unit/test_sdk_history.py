"""Each history shape against the types of the real SDKs: what they return goes in, what comes out they accept."""

from __future__ import annotations

import importlib
import warnings

import pytest

from promptpack import PromptBuilder
from promptpack.messages import messages_of, to_openai
from promptpack.native_form import native_items

CALL = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"q": "lamp"}'}}


def sdk(name: str):
    """Import a module of an SDK, whose own warnings are no matter of these tests."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return importlib.import_module(name)
        except ImportError:
            pytest.skip(f"{name} is not installed (extra: sdk)")


def accepts(kind: object, data: object) -> None:
    """Check plain data against a type of an SDK: it is valid, and no field is one that the type does not know."""
    pydantic = pytest.importorskip("pydantic", reason="pydantic comes with the SDKs (extra: sdk)")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert read_out(pydantic.TypeAdapter(kind).validate_python(data)) == data


def read_out(value: object) -> object:
    """Read what pydantic validates only when it is read: the iterables of the SDKs' types."""
    if isinstance(value, dict):
        return {key: read_out(one) for key, one in value.items()}
    if hasattr(value, "model_dump"):
        return value.model_dump(exclude_none=True)
    return value if value is None or isinstance(value, str | bytes | int | float) else [read_out(one) for one in value]


def sent(items: list, shape: str) -> list:
    """Render a history and return it in the shape that it came in."""
    payload = PromptBuilder(window=50_000).add_history(items).with_question("And then?").render()
    return native_items([one for one in payload.messages if one.native], shape)


def test_openai_chat():
    """If it fails, the message of a completion cannot be put into the history, or comes back refused."""
    chat = sdk("openai.types.chat")
    answer = chat.ChatCompletionMessage.model_validate({"role": "assistant", "content": None, "tool_calls": [CALL]})
    items = [
        {"role": "user", "content": [{"type": "text", "text": "What is this?"},
                                     {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]},
        answer, {"role": "tool", "tool_call_id": "call_1", "content": "A lamp."},
        chat.ChatCompletionMessage(role="assistant", content="It is a lamp."),
    ]
    payload = PromptBuilder(window=50_000).add_history(items).with_question("And then?").render()
    for message in payload.to_openai():
        accepts(chat.ChatCompletionMessageParam, message)
    assert payload.to_openai()[2]["tool_calls"] == [CALL]


def test_openai_responses():
    """If it fails, `input += response.output` cannot be kept as a history."""
    types = sdk("openai.types.responses")
    output = [
        types.ResponseReasoningItem(id="rs_1", summary=[], type="reasoning", encrypted_content="abc"),
        types.ResponseFunctionToolCall(
            id="fc_1", call_id="call_1", name="look", arguments='{"q": "lamp"}', type="function_call",
            status="completed"),
    ]
    message = types.ResponseOutputMessage.model_validate({
        "id": "msg_1", "role": "assistant", "status": "completed", "type": "message",
        "content": [{"type": "output_text", "text": "It is a lamp.", "annotations": []}],
    })
    items = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "What is this?"}]},
        *output, {"type": "function_call_output", "call_id": "call_1", "output": "A lamp."}, message,
    ]
    back = sent(items, "openai-responses")
    assert [one["type"] for one in back] == [
        "message", "reasoning", "function_call", "function_call_output", "message"
    ]
    for one in back:
        accepts(types.ResponseInputItemParam, one)
    assert back[1]["encrypted_content"] == "abc"
    messages = messages_of(items)
    assert [one.role for one in messages] == ["user", "assistant", "tool", "assistant"]
    for one in messages:
        accepts(sdk("openai.types.chat").ChatCompletionMessageParam, to_openai(one))


def test_anthropic():
    """If it fails, `response.content` cannot be put into the history, or comes back refused."""
    types = sdk("anthropic.types")
    answer = types.Message.model_validate({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "stop_reason": "tool_use",
        "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
        "content": [
            {"type": "thinking", "thinking": "I look it up.", "signature": "c2ln"},
            {"type": "text", "text": "Let me see.", "citations": None},
            {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"q": "lamp"}},
        ],
    })
    document = {"type": "document", "title": "Warranty", "citations": {"enabled": True},
                "source": {"type": "content", "content": [{"type": "text", "text": "Three years."}]}}
    items = [
        {"role": "user", "content": [document, {"type": "text", "text": "What is this?"}]},
        {"role": "assistant", "content": answer.content},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "A lamp."}]},
            {"type": "text", "text": "And so?"}]},
        answer,
    ]
    back = sent(items, "anthropic")
    for one in back:
        accepts(types.MessageParam, one)
        assert set(one) == {"role", "content"}
    assert back[0] == items[0]
    assert back[2] == items[2]
    assert back[1] == back[3]
    assert back[1]["content"][0] == {"type": "thinking", "thinking": "I look it up.", "signature": "c2ln"}
    for one in messages_of(items):
        accepts(sdk("openai.types.chat").ChatCompletionMessageParam, to_openai(one))


def test_gemini():
    """If it fails, the contents of a chat with Gemini cannot be kept as a history."""
    types = sdk("google.genai.types")
    items = [
        types.Content(role="user", parts=[types.Part(text="What is this?"), types.Part(
            inline_data=types.Blob(data=b"abc", mime_type="image/png"))]),
        types.Content(role="model", parts=[types.Part(
            function_call=types.FunctionCall(name="look", args={"q": "lamp"}), thought_signature=b"sig")]),
        types.Content(role="user", parts=[types.Part(
            function_response=types.FunctionResponse(name="look", response={"result": "A lamp."}))]),
        types.Content(role="model", parts=[types.Part(text="It is a lamp.")]),
    ]
    back = sent(items, "gemini")
    assert [types.Content.model_validate(one) for one in back] == items
    plain = [one.to_json_dict() for one in items]
    assert sent(plain, "gemini") == plain
    camel = [one.model_dump(by_alias=True, exclude_none=True) for one in items]
    assert sent(camel, "gemini") == camel
    for one in messages_of(items):
        accepts(sdk("openai.types.chat").ChatCompletionMessageParam, to_openai(one))


def test_cohere():
    """If it fails, the message of Cohere's second API, which is written like OpenAI's, is refused."""
    cohere = sdk("cohere")
    answer = cohere.AssistantMessageResponse(
        tool_plan="I look it up.", tool_calls=[cohere.ToolCallV2.model_validate(CALL)])
    items = [
        {"role": "user", "content": "What is this?"}, answer,
        {"role": "tool", "tool_call_id": "call_1", "content": "A lamp."},
        cohere.AssistantMessageResponse(content=[{"type": "text", "text": "It is a lamp."}]),
    ]
    messages = messages_of(items)
    assert [one.role for one in messages] == ["user", "assistant", "tool", "assistant"]
    assert messages[1].tool_calls[0]["function"]["name"] == "look"
    for one in messages:
        told = {key: value for key, value in to_openai(one).items() if value is not None}
        accepts(cohere.ChatMessageV2, told)
    assert to_openai(messages[1])["tool_plan"] == "I look it up."
