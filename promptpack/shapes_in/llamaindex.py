"""Messages of LlamaIndex: a role, blocks, and what the provider's class put into additional_kwargs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from promptpack.errors import quote
from promptpack.message import Message
from promptpack.native_form import Native
from promptpack.plain_data import fault, plain
from promptpack.shapes_in.made import assistant
from promptpack.shapes_in.parts import call_of, content_of

SHAPE = "llamaindex"
_ROLES = {"chatbot": "assistant", "model": "assistant", "function": "tool"}


def fits(item: object) -> bool:
    """Tell whether an item is a message of LlamaIndex.

    >>> fits({"role": "user", "blocks": [{"block_type": "text", "text": "a"}]})
    True
    """
    if isinstance(item, Mapping):
        return "blocks" in item and "role" in item
    return all(hasattr(item, name) for name in ("role", "blocks", "additional_kwargs"))


def read(item: Any) -> Iterator[Message]:
    """Yield the one message that an item is."""
    if isinstance(item, Mapping):
        data = plain(item)
    else:
        data = {name: plain(getattr(item, name)) for name in ("role", "additional_kwargs", "blocks")}
    role, blocks, more = data.get("role"), data.get("blocks"), data.get("additional_kwargs") or {}
    if not isinstance(role, str):
        raise fault("role", f"expected a text, got {quote(role)}")
    if not isinstance(blocks, list | tuple):
        raise fault("content", f"expected a list of blocks, got {quote(blocks)}")
    if not isinstance(more, Mapping):
        raise fault("additional_kwargs", f"expected a mapping, got {quote(more)}")
    role = _ROLES.get(role, role)
    native = Native(SHAPE, (data,))
    content = content_of(blocks)
    if role == "assistant":
        calls = [
            call_of(one.get("tool_call_id"), one.get("tool_name"), one.get("tool_kwargs"))
            for one in blocks if isinstance(one, Mapping) and one.get("block_type") == "tool_call"
        ]
        older = more.get("tool_calls")
        yield assistant(content, calls or (older if isinstance(older, list | tuple) else ()), native)
    else:
        yield Message(role, content, tool_call_id=more.get("tool_call_id"), native=native)
