"""Content blocks of any provider as OpenAI's content parts, which all messages are read into."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from promptpack.errors import quote
from promptpack.plain_data import as_json, fault

Content = str | tuple[Mapping[str, Any], ...]
_TEXTS = ("text", "input_text", "output_text", "text-plain", "summary_text")
# A model's thinking is sent back to its own provider only, and calls stand in a field of their own.
_ELSEWHERE = ("thinking", "redacted_thinking", "reasoning", "tool_use", "tool_call", "tool_call_chunk", "function_call")


def content_of(blocks: object) -> Content:
    """Return blocks as content: a text where there is nothing but one, else parts; the empty text for none.

    >>> content_of([{"type": "output_text", "text": "a"}]), content_of(None)
    ('a', '')
    """
    if blocks is None:
        return ""
    if isinstance(blocks, str):
        return blocks
    if not isinstance(blocks, Sequence):
        raise fault("content", f"expected a text or a list of content blocks, got {quote(blocks)}")
    parts = [part for number, one in enumerate(blocks) if (part := part_of(one, number)) is not None]
    if not parts:
        return ""
    return parts[0]["text"] if len(parts) == 1 and parts[0]["type"] == "text" else tuple(parts)


def part_of(block: Any, number: int = 0) -> Mapping[str, Any] | None:
    """Return one block as OpenAI's content part; None for thinking and calls. What has no such form stays as it is.

    >>> part_of({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}})
    {'type': 'image_url', 'image_url': {'url': 'data:image/png;base64,AAAA'}}
    """
    if isinstance(block, str):
        return text_part(block)
    kind = block.get("type", block.get("block_type")) if isinstance(block, Mapping) else None
    if not isinstance(kind, str):
        raise fault("content", f"block {number}: expected a text or a mapping with a type, got {quote(block)}")
    if kind in _ELSEWHERE:
        return None
    if kind in _TEXTS:
        text = block.get("text", block.get("data"))
        if not isinstance(text, str):
            raise fault("content", f"block {number}: text: expected a text, got {quote(text)}")
        return text_part(text)
    read = {"image": _image, "input_image": _image, "image_url": _image, "document": _document, "file": _file,
            "input_file": _file, "search_result": _search_result}.get(kind)
    found = read(block) if read else None
    return found if found is not None else {"type": kind, **block}


def text_part(text: str) -> dict[str, Any]:
    """Return a text as a content part.

    >>> text_part("a")
    {'type': 'text', 'text': 'a'}
    """
    return {"type": "text", "text": text}


def call_of(id_: Any, name: Any, arguments: Any) -> dict[str, Any]:
    """Return a tool call as OpenAI writes it, the arguments as a JSON text.

    >>> call_of("c1", "look", {"q": "x"})
    {'id': 'c1', 'type': 'function', 'function': {'name': 'look', 'arguments': '{"q": "x"}'}}
    """
    given = "{}" if arguments is None else as_json(arguments)
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": given}}


def data_part(mime: Any, data: Any, name: Any = None) -> dict[str, Any] | None:
    """Return bytes, or base64 as a text, as an image part, or as a file part for other types.

    >>> data_part("image/png", b"abc")
    {'type': 'image_url', 'image_url': {'url': 'data:image/png;base64,YWJj'}}
    """
    if isinstance(data, bytes | bytearray):
        data = base64.b64encode(data).decode("ascii")
    if not isinstance(data, str) or not isinstance(mime, str):
        return None
    url = f"data:{mime};base64,{data}"
    if mime.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": url}}
    filename = name if isinstance(name, str) and name else "file." + mime.rsplit("/", 1)[-1]
    return {"type": "file", "file": {"filename": filename, "file_data": url}}


def _image(block: Mapping[str, Any]) -> Mapping[str, Any] | None:
    found = block.get("image_url")
    if isinstance(found, str):
        return {"type": "image_url", "image_url": {"url": found}}
    if isinstance(found, Mapping):
        return {"type": "image_url", "image_url": found}
    source = block.get("source")
    inner = source if isinstance(source, Mapping) else block
    url = inner.get("url")
    if isinstance(url, str):
        return {"type": "image_url", "image_url": {"url": url}}
    mime = inner.get("media_type", inner.get("mime_type", block.get("image_mimetype")))
    return data_part(mime, inner.get("data", inner.get("base64", block.get("image"))))


def _document(block: Mapping[str, Any]) -> Mapping[str, Any] | None:
    source = block.get("source")
    inner: Mapping[str, Any] = source if isinstance(source, Mapping) else {}
    title = block.get("title")
    if inner.get("type") in ("text", "content"):
        body = inner.get("data", inner.get("content"))
        texts = [title, block.get("context"), body if isinstance(body, str) else _texts(body)]
        return text_part("\n".join(text for text in texts if isinstance(text, str) and text))
    mime = inner.get("media_type", block.get("document_mimetype"))
    return data_part(mime, inner.get("data", block.get("data")), title)


def _search_result(block: Mapping[str, Any]) -> Mapping[str, Any]:
    texts = [block.get("title"), block.get("source"), _texts(block.get("content"))]
    return text_part("\n".join(text for text in texts if isinstance(text, str) and text))


def _file(block: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if isinstance(block.get("file"), Mapping):
        return {"type": "file", "file": block["file"]}
    known = {key: block[key] for key in ("filename", "file_data", "file_id") if isinstance(block.get(key), str)}
    if known:
        return {"type": "file", "file": known}
    return data_part(block.get("mime_type"), block.get("base64", block.get("data")), block.get("filename"))


def _texts(blocks: object) -> str:
    if isinstance(blocks, str):
        return blocks
    inner = blocks if isinstance(blocks, list | tuple) else ()
    return "\n".join(one["text"] for one in inner if isinstance(one, Mapping) and isinstance(one.get("text"), str))
