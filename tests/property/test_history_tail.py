"""Properties of the history: it fits, it is an unbroken tail, and nothing leaves unlisted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from promptpack.history import fit_history
from promptpack.messages import messages_of, text_pieces, to_openai, turns_of

texts = st.text(max_size=12)


@st.composite
def conversations(draw):
    items = []
    number = 0
    for _ in range(draw(st.integers(0, 12))):
        kind = draw(st.sampled_from(["user", "assistant", "tools"]))
        if kind != "tools":
            items.append({"role": kind, "content": draw(texts)})
            continue
        ids = [f"call_{number + k}" for k in range(draw(st.integers(1, 3)))]
        number += len(ids)
        calls = [{"id": one, "type": "function", "function": {"name": "f", "arguments": "{}"}} for one in ids]
        items.append({"role": "assistant", "content": None, "tool_calls": calls})
        for one in draw(st.permutations(ids)):
            items.append({"role": "tool", "tool_call_id": one, "content": draw(texts)})
    return items


def size(turn) -> int:
    return sum(3 + sum(map(len, text_pieces(message))) for message in turn.messages)


@given(conversations(), st.integers(0, 120))
def test_a_kept_history_fits_and_is_a_whole_tail(items, room):
    """If it fails: the window is passed, a tool result is orphaned, a turn is lost, or a gap appears."""
    messages = messages_of(items)
    turns = turns_of(messages)
    fitted = fit_history(turns, room, size)
    assert fitted.used == sum(map(size, fitted.kept)) <= room
    assert (*[one.turn for one in fitted.dropped], *fitted.kept) == turns
    assert fitted.messages == messages[len(messages) - len(fitted.messages):]
    if fitted.messages:
        assert fitted.messages[0].role == "user"
    assert messages_of([to_openai(one) for one in fitted.messages]) == fitted.messages
    blocked = [one for one in fitted.dropped if one.reason == "over_budget"]
    assert len(blocked) == (1 if any(not turn.leading for turn in turns[:len(fitted.dropped)]) else 0)
    assert all(one.size + fitted.used > room for one in blocked)


@given(conversations())
def test_messages_come_back_unchanged(items):
    """If it fails, a message changes on its way through the library."""
    assert [to_openai(one) for one in messages_of(items)] == items
    messages = messages_of(items)
    assert [message for turn in turns_of(messages) for message in turn.messages] == list(messages)
