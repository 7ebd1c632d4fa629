"""Cohere's chat v2: messages with the roles of OpenAI's chat, and the passages as documents.

A document's `id` is its chunk id, which comes back as `citations[].sources[].id` of an answer and resolves by the
payload's own label map. Its data are the title (which opens with the label), the text as `snippet`, and the other
shown fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptpack.providers.calls import Call
from promptpack.providers.parts import (
    Media,
    Part,
    Passage,
    Result,
    Said,
    Text,
    cannot,
    instructions,
    joined,
    passages,
    said,
)

if TYPE_CHECKING:
    from promptpack.payload import Payload

_FORM = "Cohere's chat v2"


def to_cohere(payload: Payload, *, documents: bool = True) -> dict[str, Any]:
    """Return `{"messages": [...], "documents": [...]}`.

    documents: hand the passages over as documents, which the model was trained to cite; a message that held only
    passages is then left out. False leaves them in the text, as they were counted, and gives no documents. Arguments of
    tool calls are JSON text of an object.

    >>> from promptpack.builder import PromptBuilder
    >>> payload = PromptBuilder(1000).add_sources([{"id": "a#1", "text": "Free."}]).with_question("Cost?").render()
    >>> to_cohere(payload)["documents"]
    [{'id': 'a#1', 'data': {'title': 'S1', 'snippet': 'Free.'}}]
    """
    told = instructions(payload)
    messages: list[dict[str, Any]] = [{"role": "system", "content": told}] if told else []
    native = bool(documents and payload.sources)
    for one in said(payload, native=native):
        made = _message(one)
        if made is not None:
            messages.append(made)
    if not native:
        return {"messages": messages}
    return {"messages": messages, "documents": [_document(one) for one in passages(payload)]}


def _document(one: Passage) -> dict[str, Any]:
    own = {"title": one.title, "snippet": one.text}
    shown = {name: value for name, value in one.fields.items() if name not in ("chunk", "title")}
    # A field of the source that is called like one of ours has a dash behind its name.
    return {"id": one.id, "data": own | {f"{name}_" if name in own else name: value for name, value in shown.items()}}


def _message(one: Said) -> dict[str, Any] | None:
    parts = [part for part in one.parts if not isinstance(part, Passage | Call)]
    calls = [part for part in one.parts if isinstance(part, Call)]
    if one.role == "tool":
        result = next(part for part in parts if isinstance(part, Result))
        if not all(isinstance(part, Text) for part in result.parts):
            raise cannot(next(part for part in result.parts if not isinstance(part, Text)), one, _FORM)
        return {"role": "tool", "tool_call_id": result.call.id, "content": joined(result.parts)}
    made: dict[str, Any] = {"role": one.role}
    if calls:
        made["tool_calls"] = [_call(call) for call in calls]
    if all(isinstance(part, Text) for part in parts):
        if joined(parts) or (not calls and not one.parts):
            made["content"] = joined(parts)
    else:
        made["content"] = [_part(part, one) for part in parts]
    return made if len(made) > 1 else None


def _call(call: Call) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.object_text}}


def _part(part: Part, one: Said) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    if isinstance(part, Media) and part.kind == "image" and one.role == "user":
        url = part.url if part.data is None else f"data:{part.type};base64,{part.data}"
        detail = {"detail": part.detail} if part.detail in ("auto", "low", "high") else {}
        return {"type": "image_url", "image_url": {"url": url, **detail}}
    raise cannot(part, one, _FORM)
