"""The messages of a payload in neutral parts, from which each provider's form is made.

Native documents take the place of the rendered passages: then a message that held passages holds them as parts, and
the question as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from promptpack.errors import SourceError, quote
from promptpack.escape import LiveLabels, Rules, escape_text
from promptpack.escape.attribute import CAP, ELLIPSIS
from promptpack.labels import number
from promptpack.layout import ENCLOSURES, MARKS, document_id, required_layout
from promptpack.message import INSTRUCTIONS, Message
from promptpack.providers.calls import Call, calls_of

if TYPE_CHECKING:
    from promptpack.payload import PackedSource, Payload

_DATA_URL = re.compile(r"data:([A-Za-z0-9.+/-]+)(?:;[A-Za-z0-9.+=\"-]+)*;base64,([A-Za-z0-9+/=_-]*)\Z")
_TEXTS = ("text", "input_text", "output_text")


@dataclass(frozen=True, slots=True)
class Text:
    """Running text."""

    text: str


@dataclass(frozen=True, slots=True)
class Media:
    """An image or a file: `data` in base64 with its media type, or a URL."""

    kind: str  # image or file
    data: str | None = None
    type: str | None = None
    url: str | None = None
    name: str | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool gave back to the call with that id."""

    call: Call
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Passage:
    """A source as a document of its own; text as it is sent.

    title: the label and the source's title, if it has one; line: the other shown fields, too.
    """

    label: str
    id: str
    title: str
    line: str
    text: str
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Other:
    """A content part that only its own provider knows."""

    part: Mapping[str, Any]


Part = Text | Media | Call | Result | Passage | Other


@dataclass(frozen=True, slots=True)
class Said:
    """One message: its role, its parts, the message that it was made from, and its index."""

    role: str
    parts: tuple[Part, ...]
    message: Message
    index: int


def said(payload: Payload, *, native: bool = False) -> list[Said]:
    """Return the messages but for the system message, in parts; with native=True passages are parts of their own.

    Calls without an id get `promptpack_call_<n>`, counted through the conversation, and their results the same.
    """
    documents = _documents(payload) if native else {}
    calls = calls_of(payload)
    found: list[Said] = []
    for index, message in enumerate(payload.messages):
        if message.role in INSTRUCTIONS:
            continue
        parts = documents[index] if index in documents else tuple(_content(message, index))
        own = calls.get(index, [])
        if message.role == "tool":
            parts = (Result(own[0], parts),)
        else:
            parts += tuple(own)
        found.append(Said(message.role, parts, message, index))
    return found


def runs(messages: Sequence[Said], shape: str) -> Iterator[tuple[bool, list[Said]]]:
    """Yield runs of messages that came in a provider's own shape (True), and of others."""
    for own, run in groupby(messages, key=lambda one: _shape(one.message) == shape):
        yield own, list(run)


def _shape(message: Message) -> str | None:
    return message.native.shape if message.native else None


def instructions(payload: Payload) -> str | None:
    """Return the text of the system message; None where the payload has none."""
    texts = [message.text for message in payload.messages if message.role in INSTRUCTIONS]
    return "\n\n".join(texts) if texts else None


def passages(payload: Payload) -> list[Passage]:
    """Return all passages as documents, in prompt order."""
    layout = required_layout(payload.layout, "native documents")
    prefix = payload.labels.prefix
    top = max((number(label, prefix) for label in payload.labels.carried), default=0)
    rules = Rules(names=ENCLOSURES, prefix=prefix, labels=LiveLabels(top), reserved=MARKS)
    return [_passage(one, layout.escaped.get(one.label, one.text), rules) for one in payload.sources]


def joined(parts: Sequence[Part]) -> str:
    """Return the texts among the parts, joined by line breaks, as `Message.text` joins them."""
    return "\n".join(part.text for part in parts if isinstance(part, Text))


def cannot(part: Part, one: Said, form: str) -> SourceError:
    """Build the error for a part that a provider's form cannot hold."""
    what = quote(part.part.get("type")) if isinstance(part, Other) else type(part).__name__.lower()
    if isinstance(part, Media):
        what = f"{part.kind} given as {'data of type ' + quote(part.type) if part.data is not None else 'a URL'}"
    return SourceError(
        f"messages: message {one.index} ({one.role}): content: {form} has no form for a part of type {what}; leave it "
        "out of the history or give it in another form",
        index=one.index, field="content",
    )


def _documents(payload: Payload) -> dict[int, tuple[Part, ...]]:
    """Return the parts of the messages that hold passages, by index."""
    layout = required_layout(payload.layout, "native documents")
    every = passages(payload)
    last = len(payload.messages) - 1
    split = sum(one.source.pinned for one in payload.sources) if layout.pinned is not None else 0
    asked = (Text(layout.question),) if layout.question else ()
    # Where a model has no system role, its text opens the first message, which may be one of these.
    told: tuple[Part, ...] = ()
    first = min((i for i in (layout.pinned, last) if i is not None), default=last)
    if layout.system and instructions(payload) is None and first == 0:
        told = (Text(layout.system),)
    found: dict[int, tuple[Part, ...]] = {last: (*every[split:], *asked)}
    if layout.pinned is not None:
        found[layout.pinned] = tuple(every[:split])
    found[first] = (*told, *found[first])
    return found


def _passage(one: PackedSource, text: str, rules: Rules) -> Passage:
    fields = {name: _line(value, rules) for name, value in one.attributes.items()}
    title = f"{one.label}: {fields['title']}" if "title" in fields else one.label
    shown = [f"{name} {value}" for name, value in fields.items() if name not in ("title", "chunk")]
    return Passage(one.label, document_id(one), title, " | ".join([title, *shown]), text, fields)


def _line(value: str, rules: Rules) -> str:
    """Return a field as a provider gets it: on one line, no longer than in the text form, escaped."""
    line = " ".join(value.split())
    return str(escape_text(line if len(line) <= CAP else line[: CAP - 1].rstrip() + ELLIPSIS, rules))


def _content(message: Message, index: int) -> Iterator[Part]:
    content = message.content
    if isinstance(content, str) and content:
        yield Text(content)
    for part in content if isinstance(content, tuple) else ():
        yield _part(part)
    refusal = message.extra.get("refusal")
    if isinstance(refusal, str) and refusal:
        yield Text(refusal)
    if content is None and not message.tool_calls and not refusal:
        raise SourceError(
            f"messages: message {index} ({message.role}): content: there is none, and its other fields "
            f"({', '.join(message.extra)}) have a meaning for their own provider only",
            index=index, field="content",
        )


def _part(part: Mapping[str, Any]) -> Part:
    kind = part.get("type")
    if kind in _TEXTS and isinstance(part.get("text"), str):
        return Text(part["text"])
    if kind == "refusal" and isinstance(part.get("refusal"), str):
        return Text(part["refusal"])
    if kind in ("image_url", "input_image"):
        value = part.get("image_url")
        url = value.get("url") if isinstance(value, Mapping) else value
        detail = value.get("detail") if isinstance(value, Mapping) else part.get("detail")
        if isinstance(url, str):
            return replace(_media("image", url), detail=detail if isinstance(detail, str) else None)
    if kind == "image" and isinstance(part.get("source"), Mapping):  # as Anthropic writes it
        source = part["source"]
        if isinstance(source.get("url"), str):
            return Media("image", url=source["url"])
        if isinstance(source.get("data"), str):
            return Media("image", source["data"], source.get("media_type"))
    if kind in ("file", "input_file"):
        body = part["file"] if isinstance(part.get("file"), Mapping) else part
        data = body.get("file_data", body.get("file_url"))
        if isinstance(data, str):
            return _media("file", data, body.get("filename"))
    return Other(part)


def _media(kind: str, url: str, name: str | None = None) -> Media:
    found = _DATA_URL.match(url)
    if found:
        return Media(kind, found[2], found[1].lower(), name=name)
    return Media(kind, url=url, name=name)
