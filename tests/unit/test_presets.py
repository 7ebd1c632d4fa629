"""Presets: builders for common uses, each with what its description promises."""

from __future__ import annotations

from typing import Any

import pytest

from promptpack import Conversation, Cut, OptionError, PromptBuilder, Source, Window, presets


@pytest.mark.parametrize("name", presets.PRESETS)
def test_a_preset_is_a_builder_that_can_be_changed(name: str) -> None:
    """If it fails, a preset is a dead end: the first wish beyond it means to start anew."""
    preset = presets.PRESETS[name]
    builder = preset(2000)
    assert builder == preset(2000)
    assert builder.window == 2000
    assert preset(Window(2000, answer=10)).window == Window(2000, answer=10)
    assert preset(2000, counter="words", fields=("title",)).fields == ("title",)
    assert builder.with_packing(top_k=3).packing.top_k == 3
    payload = builder.add_sources(["One.", "Two."]).with_question("Which?").render()
    assert len(payload.sources) == 2
    assert payload.tokens <= 2000


@pytest.mark.parametrize("name", presets.PRESETS)
def test_wrong_settings_are_named(name: str) -> None:
    """If it fails, a typing error is a TypeError from somewhere inside."""
    with pytest.raises(OptionError, match=rf"presets\.{name}.*did you mean 'counter'"):
        presets.PRESETS[name](2000, conter="words")
    with pytest.raises(OptionError):
        presets.PRESETS[name](0)


def test_the_description_says_why() -> None:
    for preset in presets.PRESETS.values():
        assert len((preset.__doc__ or "").split()) > 40


def hits(*texts: str, **more: Any) -> list[Source]:
    return [Source(f"s{at}", text, 1 - at / 100, **more) for at, text in enumerate(texts)]


class TestDocsQa:
    def test_near_copies_are_sent_once_but_not_other_numbers(self) -> None:
        text = "Lamps of the series {} can be returned to any of our shops within the time that the receipt shows."
        payload = presets.docs_qa(4000).add_sources(hits(
            text.format("A"), text.format("A") + ".", text.format("A 7"), text.format("A 8"),
        )).render()
        assert {one.source.id for one in payload.sources} == {"s0", "s2", "s3"}
        assert [out.reason for out in payload.dropped] == ["near_duplicate"]

    def test_a_walk_through_reads_in_the_order_of_the_document(self) -> None:
        chunks = [Source(f"d#{at}", f"Step {at}.", score, document="d", position=at)
                  for at, score in enumerate((0.1, 0.9, 0.5))]
        builder = presets.docs_qa(4000).add_sources(chunks)
        told = builder.with_question("Walk through the steps").render()
        assert [one.source.id for one in told.sources] == ["d#0", "d#1", "d#2"]
        asked = builder.with_question("Which lamp is blue?").render()
        assert [one.source.id for one in asked.sources] == ["d#1", "d#0", "d#2"]

    def test_the_page_is_shown(self) -> None:
        payload = presets.docs_qa(4000).add_sources([Source("a", "x", metadata={"page": 7, "secret": 1})]).render()
        assert 'page="7"' in payload.text
        assert "secret" not in payload.text


def test_chat_goes_on_with_labels_and_few_sources() -> None:
    talk = Conversation(presets.chat(3000))
    payload = talk.ask("Which?", hits(*(f"Text {at}." for at in range(12))))
    assert len(payload.sources) == 8
    again = talk.answered("This [S1].").ask("And?", hits("Text 0."))
    assert list(again.labels) == ["S1"]
    assert [message.role for message in again.messages] == ["system", "user", "assistant", "user"]


def test_logs_keep_repeats_and_have_no_gaps() -> None:
    lines = [
        {"text": "disk full " * size, "updated": f"2026-11-30T10:0{at}:00", "level": "error"}
        for at, size in enumerate((1, 1, 150, 1))
    ]
    payload = presets.logs(360, counter="words").add_sources(lines).render()
    assert len(payload.sources) == 2, "the third does not fit, so the fourth would stand behind a gap"
    assert [one.source.updated for one in payload.sources] == ["2026-11-30T10:01:00", "2026-11-30T10:00:00"]
    assert 'level="error"' in payload.text


def test_diverse_takes_turns() -> None:
    """If it fails, one long document stands for all sides of a question."""
    many = [Source(f"a{at}", f"Lamps of kind {word} are returned.", 0.9 - at / 10, document="a")
            for at, word in enumerate(("alpha", "beta", "gamma", "delta", "omega"))]
    other = Source("b", "Money comes back in six days.", 0.75, document="b")
    payload = presets.diverse(4000).add_sources([*many, other]).render()
    assert sum(one.source.document == "a" for one in payload.sources) == 3
    assert next(one for one in payload.sources if one.source.id == "b").rank == 2


def test_files_go_by_priority_and_are_cut_where_they_may() -> None:
    files = [
        Source("lib.py", "x = 1\n" * 500, priority=1, cut=Cut(keep="start", min_tokens=5)),
        Source("README.md", "Read me.", priority=2), Source("copy.md", "Read me.", priority=2),
        Source("big.bin", "y " * 5000, priority=0),
    ]
    payload = presets.files(800, counter="words").add_sources(files).render()
    assert [one.source.id for one in payload.sources] == ["README.md", "copy.md", "lib.py"]
    assert len(payload.sources[-1].text) < len(files[0].text)
    assert [out.source.id for out in payload.dropped] == ["big.bin"]


def test_a_preset_takes_a_model() -> None:
    report = PromptBuilder(8192, model="gpt-4o").render().report
    assert presets.docs_qa(8192, model="gpt-4o").render().report.counter == report.counter
