"""OpenAI chat messages, which are the library's own form: mappings, typed objects, and (role, text) pairs."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from promptpack.errors import quote
from promptpack.message import Message
from promptpack.plain_data import fault, is_empty, plain

_SHORT = {"human": "user", "ai": "assistant"}  # the names that (role, text) pairs of some frameworks use
_OPTIONAL = ("name", "tool_calls", "tool_call_id")
_FIELDS = ("role", "content", *_OPTIONAL)


def read_mapping(item: Mapping[Any, Any]) -> Message:
    """Read a mapping; fields that this library does not know are kept as they are.

    >>> read_mapping({"role": "user", "content": "a", "mood": "good"}).extra
    {'mood': 'good'}
    """
    keys = tuple(item)
    for key in keys:
        if not isinstance(key, str):
            raise fault("message", f"expected names as keys, got {quote(key)}")
    known = {key: item[key] for key in _FIELDS if key in item}
    # An empty field says nothing but must come back as it was: null and [] are not the same to every reader.
    empty = {key: known.pop(key) for key in _OPTIONAL if key in known and is_empty(known[key])}
    extra = {key: item[key] for key in keys if key not in _FIELDS} | empty
    return _built(known, extra, keys)


def read_object(item: Any) -> Message:
    """Read an object with `role` and `content`, such as the message of a response."""
    known = {key: getattr(item, key) for key in _FIELDS if getattr(item, key, None) is not None}
    for key in ("content", "tool_calls"):
        if isinstance(known.get(key), list | tuple):
            known[key] = [plain(one, key) for one in known[key]]
    # What else a response says of itself (annotations, audio) is refused when it is sent back.
    more = {name: getattr(item, name, None) for name in ("refusal", "tool_plan")}
    return _built(known, {name: value for name, value in more.items() if isinstance(value, str)}, ())


def read_pair(item: tuple[str, Any] | list[Any]) -> Message:
    """Read a (role, text) pair.

    >>> read_pair(("human", "a")).role
    'user'
    """
    role, content = item
    return _built({"role": _SHORT.get(role, role), "content": content}, {}, ())


def _built(known: Mapping[str, Any], extra: Mapping[str, Any], keys: tuple[str, ...]) -> Message:
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
