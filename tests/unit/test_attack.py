"""Inputs that once broke a promise: each was found by attacking the public names, and stays here."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from promptpack import (
    BudgetError,
    Cut,
    OptionError,
    Packing,
    Payload,
    PromptBuilder,
    Source,
    SourceError,
    TemplateRenderError,
    TemplateSet,
    TokenizerError,
    Window,
    count_tokens,
    pack,
)

LONG = "Alpha beta gamma delta. " * 200
SELECTS = ("top", "prefix", "density", "optimal", "priority", "edges", "spans")


def whole(payload: Payload) -> int:
    """Count a payload of system, user and assistant texts as OpenAI chat does, without the library's shortcuts."""
    return 3 + sum(3 + count_tokens(one.text, "o200k_base") for one in payload.messages)


def ids(payload: Payload) -> list[str]:
    sent = [id_ for one in payload.sources for id_ in one.chunk_ids]
    return sorted([*sent, *(out.source.id for out in payload.dropped)])


@pytest.mark.parametrize("select", SELECTS)
@pytest.mark.parametrize("at", ["sentence", "word", "token", "character"])
def test_a_required_source_with_a_cut_is_shortened(select: str, at: Any) -> None:
    """The builder refused what `pack()` can shorten, and its own message advised to give the source a Cut."""
    sources = [Source("must", LONG, 0.1, required=True, cut=Cut(at=at)), Source("other", LONG + "x", 0.9)]
    payload = PromptBuilder(400).with_packing(select=select).add_sources(sources).with_question("q").render()
    assert payload.labels["S1"] == ("must",)
    assert payload["S1"].text != LONG
    assert whole(payload) == payload.tokens <= payload.budget.input
    assert ids(payload) == ["must", "other"]


def test_history_leaves_the_room_of_a_required_source_that_is_shortened() -> None:
    """The history took its share before a source that was promised a place had enough."""
    turns = [("user", "word " * 30), ("assistant", "word " * 30)] * 3
    builder = PromptBuilder(400).add_history(turns).with_question("q")
    payload = builder.add_sources([Source("must", LONG, required=True, cut=Cut(min_tokens=100))]).render()
    assert payload.sources[0].source.text != payload.sources[0].text
    assert len(payload.dropped_turns) == 3
    assert whole(payload) == payload.tokens <= payload.budget.input
    short = builder.add_sources([Source("must", "Never open it.", required=True, cut=Cut())]).render()
    assert short.sources[0].text == "Never open it."
    assert len(short.dropped_turns) < 3


def test_required_sources_that_merge_are_priced_as_what_they_become() -> None:
    """Their sum was promised, though the merged passage says the shared text once."""
    sources = [
        Source("a", LONG, required=True, document="d"), Source("b", LONG + "Tail.", required=True, document="d"),
    ]
    builder = PromptBuilder(1800).with_packing(dedup="merge").add_sources(sources).with_question("q")
    for one in (builder, builder.add_history([("user", "Hi"), ("assistant", "Hello")])):
        payload = one.render()
        assert ids(payload) == ["a", "b"]
        assert len(payload.sources) == 1
        assert whole(payload) == payload.tokens <= payload.budget.input


def test_a_required_source_is_cut_deeper_where_the_whole_costs_more_than_its_parts() -> None:
    """A counter whose counts do not add up left a payload too large that a deeper cut makes fit."""
    def steep(text: str) -> int:
        return len(text.split()) + (len(text.split()) // 20) ** 2

    must = Source("must", LONG, required=True, cut=Cut(min_tokens=1, at="word"))
    payload = PromptBuilder(Window(160, answer=0), counter=steep).add_sources([must]).with_question("q").render()
    assert 3 + sum(3 + steep(one.text) for one in payload.messages) == payload.tokens <= 160
    assert payload.sources[0].source.id == "must"


def test_required_sources_that_cannot_fit_are_an_error_with_the_whole_account() -> None:
    """The window in the message has to work, with turns and without."""
    builder = PromptBuilder(400).add_sources([Source("a", LONG, required=True), Source("b", "x")]).with_question("q")
    for one in (builder, builder.add_history([("user", "Hi"), ("assistant", "Hello")])):
        with pytest.raises(BudgetError, match=r"required sources .* window of 400 tokens") as caught:
            one.render()
        assert caught.value.needed is not None
        assert one.with_window(caught.value.needed).render()["S1"].source.id == "a"


def test_a_payload_never_passes_its_window_for_min_sources() -> None:
    """The setting was ignored in silence: what it kept left again when the payload was measured."""
    with pytest.raises(OptionError, match="min_sources"):
        PromptBuilder(300).with_packing(min_sources=3)
    assert PromptBuilder(300).with_packing(min_sources=0).packing.min_sources == 0


HOSTILE_ID = "a\ud800\n\x1b[31mb\u202e"


def test_reports_show_hostile_ids_on_one_line_that_can_be_printed() -> None:
    """`print(payload.explain())` raised UnicodeEncodeError, and an id could colour the terminal or forge a line."""
    sources = [Source(HOSTILE_ID, "Some text."), Source("empty" + HOSTILE_ID, " ")]
    payload = PromptBuilder(500).add_sources(sources).render()
    for told in (payload.explain(), payload.why(HOSTILE_ID), payload.why("empty" + HOSTILE_ID)):
        told.encode("utf-8")
        assert "\x1b" not in told
        assert "\u202e" not in told
        assert "a\\ud800\\n\\x1b[31mb\\u202e" in told


def test_the_tables_show_hostile_ids_as_escapes() -> None:
    """The tables of `--explain` passed an id's control sequences on to the terminal."""
    from rich.console import Console

    from promptpack.view.tables import print_payload

    sources = [Source(HOSTILE_ID, "Some text.\u200b"), Source("empty" + HOSTILE_ID, " ")]
    console = Console(record=True, width=200, file=io.StringIO())
    print_payload(PromptBuilder(500).add_sources(sources).render(), console)
    shown = console.export_text()
    assert "\x1b" not in shown
    assert "a\\ud800\\n\\x1b[31mb\\u202e" in shown


def test_turns_that_left_are_told_in_short_lines() -> None:
    """The whole text of every turn was printed, however long."""
    payload = PromptBuilder(300).add_history([("user", LONG), ("assistant", LONG)]).render()
    told = [line for line in payload.explain().splitlines() if "message 0" in line]
    assert told == [f"  message 0: over_budget: {payload.dropped_turns[0].detail}"]
    assert "gamma" not in payload.explain()


def test_an_object_in_the_metadata_is_written_alike_each_time() -> None:
    """Reading a stored payload and writing it again gave another text."""
    source = Source("a", "x", metadata={"handle": object(), "own": {"$object": "text"}})
    stored = PromptBuilder(500).add_sources([source]).render().to_dict()
    again = Payload.from_dict(json.loads(json.dumps(stored))).to_dict()
    assert again == stored
    assert again["sources"][0]["source"]["metadata"]["handle"] == {"$object": "builtins.object"}


def test_a_merged_passage_keeps_its_label_whichever_chunk_ranks_first() -> None:
    """The order of the ids is that of the ranking; with other scores the same passage got another label."""
    texts = ("Wash the filters well. Switch off the pump.", "Switch off the pump. Check gauge B now.")

    def turn(scores: Sequence[float]) -> list[Source]:
        return [Source(f"m{i}", texts[i], scores[i], document="d") for i in range(2)]

    builder = PromptBuilder(900).with_packing(dedup="merge")
    first = builder.add_sources(turn((0.9, 0.1))).render()
    second = builder.with_labels(first.carry_labels()).add_sources(turn((0.1, 0.9))).render()
    assert dict(first.labels) == dict(second.labels) == {"S1": ("m0", "m1")}
    assert second["S1"].chunk_ids == ("m0", "m1")
    assert second.labels.stale == {}


def test_a_builder_does_not_follow_changes_of_the_tool_schemas() -> None:
    """A schema that was changed after `with_tools` changed what the builder counted."""
    schema: dict[str, Any] = {"name": "find", "parameters": {"type": "object"}}
    builder = PromptBuilder(900).with_tools([schema])
    before = builder.render().tokens
    schema["parameters"]["description"] = "long " * 50
    assert builder.render().tokens == before


def test_a_dropped_source_is_noticed_though_its_text_stands_inside_of_another() -> None:
    """A template that skips the first source passed the check, since "cat" is in "the cat"."""
    skips = TemplateSet.from_string(user="{% for s in sources[1:] %}{{ s.text }}\n{% endfor %}{{ question }}")
    builder = PromptBuilder(900, template=skips).with_packing(place="best_first").with_question("Why?")
    with pytest.raises(TemplateRenderError, match="leaves out the source"):
        builder.add_sources([Source("a", "cat"), Source("b", "the cat")]).render()


ARRAY: Any = np.array([1, 2])


@pytest.mark.parametrize("name", ["validate", "tie", "select", "score", "dedup", "place", "top_k", "min_score"])
def test_an_array_is_no_policy(name: str) -> None:
    """An array compares with every name; asking whether the result is true raised a bare ValueError."""
    with pytest.raises(OptionError, match=name):
        Packing(**{name: ARRAY})


def test_an_array_is_no_price_no_label_and_no_format() -> None:
    """Bare TypeError and ValueError of numpy came through."""
    with pytest.raises(TokenizerError, match="whole number"):
        pack([Source("a", "x")], 3, cost=lambda source: ARRAY)
    payload = PromptBuilder(500).add_sources(["x"]).render()
    with pytest.raises(SourceError, match="label"):
        payload[ARRAY]
    with pytest.raises(SourceError, match="why"):
        payload.why(ARRAY)
    with pytest.raises(SourceError, match="format"):
        Payload.from_dict({**payload.to_dict(), "format": ARRAY})


@pytest.mark.parametrize("value", [ARRAY, np.float64(1.5), [], {}, "", None, False])
def test_a_message_may_carry_an_array(value: object) -> None:
    """SDKs hang embeddings and log probabilities on messages; comparing them with "" raised."""
    turn = [{"role": "user", "content": "Hi", "embedding": value}, {"role": "assistant", "content": "Hello"}]
    payload = PromptBuilder(500).add_history(turn).render()
    assert payload.messages[1].text == "Hi"
    with pytest.raises(SourceError, match="content"):
        PromptBuilder(500).add_history([("user", "Hi"), {"role": "assistant", "content": None, "x": False}])


def test_a_field_of_a_message_that_is_an_array_is_named() -> None:
    """A name that is an array raised numpy's ValueError."""
    with pytest.raises(SourceError, match="name"):
        PromptBuilder(500).add_history([{"role": "user", "content": "Hi", "name": ARRAY}])


@pytest.mark.parametrize("allow", [None, 3, True, object(), [ARRAY], [None]])
def test_allow_is_a_list_of_roles(allow: Any) -> None:
    """What cannot be iterated raised a bare TypeError."""
    with pytest.raises(OptionError, match="allow"):
        PromptBuilder(500).add_history([("user", "Hi")], allow=allow)
