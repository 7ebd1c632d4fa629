"""Whatever is put in as a history or a response: it is read, or it is an error of the library."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from promptpack import PromptBuilder, Source
from promptpack.citations.responses import read_response
from promptpack.errors import PromptpackError
from promptpack.messages import attached_tokens, map_text, messages_of, text_pieces, to_openai
from promptpack.native_form import native_items

CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"q": "x"}'}}
HISTORIES: list[list[Any]] = [
    [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "u"}}]},
     {"role": "assistant", "content": None, "tool_calls": [CALL]},
     {"role": "tool", "tool_call_id": "c", "content": "r"}],
    [{"role": "user", "content": [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
        {"type": "document", "title": "t", "source": {"type": "content", "content": [{"type": "text", "text": "a"}]}},
        {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "a"}]}]},
     {"role": "assistant", "content": [
         {"type": "thinking", "thinking": "a", "signature": "s"}, {"type": "tool_use", "id": "c", "name": "f",
                                                                   "input": {"q": "x"}}]},
     {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": [
         {"type": "text", "text": "r"}]}, {"type": "text", "text": "b"}]}],
    [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"},
                                                     {"type": "input_file", "filename": "f", "file_data": "d"}]},
     {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "s"}]},
     {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
     {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "r"}]}],
    [{"role": "user", "parts": [{"text": "a"}, {"inlineData": {"mimeType": "image/png", "data": b"abc"}}]},
     {"role": "model", "parts": [{"text": "t", "thought": True}, {"functionCall": {"name": "f", "args": {"q": "x"}}}]},
     {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"result": "r"}}}]}],
    [{"type": "human", "data": {"content": [{"type": "text", "text": "a"}], "additional_kwargs": {}}},
     {"type": "ai", "data": {"content": "", "tool_calls": [{"name": "f", "args": {"q": "x"}, "id": "c"}],
                             "additional_kwargs": {"tool_calls": [CALL]}}},
     {"type": "tool", "data": {"content": "r", "tool_call_id": "c"}}],
    [{"role": "user", "additional_kwargs": {}, "blocks": [{"block_type": "text", "text": "a"}]},
     {"role": "assistant", "additional_kwargs": {"tool_calls": [CALL]}, "blocks": []},
     {"role": "tool", "additional_kwargs": {"tool_call_id": "c"}, "blocks": [{"block_type": "text", "text": "r"}]}],
    [{"role": "user", "meta": {}, "content": [
        {"text": "a"}, {"image": {"base64_image": "A", "mime_type": "image/png"}}]},
     {"role": "assistant", "meta": {}, "content": [{"reasoning": {"reasoning_text": "x"}},
                                                   {"tool_call": {"tool_name": "f", "arguments": {}, "id": "c"}}]},
     {"role": "tool", "meta": {}, "content": [{"tool_call_result": {"result": "r", "origin": {"id": "c"}}}]}],
    [("user", "a"), ["assistant", "b"]],
]
CHAR = {"type": "char_location", "document_index": 0, "document_title": "a", "cited_text": "Fact a."}
URL = {"type": "url_citation", "start_index": 0, "end_index": 5, "url": "u", "title": "t"}
RESPONSES: list[Any] = [
    {"content": [{"type": "text", "text": "It is so.", "citations": [CHAR, {
        "type": "search_result_location", "source": "a", "search_result_index": 0, "cited_text": "Fact"}]}]},
    {"output": [{"type": "message", "content": [{"type": "output_text", "text": "It is so.", "annotations": [
        URL, {"type": "file_citation", "file_id": "a", "filename": "f", "index": 3}]}]}]},
    {"choices": [{"message": {"content": "It is so.", "annotations": [
        {"type": "url_citation", "url_citation": URL}]}}]},
    {"message": {"content": [{"type": "text", "text": "It is so."}], "citations": [
        {"start": 0, "end": 5, "content_index": 0, "sources": [
            {"type": "document", "id": "S1", "document": {"id": "a"}}]}]}},
    {"text": "It is so.", "citations": [{"start": 0, "end": 5, "document_ids": ["a"]}]},
    {"candidates": [{"content": {"parts": [{"text": "It is so [S1]."}]}}]},
    {"output": {"message": {"content": [{"text": "So"}, {"citationsContent": {
        "content": [{"text": "It is."}], "citations": [
            {"source": "a", "title": "t", "sourceContent": [{"text": "Fact"}],
             "location": {"documentChar": {"documentIndex": 0, "start": 0, "end": 1}}}]}}]}}},
]
JUNK = st.one_of(
    st.sampled_from(["", "a", "user", "model", "text", "tool_use", "image", "</source_1>", "\ud800", "S1"]), st.none(),
    st.booleans(), st.integers(-3, 99), st.floats(), st.binary(max_size=2), st.just([]), st.just({}), st.just([[]]),
    st.just([3]), st.just({"type": "text"}), st.just([{"type": "text", "text": "x"}]), st.just({"text": {}}),
)
PAYLOAD = PromptBuilder(window=2_000).add_sources([Source("a", "Fact a."), Source("b", "Fact b.")]).render()


def places(value: Any) -> list[tuple[Any, Any]]:
    """Return every place in nested data, as its container and the key in it."""
    found: list[tuple[Any, Any]] = []
    if isinstance(value, dict | list):
        for key, one in list(value.items() if isinstance(value, dict) else enumerate(value)):
            found += [(value, key), *places(one)]
    return found


@st.composite
def spoiled(draw: st.DrawFn, samples: list[Any]) -> Any:
    """Return a sample with one or two things in it replaced by junk, or taken out."""
    value = copy.deepcopy(draw(st.sampled_from(samples)))
    for _ in range(draw(st.integers(1, 2))):
        found = places(value)
        if found:
            container, key = draw(st.sampled_from(found))
            if isinstance(container, dict) and draw(st.booleans()):
                del container[key]
            else:
                container[key] = copy.deepcopy(draw(JUNK))
    return value


@settings(max_examples=300, deadline=None)
@given(history=spoiled(HISTORIES))
def test_any_history_is_read_or_refused(history: list[Any]) -> None:
    """If it fails, data from outside ends in a KeyError or a TypeError."""
    try:
        messages = messages_of(history)
    except PromptpackError:
        return
    for one in messages:
        to_openai(one)
        assert attached_tokens(one) >= 0
        assert all(isinstance(piece, str) for piece in text_pieces(one))
        assert repr(map_text(one, lambda text: text)) == repr(one)
        if one.native:
            native_items([one], one.native.shape)
    payload = PromptBuilder(window=100_000, counter="words").add_history(history).with_question("q").render()
    assert payload.tokens <= payload.budget.input
    assert not payload.dropped_turns or payload.dropped_turns[0].reason == "leading"


@settings(max_examples=300, deadline=None)
@given(response=spoiled(RESPONSES))
def test_any_response_is_read_or_refused(response: Any) -> None:
    """If it fails, a failed call of a provider ends in a KeyError instead of an error that says so."""
    try:
        result = PAYLOAD.verify_response(response)
    except PromptpackError:
        return
    text = read_response(response).text
    assert set(result.known) <= {"S1", "S2"}
    assert all(0 <= one.start <= one.end <= len(text) for one in result.citations)
    assert all(one.text == text[one.start:one.end] for one in result.citations)
    assert 0 <= result.coverage <= 1


def test_the_samples_themselves_are_read() -> None:
    """If it fails, the properties above look at nothing but errors."""
    for history in HISTORIES:
        assert messages_of(history)
    for response in RESPONSES:
        assert PAYLOAD.verify_response(response).citations
