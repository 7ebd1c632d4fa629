"""A summary in place of the turns that leave: asked of the caller's hook, counted, and sent only where it fits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from promptpack.errors import OptionError, SourceError, quote
from promptpack.history import Fitted, fit_history
from promptpack.messages import FILE_TOKENS, IMAGE_TOKENS, Message, Turn, attachments, messages_of, turns_of

SUMMARY_TOKENS = 256  # what is kept free for a summary where nobody says otherwise: a short paragraph

Hook = Callable[[tuple[Turn, ...]], object]


@dataclass(frozen=True, slots=True)
class Summary:
    """Who sums up the turns that leave, and the tokens that are kept free for it.

    hook: called as hook(turns) with the turns that leave for want of room, oldest first, as they came in. It returns
    None, or one turn: a text (which the user is taken to say) or messages, of which the first is the user's. It is
    asked at each render; turns are values, so that `functools.cache` around it saves the calls. tokens: kept free of
    the history's room once a turn has to leave; the newest turn never makes place for it.

    Raises OptionError for a hook that cannot be called, or tokens that are no whole number of 1 or more.
    """

    hook: Hook
    tokens: int = SUMMARY_TOKENS

    def __post_init__(self) -> None:
        if not callable(self.hook):
            raise OptionError(
                f"summarise: expected a callable, got {quote(self.hook)}", name="summarise", given=self.hook
            )
        if isinstance(self.tokens, bool) or not isinstance(self.tokens, int) or self.tokens < 1:
            raise OptionError(
                f"summary_tokens: expected a whole number of 1 or more, got {quote(self.tokens)}",
                name="summary_tokens", given=self.tokens,
            )


def fit_turns(
    turns: Sequence[Turn], room: int, count: Callable[[Message], int], escape: Callable[[Message], Message],
    summary: Summary | None = None,
) -> Fitted:
    """Escape and count the turns, keep the longest tail that fits, and let the hook sum up the others.

    Without a hook, or where no turn leaves for want of room, this is `fit_history`. Else the tail is fitted once more
    with the summary's tokens kept free, and the hook is asked once. Its turn stands first. A summary that does not fit
    into what is left is not sent, which the notes say; then, and where the hook returns None, the tail stays as long
    as it was. Raises OptionError where the hook returns anything else than None, a text or one turn.

    >>> turns = turns_of(messages_of([("user", "a b c d"), ("user", "e f"), ("user", "g h")]))
    >>> words = lambda message: len(message.content.split())
    >>> fitted = fit_turns(turns, 5, words, lambda message: message, Summary(lambda left: "a to d", tokens=3))
    >>> [message.content for message in fitted.messages], fitted.used
    (['a to d', 'g h'], 5)
    """
    if not turns:  # the usual case of a single question
        return _NO_TURNS
    ready = [Turn(tuple(map(escape, turn.messages)), turn.index) for turn in turns]
    sizes = {id(turn): sum(map(count, turn.messages)) for turn in ready}
    whole = _said(fit_history(ready, room, lambda turn: sizes[id(turn)]), turns)
    if summary is None or not any(one.reason != "leading" for one in whole.dropped):
        return whole
    newest = sizes[id(ready[-1])] if whole.kept else 0
    spare = min(summary.tokens, room - newest)
    fitted = _said(fit_history(ready, room - spare, lambda turn: sizes[id(turn)]), turns)
    left = tuple(
        turn for turn, out in zip(turns, fitted.dropped, strict=False) if out.reason != "leading"
    )
    made = _turn(summary.hook(left))
    if made is None:
        return whole
    turn = Turn(tuple(map(escape, made.messages)))
    size, free = sum(map(count, turn.messages)), room - fitted.used
    if size > free:
        note = f"the summary of {_turns(len(left))} takes {size} tokens, {free} were free: it is not sent"
        return replace(whole, notes=(note,))
    note = f"{_turns(len(left))} of the history left and are summed up in {size} tokens"
    said = (*_places("summary", made), *fitted.said)
    return replace(fitted, used=fitted.used + size, summary=turn, notes=(note,), said=said)


_NO_TURNS = fit_history((), 0, lambda turn: 0)


def _said(fitted: Fitted, turns: Sequence[Turn]) -> Fitted:
    """Add what was said in the kept turns, before it was escaped."""
    kept = turns[len(turns) - len(fitted.kept):]
    return replace(fitted, said=tuple(place for turn in kept for place in _places("history", turn)))


def _places(where: str, turn: Turn) -> Iterable[tuple[str, Message]]:
    return ((f"{where}: message {turn.index + at}", message) for at, message in enumerate(turn.messages))


def unsized(fitted: Fitted) -> tuple[str, ...]:
    """Say how many images and files are in what is kept whose tokens nobody told, so that they are estimated."""
    found = [
        kind for message in fitted.messages if message.attached is None for kind, _ in attachments(message)
    ]
    if not found:
        return ()
    images, files = found.count("image"), len(found) - found.count("image")
    told = [f"{count} {name}{'s' * (count > 1)}" for count, name in ((images, "image"), (files, "file")) if count]
    note = (
        f"{' and '.join(told)} in the history {'is' if len(found) == 1 else 'are'} estimated "
        f"({IMAGE_TOKENS:,} tokens an image, {FILE_TOKENS:,} a file, which is one page); "
        "add_history(image_tokens=...) takes better figures"
    )
    return (note,)


def _turn(made: object) -> Turn | None:
    """Read what the hook returned."""
    if made is None or (isinstance(made, str) and not made.strip()):
        return None
    if isinstance(made, str):
        return Turn((Message("user", made),))
    items = made.messages if isinstance(made, Turn) else made
    if not isinstance(items, Iterable) or isinstance(items, Mapping | bytes):
        raise _nonsense(quote(made))
    try:
        turns = turns_of(messages_of(items))
    except SourceError as error:
        raise _nonsense(str(error)) from error
    if len(turns) != 1 or turns[0].leading:
        first = "a message that is not the user's" if turns and turns[0].leading else f"{len(turns)} turns"
        raise _nonsense(first)
    return turns[0]


def _nonsense(got: str) -> OptionError:
    return OptionError(
        f"summarise: the hook has to return None, a text, or the messages of one turn, the user's first; got {got}",
        name="summarise", given=None,
    )


def _turns(count: int) -> str:
    return "1 turn" if count == 1 else f"{count} turns"
