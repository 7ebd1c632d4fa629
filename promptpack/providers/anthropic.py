"""Anthropic's Messages: a system text, and user and assistant messages that take turns.

A tool's result is a block of a user message, before any text; messages of one role that follow each other become one.
With native citations each passage is a `search_result` block whose `source` is its chunk id and whose title opens with
its label, so that the citations that come back resolve to the same map as labels in a text. Histories that came in
Anthropic's shape are given back unchanged, thinking blocks included.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptpack.caching import marks
from promptpack.message import INSTRUCTIONS
from promptpack.native_form import native_items
from promptpack.providers.calls import Call
from promptpack.providers.documents import wants_native
from promptpack.providers.ids import fitting
from promptpack.providers.parts import (
    Media,
    Other,
    Part,
    Passage,
    Result,
    Said,
    Text,
    cannot,
    instructions,
    runs,
    said,
)

if TYPE_CHECKING:
    from promptpack.payload import Payload

MARK = {"type": "ephemeral"}
_FORM = "Anthropic's Messages"
_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_OWN = ("image", "document", "search_result")
_UNMARKED = ("thinking", "redacted_thinking")
ID = "[A-Za-z0-9_-]"

Block = dict[str, Any]


def to_anthropic(payload: Payload, citations: str | None = None) -> dict[str, Any]:
    """Return `{"system": ..., "messages": [...]}`; no system where the payload has none.

    citations: "native" hands the passages over as `search_result` blocks with citations enabled, "inline" leaves them
    in the text, None does what the template set wants. Tokens are those of the inline form; how the provider writes
    its blocks out is not public. With cache="auto" the ends of the stable parts carry `cache_control`, and no other
    block does.

    >>> from promptpack.builder import PromptBuilder
    >>> payload = PromptBuilder(1000).add_sources([{"id": "a#1", "text": "Free."}]).with_question("Cost?").render()
    >>> [block["type"] for block in to_anthropic(payload, "native")["messages"][0]["content"]]
    ['search_result', 'text']
    """
    native = wants_native(payload, citations)
    cached = payload.layout is not None and payload.layout.cache is not None
    marked = set(marks(payload, "anthropic"))
    told = instructions(payload)
    messages: list[dict[str, Any]] = []
    for own, run in runs(said(payload, native=native), "anthropic"):
        if own:
            for item in native_items([one.message for one in run], "anthropic"):
                _say(messages, item["role"], _listed(item["content"], keep_marks=not cached))
        for one in run:
            blocks = [] if own else [block for part in one.parts for block in _block(part, one)]
            if one.index in marked and one.index == len(payload.messages) - 1:
                _mark_inside(blocks, payload)
            _say(messages, "assistant" if one.role == "assistant" else "user", blocks)
            if messages and one.index in marked and one.index < len(payload.messages) - 1:
                _mark(messages[-1]["content"])
    system: Any = told
    if told and 0 in marked and payload.messages[0].role in INSTRUCTIONS:
        system = [{"type": "text", "text": told, "cache_control": dict(MARK)}]
    found = [{**one, "content": _short(one["content"])} for one in messages]
    return {**({"system": system} if system else {}), "messages": found}


def _say(messages: list[dict[str, Any]], role: str, blocks: list[Block]) -> None:
    """Add a message; one of the same role as the last is joined to it, and one that says nothing is left out."""
    if not blocks:
        return
    if messages and messages[-1]["role"] == role:
        messages[-1]["content"] += blocks
    else:
        messages.append({"role": role, "content": list(blocks)})


def _listed(content: str | list[Block], *, keep_marks: bool) -> list[Block]:
    """Return content as blocks. Marks of earlier requests give way to ours: together they could pass the limit."""
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return blocks if keep_marks else [{k: v for k, v in block.items() if k != "cache_control"} for block in blocks]


def _short(blocks: list[Block]) -> str | list[Block]:
    """Return a single plain text as such, which is how people write it."""
    if len(blocks) == 1 and blocks[0].keys() == {"type", "text"}:
        return str(blocks[0]["text"])
    return blocks


def _block(part: Part, one: Said) -> list[Block]:
    """Return the blocks of a part; none for a text of white space, which the API refuses."""
    match part:
        case Text(text):
            return [{"type": "text", "text": text}] if text.strip() else []
        case Passage():
            return [{
                "type": "search_result", "source": part.id, "title": part.line,
                "content": [{"type": "text", "text": part.text}], "citations": {"enabled": True},
            }]
        case Call():
            id_, name = fitting(part.id, ID, 128), fitting(part.name, ID, 128)
            return [{"type": "tool_use", "id": id_, "name": name, "input": dict(part.arguments)}]
        case Result(call, parts):
            inner = [block for each in parts for block in _block(each, one)]
            return [{"type": "tool_result", "tool_use_id": fitting(call.id, ID, 128), "content": _short(inner)}]
        case Media():
            return [_media(part, one)]
        case Other(raw) if raw.get("type") in _OWN:
            return [dict(raw)]
    raise cannot(part, one, _FORM)


def _media(part: Media, one: Said) -> Block:
    if part.data is not None:
        known = part.type in _IMAGES if part.kind == "image" else part.type == "application/pdf"
        source = {"type": "base64", "media_type": part.type, "data": part.data}
    else:
        known, source = True, {"type": "url", "url": part.url}
    if not known:
        raise cannot(part, one, _FORM)
    if part.kind == "image":
        return {"type": "image", "source": source}
    return {"type": "document", "source": source, **({"title": part.name} if part.name else {})}


def _mark(blocks: list[Block]) -> None:
    """Put a mark on the last block that can carry one."""
    for block in reversed(blocks):
        if block.get("type") not in _UNMARKED:
            block["cache_control"] = dict(MARK)
            return


def _mark_inside(blocks: list[Block], payload: Payload) -> None:
    """Put a mark after the pinned sources of a message that also holds others: after their block, or their text."""
    results = [block for block in blocks if block["type"] == "search_result"]
    pinned = sum(one.source.pinned for one in payload.sources)
    stable = payload.layout.stable if payload.layout else 0
    if results:
        results[pinned - 1]["cache_control"] = dict(MARK)
    elif blocks and stable:
        text = blocks[0]["text"]
        rest = [{"type": "text", "text": text[stable:]}] if text[stable:].strip() else []
        blocks[:1] = [{"type": "text", "text": text[:stable], "cache_control": dict(MARK)}, *rest]
