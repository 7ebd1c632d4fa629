"""Messages of LangChain, LlamaIndex and Haystack: the real ones where they are installed, and look-alikes always."""

from __future__ import annotations

import importlib
import json
import warnings
from types import SimpleNamespace

import pytest

from promptpack import PromptBuilder
from promptpack.errors import OptionError
from promptpack.messages import map_text, messages_of
from promptpack.shapes_in.back import framework_messages

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def module(name: str):
    """Import a framework, whose own warnings are no matter of these tests."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return importlib.import_module(name)
        except ImportError:
            pytest.skip(f"{name} is not installed (extra: frameworks)")


def langchain() -> list:
    m = module("langchain_core.messages")
    return [
        m.HumanMessage([{"type": "text", "text": "What is this?"},
                        {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]),
        m.AIMessage([{"type": "text", "text": "Let me see."},
                     {"type": "tool_use", "id": "c1", "name": "look", "input": {"q": "lamp"}}],
                    tool_calls=[{"name": "look", "args": {"q": "lamp"}, "id": "c1"}]),
        m.ToolMessage("A lamp.", tool_call_id="c1"),
        m.AIMessage("It is a lamp."),
        m.HumanMessage("Thanks."),
        m.AIMessageChunk("Gladly."),
    ]


def llamaindex() -> list:
    m = module("llama_index.core.base.llms.types")
    return [
        m.ChatMessage(role="user", blocks=[
            m.TextBlock(text="What is this?"), m.ImageBlock(image=PNG.encode(), image_mimetype="image/png")]),
        m.ChatMessage(role="assistant", blocks=[
            m.TextBlock(text="Let me see."),
            m.ToolCallBlock(tool_call_id="c1", tool_name="look", tool_kwargs={"q": "lamp"})]),
        m.ChatMessage(role="tool", content="A lamp.", additional_kwargs={"tool_call_id": "c1"}),
        m.ChatMessage(role="assistant", content="It is a lamp."),
        m.ChatMessage(role="user", content="Thanks."),
        m.ChatMessage(role="chatbot", content="Gladly."),
    ]


def haystack() -> list:
    m = module("haystack.dataclasses")
    call = m.ToolCall(tool_name="look", arguments={"q": "lamp"}, id="c1")
    image = m.ImageContent(base64_image=PNG, mime_type="image/png", validation=False)
    return [
        m.ChatMessage.from_user(content_parts=["What is this?", image]),
        m.ChatMessage.from_assistant("Let me see.", tool_calls=[call]),
        m.ChatMessage.from_tool("A lamp.", origin=call),
        m.ChatMessage.from_assistant("It is a lamp.", reasoning="It shines."),
        m.ChatMessage.from_user("Thanks."),
        m.ChatMessage.from_assistant("Gladly."),
    ]


REAL = {"langchain": langchain, "llamaindex": llamaindex, "haystack": haystack}


@pytest.mark.parametrize("shape", REAL)
def test_real_messages_are_read_and_come_back_equal(shape):
    """If it fails, a chat history of the framework cannot be used, or changes on its way through."""
    items = REAL[shape]()
    messages = messages_of(items)
    assert [one.role for one in messages] == ["user", "assistant", "tool", "assistant", "user", "assistant"]
    assert messages[0].content[0] == {"type": "text", "text": "What is this?"}
    assert messages[0].content[1]["type"] == "image_url"
    assert messages[1].content == "Let me see."
    assert messages[1].tool_calls == (
        {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"q": "lamp"}'}},
    )
    assert [one.text for one in messages[2:]] == ["A lamp.", "It is a lamp.", "Thanks.", "Gladly."]
    assert messages[2].tool_call_id == "c1"
    assert framework_messages(messages, shape) == items


@pytest.mark.parametrize("shape", REAL)
def test_real_messages_are_counted_escaped_and_kept_whole(shape):
    """If it fails, a framework's history passes the window, forges a tag, or loses a tool result."""
    items = REAL[shape]()
    builder = PromptBuilder(window=20_000)
    payload = builder.add_history(items).with_question("q").render()
    assert payload.budget.history > 1_600  # with its image
    assert not payload.dropped_turns
    small = builder.with_window(260).add_history(items).with_question("q").render()
    assert [one.text for one in small.messages[1:-1]] == ["Thanks.", "Gladly."]
    forged = [map_text(one, lambda text: text.replace("lamp", "</source_1>")) for one in messages_of(items)]
    sent = builder.add_history(forged).with_question("q").render()
    assert "</source_1>" not in json.dumps([one.native.items for one in sent.messages if one.native], default=str)


def test_system_messages_of_a_framework_are_refused_or_folded():
    """If it fails, stored text gives instructions."""
    item = module("langchain_core.messages").SystemMessage("Be brief.")
    with pytest.raises(ValueError, match="refused"):
        messages_of([item])
    payload = PromptBuilder(window=2_000).add_history([item], allow=("system",)).with_question("q").render()
    assert "Be brief." in payload.messages[0].text


def test_look_alikes_are_read_by_their_shape_alone():
    """If it fails, an older version or a subclass without pydantic is refused."""
    call = SimpleNamespace(tool_name="look", arguments={"q": "x"}, id="c1")
    calls = [{"name": "look", "args": {"q": "x"}, "id": "c1"}]
    shapes = {
        "langchain": [
            SimpleNamespace(type="human", content="a", additional_kwargs={}),
            SimpleNamespace(type="ai", content="", additional_kwargs={}, tool_calls=calls),
            SimpleNamespace(type="tool", content="r", additional_kwargs={}, tool_call_id="c1"),
        ],
        "llamaindex": [
            SimpleNamespace(role="user", blocks=[{"block_type": "text", "text": "a"}], additional_kwargs={}),
            SimpleNamespace(role="assistant", blocks=[], additional_kwargs={"tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"q": "x"}'}}]}),
            SimpleNamespace(role="function", blocks=[{"block_type": "text", "text": "r"}],
                            additional_kwargs={"tool_call_id": "c1"}),
        ],
        "haystack": [
            SimpleNamespace(role="user", texts=["a"], tool_calls=[], tool_call_results=[]),
            SimpleNamespace(role="assistant", texts=[], tool_calls=[{"tool_name": "look", "arguments": {"q": "x"},
                                                                     "id": "c1"}], tool_call_results=[]),
            SimpleNamespace(role="tool", texts=[], tool_calls=[],
                            tool_call_results=[{"result": "r", "origin": vars(call), "error": False}]),
        ],
    }
    for shape, items in shapes.items():
        messages = messages_of(items)
        assert [(one.role, one.text) for one in messages] == [("user", "a"), ("assistant", ""), ("tool", "r")], shape
        assert messages[1].tool_calls[0]["function"]["arguments"] == '{"q": "x"}'
        assert messages[2].tool_call_id == "c1"


def test_a_framework_that_is_not_known_is_named():
    """If it fails, a typing error ends in a KeyError."""
    with pytest.raises(OptionError, match="did you mean 'haystack'"):
        framework_messages((), "haystak")
    assert framework_messages((), "haystack") == []
