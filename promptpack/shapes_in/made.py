"""Making messages of an item of another shape: it becomes one message, or several where it holds tool results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from promptpack.message import Message
from promptpack.native_form import Native
from promptpack.shapes_in.parts import Content


def assistant(content: Content, calls: Sequence[Mapping[str, Any]], native: Native) -> Message:
    """Return an assistant's message; without text it has no content where it calls tools."""
    return Message("assistant", None if calls and not content else content, tool_calls=tuple(calls), native=native)


def spoken(role: str, content: Content, calls: Sequence[Mapping[str, Any]], native: Native) -> Message:
    """Return a message of any role; the message refuses calls that are not an assistant's."""
    if role == "assistant":
        return assistant(content, calls, native)
    return Message(role, content, tool_calls=tuple(calls), native=native)


def fragment(shape: str, envelope: Mapping[str, Any], key: str, blocks: Sequence[Any], *, first: bool) -> Native:
    """Return the part of an item that one message was read from: the item with only these blocks."""
    return Native(shape, ({**envelope, key: list(blocks)},), joined=not first)
