"""What a row becomes: one line of a provider's batch file, of a fine-tuning set, or the whole payload.

| format | a line | a file holds at most |
| --- | --- | --- |
| payload | the payload (`Payload.to_dict`) with the row's id | |
| parquet | a row of `promptpack.batch.arrow.schema` | |
| openai-batch | custom_id, method, url, body | 50,000 requests, 200 MB |
| anthropic-batch | custom_id, params | 100,000 requests, 256 MB |
| vllm-batch | as openai-batch | |
| gemini-batch | key, request | 2 GB |
| chat-finetune | messages with the answer, tools | 512 MB |

The label maps of lines that have no room for them are written beside, one line for each row, with its custom_id.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from promptpack.batch.arrow import account, record
from promptpack.batch.rows import Row, custom_id
from promptpack.errors import OptionError, SourceError
from promptpack.profiles import profile
from promptpack.wellformed import encodes
from promptpack.window import Window

if TYPE_CHECKING:
    from promptpack.builder import PromptBuilder
    from promptpack.payload import Payload

ENDPOINTS = {"chat": "/v1/chat/completions", "responses": "/v1/responses"}
Make = Callable[["Payload", Row, "Wanted"], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the requests are to say besides the messages: the model's name (None: the builder's), and the endpoint."""

    model: str | None = None
    endpoint: str = "chat"


@dataclass(frozen=True, slots=True)
class Format:
    """A format: its lines, and the most requests and bytes of a file (None: no limit that is known).

    beside: whether the label maps go into a file of their own. model, answer: whether a line needs the name of a
    model, a limit of the answer.
    """

    name: str
    make: Make
    rows: int | None = None
    bytes: int | None = None
    beside: bool = True
    model: bool = False
    limit: bool = False
    gold: bool = False


def _payload(payload: Payload, row: Row, wanted: Wanted) -> dict[str, Any]:
    return {"id": row.id, "custom_id": custom_id(row.id), **payload.to_dict()}


def _arrow(payload: Payload, row: Row, wanted: Wanted) -> dict[str, Any]:
    return record(payload, row.id)


def _openai(payload: Payload, row: Row, wanted: Wanted) -> dict[str, Any]:
    provider = "openai" if wanted.endpoint == "chat" else "openai-responses"
    return {
        "custom_id": custom_id(row.id), "method": "POST", "url": ENDPOINTS[wanted.endpoint],
        "body": payload.request(provider, model=wanted.model),
    }


def _anthropic(payload: Payload, row: Row, wanted: Wanted) -> dict[str, Any]:
    return {"custom_id": custom_id(row.id), "params": payload.request("anthropic", model=wanted.model)}


def _gemini(payload: Payload, row: Row, wanted: Wanted) -> dict[str, Any]:
    from promptpack.providers.tools import gemini_tools, tools_of

    request = payload.to_gemini()
    if payload.tools:
        request["tools"] = gemini_tools(tools_of(payload))
    if payload.budget.answer:
        request["generationConfig"] = {"maxOutputTokens": payload.budget.answer}
    return {"key": custom_id(row.id), "request": request}


def _finetune(payload: Payload, row: Row, wanted: Wanted) -> dict[str, Any]:
    from promptpack.providers.tools import openai_tools, tools_of

    if row.answer is None or not row.answer.strip():
        raise SourceError("answer: chat-finetune needs what the model should say, and the row has none", field="answer")
    return {
        "messages": [*payload.to_openai(model=wanted.model), {"role": "assistant", "content": row.answer}],
        **({"tools": openai_tools(tools_of(payload))} if payload.tools else {}),
    }


FORMATS: Mapping[str, Format] = {
    one.name: one
    for one in (
        Format("payload", _payload, beside=False),
        Format("parquet", _arrow, beside=False),
        Format("openai-batch", _openai, 50_000, 200_000_000, model=True),
        Format("anthropic-batch", _anthropic, 100_000, 256_000_000, model=True, limit=True),
        Format("vllm-batch", _openai, model=True),
        Format("gemini-batch", _gemini, None, 2_000_000_000),
        Format("chat-finetune", _finetune, None, 512_000_000, gold=True),
    )
}


def checked(name: str, wanted: Wanted, builder: PromptBuilder) -> Format:
    """Return a format by its name; OptionError for what would make every row fail."""
    if not isinstance(name, str) or name not in FORMATS:
        raise OptionError.unknown("format", name, FORMATS)
    if wanted.endpoint not in ENDPOINTS:
        raise OptionError.unknown("endpoint", wanted.endpoint, ENDPOINTS)
    found = FORMATS[name]
    if found.model and wanted.model is None and profile(builder.model).model is None:
        raise OptionError(f"model: the format {name} needs the name of a model", name="model", given=None)
    if found.limit and not Window.of(builder.window).reserve:
        raise OptionError(
            f"answer: the format {name} needs a limit for the answer, and the window reserves nothing for it "
            "(Window.answer)", name="answer", given=0,
        )
    return found


def beside(payload: Payload, row: Row) -> dict[str, Any]:
    """Return the line that keeps what an answer is later checked against: the label map and the account."""
    labels = payload.labels
    return {
        "custom_id": custom_id(row.id), "id": row.id, "prefix": labels.prefix,
        "labels": {label: list(ids) for label, ids in labels.items()},
        **({"stale": {label: list(ids) for label, ids in labels.stale.items()}} if labels.stale else {}),
        "report": account(payload),
    }


def line(value: Mapping[str, Any]) -> bytes:
    """Return data as a line of JSON in UTF-8; a text with lone surrogates makes it ASCII with escapes.

    >>> line({"id": "ä"}).decode()
    '{"id":"ä"}\\n'
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    if not encodes(text):
        text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.encode() + b"\n"
