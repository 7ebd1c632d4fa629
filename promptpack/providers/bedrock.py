"""Amazon Bedrock's Converse: a system list, messages that take turns, and toolConfig.

A tool's result is a block of a user message; messages of one role that follow each other become one. Images and files
are bytes. With native citations each passage is a `searchResult` block, as `promptpack.providers.anthropic` has it.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING, Any

from promptpack.caching import marks
from promptpack.message import INSTRUCTIONS
from promptpack.providers.calls import Call
from promptpack.providers.documents import wants_native
from promptpack.providers.ids import fitting
from promptpack.providers.parts import Media, Part, Passage, Result, Said, Text, cannot, instructions, said
from promptpack.providers.tools import bedrock_tools, tools_of

if TYPE_CHECKING:
    from promptpack.payload import Payload

POINT = {"cachePoint": {"type": "default"}}
_FORM = "Bedrock's Converse"
_ID, _NAME = "[A-Za-z0-9_.:-]", "[A-Za-z0-9_-]"
_IMAGES = {"image/png": "png", "image/jpeg": "jpeg", "image/gif": "gif", "image/webp": "webp"}
_FILES = {
    "application/pdf": "pdf", "text/csv": "csv", "text/html": "html", "text/plain": "txt", "text/markdown": "md",
    "application/msword": "doc", "application/vnd.ms-excel": "xls",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
}

Block = dict[str, Any]


def to_bedrock(payload: Payload, citations: str | None = None, *, model: str | None = None) -> dict[str, Any]:
    """Return `{"system": [...], "messages": [...], "toolConfig": {...}}`, without what the payload does not have.

    citations: as in `to_anthropic`. With cache="auto" and a model that takes them (Claude, Nova) the ends of the stable
    parts are followed by a `cachePoint`; model defaults to the payload's own.

    >>> from promptpack.builder import PromptBuilder
    >>> to_bedrock(PromptBuilder(1000).with_question("Why?").render())["messages"][0]["role"]
    'user'
    """
    marked = set(marks(payload, "bedrock", model))
    told = instructions(payload)
    last = len(payload.messages) - 1
    messages: list[dict[str, Any]] = []
    for one in said(payload, native=wants_native(payload, citations)):
        blocks = [block for part in one.parts for block in _block(part, one)]
        if one.index in marked:
            _point(blocks, payload, inside=one.index == last)
        role = "assistant" if one.role == "assistant" else "user"
        if blocks and messages and messages[-1]["role"] == role:
            messages[-1]["content"] += blocks
        elif blocks:
            messages.append({"role": role, "content": blocks})
    found: dict[str, Any] = {"messages": messages}
    if told:
        point = 0 in marked and payload.messages[0].role in INSTRUCTIONS
        found["system"] = [{"text": told}, *([dict(POINT)] if point else [])]
    if payload.tools:
        found["toolConfig"] = {"tools": bedrock_tools(tools_of(payload))}
    return found


def _block(part: Part, one: Said) -> list[Block]:
    """Return the blocks of a part; none for a text of white space, which models refuse."""
    match part:
        case Text(text):
            return [{"text": text}] if text.strip() else []
        case Passage():
            return [{"searchResult": {
                "source": part.id, "title": part.line, "content": [{"text": part.text}],
                "citations": {"enabled": True},
            }}]
        case Call():
            id_, name = fitting(part.id, _ID, 64), fitting(part.name, _NAME, 64)
            return [{"toolUse": {"toolUseId": id_, "name": name, "input": dict(part.arguments)}}]
        case Result(call, parts):
            inner = [block for each in parts for block in _block(each, one)]
            return [{"toolResult": {"toolUseId": fitting(call.id, _ID, 64), "content": inner}}]
        case Media():
            return [_media(part, one)]
    raise cannot(part, one, _FORM)


def _media(part: Media, one: Said) -> Block:
    kinds = _IMAGES if part.kind == "image" else _FILES
    form = kinds.get(part.type or "")
    try:
        data = base64.b64decode(part.data or "", validate=True)
    except binascii.Error:
        data = b""
    if form is None or not data:  # a URL, too: Converse takes bytes
        raise cannot(part, one, _FORM)
    if part.kind == "image":
        return {"image": {"format": form, "source": {"bytes": data}}}
    return {"document": {"format": form, "name": _name(part.name or "document"), "source": {"bytes": data}}}


def _name(name: str) -> str:
    """Return a file's name with the characters that Converse allows in one, none of them twice in a row if blank."""
    return re.sub(r"\s+", " ", re.sub(r"[^A-Za-z0-9 ()\[\]-]", "-", name)).strip()[:200] or "document"


def _point(blocks: list[Block], payload: Payload, *, inside: bool) -> None:
    """Add a cache point: at the end, or inside of the last message after the pinned sources."""
    stable = payload.layout.stable if payload.layout else 0
    pinned = sum(one.source.pinned for one in payload.sources)
    results = [at for at, block in enumerate(blocks) if "searchResult" in block]
    if not inside:
        blocks += [dict(POINT)] if blocks else []
    elif results:
        blocks.insert(results[pinned - 1] + 1, dict(POINT))
    elif blocks and stable:
        text = blocks[0]["text"]
        rest = [{"text": text[stable:]}] if text[stable:].strip() else []
        blocks[:1] = [{"text": text[:stable]}, dict(POINT), *rest]
