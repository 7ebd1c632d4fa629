"""Whole conversations: labels are one to one, histories are whole, and every payload fits."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from promptpack import Conversation, PromptBuilder, Source, Window
from promptpack.messages import messages_of, to_openai
from promptpack.native_form import native_items

TURNS = 50
NAMES = [f"{letter}{number}" for letter in "abcdef" for number in range(8)]
KEEPS = st.sampled_from(["none", "found", "all"])


def source(name: str, rank: int) -> Source:
    return Source(name, f"Fact {name}. " + f"{name} " * (int(name[1:]) * 3 + 1), 1 - rank / 100, document=name[0])


@settings(max_examples=12, deadline=None)
@given(
    turns=st.lists(st.lists(st.sampled_from(NAMES), max_size=6, unique=True), min_size=TURNS, max_size=TURNS),
    keep=KEEPS, dedup=st.sampled_from(["exact", "merge"]),
)
def test_labels_are_one_to_one_over_fifty_turns(turns: list[list[str]], keep: str, dedup: str) -> None:
    """If it fails, two chunks share a label, or a chunk changes its label, and earlier citations turn wrong."""
    builder = PromptBuilder(window=Window(700, answer=100), counter="words").with_packing(dedup=dedup)
    chat = Conversation(builder, keep=keep)
    ever: dict[str, tuple[str, ...]] = {}
    for number, names in enumerate(turns):
        payload = chat.ask(f"Question {number}?", [source(name, rank) for rank, name in enumerate(names)])
        for one in payload.sources:
            assert ever.setdefault(one.label, one.chunk_ids) == one.chunk_ids
        assert len({frozenset(ids) for ids in ever.values()}) == len(ever)
        assert dict(payload.labels.carried) == ever
        assert payload.tokens <= payload.budget.input
        assert payload.messages[-1].text.count(f"Question {number}?") == 1
        sent = {id_ for one in payload.sources for id_ in one.chunk_ids}
        dropped = {out.source.id for out in payload.dropped}
        assert set(names) <= sent | dropped
        cited = payload.sources[0].label if payload.sources else "nothing"
        chat = chat.answered(f"Answer {number} [{cited}].", payload)
    assert len(chat.history) == 2 * TURNS


TEXTS = st.text(max_size=30)


@st.composite
def histories(draw: st.DrawFn) -> list[dict]:
    """A history of Anthropic messages: texts, images, calls and results, at random."""
    items: list[dict] = []
    for number in range(draw(st.integers(1, 8))):
        blocks: list[dict] = [{"type": "text", "text": draw(TEXTS), "cache_control": {"type": "ephemeral"}}]
        if draw(st.booleans()):
            blocks.append({"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}})
        items.append({"role": "user", "content": blocks})
        if draw(st.booleans()):
            ids = [f"t{number}_{k}" for k in range(draw(st.integers(1, 3)))]
            calls = [{"type": "tool_use", "id": one, "name": "f", "input": {"q": draw(TEXTS)}} for one in ids]
            items.append({"role": "assistant", "content": calls})
            results = [{"type": "tool_result", "tool_use_id": one, "content": draw(TEXTS)} for one in ids]
            more = [{"type": "text", "text": "And?"}] if draw(st.booleans()) else []
            items.append({"role": "user", "content": [*results, *more]})
        items.append({"role": "assistant", "content": [
            {"type": "thinking", "thinking": draw(TEXTS), "signature": "s"}, {"type": "text", "text": draw(TEXTS)}]})
    return items


@settings(max_examples=60, deadline=None)
@given(items=histories(), share=st.integers(0, 400), summary=st.sampled_from([None, "", "short", "long " * 100]))
def test_a_kept_history_is_whole_newest_and_fits(items: list[dict], share: int, summary: str | None) -> None:
    """If it fails, a history starts with a tool result, ends before the newest turn, or passes the window."""
    builder = PromptBuilder(window=Window(800, answer=100, history=share), counter="words")
    payload = builder.add_history(items, image_tokens=40, summarise=lambda turns: summary).with_question("q").render()
    kept = payload.messages[1:-1]
    assert payload.budget.history <= share
    assert payload.tokens <= payload.budget.input
    if not kept:
        return
    assert kept[0].role == "user"
    summed = any("are summed up" in note for note in payload.report.notes)
    tail = kept[1:] if summed else kept
    messages = messages_of(items)
    # In order, unbroken, and up to the newest message; only the text may have been escaped.
    assert [one.role for one in tail] == [one.role for one in messages[len(messages) - len(tail):]]
    if tail:
        assert tail[0].role == "user"
        assert native_items(tail, "anthropic")[-1]["content"][0] == items[-1]["content"][0]
    assert [one.role for one in messages_of([to_openai(one) for one in kept])] == [one.role for one in kept]
    answered = {one.tool_call_id for one in kept if one.role == "tool"}
    assert answered == {call["id"] for one in kept for call in one.tool_calls}
    told = sum(len(out.turn.messages) for out in payload.dropped_turns)
    assert told + len(tail) == len(messages)


@given(items=histories())
def test_any_history_comes_back_unchanged(items: list[dict]) -> None:
    """If it fails, a message changes on its way through the library."""
    assert native_items(messages_of(items), "anthropic") == items
