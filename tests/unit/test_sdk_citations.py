"""Native citations in the types of the real SDKs are resolved; without an SDK its test is skipped."""

from __future__ import annotations

import importlib
import warnings

import pytest

from promptpack import PromptBuilder, Source

HITS = [
    Source("returns#1", "You can return any lamp within 45 days.", 0.9, metadata={"url": "https://shop.example/returns"}),
    Source("warranty#1", "Faulty lamps are covered for three years.", 0.8),
    Source("returns#3", "We send the money back within 6 working days.", 0.7),
]
PAYLOAD = PromptBuilder(window=4_000).add_sources(HITS).with_question("How long?").render()
LABEL = {one.source.id: one.label for one in PAYLOAD.sources}
SENTENCES = ("You have 45 days.", "Lamps are covered.", "Bulbs are free.")


def sdk(name: str):
    """Import a module of an SDK, whose own warnings are no matter of these tests."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return importlib.import_module(name)
        except ImportError:
            pytest.skip(f"{name} is not installed (extra: sdk)")


def test_the_real_types_of_anthropic():
    """If it fails, the object that the SDK returns cannot be checked."""
    types = sdk("anthropic.types")
    place = [one.source.id for one in PAYLOAD.sources].index("warranty#1")
    locations = [
        types.CitationsSearchResultLocation(
            type="search_result_location", source="returns#1", title=None, search_result_index=0,
            start_block_index=0, end_block_index=1, cited_text="within 45 days"),
        types.CitationCharLocation(
            type="char_location", document_index=place, document_title=None, cited_text="Faulty lamps",
            start_char_index=0, end_char_index=12, file_id=None),
        types.CitationContentBlockLocation(
            type="content_block_location", document_index=place, document_title=None, cited_text="three years",
            start_block_index=0, end_block_index=1, file_id=None),
    ]
    message = types.Message(
        id="m", type="message", role="assistant", model="claude", stop_reason="end_turn", stop_sequence=None,
        usage={"input_tokens": 1, "output_tokens": 1},
        content=[types.TextBlock(type="text", text=one, citations=[location])
                 for one, location in zip(SENTENCES, locations, strict=True)],
    )
    result = PAYLOAD.verify_response(message)
    assert [one.chunk_id for one in result.citations] == ["returns#1", "warranty#1", "warranty#1"]
    assert [one.cited_text for one in result.citations] == ["within 45 days", "Faulty lamps", "three years"]


def test_the_real_types_of_openai():
    """If it fails, the object that the SDK returns cannot be checked."""
    types = sdk("openai.types.responses")
    chat = sdk("openai.types.chat")
    url = {"type": "url_citation", "start_index": 0, "end_index": 17, "url": "https://shop.example/returns",
           "title": "Returns"}
    file = {"type": "file_citation", "file_id": "warranty#1", "filename": "w.md", "index": 17}
    output = types.ResponseOutputMessage.model_validate({
        "id": "m", "role": "assistant", "status": "completed", "type": "message",
        "content": [{"type": "output_text", "text": SENTENCES[0], "annotations": [url, file]}],
    })
    response = types.Response.model_construct(id="r", output=[output])
    assert PAYLOAD.verify_response(response).cited == ("returns#1", "warranty#1")
    nested = {"type": "url_citation", "url_citation": {key: url[key] for key in url if key != "type"}}
    completion = chat.ChatCompletion.model_validate({
        "id": "c", "created": 0, "model": "m", "object": "chat.completion", "choices": [
            {"index": 0, "finish_reason": "stop", "logprobs": None,
             "message": {"role": "assistant", "content": SENTENCES[0], "refusal": None, "annotations": [nested]}}],
    })
    assert PAYLOAD.verify_response(completion).cited == ("returns#1",)


def test_the_real_types_of_cohere():
    """If it fails, the object that the SDK returns cannot be checked."""
    cohere = sdk("cohere")
    response = cohere.V2ChatResponse.model_validate({
        "id": "r", "finish_reason": "COMPLETE", "message": {
            "role": "assistant", "content": [{"type": "text", "text": SENTENCES[0]}],
            "citations": [{"start": 9, "end": 16, "text": "45 days", "content_index": 0, "type": "TEXT_CONTENT",
                           "sources": [{"type": "document", "id": LABEL["returns#1"], "document": {"snippet": "x"}}]}]},
    })
    assert PAYLOAD.verify_response(response).cited == ("returns#1",)


def test_the_real_types_of_gemini():
    """If it fails, the text of the object that the SDK returns cannot be checked."""
    types = sdk("google.genai.types")
    content = types.Content(role="model", parts=[types.Part(text=f"45 days [{LABEL['returns#1']}].")])
    response = types.GenerateContentResponse(candidates=[types.Candidate(content=content)])
    assert PAYLOAD.verify_response(response).cited == ("returns#1",)
