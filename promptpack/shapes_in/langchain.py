"""Messages of LangChain, as objects or as `message_to_dict` writes them, by their shape alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from promptpack.errors import quote
from promptpack.message import Message
from promptpack.native_form import Native
from promptpack.plain_data import fault, plain
from promptpack.shapes_in.made import assistant
from promptpack.shapes_in.parts import call_of, content_of

SHAPE = "langchain"
_ROLES = {"human": "user", "ai": "assistant", "tool": "tool", "system": "system", "developer": "developer"}
_FIELDS = ("content", "additional_kwargs", "name", "id", "tool_calls", "tool_call_id", "status", "role")


def fits(item: object) -> bool:
    """Tell whether an item is a message of LangChain.

    >>> fits({"type": "human", "data": {"content": "a"}})
    True
    """
    if isinstance(item, Mapping):
        data = item.get("data")
        return isinstance(item.get("type"), str) and isinstance(data, Mapping) and "content" in data
    return all(hasattr(item, name) for name in ("type", "content", "additional_kwargs"))


def read(item: Any) -> Iterator[Message]:
    """Yield the one message that an item is."""
    if isinstance(item, Mapping):
        kind, data = item["type"], plain(item["data"])
    else:
        kind, data = item.type, _fields(item)
    role = _role(kind, data)
    native = Native(SHAPE, ({"type": kind, "data": data},))
    content = content_of(data.get("content"))
    if role == "assistant":
        yield assistant(content, _calls(data), native)
    else:
        yield Message(role, content, tool_call_id=data.get("tool_call_id"), native=native)


def _fields(item: Any) -> dict[str, Any]:
    if callable(getattr(item, "model_dump", None)):
        return plain(item)  # type: ignore[no-any-return]
    return {name: plain(getattr(item, name)) for name in _FIELDS if getattr(item, name, None) is not None}


def _role(kind: str, data: Mapping[str, Any]) -> str:
    plain_kind = kind.removesuffix("MessageChunk").lower()
    role = data.get("role") if plain_kind == "chat" else _ROLES.get(plain_kind)
    if not isinstance(role, str):
        raise fault("role", f"a message of type {quote(kind)} is none of {', '.join(_ROLES)}, chat")
    return _ROLES.get(role, role)


def _calls(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    calls = data.get("tool_calls") or ()
    if not isinstance(calls, list | tuple):
        raise fault("tool_calls", f"expected a list of calls, got {quote(calls)}")
    for call in calls:
        if not isinstance(call, Mapping):
            raise fault("tool_calls", f"expected a mapping with name and args, got {quote(call)}")
    made: list[Mapping[str, Any]] = [call_of(call.get("id"), call.get("name"), call.get("args")) for call in calls]
    older = data.get("additional_kwargs")
    if not made and isinstance(older, Mapping) and isinstance(older.get("tool_calls"), list | tuple):
        made = list(older["tool_calls"])
    return made
