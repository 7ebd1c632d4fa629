"""Contents of Gemini: parts of text, inline data, function calls and function responses; roles user and model."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from promptpack.errors import quote
from promptpack.message import Message
from promptpack.plain_data import as_json, fault, plain
from promptpack.shapes_in.made import fragment, spoken
from promptpack.shapes_in.parts import call_of, content_of, data_part, text_part

SHAPE = "gemini"
_ROLES = {"model": "assistant", None: "user", "function": "user"}


def fits(item: object) -> bool:
    """Tell whether an item is a content of Gemini.

    >>> fits({"role": "user", "parts": [{"text": "a"}]})
    True
    """
    if isinstance(item, Mapping):
        return "parts" in item and "content" not in item
    return hasattr(item, "parts") and hasattr(item, "role")


class Reader:
    """Reads the contents of one conversation; Gemini may leave out the ids of calls, so that they are matched by name.

    A call without an id gets one for the library's own use; the native form stays without.
    """

    def __init__(self) -> None:
        self._open: dict[str, deque[str]] = {}
        self._calls = 0

    def read(self, item: Any) -> Iterator[Message]:
        """Yield the messages in a content: each function response is one, and what stands around them is another."""
        data = plain(item)
        parts = data.get("parts")
        if not isinstance(parts, list | tuple):
            raise fault("parts", f"expected a list of parts, got {quote(parts)}")
        role = data.get("role")
        if role is not None and not isinstance(role, str):
            raise fault("role", f"expected a text, got {quote(role)}")
        role = _ROLES.get(role, role)
        if role == "assistant":
            self._open.clear()
        held: list[Mapping[str, Any]] = []
        first = True
        for number, part in enumerate(parts):
            if not isinstance(part, Mapping):
                raise fault("parts", f"part {number}: expected a mapping, got {quote(part)}")
            answer = part.get("functionResponse", part.get("function_response"))
            if not isinstance(answer, Mapping):
                held.append(part)
                continue
            if held:
                yield self._message(role, data, held, first)
                held, first = [], False
            id_ = self._answered(answer)
            native = fragment(SHAPE, data, "parts", [part], first=first)
            yield Message("tool", _result(answer.get("response")), tool_call_id=id_, native=native)
            first = False
        if held or first:
            yield self._message(role, data, held, first)

    def _message(
        self, role: str, data: Mapping[str, Any], parts: list[Mapping[str, Any]], first: bool
    ) -> Message:
        blocks: list[Mapping[str, Any]] = []
        calls: list[Mapping[str, Any]] = []
        for part in parts:
            call = part.get("functionCall", part.get("function_call"))
            if isinstance(call, Mapping):
                calls.append(call_of(self._called(call), call.get("name"), call.get("args")))
            elif not part.get("thought"):
                blocks.append(_part(part))
        return spoken(role, content_of(blocks), calls, fragment(SHAPE, data, "parts", parts, first=first))

    def _called(self, call: Mapping[str, Any]) -> str:
        self._calls += 1
        id_ = call.get("id") or f"call_{self._calls}"
        self._open.setdefault(str(call.get("name")), deque()).append(id_)
        return str(id_)

    def _answered(self, answer: Mapping[str, Any]) -> str | None:
        waiting = self._open.get(str(answer.get("name")), deque())
        id_ = answer.get("id")
        if id_ is None:
            return waiting.popleft() if waiting else None
        return str(id_)


def _part(part: Mapping[str, Any]) -> Mapping[str, Any]:
    text = part.get("text")
    if isinstance(text, str):
        return text_part(text)
    inline = part.get("inlineData", part.get("inline_data"))
    if isinstance(inline, Mapping):
        made = data_part(inline.get("mimeType", inline.get("mime_type")), inline.get("data"))
        if made is not None:
            return made
    return {"type": next(iter(part), "part"), **part}


def _result(response: Any) -> str:
    """Return what a function gave: the text where there is nothing else, or JSON."""
    if isinstance(response, Mapping) and len(response) == 1:
        ((key, value),) = response.items()
        if key in ("result", "output") and isinstance(value, str):
            return value
    return as_json({} if response is None else response)
