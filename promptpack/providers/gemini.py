"""Gemini's generateContent: contents with the roles user and model, and the system text as systemInstruction.

Names are those of the REST form (camelCase), which Google's SDK reads, too. Results of tools are parts of a user turn;
turns of one role that follow each other become one. Passages stay in the text: the API takes no documents to cite.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from promptpack.native_form import native_items
from promptpack.providers.calls import Call
from promptpack.providers.ids import fitting
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

_FORM = "Gemini"
_NAME = "[A-Za-z0-9_.:-]"


def to_gemini(payload: Payload) -> dict[str, Any]:
    """Return `{"contents": [...], "systemInstruction": {...}}`, the latter where the payload has a system text.

    Media data is base64 text, as REST takes it. What a tool gave back stands under `output`.

    >>> from promptpack.builder import PromptBuilder
    >>> made = to_gemini(PromptBuilder(1000).add_history([("user", "Hi"), ("assistant", "Hello.")]).render())
    >>> [one["role"] for one in made["contents"]]
    ['user', 'model', 'user']
    """
    contents: list[dict[str, Any]] = []
    for own, run in runs(said(payload), "gemini"):
        if own:
            for item in native_items([one.message for one in run], "gemini"):
                _say(contents, item.get("role") or "user", item["parts"])
        else:
            for one in run:
                parts = [made for part in one.parts if (made := _part(part, one)) is not None]
                _say(contents, "model" if one.role == "assistant" else "user", parts)
    told = instructions(payload)
    return {"contents": contents, **({"systemInstruction": {"parts": [{"text": told}]}} if told else {})}


def _say(contents: list[dict[str, Any]], role: str, parts: list[dict[str, Any]]) -> None:
    if not parts:
        return
    if contents and contents[-1]["role"] == role:
        contents[-1]["parts"] += parts
    else:
        contents.append({"role": role, "parts": list(parts)})


def _part(part: Part, one: Said) -> dict[str, Any] | None:
    match part:
        case Text(text):
            return {"text": text} if text else None
        case Call():
            name = fitting(part.name, _NAME, 64)
            return {"functionCall": {"id": part.id, "name": name, "args": dict(part.arguments)}}
        case Result(call, parts):
            if not all(isinstance(each, Text) for each in parts):
                raise cannot(next(each for each in parts if not isinstance(each, Text)), one, _FORM)
            name = fitting(call.name, _NAME, 64)
            return {"functionResponse": {"id": call.id, "name": name, "response": {"output": joined(parts)}}}
        case Media() if part.data is not None and part.type is not None:
            return {"inlineData": {"mimeType": part.type, "data": part.data}}
        case Media() if part.url is not None:
            return {"fileData": {"fileUri": part.url, **({"mimeType": part.type} if part.type else {})}}
        case Other(raw) if raw.get("type") == "input_audio" and isinstance(raw.get("input_audio"), Mapping):
            audio = raw["input_audio"]
            return {"inlineData": {"mimeType": f"audio/{audio.get('format')}", "data": audio.get("data")}}
    raise cannot(part, one, _FORM)
