"""Where the texts stand in the messages of providers and frameworks, so that they can be counted and escaped.

One table for all shapes: the name of a field tells what it holds. What the table does not name is structure (ids,
types, addresses, cache marks) and stays as it is. A model's thinking that its provider signed is counted and never
changed, since a changed one is refused; thinking without a signature is a text like others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from promptpack.plain_data import map_json, map_strings

Kind = Literal["text", "data", "json", "fixed", "image", "file"]
Visit = Callable[[Kind, Any], Any]

_TEXT = frozenset({"text", "refusal", "title", "context", "name", "tool_name", "code", "thinking", "reasoning_text"})
_DATA = frozenset({"input", "args", "response", "tool_kwargs", "arguments"})
_INSIDE = frozenset({
    "content", "output", "parts", "blocks", "source", "data", "function", "custom", "functionCall", "function_call",
    "functionResponse", "function_response", "executableCode", "executable_code", "codeExecutionResult",
    "code_execution_result", "tool_calls", "tool_call", "tool_call_result", "result", "additional_kwargs",
    "reasoning", "summary",
})
_SIGNED = ("signature", "thoughtSignature", "thought_signature", "encrypted_content", "data", "id")
_FIXED = frozenset({"thinking", "redacted_thinking", "reasoning", "compaction"})
_IMAGES = frozenset({"image", "image_url", "input_image", "computer_screenshot", "image_generation_call"})
_FILES = frozenset({"file", "input_file", "input_audio", "audio", "video", "media"})
# A part of these frameworks is told by the field that it has, not by a type.
_BY_FIELD: Mapping[str, Kind] = {
    "inlineData": "file", "inline_data": "file", "fileData": "file", "file_data": "file",
    "image": "image", "file": "file", "reasoning": "fixed", "thought": "fixed",
}
_KNOWN = frozenset({
    "text", "input_text", "output_text", "refusal", "summary_text", "message", "document", "content", "search_result",
    "tool_use", "tool_result", "tool_call", "function", "custom", "function_call", "function_call_output",
    "custom_tool_call", "custom_tool_call_output", "thinking", "reasoning", "human", "ai", "tool", "system", "chat",
    "AIMessageChunk", "HumanMessageChunk", "ToolMessageChunk", "ChatMessageChunk", "text-plain",
})


def rebuilt(value: Any, visit: Visit) -> Any:
    """Return plain data with each site replaced by what `visit(kind, value)` returns.

    kind: text (words that a model reads), data (the arguments or the result of a tool), json (the same as a JSON
    text), fixed (counted, and never to be changed), image, file. Nothing else is touched.

    >>> rebuilt({"type": "text", "text": "a", "id": "a"}, lambda kind, value: value.upper())
    {'type': 'text', 'text': 'A', 'id': 'a'}
    """
    if isinstance(value, str):
        return visit("text", value)
    if isinstance(value, list | tuple):
        return type(value)(rebuilt(one, visit) for one in value)
    if not isinstance(value, Mapping):
        return value
    kind = _whole(value)
    if kind is not None:
        return visit(kind, value)
    type_ = _type(value)
    strange = type_ is not None and type_ not in _KNOWN
    return {key: _field(key, one, type_, strange, visit) for key, one in value.items()}


def changed(value: Any, change: Callable[[str], str]) -> Any:
    """Return plain data with `change` (an escaper) applied to the texts of its sites.

    >>> changed({"type": "tool_use", "id": "x", "input": {"q": "x"}}, str.upper)
    {'type': 'tool_use', 'id': 'x', 'input': {'Q': 'X'}}
    """
    def visit(kind: Kind, found: Any) -> Any:
        if kind == "text":
            return change(found)
        if kind == "data":
            return map_strings(found, change)
        return map_json(found, change) if kind == "json" else found

    return rebuilt(value, visit)


def sites(value: Any) -> list[tuple[Kind, Any]]:
    """Return the sites of plain data, in order.

    >>> sites([{"type": "text", "text": "a"}, {"type": "image", "source": {}}])
    [('text', 'a'), ('image', {'type': 'image', 'source': {}})]
    """
    found: list[tuple[Kind, Any]] = []

    def visit(kind: Kind, one: Any) -> Any:
        found.append((kind, one))
        return one

    rebuilt(value, visit)
    return found


def attachment(part: Mapping[str, Any]) -> Kind | None:
    """Tell whether a part is an image or another file whose tokens are no matter of text; None for other parts.

    >>> attachment({"type": "image_url", "image_url": {"url": "https://example.com/a.png"}})
    'image'
    """
    kind = _whole(part)
    return kind if kind in ("image", "file") else None


def _whole(value: Mapping[str, Any]) -> Kind | None:
    """Return the kind of a mapping that is one site as a whole."""
    type_ = _type(value)
    if type_ in _IMAGES:
        return "image"
    if type_ in _FIXED:
        return "fixed" if _is_signed(value) else None
    if type_ in _FILES:
        return "file"
    if type_ == "document":
        return None if _is_text_source(value.get("source")) else "file"
    if type_ is None:
        for key, kind in _BY_FIELD.items():
            if value.get(key) and (kind != "fixed" or _is_signed(value)):
                return "image" if kind == "file" and _is_image(value[key]) else kind
    return None


def _field(key: str, value: Any, type_: str | None, strange: bool, visit: Visit) -> Any:
    if key in _TEXT and isinstance(value, str):
        return visit("text", value)
    if key in _DATA and value is not None:
        if key == "arguments" and isinstance(value, str):
            return visit("json", value)
        return visit("text" if isinstance(value, str) else "data", value)
    # `data` with characters in it is a text only in a text source; else it is the bytes of a file.
    if key in _INSIDE and not (key == "data" and isinstance(value, str) and type_ != "text"):
        return rebuilt(value, visit)
    if strange and isinstance(value, str | list | tuple | Mapping) and key not in ("type", "block_type"):
        return visit("fixed", value)
    return value


def _type(value: Mapping[str, Any]) -> str | None:
    found = value.get("type", value.get("block_type"))
    return found if isinstance(found, str) else None


def _is_signed(value: Mapping[str, Any]) -> bool:
    """Tell whether thinking has a signature, or an id that its provider knows; frameworks keep it one level down."""
    inner = [one for one in value.values() if isinstance(one, Mapping)]
    inner += [deep for one in inner for deep in one.values() if isinstance(deep, Mapping)]
    return any(one.get(name) for one in (value, *inner) for name in _SIGNED)


def _is_text_source(source: Any) -> bool:
    return isinstance(source, Mapping) and source.get("type") in ("text", "content")


def _is_image(value: Any) -> bool:
    mime = value.get("mimeType", value.get("mime_type")) if isinstance(value, Mapping) else None
    return isinstance(mime, str) and mime.startswith("image/")
