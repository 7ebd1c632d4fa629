"""OpenAI's Responses: instructions, and the conversation as input items.

A tool call and its result are items of their own (`function_call`, `function_call_output`; `custom_tool_call` for a
tool that takes free text). What an assistant said is one text. Items that came in this form are given back unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from promptpack.caching import marks
from promptpack.errors import OptionError
from promptpack.native_form import native_items
from promptpack.providers.calls import Call
from promptpack.providers.openai import BREAKPOINT, unmarked
from promptpack.providers.parts import (
    Media,
    Other,
    Part,
    Result,
    Said,
    Text,
    cannot,
    instructions,
    joined,
    runs,
    said,
)

if TYPE_CHECKING:
    from promptpack.payload import Payload

ROLES = ("instructions", "developer", "system")
_FORM = "OpenAI's Responses"


def to_responses(payload: Payload, *, role: str = "instructions", model: str | None = None) -> dict[str, Any]:
    """Return `{"instructions": text, "input": [items]}`; without a system text there are no instructions.

    role: "instructions", or "developer" or "system" to send the system text as the first item of the input, where it
    can carry a cache mark. With cache="auto" and a model that takes them, user and developer messages that end a
    stable part carry a breakpoint.

    >>> from promptpack.builder import PromptBuilder
    >>> made = to_responses(PromptBuilder(1000).with_question("Why?").render())
    >>> made["instructions"][:11], made["input"][0]["role"]
    ('Answer only', 'user')
    """
    if role not in ROLES:
        raise OptionError.unknown("role", role, ROLES)
    marked = set(marks(payload, "openai", model))
    told = instructions(payload)
    last = len(payload.messages) - 1
    items: list[dict[str, Any]] = []
    if told is not None and role != "instructions":
        content: Any = [_text(told, mark=True)] if 0 in marked else told
        items.append({"type": "message", "role": role, "content": content})
    for own, run in runs(said(payload), "openai-responses"):
        if own:
            given = native_items([one.message for one in run], "openai-responses")
            cached = payload.layout is not None and payload.layout.cache is not None
            items += [_unmarked(item) for item in given] if cached else given
        for one in run:
            if not own:
                items += _items(one)
            if one.index in marked:
                _mark(items, payload.layout.stable if payload.layout and one is run[-1] and one.index == last else 0)
    return {**({"instructions": told} if told is not None and role == "instructions" else {}), "input": items}


def _unmarked(item: dict[str, Any]) -> dict[str, Any]:
    return {**item, "content": unmarked(item["content"])} if "content" in item else item


def _items(one: Said) -> list[dict[str, Any]]:
    """Return the items of one message: what was said, then the calls; or the result of a call."""
    if one.role == "tool":
        return [_result(part, one) for part in one.parts if isinstance(part, Result)]
    calls = [_call(part) for part in one.parts if isinstance(part, Call)]
    rest = [part for part in one.parts if not isinstance(part, Call)]
    if not rest:
        return calls
    return [{"type": "message", "role": one.role, "content": _content(rest, one)}, *calls]


def _content(parts: Sequence[Part], one: Said) -> str | list[dict[str, Any]]:
    if all(isinstance(part, Text) for part in parts):
        return joined(parts)
    if one.role == "assistant":  # its turns are text and nothing else
        raise cannot(next(part for part in parts if not isinstance(part, Text)), one, _FORM)
    return [_part(part, one) for part in parts]


def _part(part: Part, one: Said) -> dict[str, Any]:
    if isinstance(part, Text):
        return _text(part.text)
    if isinstance(part, Media):
        url = part.url if part.data is None else f"data:{part.type};base64,{part.data}"
        if part.kind == "image":
            return {"type": "input_image", "image_url": url, "detail": part.detail or "auto"}
        name = {"filename": part.name} if part.name else {}
        return {"type": "input_file", **name, "file_url" if part.data is None else "file_data": url}
    if isinstance(part, Other):
        kind, body = part.part.get("type"), part.part.get("file")
        if kind == "file" and isinstance(body, Mapping):  # a file that was uploaded before
            return {"type": "input_file", **body}
        if kind in ("input_image", "input_file"):
            return dict(part.part)
    raise cannot(part, one, _FORM)


def _call(call: Call) -> dict[str, Any]:
    if call.free:
        return {"type": "custom_tool_call", "call_id": call.id, "name": call.name, "input": call.text}
    return {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.text or "{}"}


def _result(result: Result, one: Said) -> dict[str, Any]:
    plain = all(isinstance(part, Text) for part in result.parts)
    output: Any = joined(result.parts) if plain else [_part(part, one) for part in result.parts]
    kind = "custom_tool_call_output" if result.call.free else "function_call_output"
    return {"type": kind, "call_id": result.call.id, "output": output}


def _text(text: str, *, mark: bool = False) -> dict[str, Any]:
    return {"type": "input_text", "text": text, **({"prompt_cache_breakpoint": dict(BREAKPOINT)} if mark else {})}


def _mark(items: list[dict[str, Any]], stable: int) -> None:
    """Mark the last item that can carry a breakpoint, at its end or after its first `stable` characters.

    What an assistant said cannot: then the mark stands before it, on the message that it answers.
    """
    for at in range(len(items) - 1, -1, -1):
        content = items[at].get("content")
        if items[at].get("role") not in ("user", "developer", "system") or not content:
            continue
        if isinstance(content, str):
            parts = [_text(content[:stable] if stable else content, mark=True)]
            if stable and content[stable:]:
                parts.append(_text(content[stable:]))
        else:
            parts = [*content[:-1], {**content[-1], "prompt_cache_breakpoint": dict(BREAKPOINT)}]
        items[at] = {**items[at], "content": parts}
        return
