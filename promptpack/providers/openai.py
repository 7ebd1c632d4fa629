"""OpenAI's chat completions: messages with the roles system (or developer), user, assistant and tool.

Also what every server that speaks this form takes. Messages of the history come out as they came in; what the API
insists on is filled in: the type of a tool call, its arguments as JSON text, an id where none was given.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from promptpack.caching import marks
from promptpack.errors import OptionError
from promptpack.message import INSTRUCTIONS
from promptpack.message import to_openai as plain
from promptpack.providers.calls import calls_of

if TYPE_CHECKING:
    from promptpack.message import Message
    from promptpack.payload import Payload

_BREAKPOINT = "prompt_cache_breakpoint"
BREAKPOINT: Mapping[str, Any] = {"mode": "explicit"}


def to_openai(payload: Payload, *, role: str = "system", model: str | None = None) -> list[dict[str, Any]]:
    """Return the messages as chat completions take them.

    role: under which the system text is sent: "system", or "developer" as newer models call it. With cache="auto",
    and a model that takes them (`promptpack.caching`), the ends of the stable parts carry a breakpoint; model defaults
    to the payload's own.

    >>> from promptpack.builder import PromptBuilder
    >>> [one["role"] for one in to_openai(PromptBuilder(1000).with_question("Why?").render(), role="developer")]
    ['developer', 'user']
    """
    if role not in INSTRUCTIONS:
        raise OptionError.unknown("role", role, INSTRUCTIONS)
    marked = marks(payload, "openai", model)
    cached = payload.layout is not None and payload.layout.cache is not None
    calls = calls_of(payload)
    found = []
    for index, message in enumerate(payload.messages):
        made = _filled(message, [call.id for call in calls.get(index, ())])
        if message.role in INSTRUCTIONS:
            made["role"] = role
        if cached and "content" in made:
            made["content"] = unmarked(made["content"])
        if index in marked:
            stable = payload.layout.stable if payload.layout and index == len(payload.messages) - 1 else 0
            made["content"] = _marked(made.get("content"), stable)
        found.append(made)
    return found


def _filled(message: Message, ids: list[str]) -> dict[str, Any]:
    made = plain(message)
    if message.tool_calls:
        made["tool_calls"] = [_call(call, id_) for call, id_ in zip(made["tool_calls"], ids, strict=True)]
    if message.role == "tool" and message.tool_call_id is None and ids:
        made["tool_call_id"] = ids[0]
    return made


def _call(call: dict[str, Any], id_: str) -> dict[str, Any]:
    kind = "custom" if "custom" in call else "function"
    body = call[kind]
    if isinstance(body.get("arguments"), Mapping):
        body = {**body, "arguments": json.dumps(body["arguments"], ensure_ascii=False)}
    elif kind == "function" and "arguments" not in body:
        body = {**body, "arguments": "{}"}
    made = {**call, kind: body}
    return {**made, **({} if "type" in call else {"type": kind}), **({} if call.get("id") else {"id": id_})}


def unmarked(content: Any) -> Any:
    """Return content without marks of earlier requests: they give way to ours, together they could pass the limit."""
    if not isinstance(content, list):
        return content
    return [{k: v for k, v in part.items() if k != _BREAKPOINT} for part in content]


def _marked(content: Any, stable: int) -> Any:
    """Return content with a breakpoint at its end, or after its first `stable` characters."""
    if isinstance(content, str) and content:
        text = content[:stable] if stable else content
        parts: list[dict[str, Any]] = [{"type": "text", "text": text, "prompt_cache_breakpoint": dict(BREAKPOINT)}]
        if stable and content[stable:]:
            parts.append({"type": "text", "text": content[stable:]})
        return parts
    if isinstance(content, list) and content and content[-1].get("type") in _MARKABLE:
        return [*content[:-1], {**content[-1], "prompt_cache_breakpoint": dict(BREAKPOINT)}]
    return content  # nothing that a mark could stand on: an assistant that only calls tools


_MARKABLE = ("text", "image_url", "input_audio", "file")
