"""Messages of Anthropic's API: blocks of text, images, documents, thinking, tool_use and tool_result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from promptpack.errors import quote
from promptpack.message import Message
from promptpack.native_form import Native
from promptpack.plain_data import fault, plain
from promptpack.shapes_in.made import fragment, spoken
from promptpack.shapes_in.openai_chat import read_mapping
from promptpack.shapes_in.parts import call_of, content_of

SHAPE = "anthropic"
_BLOCKS = frozenset({
    "image", "document", "search_result", "thinking", "redacted_thinking", "tool_use", "tool_result", "server_tool_use",
    "container_upload", "mcp_tool_use", "mcp_tool_result",
})


def fits(item: object) -> bool:
    """Tell whether an item has blocks, or fields of a text block, that only Anthropic writes.

    >>> fits({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "b"}]})
    True
    """
    content = _get(item, "content")
    return isinstance(content, list | tuple) and _get(item, "role") is not None and any(map(_is_ours, content))


def read(item: Any) -> Iterator[Message]:
    """Yield the messages in an item: each tool_result is one, and what stands around them is another."""
    role, content = plain(_get(item, "role")), plain(_get(item, "content"))
    # A response holds its usage and model, too; none of that is sent back.
    envelope = {"role": role} if not isinstance(item, Mapping) else {key: plain(item[key]) for key in item}
    if isinstance(item, Mapping) and all(map(_is_shared, content)):
        # Texts with cache marks are written alike for OpenAI's shape by gateways, so they stay in both.
        yield replace(read_mapping(envelope), native=Native(SHAPE, (envelope,)))
        return
    blocks: list[Any] = []
    first = True
    for number, block in enumerate(content):
        if not isinstance(block, str | Mapping):
            raise fault("content", f"block {number}: expected a text or a mapping with a type, got {quote(block)}")
        if isinstance(block, Mapping) and block.get("type") == "tool_result":
            if blocks:
                yield _message(role, blocks, fragment(SHAPE, envelope, "content", blocks, first=first))
                blocks, first = [], False
            native = fragment(SHAPE, envelope, "content", [block], first=first)
            yield Message(
                "tool", content_of(block.get("content")), tool_call_id=block.get("tool_use_id"), native=native
            )
            first = False
        else:
            blocks.append(block)
    if blocks or first:
        yield _message(role, blocks, fragment(SHAPE, envelope, "content", blocks, first=first))


def _message(role: Any, blocks: Sequence[Any], native: Native) -> Message:
    calls = [
        call_of(block.get("id"), block.get("name"), block.get("input"))
        for block in blocks if isinstance(block, Mapping) and block.get("type") == "tool_use"
    ]
    if not isinstance(role, str):
        raise fault("role", f"expected a text, got {quote(role)}")
    return spoken(role, content_of(blocks), calls, native)


def _is_ours(block: object) -> bool:
    kind = _get(block, "type")
    if kind in ("image", "document"):  # LangChain and LlamaIndex have blocks of these names, too
        return _get(block, "source") is not None
    if kind == "text":
        return _get(block, "cache_control") is not None or bool(_get(block, "citations"))
    return isinstance(kind, str) and (kind in _BLOCKS or kind.endswith("_tool_result"))


def _is_shared(block: object) -> bool:
    if not isinstance(block, Mapping) or block.get("type") != "text":
        return False
    return set(block) <= {"type", "text", "cache_control"}


def _get(item: Any, name: str) -> Any:
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)
