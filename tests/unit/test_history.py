"""The newest whole turns stay, as an unbroken tail; every turn that leaves is listed."""

from __future__ import annotations

import pytest

from promptpack.errors import OptionError, TokenizerError
from promptpack.history import fit_history
from promptpack.messages import messages_of, turns_of


def words(turn) -> int:
    return sum(len(message.content.split()) for message in turn.messages)


def turns(*sizes: int):
    """One turn for each size, of one user message and one answer."""
    items = []
    for number, size in enumerate(sizes):
        items += [("user", " ".join([f"q{number}"] * (size - 1))), ("assistant", "a")]
    return turns_of(messages_of(items))


@pytest.mark.parametrize(("sizes", "room", "kept", "used"), [
    ([], 10, 0, 0), ([5, 5], 10, 2, 10), ([5, 5], 9, 1, 5), ([5, 5], 4, 0, 0), ([5, 5], 0, 0, 0),
    ([2, 50, 3], 10, 1, 3), ([50, 2, 3], 10, 2, 5), ([3, 2, 50], 10, 0, 0),
])
def test_the_tail_has_no_gap(sizes, room, kept, used):
    """If it fails, an old turn outlives a newer one, or the room is passed."""
    fitted = fit_history(turns(*sizes), room, words)
    assert len(fitted.kept) == kept
    assert fitted.used == used
    assert fitted.kept == turns(*sizes)[len(sizes) - kept:]
    assert [one.turn for one in fitted.dropped] == list(turns(*sizes)[:len(sizes) - kept])


def test_each_dropped_turn_has_a_size_and_a_reason():
    """If it fails, a user cannot see why a turn left."""
    history = turns_of(messages_of([
        ("assistant", "Hello there!"), ("user", "a b"), ("assistant", "c"), ("user", "d " * 30),
        ("user", "e"),
    ]))
    fitted = fit_history(history, 10, words)
    found = [(one.size, one.reason) for one in fitted.dropped]
    assert found == [(2, "leading"), (3, "older"), (30, "over_budget")]
    assert fitted.dropped[-1].detail == "needs 30 tokens, 9 left"
    assert [message.content for message in fitted.messages] == ["e"]


def test_a_newest_user_turn_stays_while_an_older_giant_leaves():
    """If it fails, one giant turn clears the whole history or blocks the call (case hist-03)."""
    items = [("user", "big " * 5000), ("assistant", "Noted."), ("user", "Thanks, short turn zeta.")]
    fitted = fit_history(turns_of(messages_of(items)), 300, words)
    assert [message.content for message in fitted.messages] == ["Thanks, short turn zeta."]


def test_what_stands_before_the_first_user_message_is_never_kept():
    """If it fails, the kept part starts with an assistant, which several providers refuse."""
    history = turns_of(messages_of([("assistant", "Hello!"), ("user", "a")]))
    fitted = fit_history(history, 1_000, words)
    assert [message.role for message in fitted.messages] == ["user"]
    assert fitted.dropped[0].reason == "leading"
    assert fit_history(turns_of(messages_of([("assistant", "Hello!")])), 1_000, words).kept == ()


def test_each_turn_is_counted_once():
    """If it fails, counting a long history is quadratic."""
    asked = []
    fit_history(turns(*[3] * 50), 30, lambda turn: asked.append(turn) or 3)
    assert len(asked) == 50


@pytest.mark.parametrize("room", [-1, 1.5, None, True, "10"])
def test_a_room_that_is_no_number_of_tokens_is_named(room):
    """If it fails, a wrong room ends in a TypeError or keeps everything."""
    with pytest.raises(OptionError, match="room: expected"):
        fit_history(turns(3), room, words)


@pytest.mark.parametrize("size", [-1, 1.5, None, True])
def test_a_counter_that_misbehaves_is_named(size):
    """If it fails, a negative or broken count makes a history that does not fit."""
    with pytest.raises(TokenizerError, match="turn at message 0"):
        fit_history(turns(3), 10, lambda turn: size)
