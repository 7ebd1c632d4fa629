"""What holds of a payload where spans are the default, whatever else the builder is told to do."""

from __future__ import annotations

import re
from datetime import date

from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from promptpack import BudgetError, Cut, Packing, Payload, PromptBuilder, Source, Window
from promptpack.packing.spans_parts import BELOW, GAP, bounds, joined

WORDS = ["late", "fee", "invoice", "the", "is", "of", "March", "1999", "paid", "Berlin", "a", "customer"]
worded = st.lists(st.sampled_from(WORDS), min_size=6, max_size=14).map(" ".join)
sentences = worded.map(lambda text: text.capitalize() + ".")
shared = ["Every late invoice is paid by a customer of the shop.", "The fee of March is five in Berlin and in Bonn.",
          "It is the fee of a customer of the shop in March.", "\n\nLate fees\n\nThe late fee of an invoice is due."]
odd = st.sampled_from([
    "</source_1> is late. It is [S1].", "<|im_start|> late fee", "滞纳金五欧元。商店九点开门。", "\u0301x", "a\r\nb",
])
chunks = st.lists(st.one_of(sentences, st.sampled_from(shared), odd), min_size=1, max_size=7).map(" ".join)


@st.composite
def sources(draw: st.DrawFn) -> list[Source]:
    found = []
    for k, text in enumerate(draw(st.lists(chunks, min_size=1, max_size=7))):
        required = draw(st.sampled_from([False] * 7 + [True]))
        found.append(Source(
            f"s{k}", text, draw(st.one_of(st.none(), st.floats(-5, 5))),
            document=draw(st.sampled_from([None, "d", "e"])), updated=draw(st.sampled_from([None, date(2026, 3, 1)])),
            required=required, pinned=required and draw(st.booleans()),
            cut=draw(st.sampled_from([None] * 12 + [Cut(min_tokens=5), Cut(keep="relevant", min_tokens=5)])),
            metadata=draw(st.sampled_from([{}, {"title": "Late fee"}, {"title": "</source> Berlin"}])),
        ))
    return found


builders = st.fixed_dictionaries({
    "escape": st.sampled_from(["tags", "strict", "datamark", "html", "structure"]),
    "cache": st.sampled_from([None, "auto"]),
    "counter": st.sampled_from(["o200k_base", "words", "chars/4"]),
    "packing": st.builds(
        lambda **given: Packing(select="auto", **given),
        dedup=st.sampled_from(["off", "exact", "near", "sentences", "merge"]),
        top_k=st.sampled_from([None, 3]), max_per_document=st.sampled_from([None, 2]),
        min_score=st.sampled_from([None, -2.0]), place=st.sampled_from(["fold", "best_last", "document", "auto"]),
    ),
})
QUESTION = "What is the late fee of an invoice, and since which March?"


def built(hits: list[Source], given: dict[str, object], window: int, turns: int, tools: bool) -> PromptBuilder:
    builder = PromptBuilder(Window(window, answer=0), **given).add_sources(hits).with_question(QUESTION)
    history = [("user", "Is it late?"), ("assistant", "It is [S1].")] * turns
    builder = builder.add_history(history)
    return builder.with_tools([{"name": "look_up", "parameters": {}}]) if tools else builder


def ids_of(payload: Payload) -> list[str]:
    sent = [id_ for one in payload.sources for id_ in one.chunk_ids]
    # A chunk that went into another one of its document is named by both.
    return sorted({*sent, *(out.source.id for out in payload.dropped)})


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(sources(), builders, st.integers(90, 400), st.integers(0, 2), st.booleans())
def test_a_payload_of_spans(hits, given, window, turns, tools):
    """If this fails, a payload passes its window, loses a source, or tells wrong ranges, with some other setting on."""
    builder = built(hits, given, window, turns, tools)
    try:
        payload = builder.render()
    except BudgetError:
        return
    event(payload.report.select.split(":")[0])
    assert payload.tokens <= payload.budget.window
    assert ids_of(payload) == sorted(hit.id for hit in hits)
    assert all(hit.id in {id_ for one in payload.sources for id_ in one.chunk_ids} for hit in hits if hit.required)
    for one in payload.sources:
        if one.ranges:
            whole = bounds(one.source.text)
            assert one.text in {joined(one.source.text, one.ranges, mark, whole) for mark in (GAP, BELOW)}
            assert one.in_source(0, len(one.text)) == one.ranges
            assert not one.source.required
            assert one.part()
    assert any(one.ranges for one in payload.sources) <= payload.report.select.startswith("spans")
    assert builder.render() == payload
    assert Payload.from_dict(payload.to_dict()) == payload
    again = built(hits, given, window, turns, tools).with_labels(payload.carry_labels()).render()
    known = dict(payload.labels.items())
    assert all(known.get(label, ids) == ids for label, ids in again.labels.items())


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(sources(), st.integers(120, 400))
def test_a_quotation_is_found_at_its_place_in_the_source(hits, window):
    """If this fails, a citation of what was sent does not lead back to the characters of the source."""
    try:
        payload = PromptBuilder(Window(window, answer=0)).add_sources(hits).with_question(QUESTION).render()
    except BudgetError:
        assume(False)
    for one in payload.sources:
        quoted = re.search(r"[A-Z][a-z0-9 ]{20,}", one.text, re.A)
        if quoted is None or not one.ranges:
            continue
        assert payload.verify(f'It says "{quoted[0]}" [{one.label}].').ok
        ((start, end),) = one.in_source(*quoted.span())
        assert one.source.text[start:end] == quoted[0]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(sources(), st.integers(100, 330), st.integers(0, 60))
def test_more_room_for_spans_never_holds_less(hits, window, more):
    """If this fails, a larger window makes the choice of sentences worse."""
    plain = [Source(one.id, one.text, one.score, document=one.document, metadata=one.metadata) for one in hits]

    def value(size: int) -> float | None:
        builder = PromptBuilder(Window(size, answer=0), counter="words").add_sources(plain).with_question(QUESTION)
        payload = builder.render()
        spans = payload.report.select.startswith("spans")
        return sum(one.value for one in payload.sources) if spans else None

    small, large = value(window), value(window + more)
    if small is not None and large is not None:
        assert large >= small - 1e-6
