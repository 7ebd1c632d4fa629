"""Citations that a provider gives beside the text come in as the same result as marks in the text."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from promptpack import PromptBuilder, Source
from promptpack.citations.native import Sent, Target, verify_response
from promptpack.citations.responses import read_response
from promptpack.errors import OptionError

HITS = [
    Source("returns#1", "You can return any lamp within 45 days.", 0.9, document="returns.md",
           metadata={"title": "Returns", "url": "https://shop.example/returns"}),
    Source("warranty#1", "Faulty lamps are covered for three years.", 0.8, document="warranty.md"),
    Source("returns#3", "We send the money back within 6 working days.", 0.7, document="returns.md"),
]
PAYLOAD = PromptBuilder(window=4_000).add_sources(HITS).with_question("How long?").render()
LABEL = {one.source.id: one.label for one in PAYLOAD.sources}
SENTENCES = ("You have 45 days.", "The money comes back in 6 days.", "Bulbs are free.")


def anthropic(*blocks: tuple) -> dict:
    """Return a response whose text blocks have these citations."""
    return {"role": "assistant", "content": [
        {"type": "text", "text": text, "citations": list(citations) or None} for text, *citations in blocks
    ]}


def found_at(source: str, index: int = 0, cited: str = "within 45 days") -> dict:
    return {"type": "search_result_location", "source": source, "title": None, "search_result_index": index,
            "start_block_index": 0, "end_block_index": 1, "cited_text": cited}


def in_document(index: int, cited: str, title: str | None = None, kind: str = "char_location") -> dict:
    return {"type": kind, "document_index": index, "document_title": title, "cited_text": cited,
            "start_char_index": 0, "end_char_index": len(cited), "file_id": None}


def test_search_results_are_told_by_their_source():
    """If it fails, the answer of Claude to its own search results cannot be checked."""
    result = PAYLOAD.verify_response(anthropic(
        (SENTENCES[0], found_at("returns#1")), (" " + SENTENCES[1], found_at("returns#3", 1, "6 working days")),
        (" " + SENTENCES[2],),
    ))
    first = result.citations[0]
    text = " ".join(SENTENCES)
    assert (first.label, first.chunk_id, first.cited_text) == (LABEL["returns#1"], "returns#1", "within 45 days")
    assert [text[one.start:one.end] for one in result.citations] == list(SENTENCES[:2])
    assert (first.form, first.text, first.inner) == ("native", SENTENCES[0], (0, 17))
    assert result.cited == ("returns#1", "returns#3")
    assert result.unused == (LABEL["warranty#1"],)
    assert [str(one) for one in result.uncited] == [SENTENCES[2]]
    assert result.coverage == pytest.approx(2 / 3)
    assert result.ok
    json.dumps(result.to_dict())


@pytest.mark.parametrize("kind", ["char_location", "content_block_location", "page_location"])
def test_documents_are_told_by_title_or_place_and_cited_words(kind):
    """If it fails, a citation of the neighbour document is taken for right."""
    order = [one.source.id for one in PAYLOAD.sources]
    index = order.index("warranty#1")

    def label(**given) -> str:
        return PAYLOAD.verify_response(anthropic((SENTENCES[0], in_document(kind=kind, **given)))).citations[0].label

    assert label(index=index, cited="Faulty  lamps are covered") == LABEL["warranty#1"]
    # The words stand in another source than the place says: the words decide, since places shift.
    assert label(index=(index + 1) % 3, cited="Faulty lamps") == LABEL["warranty#1"]
    assert label(index=0, cited="nowhere", title=f"{LABEL['returns#3']} | Returns") == LABEL["returns#3"]
    assert label(index=0, cited="nowhere", title=f"{LABEL['returns#3']}: Returns") == LABEL["returns#3"]
    assert label(index=0, cited="nowhere", title=f"{LABEL['returns#3']}-Returns") == f"{LABEL['returns#3']}-Returns"
    assert label(index=0, cited="6 working days", title="returns.md") == LABEL["returns#3"]
    assert label(index=0, cited="nowhere at all") == "document 0"
    assert label(index=77, cited="nowhere at all") == "document 77"


def test_an_unknown_source_is_unknown_whatever_its_title_opens_with():
    """If it fails, a source that was never sent passes for one whose label its title happens to open with."""
    label = LABEL["returns#3"]
    cite = {**found_at("elsewhere#9", 0, "nowhere at all"), "title": f"{label} | Returns"}
    result = PAYLOAD.verify_response(anthropic((SENTENCES[0], cite)))
    assert result.unknown == ("elsewhere#9",)
    assert not result.ok
    cited = {"start": 0, "end": 5, "sources": [
        {"type": "document", "id": "elsewhere#9", "document": {"id": "elsewhere#9", "title": f"{label}: Returns"}}]}
    message = {"content": [{"type": "text", "text": "So it is."}], "citations": [cited]}
    result = PAYLOAD.verify_response({"message": message})
    assert result.unknown == ("elsewhere#9",)


def test_a_citation_of_a_whole_document_cites_every_passage_of_it():
    """If it fails, a file that was cited without its words is lost, or one passage of it is guessed."""
    annotation = {"type": "file_citation", "file_id": "f1", "filename": "returns.md", "index": 17}
    part = {"type": "output_text", "text": SENTENCES[0], "annotations": [annotation]}
    result = PAYLOAD.verify_response({"output": [{"type": "message", "content": [part]}]})
    assert sorted(result.cited) == ["returns#1", "returns#3"]
    assert result.coverage == 1.0


def test_documents_of_the_history_are_counted_by_the_provider():
    """If it fails, every place is off by the documents of earlier turns."""
    document = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Old."}}
    history = [{"role": "user", "content": [document, document, {"type": "text", "text": "a"}]}, ("assistant", "b")]
    payload = PromptBuilder(window=4_000).add_history(history).add_sources(HITS).with_question("q").render()
    place = [one.source.id for one in payload.sources].index("returns#3")
    cited = {"type": "char_location", "document_index": place + 2, "cited_text": None}
    assert payload.verify_response(anthropic((SENTENCES[1], cited))).cited == ("returns#3",)
    cited["document_index"] = 1
    assert not payload.verify_response(anthropic((SENTENCES[1], cited))).ok


def test_unknown_and_stale_sources_are_told_apart():
    """If it fails, a page of the open web, or a source of an earlier turn, passes for one that was sent."""
    later = PromptBuilder(window=4_000).with_labels(PAYLOAD.carry_labels()).add_sources(HITS[1:]).render()
    web = {"type": "web_search_result_location", "url": "https://elsewhere.example/" + "x" * 200, "title": "x",
           "encrypted_index": "y", "cited_text": "z"}
    result = later.verify_response(anthropic((SENTENCES[0], found_at("returns#1"), web)))
    assert result.stale == (LABEL["returns#1"],)
    assert result.unknown == (web["url"][:80],)
    assert not result.known
    assert result.coverage == 0.0
    assert not result.uncited  # it cites something, though nothing that was sent
    assert not result.ok
    with pytest.raises(ValueError, match="unknown"):
        result.raise_for_unknown()


def test_cohere():
    """If it fails, Cohere's citations point to the wrong words or the wrong document."""
    text = " ".join(SENTENCES)
    source = {"type": "document", "id": LABEL["returns#3"], "document": {"id": LABEL["returns#3"], "snippet": "x"}}
    response = {"id": "r", "finish_reason": "COMPLETE", "message": {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": text}],
        "citations": [
            {"start": 42, "end": 48, "text": text[42:48], "sources": [source], "content_index": 1,
             "type": "TEXT_CONTENT"},
            {"start": 0, "end": 2, "text": "hm", "sources": [source], "content_index": 0, "type": "THINKING_CONTENT"},
            {"start": 9, "end": 16, "text": text[9:16], "content_index": 1,
             "sources": [{"type": "tool", "id": "doc:0", "tool_output": {"x": "y"}}]},
        ],
    }}
    result = PAYLOAD.verify_response(response)
    assert [(one.text, one.chunk_id) for one in result.citations] == [
        ("45 days", PAYLOAD.sources[0].source.id), ("6 days", "returns#3")
    ]
    assert [str(one) for one in result.uncited] == [SENTENCES[2]]
    older = {"text": text, "generation_id": "g", "citations": [
        {"start": 0, "end": 16, "text": text[:16], "document_ids": ["returns#1"]}]}
    assert PAYLOAD.verify_response(older).cited == ("returns#1",)


def test_openai_annotations():
    """If it fails, the links that OpenAI puts behind a claim are taken for claims, or are not resolved."""
    url = "https://shop.example/returns"
    mark = f"([shop.example]({url}))"
    text = f"You have 45 days. {mark} Bulbs are free."
    start = text.index(mark)
    cite = {"type": "url_citation", "start_index": start, "end_index": start + len(mark), "url": url, "title": "x"}
    responses = {"output": [
        {"type": "web_search_call", "id": "w"},
        {"type": "message", "content": [{"type": "output_text", "text": text, "annotations": [cite]}]},
    ]}
    chat = {"choices": [{"message": {"role": "assistant", "content": text, "annotations": [
        {"type": "url_citation", "url_citation": {key: cite[key] for key in cite if key != "type"}}]}}]}
    for response in (responses, chat, chat["choices"][0]["message"]):
        result = PAYLOAD.verify_response(response)
        assert result.cited == ("returns#1",)
        assert result.citations[0].text == mark
        assert [str(one) for one in result.uncited] == ["Bulbs are free."]
        assert result.coverage == 0.5


def test_marks_in_the_text_and_citations_beside_it_count_together():
    """If it fails, one of the two ways to cite hides the other."""
    text = f"You have 45 days [{LABEL['returns#1']}]. "
    result = PAYLOAD.verify_response(anthropic((text,), (SENTENCES[1], found_at("returns#3", cited="6 working days"))))
    assert [one.form for one in result.citations] == ["bracket", "native"]
    assert result.cited == ("returns#1", "returns#3")
    assert result.coverage == 1.0
    assert not result.uncited
    plain = PAYLOAD.verify(text)
    for response in (text, anthropic((text,)), {"choices": [{"message": {"content": text}}]},
                     {"candidates": [{"content": {"parts": [{"text": "hm", "thought": True}, {"text": text}]}}]},
                     SimpleNamespace(content=text, additional_kwargs={})):
        assert PAYLOAD.verify_response(response) == plain


def test_bedrock():
    """If it fails, the citations of the Converse API are lost."""
    block = {"citationsContent": {"content": [{"text": SENTENCES[0]}], "citations": [
        {"source": "returns#1", "title": "x", "sourceContent": [{"text": "45 days"}],
         "location": {"searchResultLocation": {"searchResultIndex": 0, "start": 0, "end": 1}}}]}}
    result = PAYLOAD.verify_response({"output": {"message": {"content": [{"text": "Well: "}, block]}}})
    assert (result.cited, result.citations[0].start, result.citations[0].cited_text) == (("returns#1",), 6, "45 days")


def test_words_that_were_escaped_are_found_as_they_were_sent():
    """If it fails, a provider's quote of an escaped text is taken for a quote of nothing."""
    hit = Source("a", "Write </source_1> at the end.", 0.9)
    payload = PromptBuilder(window=4_000).add_sources([hit, *HITS]).with_question("q").render()
    for cited in ("Write </source_1> at", "Write &lt;/source_1> at"):
        response = anthropic(("So be it.", in_document(99, cited)))
        assert payload.verify_response(response).cited == ("a",)


def test_plain_mappings_are_enough():
    """If it fails, the check needs a payload, which a service that only verifies does not have."""
    result = verify_response(anthropic((SENTENCES[0], found_at("b"))), {"S1": "a", "S2": ("b", "c")})
    assert result.cited == ("b", "c")
    sent = Sent((Target("S1", ("x.md",), ("one",)), Target("S2", ("x.md",), ("two",))))
    cited = in_document(0, "two", "x.md")
    assert verify_response(anthropic((SENTENCES[0], cited)), {"S1": "a", "S2": "b"}, sent).cited == ("b",)


@pytest.mark.parametrize("response", [
    None, 3, [], {}, {"content": 3, "x": 1}, {"output": [3]}, {"choices": []}, {"choices": [{"message": 3}]},
    {"candidates": []}, {"message": {"content": [3]}}, {"content": [{"type": "text", "text": "a", "citations": [3]}]},
    {"output": {"message": {}}}, SimpleNamespace(),
], ids=str)
def test_what_is_no_response_is_named(response):
    """If it fails, a failed call of the provider ends in a KeyError."""
    with pytest.raises(OptionError, match="response"):
        PAYLOAD.verify_response(response)


def test_spans_beyond_the_text_are_kept_within_it():
    """If it fails, a wrong offset of a provider makes a slice of nothing, or an error."""
    cite = {"type": "url_citation", "start_index": -5, "end_index": 10_000, "url": "u"}
    answer = read_response({"output": [{"type": "message", "content": [
        {"type": "output_text", "text": "abc", "annotations": [cite]}]}]})
    assert [(one.start, one.end) for one in answer.beside] == [(0, 3)]
    assert answer.faults == ((0, 3, "the citation is for -5 to 10000 of a text of 3 characters"),)


def test_citations_that_are_not_in_order_are_told():
    """If it fails, an offset that is off, or a citation of nothing, is put right or dropped in silence."""
    text = SENTENCES[0]

    def responses(start, end, *more):
        cite = {"type": "url_citation", "start_index": start, "end_index": end, "url": "https://shop.example/returns"}
        return {"output": [{"type": "message", "content": [
            *({"type": "output_text", "text": one} for one in more),
            {"type": "output_text", "text": text, "annotations": [cite]}]}]}

    assert PAYLOAD.verify_response(responses(0, 17)).malformed == ()
    for start, end, more in ((0, 18, ()), (-1, 4, ()), (9, 4, ()), (40, 44, ()), (-2, 4, ("Yes. ",))):
        result = PAYLOAD.verify_response(responses(start, end, *more))
        assert [one.why for one in result.malformed] == [
            f"the citation is for {start} to {end} of a text of 17 characters"]
        assert result.cited == ("returns#1",)  # what it names is clear
        assert not result.ok
    chat = {"choices": [{"message": {"role": "assistant", "content": text, "annotations": [
        {"type": "url_citation", "url_citation": {"start_index": 0, "end_index": 99, "url": "x"}}]}}]}
    assert PAYLOAD.verify_response(chat).malformed[0].text == text

    def cohere(**cite):
        return {"message": {"role": "assistant", "content": [{"type": "text", "text": text}], "citations": [cite]}}

    for rest in ({"sources": []}, {"sources": None}, {}):
        result = PAYLOAD.verify_response(cohere(start=9, end=16, text="45 days", **rest))
        assert [(one.text, one.start, one.why) for one in result.malformed] == [
            ("45 days", 9, "a citation that names no source")]
        assert not result.ok
    source = {"type": "document", "id": "returns#1", "document": {}}
    assert "of a text of 17" in PAYLOAD.verify_response(cohere(start=9, end=77, sources=[source])).malformed[0].why
    assert PAYLOAD.verify_response(cohere(start=9, end=16, sources=[{}])).unknown == ("unnamed source",)


def test_a_citation_beside_the_text_that_is_not_in_order_does_not_keep_a_mark_from_being_stripped():
    """If it fails, one wrong offset leaves every unknown label in the answer."""
    cite = {"type": "url_citation", "start_index": 0, "end_index": 99, "url": "https://shop.example/returns"}
    chat = {"choices": [{"message": {"content": "It is so [S77].", "annotations": [cite]}}]}
    assert PAYLOAD.verify_response(chat).strip() == "It is so."


REFUSED = "I'm sorry, this request goes against my rules."


@pytest.mark.parametrize("response", [
    {"choices": [{"message": {"role": "assistant", "content": None, "refusal": REFUSED}}]},
    {"choices": [{"message": {"role": "assistant", "content": "", "refusal": REFUSED}}]},
    {"role": "assistant", "content": None, "refusal": REFUSED},
    {"output": [{"type": "message", "content": [{"type": "refusal", "refusal": REFUSED}]}]},
    {"role": "assistant", "content": [], "stop_reason": "refusal"},
    SimpleNamespace(role="assistant", content=None, refusal=REFUSED),
], ids=["chat", "empty", "message", "responses", "anthropic", "object"])
def test_what_the_provider_calls_a_refusal_is_one(response):
    """If it fails, an answer that the model declined counts as a claim without a source."""
    result = PAYLOAD.verify_response(response)
    assert (result.refusal, result.ok, result.uncited, result.coverage) == (True, True, (), 1.0)


def test_a_text_beside_a_refusal_is_still_checked():
    """If it fails, a refusal at the end hides the claims before it, or is not told."""
    parts = [{"type": "output_text", "text": "Lamps are free. "}, {"type": "refusal", "refusal": REFUSED}]
    for response in (
        {"output": [{"type": "message", "content": parts}]},
        {"choices": [{"message": {"content": "Lamps are free.", "refusal": REFUSED}}]},
        {"content": [{"type": "text", "text": "Lamps are free."}], "stop_reason": "refusal"},
    ):
        result = PAYLOAD.verify_response(response)
        assert [str(one) for one in result.uncited] == ["Lamps are free."]
        assert result.refusal
    plain = {"choices": [{"message": {"content": "Lamps are free.", "refusal": None}}]}
    assert not PAYLOAD.verify_response(plain).refusal


def test_support_is_weighed_for_citations_beside_the_text():
    """If it fails, a claim that its native citation does not support passes the check."""
    response = anthropic(
        (SENTENCES[0], found_at("returns#1")), (" Returns take 90 days.", found_at("returns#1")), (" Yes.",),
    )
    result = PAYLOAD.verify_response(response, min_support=0.3)
    assert [one.text for one in result.unsupported] == ["Returns take 90 days."]
    judged = PAYLOAD.verify_response(response, judge=lambda claim, text: 1.0, min_support=0.5)
    assert not judged.unsupported
    assert str(result.strip()) == result.answer  # there is no mark in the text that could be taken out


def test_a_span_over_several_sentences_backs_all_of_them():
    """If it fails, only the first sentence of a cited block counts as cited."""
    text = " ".join(SENTENCES)
    assert PAYLOAD.verify_response(anthropic((text, found_at("returns#1")))).coverage == 1.0
    cite = {"start": 5, "end": len(SENTENCES[0]) + 4, "document_ids": ["returns#1"]}
    result = PAYLOAD.verify_response({"text": text, "generation_id": "g", "citations": [cite]})
    assert [str(one) for one in result.uncited] == [SENTENCES[2]]


@pytest.mark.parametrize("provider", ["anthropic", "bedrock", "cohere"])
def test_what_a_payload_hands_over_comes_back_to_its_own_label(provider):
    """If it fails, the payload in a provider's shape and the check of its answer do not belong together."""
    if provider == "anthropic":
        blocks = PAYLOAD.to_anthropic(citations="native")["messages"][-1]["content"]
        sources = [block for block in blocks if block["type"] == "search_result"]
        responses = [anthropic(("So.", {**found_at(one["source"], index), "title": one["title"]}))
                     for index, one in enumerate(sources)]
    elif provider == "bedrock":
        blocks = PAYLOAD.to_bedrock(citations="native")["messages"][-1]["content"]
        sources = [block["searchResult"] for block in blocks if "searchResult" in block]
        responses = [{"output": {"message": {"content": [{"citationsContent": {
            "content": [{"text": "So."}], "citations": [{"source": one["source"], "title": one["title"], "location": {
                "searchResultLocation": {"searchResultIndex": index, "start": 0, "end": 1}}}]}}]}}}
            for index, one in enumerate(sources)]
    else:
        sources = PAYLOAD.to_cohere()["documents"]
        responses = [{"message": {"content": [{"type": "text", "text": "So."}], "citations": [
            {"start": 0, "end": 2, "sources": [{"type": "document", "id": one["id"], "document": one["data"]}]}]}}
            for one in sources]
    cited = [PAYLOAD.verify_response(response).citations[0].label for response in responses]
    assert cited == [one.label for one in PAYLOAD.sources]
