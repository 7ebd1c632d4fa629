"""One message of a conversation: what it holds, its texts for counting and escaping, and its OpenAI form.

What a message holds besides its text (images, tool calls, fields that this library does not know) is kept
as it came.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

from promptpack.errors import SourceError, quote

ROLES = ("user", "assistant", "tool")
INSTRUCTIONS = ("system", "developer")
DEEPEST = 64  # levels of nesting inside a content part or a tool call; JSON readers give up soon after


@dataclass(frozen=True, slots=True)
class Message:
    """One message: who speaks, and a text or a tuple of content parts.

    role: system, developer, user, assistant or tool. content: a text; or OpenAI content parts (mappings
    with a `type`), kept as they are; None only for an assistant that calls tools or has other fields.
    tool_calls: the calls of an assistant, as OpenAI writes them. tool_call_id: the call that a tool
    message answers. extra: every other field of the message that it was read from. keys: the order of
    its fields there, so that `to_openai` can give it back unchanged; not compared.

    Raises SourceError naming the field where a value has a type that it cannot have.

    >>> Message("user", "Why?").content
    'Why?'
    """

    role: str
    content: str | tuple[Mapping[str, Any], ...] | None = field(hash=False)
    _: KW_ONLY
    name: str | None = None
    tool_calls: tuple[Mapping[str, Any], ...] = field(default=(), hash=False)
    tool_call_id: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False, repr=False)
    keys: tuple[str, ...] = field(default=(), compare=False, repr=False)

    @property
    def text(self) -> str:
        """The text of the content; several text parts are joined by line breaks."""
        return self.content if isinstance(self.content, str) else "\n".join(content_texts(self))

    def __post_init__(self) -> None:
        if self.role not in (*INSTRUCTIONS, *ROLES):
            known = ", ".join((*INSTRUCTIONS, *ROLES))
            raise fault("role", f"{quote(self.role)} is no role; known: {known}")
        for name in ("name", "tool_call_id"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise fault(name, f"expected a text, got {quote(value)}")
        if self.tool_calls:
            if self.role != "assistant":
                raise fault("tool_calls", f"only an assistant calls tools, not {self.role}")
            for call in self.tool_calls:
                _check_call(call)
            calls = tuple(copied(call, "tool_calls") for call in self.tool_calls)
            object.__setattr__(self, "tool_calls", calls)
        if not isinstance(self.content, str):
            self._check_parts()
            # A copy, so that nobody can change what was read; plain texts, by far the most, need none.
            object.__setattr__(self, "content", copied(self.content, "content"))
        if self.extra:
            object.__setattr__(self, "extra", {key: copied(one, key) for key, one in self.extra.items()})

    def _check_parts(self) -> None:
        if self.content is None:
            told = any(not is_empty(one) and one is not False for one in self.extra.values())
            if self.role != "assistant" or not (self.tool_calls or told):
                raise fault("content", f"missing; expected a text or content parts for {self.role}")
            return
        if not isinstance(self.content, tuple):
            raise fault("content", f"expected a text or a list of content parts, got {quote(self.content)}")
        for number, part in enumerate(self.content):
            if not isinstance(part, Mapping) or not isinstance(part.get("type"), str):
                raise fault("content", f"part {number}: expected a mapping with a type, got {quote(part)}")
            text = part.get("text")
            if part["type"] == "text" and not isinstance(text, str):
                raise fault("content", f"part {number}: text: expected a text, got {quote(text)}")


def to_openai(message: Message) -> dict[str, Any]:
    """Return the message as OpenAI chat takes it: the fields, in the order, that it was read from.

    >>> to_openai(Message("user", "Why?"))
    {'role': 'user', 'content': 'Why?'}
    """
    content = list(message.content) if isinstance(message.content, tuple) else message.content
    values: dict[str, Any] = {"role": message.role, "content": content}
    if content is None and message.keys and "content" not in message.keys:
        del values["content"]
    for name, value in (("name", message.name), ("tool_call_id", message.tool_call_id)):
        if value is not None:
            values[name] = value
    if message.tool_calls:
        values["tool_calls"] = list(message.tool_calls)
    values.update(message.extra)
    order = [key for key in message.keys if key in values]
    return {key: copied(values[key], key) for key in dict.fromkeys([*order, *values])}


def text_pieces(message: Message) -> Iterator[str]:
    """Yield every text that a counter has to count: name, content, tool calls, other fields.

    Of a tool call these are its name and arguments. Arguments and other fields that are no text are given
    as JSON. Content parts without text (images, audio, files) give nothing: what a model charges for them
    is not a matter of text. Ids of calls are not counted.

    >>> list(text_pieces(Message("user", "Hi", name="reader")))
    ['reader', 'Hi']
    """
    if message.name:
        yield message.name
    yield from content_texts(message)
    for call in message.tool_calls:
        _, body = _body(call)
        yield body["name"]
        yield _as_text(body.get("arguments", body.get("input", "")))
    for value in message.extra.values():
        if not is_empty(value):
            yield _as_text(value)


def content_texts(message: Message) -> Iterator[str]:
    """Yield the texts of the content alone: the text itself, or those of its parts.

    >>> list(content_texts(Message("user", ({"type": "text", "text": "Hi"},))))
    ['Hi']
    """
    if isinstance(message.content, str):
        yield message.content
    for part in message.content if isinstance(message.content, tuple) else ():
        for key in ("text", "refusal"):
            if isinstance(part.get(key), str):
                yield part[key]


def map_text(message: Message, change: Callable[[str], str]) -> Message:
    """Return the message with `change` (an escaper) applied to every text that `text_pieces` gives.

    What `change` returns is kept as it is, its type too. In tool calls the arguments stay valid JSON: they
    stay byte for byte where `change` alters nothing; else every string in them is changed and the JSON is
    written again. Content parts without text, and ids, are left alone.

    >>> map_text(Message("user", "hi"), str.upper).content
    'HI'
    """
    content = message.content
    if isinstance(content, str):
        content = change(content)
    elif content is not None:
        content = tuple(_map_part(part, change) for part in content)
    return replace(
        message,
        content=content,
        name=None if message.name is None else change(message.name),
        tool_calls=tuple(_map_call(call, change) for call in message.tool_calls),
        extra={key: _map_strings(value, change) for key, value in message.extra.items()},
    )


def fault(name: str, why: str) -> SourceError:
    """Build the error for one field of a message; whoever knows the message's index adds it."""
    return SourceError(f"{name}: {why}", field=name)


def copied(value: Any, name: str, depth: int = 0) -> Any:
    """Return a copy of plain nested data; SourceError where it is nested deeper than 64 levels."""
    if depth > DEEPEST:
        raise fault(name, f"nested deeper than {DEEPEST} levels")
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise fault(name, f"expected names as keys, got {quote(key)}")
        return {key: copied(one, name, depth + 1) for key, one in value.items()}
    if isinstance(value, list | tuple):
        inner = [copied(one, name, depth + 1) for one in value]
        return inner if isinstance(value, list) else tuple(inner)
    return value


def is_empty(value: object) -> bool:
    """Tell whether a field says nothing; a value is not compared, since an array gives no plain answer to that."""
    return value is None or (isinstance(value, str | list | tuple | Mapping) and not value)


def _body(call: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the part of a call that names the tool: `function`, or `custom` with a free text as input."""
    kind = "custom" if "custom" in call else "function"
    return kind, call[kind]


def _check_call(call: object) -> None:
    if not isinstance(call, Mapping):
        raise fault("tool_calls", f"expected a mapping with id and function, got {quote(call)}")
    if not isinstance(call.get("id"), str | None):
        raise fault("tool_calls", f"id: expected a text, got {quote(call.get('id'))}")
    body = call.get("custom", call.get("function"))
    if not isinstance(body, Mapping) or not isinstance(body.get("name"), str):
        raise fault("tool_calls", f"function: expected a mapping with a name, got {quote(body)}")
    given = body.get("arguments", body.get("input", ""))
    if not isinstance(given, str | Mapping):
        raise fault("tool_calls", f"arguments: expected JSON as a text, or a mapping, got {quote(given)}")


def _map_part(part: Mapping[str, Any], change: Callable[[str], str]) -> Mapping[str, Any]:
    texts = {key: change(part[key]) for key in ("text", "refusal") if isinstance(part.get(key), str)}
    return {**part, **texts}


def _map_call(call: Mapping[str, Any], change: Callable[[str], str]) -> Mapping[str, Any]:
    kind, body = _body(call)
    new = dict(body, name=change(body["name"]))
    if isinstance(body.get("input"), str):
        new["input"] = change(body["input"])
    given = body.get("arguments")
    if isinstance(given, Mapping):
        new["arguments"] = _map_strings(given, change)
    elif isinstance(given, str) and change(given) != given:
        try:
            values = copied(json.loads(given), "arguments")
        except (ValueError, RecursionError, SourceError):
            new["arguments"] = change(given)  # no JSON that anybody could read: an ordinary text
        else:
            new["arguments"] = json.dumps(_map_strings(values, change), ensure_ascii=False)
    return {**call, kind: new}


def _map_strings(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {change(key): _map_strings(one, change) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_map_strings(one, change) for one in value)
    return value


def _as_text(value: Any) -> str:
    # `default=str`: a field may hold an object of an SDK; its own text is the best measure of it.
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
