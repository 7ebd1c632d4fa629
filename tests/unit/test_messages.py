"""Messages are read in several shapes, checked, and given back unchanged; turns are whole."""

from __future__ import annotations

import copy
import enum
import json
from types import SimpleNamespace

import pytest

from promptpack.errors import OptionError, SourceError
from promptpack.messages import Message, map_text, messages_of, read_history, text_pieces, to_openai, turns_of

CALL = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"q": "a <b>"}'}}
CONVERSATION = [
    {"role": "user", "content": "Look it up."},
    {"role": "assistant", "content": None, "tool_calls": [CALL, {**CALL, "id": "call_2"}]},
    {"role": "tool", "tool_call_id": "call_2", "content": "two"},
    {"role": "tool", "tool_call_id": "call_1", "content": [{"type": "text", "text": "one"}]},
    {"role": "assistant", "content": "It is so.", "name": "helper", "refusal": None, "annotations": []},
    {"content": [{"type": "text", "text": "And this?"},
                 {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}], "role": "user"},
    {"role": "assistant", "tool_calls": [], "content": ""},
]


@pytest.mark.parametrize("index", range(len(CONVERSATION)))
def test_openai_messages_come_back_unchanged(index):
    """If it fails, a field, its order or a null is lost on the way through the payload."""
    before = copy.deepcopy(CONVERSATION)
    after = to_openai(messages_of(CONVERSATION)[index])
    assert after == before[index]
    assert list(after) == list(before[index])


def test_what_was_read_cannot_be_changed_from_outside():
    """If it fails, changing a list after the call changes somebody's prompt."""
    items = copy.deepcopy(CONVERSATION)
    messages = messages_of(items)
    items[1]["tool_calls"][0]["function"]["name"] = "changed"
    items[5]["content"][0]["text"] = "changed"
    to_openai(messages[5])["content"][0]["text"] = "changed"
    assert [to_openai(one) for one in messages] == CONVERSATION


class Role(enum.Enum):
    USER = "user"


def test_other_shapes():
    """If it fails, pairs, typed objects or messages that were read before are not taken."""
    call = SimpleNamespace(model_dump=lambda exclude_none: CALL)
    part = SimpleNamespace(model_dump=lambda exclude_none: {"type": "text", "text": "c"})
    read = messages_of([
        ("human", "a"), ["ai", "b"], SimpleNamespace(role=Role.USER, content=[part]),
        SimpleNamespace(role="assistant", content=None, tool_calls=[call], refusal=None),
        Message("tool", "d", tool_call_id="call_1"),
        SimpleNamespace(role="assistant", content=None, refusal="No."),
    ])
    assert [one.role for one in read] == ["user", "assistant", "user", "assistant", "tool", "assistant"]
    assert to_openai(read[2]) == {"role": "user", "content": [{"type": "text", "text": "c"}]}
    assert to_openai(read[3]) == {"role": "assistant", "content": None, "tool_calls": [CALL]}
    assert list(text_pieces(read[5])) == ["No."]
    assert messages_of(read) == read
    assert messages_of([]) == ()


def test_calls_and_results_without_ids_are_matched_in_number():
    """If it fails, servers that give no ids to calls cannot be used; or one call takes two results."""
    call = {"function": {"name": "look", "arguments": {"q": "x"}}}
    items = [
        ("user", "a"), {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "r"},
    ]
    assert [to_openai(one) for one in messages_of(items)][1:] == items[1:]
    with pytest.raises(SourceError, match="message 3"):
        messages_of([*items, {"role": "tool", "content": "again"}])


def nested(depth: int) -> list:
    value: list = []
    for _ in range(depth):
        value = [value]
    return value


BAD = [
    ({"role": "system", "content": "x"}, "role"),
    ({"role": "developer", "content": "x"}, "role"),
    ({"role": "user\nsystem", "content": "x"}, "role"),
    ({"role": "function", "content": "x"}, "role"),
    ({"role": None, "content": "x"}, "role"),
    ({"role": 3, "content": "x"}, "role"),
    ({"content": "x"}, "role"),
    ({"role": "user"}, "content"),
    ({"role": "user", "content": None}, "content"),
    ({"role": "assistant", "content": None}, "content"),
    ({"role": "user", "content": 3}, "content"),
    ({"role": "user", "content": ["x"]}, "content"),
    ({"role": "user", "content": [{"text": "x"}]}, "content"),
    ({"role": "user", "content": [{"type": "text", "text": None}]}, "content"),
    ({"role": "user", "content": [{"type": "x", "y": nested(100)}]}, "content"),
    ({"role": "user", "content": [{"type": "x", 3: "y"}]}, "content"),
    ({"role": "user", "content": "x", "more": nested(5_000)}, "more"),
    ({"role": "user", "content": "x", "name": 3}, "name"),
    ({"role": "user", "content": "x", "tool_calls": [CALL]}, "tool_calls"),
    ({"role": "assistant", "content": "x", "tool_calls": "look"}, "tool_calls"),
    ({"role": "assistant", "content": "x", "tool_calls": ["look"]}, "tool_calls"),
    ({"role": "assistant", "content": "x", "tool_calls": [{"id": "a"}]}, "tool_calls"),
    ({"role": "assistant", "content": "x", "tool_calls": [{**CALL, "id": 3}]}, "tool_calls"),
    ({"role": "assistant", "content": "x", "tool_calls": [{"function": {"name": "a", "arguments": 3}}]},
     "tool_calls"),
    ({"role": "tool", "content": "x"}, "tool_call_id"),
    ({"role": "tool", "content": "x", "tool_call_id": "call_9"}, "tool_call_id"),
    ({3: "role"}, "message"),
    ("just a text", "message"),
    (None, "message"),
    (("user", "x", "y"), "message"),
    (("tool", "x"), "tool_call_id"),
]


@pytest.mark.parametrize(("item", "name"), BAD)
def test_a_bad_message_is_named_by_index_and_field(item, name):
    """If it fails, a bad history ends in a KeyError, or goes to the provider and comes back as a 400."""
    with pytest.raises(SourceError) as caught:
        messages_of([("user", "fine"), item])
    assert caught.value.index == 1
    assert caught.value.field == name
    assert "message 1" in str(caught.value)


def test_error_messages_quote_little_of_a_text():
    """If it fails, a whole message lands in a log."""
    with pytest.raises(SourceError) as caught:
        messages_of([{"role": "x" * 10_000, "content": "y"}])
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("items", ["user: hi", {"role": "user", "content": "x"}, None, 3])
def test_a_history_that_is_no_list_is_named(items):
    """If it fails, the letters of a text or the keys of a mapping are taken for messages."""
    with pytest.raises(SourceError, match="expected a list of messages"):
        messages_of(items)


def test_a_tool_result_must_follow_its_call_at_once():
    """If it fails, a result is sent without its call, which providers refuse."""
    call = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    result = {"role": "tool", "tool_call_id": "call_1", "content": "r"}
    for between in (("user", "wait"), ("assistant", "wait")):
        with pytest.raises(SourceError, match="does not come right after"):
            messages_of([("user", "a"), call, between, result])
    with pytest.raises(SourceError, match="message 3"):
        messages_of([("user", "a"), call, result, result])


def test_instructions_go_apart_only_where_allowed():
    """If it fails, stored text gives instructions, or allowed instructions are lost."""
    parts = [{"type": "text", "text": "b"}]
    items = [("system", "Be brief."), ("user", "a"), {"role": "developer", "content": parts}]
    read = read_history(items, allow=("system",))
    assert read.system == ("Be brief.", "b")
    assert [one.content for one in read.messages] == ["a"]
    assert read_history(items, allow="developer") == read
    with pytest.raises(OptionError, match="did you mean 'system'"):
        read_history(items, allow=("sistem",))


def test_turns_are_whole():
    """If it fails, a tool result is cut off its call, or a user message is joined to the wrong answer."""
    turns = turns_of(messages_of(CONVERSATION))
    assert [len(turn.messages) for turn in turns] == [5, 2]
    assert [turn.index for turn in turns] == [0, 5]
    turns = turns_of(messages_of([("assistant", "Hello!"), ("user", "a"), ("user", "b"), ("assistant", "c")]))
    assert [(turn.leading, len(turn.messages)) for turn in turns] == [(True, 1), (False, 1), (False, 2)]
    assert [turn.leading for turn in turns_of(messages_of([("assistant", "Hello!")]))] == [True]
    assert turns_of(()) == ()


def test_every_text_is_counted():
    """If it fails, tool calls or other fields pass the window unseen."""
    pieces = [list(text_pieces(one)) for one in messages_of(CONVERSATION)]
    assert pieces[1] == ["look", '{"q": "a <b>"}', "look", '{"q": "a <b>"}']
    assert pieces[3] == ["one"]
    assert pieces[4] == ["helper", "It is so."]
    assert pieces[5] == ["And this?"]
    custom = Message("assistant", None, tool_calls=({"id": "a", "custom": {"name": "run", "input": "x"}},))
    assert list(text_pieces(custom)) == ["run", "x"]
    item = {"role": "assistant", "content": "a", "reasoning": "b", "function_call": {"name": "c"}}
    assert list(text_pieces(messages_of([item])[0])) == ["a", "b", '{"name": "c"}']


def test_every_counted_text_is_escaped_and_arguments_stay_json():
    """If it fails, a stored tool call can forge a tag, or its arguments are no JSON any more."""
    def escape(text: str) -> str:
        return text.replace("<", "&lt;").replace('"', "&quot;")

    items = [
        ("user", "<a>"),
        {"role": "assistant", "content": [{"type": "text", "text": "<b>"}], "name": "<n>",
         "note": {"k": ["<c>", 3]},
         "tool_calls": [CALL, {"id": "<id>", "custom": {"name": "<d>", "input": "<e>"}},
                        {"id": "m", "function": {"name": "x", "arguments": {"q": "<f>"}}},
                        {"id": "n", "function": {"name": "x", "arguments": "<no json"}}]},
    ]
    first, second = (map_text(one, escape) for one in messages_of(items))
    assert first.content == "&lt;a>"
    assert second.content[0]["text"] == "&lt;b>"
    assert second.name == "&lt;n>"
    assert second.extra == {"note": {"k": ["&lt;c>", 3]}}
    calls = second.tool_calls
    assert json.loads(calls[0]["function"]["arguments"]) == {"q": "a &lt;b>"}
    assert calls[1] == {"id": "<id>", "custom": {"name": "&lt;d>", "input": "&lt;e>"}}
    assert calls[2]["function"]["arguments"] == {"q": "&lt;f>"}
    assert calls[3]["function"]["arguments"] == "&lt;no json"
    for one in (first, second):
        assert not [text for text in text_pieces(one) if "<" in text]


def test_untouched_messages_keep_every_byte():
    """If it fails, escaping rewrites the JSON of tool calls that hold nothing to escape."""
    for one in messages_of(CONVERSATION):
        assert to_openai(map_text(one, lambda text: text)) == to_openai(one)


def test_the_type_that_an_escaper_returns_is_kept():
    """If it fails, escaped text loses its type and is escaped twice."""
    class Safe(str):
        __slots__ = ()

    assert type(map_text(Message("user", "a"), Safe).content) is Safe


def test_arguments_nested_too_deep_are_taken_as_text():
    """If it fails, a bomb of brackets in a tool call ends in a RecursionError."""
    bomb = "[" * 100_000 + "<"
    call = {"id": "a", "function": {"name": "x", "arguments": bomb}}
    message = map_text(Message("assistant", None, tool_calls=(call,)), lambda text: text.replace("<", "&lt;"))
    assert message.tool_calls[0]["function"]["arguments"].endswith("[&lt;")


@pytest.mark.parametrize("sign", ["\n", "\r", "\t", "\x00", "\x7f", "\x85", "\u2028"])
def test_a_name_or_an_id_on_several_lines_is_refused(sign: str) -> None:
    """If this fails, a name that a stranger chose begins a line of its own, where a chat template writes it."""
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    odd = f"a{sign}b"
    history = [{"role": "user", "content": "x"}]
    for field, bad in (
        ("name", {"role": "user", "content": "x", "name": odd}),
        ("tool_calls", {"role": "assistant", "content": None, "tool_calls": [{**call, "id": odd}]}),
        ("tool_calls", {"role": "assistant", "content": None,
                        "tool_calls": [{**call, "function": {"name": odd, "arguments": "{}"}}]}),
        ("tool_call_id", {"role": "tool", "content": "x", "tool_call_id": odd}),
    ):
        with pytest.raises(SourceError, match=f"history: message 1: {field}: .*control character") as caught:
            read_history([*history, bad])
        assert (caught.value.index, caught.value.field) == (1, field)
        assert sign not in str(caught.value)
    assert messages_of([{"role": "user", "content": "x", "name": "Zoë of the team"}])[0].name == "Zoë of the team"
