"""Which turns of a conversation are still sent: the newest ones, whole, as an unbroken tail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from promptpack.errors import OptionError, TokenizerError, quote
from promptpack.messages import Message, Turn

TurnReason = Literal["over_budget", "older", "leading"]


@dataclass(frozen=True, slots=True)
class DroppedTurn:
    """A turn that is not sent: its size in tokens, and why.

    reason: `over_budget` for the newest turn that did not fit, `older` for those before it (which leave
    with it, so that the tail has no gap), `leading` for what stands before the first user message.
    """

    turn: Turn
    size: int
    reason: TurnReason
    detail: str


@dataclass(frozen=True, slots=True)
class Fitted:
    """The turns that are sent, in order, with the tokens they use; and those that left, in order.

    summary: a turn that stands before the kept ones, for those that left (`promptpack.summary`). notes: what was done,
    one plain sentence each. said: where escaping came before, for each of `messages` its place ("history: message 3",
    "summary: message 0") and the message as it was.
    """

    kept: tuple[Turn, ...]
    dropped: tuple[DroppedTurn, ...]
    used: int
    summary: Turn | None = None
    notes: tuple[str, ...] = ()
    said: tuple[tuple[str, Message], ...] = ()

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages of the summary and the kept turns, in order; the first one is a user message."""
        turns = (*([self.summary] if self.summary else ()), *self.kept)
        return tuple(message for turn in turns for message in turn.messages)


def fit_history(turns: Sequence[Turn], room: int, count: Callable[[Turn], int]) -> Fitted:
    """Keep the longest tail of whole turns that takes at most `room` tokens.

    Turns are in order, oldest first; `count` gives the size of a turn in tokens (0 or more) and is asked once
    for each. Turns are taken from the newest back; the first that does not fit ends the tail. No turn is
    shortened, and the part before the first user message is never sent. O(n). Raises OptionError for a room
    that is no whole number of 0 or more, and TokenizerError where `count` gives no such number.

    >>> from promptpack.messages import messages_of, turns_of
    >>> turns = turns_of(messages_of([("user", "a b c"), ("assistant", "d"), ("user", "e")]))
    >>> fitted = fit_history(turns, 3, lambda turn: sum(len(m.content.split()) for m in turn.messages))
    >>> [m.content for m in fitted.messages], fitted.used, fitted.dropped[0].detail
    (['e'], 1, 'needs 4 tokens, 2 left')
    """
    if isinstance(room, bool) or not isinstance(room, int) or room < 0:
        raise OptionError(
            f"history: room: expected a whole number of 0 or more tokens, got {quote(room)}",
            name="room", given=room,
        )
    sizes = [_size(count, turn) for turn in turns]
    first, used = len(turns), 0
    while first > 0 and not turns[first - 1].leading and used + sizes[first - 1] <= room:
        first -= 1
        used += sizes[first]
    dropped = []
    for place, (turn, size) in enumerate(zip(turns[:first], sizes[:first], strict=True)):
        reason: TurnReason = "older"
        detail = f"stands before a turn that did not fit ({size} tokens)"
        if turn.leading:
            reason, detail = "leading", f"stands before the first user message ({size} tokens)"
        elif place == first - 1:
            reason, detail = "over_budget", f"needs {size} tokens, {room - used} left"
        dropped.append(DroppedTurn(turn, size, reason, detail))
    return Fitted(tuple(turns[first:]), tuple(dropped), used)


def _size(count: Callable[[Turn], int], turn: Turn) -> int:
    size = count(turn)
    if isinstance(size, bool) or not isinstance(size, int) or size < 0:
        raise TokenizerError(
            f"history: the counter gave {quote(size)} for the turn at message {turn.index}; "
            "expected a whole number of 0 or more",
            name=str(getattr(count, "name", "history")),
        )
    return size
