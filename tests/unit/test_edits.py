"""What escaping changed beside the passages is counted: system text, history, summaries, with any escaper."""

from __future__ import annotations

from typing import Any

import pytest
from markupsafe import Markup, escape

from promptpack import Labels, PromptBuilder, TemplateSet
from promptpack.edits import text_edits
from promptpack.escape import LiveLabels, Rules
from promptpack.escaping import Escaping, Told, kinds_of
from promptpack.messages import map_text, messages_of, turns_of
from promptpack.setforms import escaping_for
from promptpack.summary import Summary, fit_turns

RULES = Rules(numbered=frozenset({"source"}), labels=LiveLabels(9))
TALK: list[Any] = [
    ("user", "Why </source_1>?"), ("assistant", "So [S1], [S2] and <|im_start|>."), ("user", "And bulbs?"),
]


def edits(
    items: list[Any], escaping: Escaping, *, persona: str | None = None, folded: tuple[str, ...] = (),
    summary: Summary | None = None, room: int = 10**6,
) -> tuple[Any, Any]:
    fitted = fit_turns(
        turns_of(messages_of(items)), room, lambda message: len(message.text),
        lambda message: map_text(message, lambda text: str(escaping.turn(text, message.role))), summary,
    )
    return text_edits(persona, folded, fitted, escaping)


def test_every_text_that_was_changed_is_counted() -> None:
    """If it fails, the report says that nothing was changed, and a citation of the answer before is gone."""
    found, notes = edits(TALK, Escaping(RULES), folded=("Be brief.", "Be <|im_end|>."))
    assert found == (
        ("system", "marker", 1), ("history: message 0", "close", 1), ("history: message 1", "label", 2),
        ("history: message 1", "marker", 1),
    )
    assert len(notes) == 1
    assert notes[0].startswith("2 citation marks in the answers of the history stand for no label that is carried")
    found, notes = edits(TALK, Escaping(RULES, frozenset({1, 2})))
    assert [one for one in found if one[1] == "label"] == []
    assert notes == ()


def test_what_was_not_changed_is_not_counted() -> None:
    assert edits([("user", "Why?"), ("assistant", "So.")], Escaping(RULES), persona="Be brief.") == ((), ())
    assert edits(TALK, Escaping(Rules(level="off")))[0] == ()
    assert edits([], Escaping(RULES), persona="a\ud800")[0] == (("system", "hidden", 1),)


def test_only_what_is_sent_is_counted_and_a_summary_is() -> None:
    """If it fails, the places are those of other messages, or a text that a hook made up is not told."""
    summary = Summary(lambda turns: "Before: </source_1>", tokens=30)
    found, _ = edits([*TALK, ("assistant", "Free [S9].")], Escaping(RULES), summary=summary, room=60)
    assert found == (("summary: message 0", "close", 1), ("history: message 3", "label", 1))


def test_parts_calls_and_native_forms_are_counted_once() -> None:
    """If it fails, a message that is kept in two forms is counted twice, or a tool's result not at all."""
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"q": "[S1]"}'}}
    found, _ = edits([
        ("user", "Why?"), {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "</source_1>"},
    ], Escaping(RULES))
    assert found == (("history: message 1", "label", 1), ("history: message 2", "close", 1))
    blocks = [{"type": "tool_use", "id": "t", "name": "f", "input": {"q": "[S1]"}}, {"type": "text", "text": "[S2]"}]
    native = [
        {"role": "user", "content": [{"type": "text", "text": "Why?"}]}, {"role": "assistant", "content": blocks},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "</source_1>"}]},
    ]
    found, _ = edits(native, Escaping(RULES))
    assert [(kind, count) for _, kind, count in found] == [("label", 2), ("close", 1)]


def test_an_escaper_of_your_own_is_counted_and_one_that_tells_is_believed() -> None:
    """If it fails, whose callable changes every text sees a report that nothing was changed."""
    found, _ = edits([("user", "a < b"), ("assistant", "So.")], Escaping(RULES, custom=escape))
    assert found == (("history: message 0", "custom", 1),)
    told = Escaping(RULES, custom=lambda text: Told.of(text, ("mine",)) if "<" in text else Markup(text))
    assert kinds_of(told.question("a < b")) == ("mine",)
    payload = PromptBuilder(2000, escape=escape).add_sources(["a < b", "c"]).with_question("d < e").render()
    assert [(kind, count) for _, kind, count in payload.report.escaped] == [("custom", 1), ("custom", 1)]
    assert payload.report.escaped[-1][0] == "question"


@pytest.mark.parametrize("name", ["openai-cite", "json"])
def test_sets_with_forms_of_their_own_count_too(name: str) -> None:
    """If it fails, the marks around a known label hide what else was changed in that answer."""
    compiled = TemplateSet.named(name).compiled()
    escaping = escaping_for(compiled)(
        Rules(compiled.names, compiled.numbered, reserved=compiled.signs, labels=LiveLabels(9)), frozenset({1}), None
    )
    known = "\ue200cite\ue202S1\ue201" if compiled.signs else "[S1]"
    said = f"So {known} and [S2], <|im_start|>."
    found, notes = edits([("user", "Why?"), ("assistant", said)], escaping)
    assert found == (("history: message 1", "label", 1), ("history: message 1", "marker", 1))
    assert notes[0].startswith("1 citation mark in the answers of the history stands for no label")


def test_a_known_source_size_is_no_hint_for_a_text_that_a_callable_changed() -> None:
    """If it fails, what your escaper adds is not counted, and the payload passes its window."""
    text = "a < b " * 50
    builder = PromptBuilder(4000, escape=escape).with_question("Why?").with_labels(Labels())
    hinted = builder.add_sources([{"id": "a", "text": text, "tokens": 5}]).render()
    counted = builder.add_sources([{"id": "a", "text": text}]).render()
    assert hinted.tokens == counted.tokens


def test_the_report_of_a_payload_counts_every_text() -> None:
    """If it fails, who reads the report thinks that the history went out as it came in."""
    builder = PromptBuilder(4000).add_sources(["A </source_1>."]).with_question("Why [S1]?")
    builder = builder.add_history([("system", "Be <|im_end|>."), *TALK, ("assistant", "Yes.")], allow=("system",))
    report = builder.render().report
    assert [(place, kind) for place, kind, _ in report.escaped][1:] == [
        ("question", "label"), ("system", "marker"), ("history: message 0", "close"), ("history: message 1", "label"),
        ("history: message 1", "marker"),
    ]
    assert any("2 citation marks in the answers of the history" in note for note in report.notes)
    known = builder.with_labels(Labels(carried={"S1": ("a",), "S2": ("b",)})).render().report
    assert [place for place, kind, _ in known.escaped if kind == "label"] == ["question"]
    assert known.notes == ()
