"""Items of OpenAI's Responses API: messages, calls, their outputs, reasoning and what the API adds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from promptpack.errors import quote
from promptpack.message import Message, attached_tokens
from promptpack.native_form import Native
from promptpack.plain_data import as_json, fault, plain
from promptpack.shapes_in.made import assistant, spoken
from promptpack.shapes_in.parts import call_of, content_of, text_part

SHAPE = "openai-responses"
_PARTS = frozenset({"input_text", "output_text", "input_image", "input_file"})
_SILENT = frozenset({"reasoning", "item_reference", "compaction", "compaction_trigger"})


def fits(item: object) -> bool:
    """Tell whether an item is one of the Responses API.

    >>> fits({"type": "function_call_output", "call_id": "a", "output": "b"})
    True
    """
    kind = _get(item, "type")
    content = _get(item, "content")
    if isinstance(content, list | tuple) and any(_get(one, "type") in _PARTS for one in content):
        return True
    if not isinstance(kind, str):
        return False
    if kind == "message":
        # Anthropic's responses have this type, too; their blocks are told by `anthropic.fits`.
        return _get(item, "role") is not None and _get(item, "stop_reason") is None
    return kind in _SILENT or kind.endswith(("_call", "_call_output"))


def read(item: Any) -> Iterator[Message]:
    """Yield the message that an item is; calls and reasoning are an assistant's, and `join` puts them together."""
    data = plain(item)
    native = Native(SHAPE, (data,))
    kind = data.get("type", "message")
    if kind == "message":
        role = data.get("role")
        if not isinstance(role, str):
            raise fault("role", f"expected a text, got {quote(role)}")
        yield spoken(role, content_of(data.get("content")), (), native)
    elif kind in _SILENT:
        yield assistant("", (), native)
    elif kind.endswith("_output"):
        output = data.get("output")
        content = content_of(output) if isinstance(output, str | list | None) else as_json(output)
        yield Message("tool", content, tool_call_id=data.get("call_id"), native=native)
    elif data.get("call_id") is not None:
        yield assistant("", (_call(kind, data),), native)
    else:  # what the API ran by itself, such as a search
        yield assistant((data,), (), native)


def joins(before: Message, message: Message) -> bool:
    """Tell whether two consecutive items of an assistant are one message.

    The API writes each call as an item of its own, and the results come after the last of them.
    """
    old, new = before.native, message.native
    return bool(old and new and old.shape == new.shape == SHAPE and before.role == message.role == "assistant")


def join(run: Sequence[Message]) -> Message:
    """Return one message for consecutive items that `joins` says are one."""
    if len(run) == 1:
        return run[0]
    parts: list[Mapping[str, Any]] = []
    for one in run:
        if one.content:
            parts += one.content if isinstance(one.content, tuple) else (text_part(one.content),)
    joined = assistant(
        content_of(parts), [call for one in run for call in one.tool_calls],
        Native(SHAPE, tuple(item for one in run if one.native for item in one.native.items)),
    )
    if all(one.attached is None for one in run):
        return joined
    return replace(joined, attached=sum(map(attached_tokens, run)))


def _call(kind: str, data: Mapping[str, Any]) -> Mapping[str, Any]:
    if kind == "custom_tool_call":
        custom = {"name": data.get("name"), "input": data.get("input", "")}
        return {"id": data["call_id"], "type": "custom", "custom": custom}
    if kind == "function_call":
        return call_of(data["call_id"], data.get("name"), data.get("arguments"))
    rest = {key: one for key, one in data.items() if key not in ("type", "call_id", "id", "status")}
    return call_of(data["call_id"], kind, rest)


def _get(item: Any, name: str) -> Any:
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)
