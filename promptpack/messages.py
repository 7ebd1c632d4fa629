"""Messages of a conversation: any shape in (`promptpack.shapes_in`), checked, and cut into whole turns.

Text from a history is data: roles that give instructions are refused unless they are allowed by name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from promptpack.errors import OptionError, SourceError, quote
from promptpack.message import (
    FILE_TOKENS,
    IMAGE_TOKENS,
    INSTRUCTIONS,
    ROLES,
    Message,
    attached_tokens,
    attachments,
    content_texts,
    map_text,
    text_pieces,
    to_openai,
)
from promptpack.plain_data import fault
from promptpack.shapes_in import Reader, join, joins
from promptpack.text_sites import Kind

__all__ = [
    "FILE_TOKENS", "IMAGE_TOKENS", "INSTRUCTIONS", "ROLES", "History", "Message", "Turn", "attached_tokens",
    "attachments", "content_texts", "map_text", "messages_of", "read_history", "text_pieces", "to_openai", "turns_of",
]

ImageTokens = int | Callable[[Mapping[str, Any]], int]

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

    An item is a `Message`, an OpenAI chat message, an item of the Responses API, an Anthropic message, a Gemini
    content, a message of LangChain, LlamaIndex or Haystack, or a (role, text) pair; objects and mappings alike. One
    item may be several messages, as where Anthropic keeps tool results and a text in one. Roles are user, assistant,
    and tool right after its call. Raises SourceError, with the index of the item and the field, for any other role, a
    system or developer turn, a tool result without its call, or content of a wrong type. A call without a result is
    let through: the caller may be about to answer it.

    >>> [m.role for m in messages_of([("user", "Hi"), {"role": "assistant", "content": "Hello."}])]
    ['user', 'assistant']
    """
    return read_history(items).messages


def read_history(
    items: Iterable[object], *, allow: Sequence[str] = (), image_tokens: ImageTokens | None = None,
    before: Sequence[Message] = (),
) -> History:
    """Read messages like `messages_of`; with allow=("system",) also instructions, whose texts go apart.

    Either name in `allow` ("system", "developer") lets both roles in. image_tokens: what each image counts, or a
    callable that gives it for an image or file as it came in; see `Message.attached` for what counts without it.
    before: the messages that these follow, read earlier; they open the result.

    >>> read_history([("system", "Be brief."), ("user", "Hi")], allow=("system",)).system
    ('Be brief.',)
    """
    names = _allowed(allow)
    _check_price(image_tokens)
    if isinstance(items, str | bytes | Mapping) or not isinstance(items, Iterable):
        raise SourceError(f"history: expected a list of messages, got {quote(items)}", field="history")
    messages = list(before)
    run = [messages.pop()] if messages else []  # the last message, in the items that it is made of
    system: list[str] = []
    waiting: Counter[str | None] = Counter()  # the calls that may still be answered; ids can be missing
    for message in before:
        _answer(waiting, message, joined=False)
    reader = Reader()
    for index, item in enumerate(items):
        try:
            for message in reader.read(item):
                if message.role in INSTRUCTIONS:
                    system.append(_instructions(message, bool(names)))
                    continue
                joined = bool(run) and joins(run[-1], message)
                _answer(waiting, message, joined=joined)
                if run and not joined:
                    messages.append(join(run))
                    run = []
                run.append(_priced(message, image_tokens))
        except SourceError as error:
            text = f"history: message {index}: {error}"
            raise SourceError(text, index=index, field=error.field) from None
    if run:
        messages.append(join(run))
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


def _answer(waiting: Counter[str | None], message: Message, *, joined: bool) -> None:
    """Keep account of the calls that may be answered next; SourceError for a result of none of them."""
    if message.role == "tool":
        if not waiting[message.tool_call_id]:
            raise fault("tool_call_id", f"the tool result for {quote(message.tool_call_id)} does "
                                        "not come right after an assistant message with that call")
        waiting[message.tool_call_id] -= 1
        return
    if not joined:
        waiting.clear()
    waiting.update(call.get("id") for call in message.tool_calls)


def _priced(message: Message, image_tokens: ImageTokens | None) -> Message:
    """Return the message with what its images and files count, where the caller knows better than the default."""
    if image_tokens is None:
        return message
    found = attachments(message)
    if not found:
        return message
    return replace(message, attached=sum(_price(kind, part, image_tokens) for kind, part in found))


def _price(kind: Kind, part: Mapping[str, Any], image_tokens: ImageTokens) -> int:
    if not callable(image_tokens):
        return image_tokens if kind == "image" else FILE_TOKENS
    tokens = image_tokens(part)
    if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 0:
        raise fault("image_tokens", f"the callable gave {quote(tokens)}; expected a whole number of 0 or more")
    return tokens


def _check_price(image_tokens: object) -> None:
    whole = isinstance(image_tokens, int) and not isinstance(image_tokens, bool) and image_tokens >= 0
    if not (image_tokens is None or whole or callable(image_tokens)):
        raise OptionError(
            f"image_tokens: expected a whole number of 0 or more tokens, or a callable that gives it for an image, got "
            f"{quote(image_tokens)}", name="image_tokens", given=image_tokens,
        )


def _allowed(allow: object) -> tuple[str, ...]:
    if not isinstance(allow, Iterable):
        raise OptionError.unknown("allow", allow, INSTRUCTIONS)
    names = (allow,) if isinstance(allow, str) else tuple(allow)
    for name in names:
        if not isinstance(name, str) or name not in INSTRUCTIONS:
            raise OptionError.unknown("allow", name, INSTRUCTIONS)
    return names
