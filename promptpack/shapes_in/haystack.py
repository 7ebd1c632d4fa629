"""Chat messages of Haystack, as objects or as their `to_dict` writes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from promptpack.errors import quote
from promptpack.message import Message
from promptpack.plain_data import fault, plain
from promptpack.shapes_in.made import fragment, spoken
from promptpack.shapes_in.parts import call_of, content_of, data_part, text_part

SHAPE = "haystack"
_KEYS = ("text", "tool_call", "tool_call_result", "image", "file", "reasoning")


def fits(item: object) -> bool:
    """Tell whether an item is a message of Haystack.

    >>> fits({"role": "user", "meta": {}, "name": None, "content": [{"text": "a"}]})
    True
    """
    if isinstance(item, Mapping):
        content = item.get("content")
        ours = isinstance(content, list | tuple) and all(
            isinstance(one, Mapping) and "type" not in one and any(key in one for key in _KEYS) for one in content
        )
        return ours and "meta" in item and "role" in item
    return all(hasattr(item, name) for name in ("role", "texts", "tool_calls", "tool_call_results"))


def read(item: Any) -> Iterator[Message]:
    """Yield the messages in an item: each result of a tool is one, and the rest is another."""
    data = plain(item) if isinstance(item, Mapping) else _written(item)
    role = data.get("role")
    if not isinstance(role, str):
        raise fault("role", f"expected a text, got {quote(role)}")
    results: list[Mapping[str, Any]] = []
    rest: list[Mapping[str, Any]] = []
    for one in data["content"]:
        (results if "tool_call_result" in one else rest).append(one)
    first = True
    for one in results:
        answer = one["tool_call_result"]
        origin = answer.get("origin") if isinstance(answer, Mapping) else None
        if not isinstance(origin, Mapping):
            raise fault("content", f"tool_call_result: expected a mapping with result and origin, got {quote(answer)}")
        native = fragment(SHAPE, data, "content", [one], first=first)
        yield Message("tool", _result(answer.get("result")), tool_call_id=origin.get("id"), native=native)
        first = False
    if rest or first:
        yield _message(role, rest, data, first)


def _message(role: str, parts: Sequence[Mapping[str, Any]], data: Mapping[str, Any], first: bool) -> Message:
    calls = [part["tool_call"] for part in parts if isinstance(part.get("tool_call"), Mapping)]
    blocks = [_part(part) for part in parts if "tool_call" not in part and "reasoning" not in part]
    made = [call_of(call.get("id"), call.get("tool_name"), call.get("arguments")) for call in calls]
    return spoken(role, content_of(blocks), made, fragment(SHAPE, data, "content", parts, first=first))


def _part(part: Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(part.get("text"), str):
        return text_part(part["text"])
    for key, data, name in (("image", "base64_image", None), ("file", "base64_data", "filename")):
        inner = part.get(key)
        if isinstance(inner, Mapping):
            found = data_part(inner.get("mime_type"), inner.get(data), inner.get(name) if name else None)
            if found is not None:
                return found
    return {"type": next(iter(part), "part"), **part}


def _result(result: Any) -> Any:
    if isinstance(result, list | tuple):
        return content_of([_part(one) if isinstance(one, Mapping) and "type" not in one else one for one in result])
    return result


def _written(item: Any) -> dict[str, Any]:
    write = getattr(item, "to_dict", None)
    if callable(write):
        return plain(write())  # type: ignore[no-any-return]
    content: list[Mapping[str, Any]] = [{"text": text} for text in item.texts]
    content += [{"tool_call": plain(call)} for call in item.tool_calls]
    content += [{"tool_call_result": plain(result)} for result in item.tool_call_results]
    return {"role": plain(item.role), "meta": plain(getattr(item, "meta", {})), "name": None, "content": content}
