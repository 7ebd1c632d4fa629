"""One message of a conversation: what it holds, its texts for counting and escaping, and its OpenAI form.

What a message holds besides its text (images, tool calls, fields that this library does not know) is kept
as it came.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

from promptpack.errors import quote
from promptpack.native_form import Native
from promptpack.plain_data import as_json, check_line, fault, is_empty, map_json, map_strings
from promptpack.plain_data import copied as copied
from promptpack.text_sites import Kind, attachment

ROLES = ("user", "assistant", "tool")
INSTRUCTIONS = ("system", "developer")
# What an image counts where nobody says better. Providers charge by size: Claude width x height / 750 with at most
# about 1.15 megapixels, so up to 1,600; GPT-4o at high detail 85 + 170 for each tile of 512 pixels, 765 for a square
# and 1,445 for eight tiles; GPT-4.1 at most 1,536 patches; Gemini 258 for each tile of 768 pixels.
IMAGE_TOKENS = 1_600
# What another file counts: one page of a PDF, which Anthropic puts at up to 3,000 tokens of text beside its image.
FILE_TOKENS = 3_000 + IMAGE_TOKENS


@dataclass(frozen=True, slots=True)
class Message:
    """One message: who speaks, and a text or a tuple of content parts.

    role: system, developer, user, assistant or tool. content: a text; or OpenAI content parts (mappings
    with a `type`), kept as they are; None only for an assistant that calls tools or has other fields.
    tool_calls: the calls of an assistant, as OpenAI writes them. tool_call_id: the call that a tool
    message answers. extra: every other field of the message that it was read from. keys: the order of
    its fields there, so that `to_openai` can give it back unchanged; not compared. native: the form that it came in,
    where that is not OpenAI's (`promptpack.native_form`). attached: the tokens that its images and files count; None
    takes IMAGE_TOKENS for each image and FILE_TOKENS for each other file.

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
    native: Native | None = field(default=None, repr=False)
    attached: int | None = None

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
            check_line(name, value)
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
        if self.native is not None and not isinstance(self.native, Native):
            raise fault("native", f"expected a Native, got {quote(self.native)}")
        if self.attached is not None and (type(self.attached) is not int or self.attached < 0):
            raise fault("attached", f"expected a whole number of 0 or more tokens, got {quote(self.attached)}")

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
    is not a matter of text (`attached_tokens`). Ids of calls are not counted. Of a message that came in another
    form than OpenAI's, these are the texts of that form.

    >>> list(text_pieces(Message("user", "Hi", name="reader")))
    ['reader', 'Hi']
    """
    if message.native is not None:
        yield from message.native.pieces()
        return
    if message.name:
        yield message.name
    yield from content_texts(message)
    for call in message.tool_calls:
        _, body = _body(call)
        yield body["name"]
        yield as_json(body.get("arguments", body.get("input", "")))
    for value in message.extra.values():
        if not is_empty(value):
            yield as_json(value)


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
        extra={key: map_strings(value, change) for key, value in message.extra.items()},
        native=None if message.native is None else message.native.changed(change),
    )


def attachments(message: Message) -> list[tuple[Kind, Mapping[str, Any]]]:
    """Return the images and files of a message, each with its kind, as they came in.

    >>> attachments(Message("user", ({"type": "image_url", "image_url": {"url": "a.png"}},)))
    [('image', {'type': 'image_url', 'image_url': {'url': 'a.png'}})]
    """
    if message.native is not None:
        return message.native.attachments()
    parts = message.content if isinstance(message.content, tuple) else ()
    return [(kind, part) for part in parts if (kind := attachment(part)) is not None]


def attached_tokens(message: Message) -> int:
    """Return the tokens that the images and files of a message count; an estimate, see `Message.attached`.

    >>> attached_tokens(Message("user", ({"type": "image_url", "image_url": {"url": "a.png"}},)))
    1600
    """
    if message.attached is not None:
        return message.attached
    return sum(IMAGE_TOKENS if kind == "image" else FILE_TOKENS for kind, _ in attachments(message))


def _body(call: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the part of a call that names the tool: `function`, or `custom` with a free text as input."""
    kind = "custom" if "custom" in call else "function"
    return kind, call[kind]


def _check_call(call: object) -> None:
    if not isinstance(call, Mapping):
        raise fault("tool_calls", f"expected a mapping with id and function, got {quote(call)}")
    if not isinstance(call.get("id"), str | None):
        raise fault("tool_calls", f"id: expected a text, got {quote(call.get('id'))}")
    check_line("tool_calls", call.get("id"), "id: ")
    body = call.get("custom", call.get("function"))
    if not isinstance(body, Mapping) or not isinstance(body.get("name"), str):
        raise fault("tool_calls", f"function: expected a mapping with a name, got {quote(body)}")
    check_line("tool_calls", body["name"], "name: ")
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
    if given is not None:
        new["arguments"] = map_json(given, change) if isinstance(given, str) else map_strings(given, change)
    return {**call, kind: new}
