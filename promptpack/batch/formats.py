"""What a row becomes: one line of a provider's batch file, of a fine-tuning set, or the whole payload.

| format | a line | a file holds at most |
| --- | --- | --- |
| payload | the payload (`Payload.to_dict`) with the row's id | |
| parquet | a row of `promptpack.batch.arrow.schema` | |
| openai-batch | custom_id, method, url, body | 50,000 requests, 200 MB |
| anthropic-batch | custom_id, params | 100,000 requests, 256 MB |
| vllm-batch | as openai-batch, with what vLLM takes of it | |
| gemini-batch | key, request | 2 GB |
| chat-finetune | messages with the answer, tools | 512 MB |

The limits are those that the providers' documentation names, in megabytes of 10^6 bytes. vLLM reads a file with strict
types, and one line that it cannot read ends the whole batch: a tool that takes free text is a function of one text
there.

The label maps of lines that have no room for them are written beside, one line for each row, with its custom_id.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from promptpack.batch.arrow import account, record
from promptpack.batch.rows import Row, custom_id
from promptpack.errors import OptionError, SourceError, quote
from promptpack.profiles import profile
from promptpack.window import Window

if TYPE_CHECKING:
    from promptpack.builder import PromptBuilder
    from promptpack.payload import Payload

ENDPOINTS = {"chat": "/v1/chat/completions", "responses": "/v1/responses"}
Make = Callable[["Payload", Row, "Wanted"], dict[str, Any]]
_BODY = '{"requests":[]}'  # Anthropic takes no file: the lines are sent in one body, which is what its limit is of


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the requests are to say besides the messages: the model's name (None: the builder's), and the endpoint."""

    model: str | None = None
    endpoint: str = "chat"


@dataclass(frozen=True, slots=True)
class Format:
    """A format: its lines, and the most requests and bytes of a file (None: no limit that is known).

    beside: whether the label maps go into a file of their own. model, limit: whether a line needs the name of a
    model, a limit of the answer. endpoints: which a line may name. foreign: whether somebody else reads the lines, who
    refuses what is no UTF-8. own: whether tools that a provider runs itself can be asked for.
    """

    name: str
    make: Make
    rows: int | None = None
    bytes: int | None = None
    beside: bool = True
    model: bool = False
    limit: bool = False
    endpoints: tuple[str, ...] = ("chat",)
    foreign: bool = True
    own: bool = True


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


def _vllm(payload: Payload, row: Row, wanted: Wanted) -> dict[str, Any]:
    from promptpack.providers.tools import function_tools, tools_of

    made = _openai(payload, row, wanted)
    body = {key: value for key, value in made["body"].items() if key != "prompt_cache_key"}
    body |= _functions(payload, wanted)
    if payload.tools:
        body["tools"] = function_tools(tools_of(payload))  # some of its versions refuse `strict`
    return {**made, "body": body}


def _functions(payload: Payload, wanted: Wanted) -> dict[str, Any]:
    """Return messages and tools without what only OpenAI's own endpoint takes: free-text tools, marks for its cache."""
    from promptpack.providers.calls import calls_of
    from promptpack.providers.openai import unmarked
    from promptpack.providers.tools import Tool, openai_tools, tools_of

    calls = calls_of(payload)
    messages = []
    for index, one in enumerate(payload.to_openai(model=wanted.model)):
        made = {key: unmarked(value) if key == "content" else value for key, value in one.items()}
        if "tool_calls" in made:
            made["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.object_text}}
                if call.free else given for given, call in zip(made["tool_calls"], calls[index], strict=True)
            ]
        messages.append(made)
    tools = [
        Tool(one.name, one.description, one.object_schema) if one.raw is not None and not one.own else one
        for one in tools_of(payload)
    ]
    return {"messages": messages, **({"tools": openai_tools(tools)} if tools else {})}


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
    if row.answer is None or not row.answer.strip():
        raise SourceError("answer: chat-finetune needs what the model should say, and the row has none", field="answer")
    made = _functions(payload, wanted)
    return {**made, "messages": [*made["messages"], {"role": "assistant", "content": row.answer}]}


FORMATS: Mapping[str, Format] = {
    one.name: one
    for one in (
        Format("payload", _payload, beside=False, foreign=False),
        Format("parquet", _arrow, beside=False, foreign=False),
        Format("openai-batch", _openai, 50_000, 200_000_000, model=True, endpoints=tuple(ENDPOINTS)),
        Format("anthropic-batch", _anthropic, 100_000, 256_000_000 - len(_BODY), model=True, limit=True),
        Format("vllm-batch", _vllm, model=True, own=False),
        Format("gemini-batch", _gemini, None, 2_000_000_000),
        Format("chat-finetune", _finetune, None, 512_000_000, own=False),
    )
}


def checked(name: str, wanted: Wanted, builder: PromptBuilder) -> Format:
    """Return a format by its name; OptionError for what would make every row fail."""
    if not isinstance(name, str) or name not in FORMATS:
        raise OptionError.unknown("format", name, FORMATS)
    if wanted.endpoint not in ENDPOINTS:
        raise OptionError.unknown("endpoint", wanted.endpoint, ENDPOINTS)
    from promptpack.providers.tools import tools_from

    found = FORMATS[name]
    if wanted.endpoint not in found.endpoints:
        raise OptionError(
            f"endpoint: the format {name} has no other than {found.endpoints[0]}, got {wanted.endpoint}",
            name="endpoint", given=wanted.endpoint,
        )
    for index, tool in enumerate(tools_from(builder._content.tools)) if not found.own else ():
        if tool.own:
            raise OptionError(
                f"tools: schema {index}: the format {name} has functions only, got {quote(tool.raw)}", name="tools",
                given=None,
            )
    if found.model and wanted.model is None and profile(builder.model).model is None:
        raise OptionError(f"model: the format {name} needs the name of a model", name="model", given=None)
    if found.limit and not Window.of(builder.window).reserve:
        raise OptionError(
            f"answer: the format {name} needs a limit for the answer, and the window reserves nothing for it "
            "(Window.answer)", name="answer", given=0,
        )
    return found


def beyond(kind: Format, requests: int, size: int) -> str | None:
    """Return what there is to say of a file that is larger than its reader takes; None for one that is not.

    >>> beyond(FORMATS["openai-batch"], 50_001, 7_000_000)
    'a file of openai-batch holds at most 50,000 requests in 200,000,000 bytes, and this one 50,001 in 7,000,000'
    """
    if requests <= (kind.rows or requests) and size <= (kind.bytes or size):
        return None
    most = [f"{kind.rows:,} requests" if kind.rows else "", f"{kind.bytes:,} bytes" if kind.bytes else ""]
    return (
        f"a file of {kind.name} holds at most {' in '.join(one for one in most if one)}, and this one {requests:,} "
        f"in {size:,}"
    )


def beside(payload: Payload, row: Row) -> dict[str, Any]:
    """Return the line that keeps what an answer is later checked against: the label map and the account."""
    labels = payload.labels
    return {
        "custom_id": custom_id(row.id), "id": row.id, "prefix": labels.prefix,
        "labels": {label: list(ids) for label, ids in labels.items()},
        **({"stale": {label: list(ids) for label, ids in labels.stale.items()}} if labels.stale else {}),
        "report": account(payload),
    }


def line(value: Mapping[str, Any], *, foreign: bool = False) -> bytes:
    """Return data as a line of JSON in UTF-8; a text with lone surrogates makes it ASCII with escapes.

    foreign: where somebody else reads it, lone surrogates are a SourceError: their readers refuse the whole file.

    >>> line({"id": "ä"}).decode()
    '{"id":"ä"}\\n'
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        if foreign:
            raise SourceError(
                "row: a lone surrogate in what would be sent, which is no Unicode text", field="row"
            ) from error
        data = json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
    return data + b"\n"
