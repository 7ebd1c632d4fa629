"""Messages of a conversation: several shapes in, checked, and cut into whole turns.

Text from a history is data: roles that give instructions are refused unless they are allowed by name. A new
shape of message is one more line in the table of readers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from promptpack.errors import OptionError, SourceError, quote
from promptpack.message import (
    INSTRUCTIONS,
    ROLES,
    Message,
    content_texts,
    fault,
    is_empty,
    map_text,
    text_pieces,
    to_openai,
)

__all__ = [
    "INSTRUCTIONS", "ROLES", "History", "Message", "Turn", "content_texts", "map_text", "messages_of",
    "read_history", "text_pieces", "to_openai", "turns_of",
]

_SHORT = {"human": "user", "ai": "assistant"}  # the names that (role, text) pairs of some frameworks use
_OPTIONAL = ("name", "tool_calls", "tool_call_id")
_FIELDS = ("role", "content", *_OPTIONAL)


@dataclass(frozen=True, slots=True)
class Turn:
    """A user message with everything up to the next one: answers, tool calls and their results.

    index: the place of its first message in the history, from 0. What stands before the first user message
    is a turn with `leading` True; it answers nobody and is never kept.
    """

    messages: tuple[Message, ...]
    index: int = 0

    @property
    def leading(self) -> bool:
        """Whether this is the part before the first user message."""
        return not self.messages or self.messages[0].role != "user"


@dataclass(frozen=True, slots=True)
class History:
    """What was read: the messages, and the texts of system and developer turns where those were allowed."""

    messages: tuple[Message, ...]
    system: tuple[str, ...] = ()


def messages_of(items: Iterable[object]) -> tuple[Message, ...]:
    """Read the messages of a conversation.

    An item is a `Message`, an OpenAI-shaped mapping, an object with `role` and `content`, or a (role, text)
    pair. Roles are user, assistant, and tool right after its call. Raises SourceError, with the index and
    the field, for any other role, a system or developer turn, a tool result without its call, or content of
    a wrong type. A call without a result is let through: the caller may be about to answer it.

    >>> [m.role for m in messages_of([("user", "Hi"), {"role": "assistant", "content": "Hello."}])]
    ['user', 'assistant']
    """
    return read_history(items).messages


def read_history(items: Iterable[object], *, allow: Sequence[str] = ()) -> History:
    """Read messages like `messages_of`; with allow=("system",) also instructions, whose texts go apart.

    Either name in `allow` ("system", "developer") lets both roles in.

    >>> read_history([("system", "Be brief."), ("user", "Hi")], allow=("system",)).system
    ('Be brief.',)
    """
    if not isinstance(allow, Iterable):
        raise OptionError.unknown("allow", allow, INSTRUCTIONS)
    names = (allow,) if isinstance(allow, str) else tuple(allow)
    for name in names:
        if not isinstance(name, str) or name not in INSTRUCTIONS:
            raise OptionError.unknown("allow", name, INSTRUCTIONS)
    if isinstance(items, str | bytes | Mapping) or not isinstance(items, Iterable):
        raise SourceError(f"history: expected a list of messages, got {quote(items)}", field="history")
    messages: list[Message] = []
    system: list[str] = []
    waiting: Counter[str | None] = Counter()  # the calls that may still be answered; ids can be missing
    for index, item in enumerate(items):
        try:
            message = _read(item)
            if message.role in INSTRUCTIONS:
                system.append(_instructions(message, bool(names)))
                continue
            if message.role == "tool":
                if not waiting[message.tool_call_id]:
                    raise fault("tool_call_id", f"the tool result for {quote(message.tool_call_id)} does "
                                                "not come right after an assistant message with that call")
                waiting[message.tool_call_id] -= 1
            else:
                waiting = Counter(call.get("id") for call in message.tool_calls)
        except SourceError as error:
            text = f"history: message {index}: {error}"
            raise SourceError(text, index=index, field=error.field) from None
        messages.append(message)
    return History(tuple(messages), tuple(system))


def turns_of(messages: Sequence[Message]) -> tuple[Turn, ...]:
    """Cut messages into whole turns, in order; see `Turn`.

    >>> messages = messages_of([("user", "a"), ("assistant", "b"), ("user", "c")])
    >>> [len(turn.messages) for turn in turns_of(messages)]
    [2, 1]
    """
    starts = [index for index, message in enumerate(messages) if message.role == "user"]
    if messages and (not starts or starts[0] > 0):
        starts.insert(0, 0)
    ends = [*starts[1:], len(messages)]
    return tuple(Turn(tuple(messages[a:b]), a) for a, b in zip(starts, ends, strict=False))


def _instructions(message: Message, allowed: bool) -> str:
    if not allowed:
        raise fault("role", f"a {message.role} turn is refused, since stored text must not give "
                            "instructions; allow=(\"system\",) folds it into the system message")
    return "\n".join(content_texts(message))


def _read(item: object) -> Message:
    for accepts, read in _READERS:
        if accepts(item):
            return read(item)
    raise fault("message", "expected a mapping with role and content, an object with these attributes or a "
                           f"(role, text) pair, got {quote(item)}")


def _read_mapping(item: Any) -> Message:
    keys = tuple(item)
    for key in keys:
        if not isinstance(key, str):
            raise fault("message", f"expected names as keys, got {quote(key)}")
    known = {key: item[key] for key in _FIELDS if key in item}
    # An empty field says nothing but must come back as it was: null and [] are not the same to every reader.
    empty = {key: known.pop(key) for key in _OPTIONAL if key in known and is_empty(known[key])}
    extra = {key: item[key] for key in keys if key not in _FIELDS} | empty
    return _build(known, extra, keys)


def _read_object(item: Any) -> Message:
    known = {key: getattr(item, key) for key in _FIELDS if getattr(item, key, None) is not None}
    for key in ("content", "tool_calls"):
        if isinstance(known.get(key), list | tuple):
            known[key] = [_plain(one) for one in known[key]]
    refusal = getattr(item, "refusal", None)
    return _build(known, {"refusal": refusal} if isinstance(refusal, str) else {}, ())


def _read_pair(item: Any) -> Message:
    role, content = item
    return _build({"role": _SHORT.get(role, role), "content": content}, {}, ())


_READERS: tuple[tuple[Callable[[object], bool], Callable[[Any], Message]], ...] = (
    (lambda item: isinstance(item, Message), lambda item: item),
    (lambda item: isinstance(item, Mapping), _read_mapping),
    (lambda item: isinstance(item, tuple | list) and len(item) == 2 and isinstance(item[0], str), _read_pair),
    (lambda item: hasattr(item, "role") and hasattr(item, "content"), _read_object),
)


def _build(known: Mapping[str, Any], extra: Mapping[str, Any], keys: tuple[str, ...]) -> Message:
    role = known.get("role")
    if isinstance(role, Enum):
        role = role.value
    if not isinstance(role, str):
        raise fault("role", "missing" if role is None else f"expected a text, got {quote(role)}")
    content = known.get("content")
    calls = known.get("tool_calls", ())
    if not isinstance(calls, list | tuple):
        raise fault("tool_calls", f"expected a list of calls, got {quote(calls)}")
    return Message(
        role,
        tuple(content) if isinstance(content, list) else content,
        name=known.get("name"), tool_calls=tuple(calls), tool_call_id=known.get("tool_call_id"),
        extra=extra, keys=keys,
    )


def _plain(value: Any) -> Any:
    """Turn a typed object of a provider's SDK into the mapping that it stands for."""
    dump = getattr(value, "model_dump", None)
    return dump(exclude_none=True) if callable(dump) and not isinstance(value, Mapping) else value
