"""The keyword arguments of a provider's SDK call: model, messages, tools, and the answer reserve as its limit.

| provider | call | limit of the answer |
| --- | --- | --- |
| openai | `client.chat.completions.create(**request)` | `max_completion_tokens` |
| openai-responses | `client.responses.create(**request)` | `max_output_tokens` |
| anthropic | `client.messages.create(**request)` | `max_tokens` |
| gemini | `client.models.generate_content(**request)` | `config["max_output_tokens"]` |
| cohere | `client.chat(**request)` (ClientV2) | `max_tokens` |
| bedrock | `client.converse(**request)` (bedrock-runtime) | `inferenceConfig["maxTokens"]` |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from promptpack.caching import cache_key
from promptpack.errors import OptionError, quote
from promptpack.providers.anthropic import to_anthropic
from promptpack.providers.bedrock import to_bedrock
from promptpack.providers.cohere import to_cohere
from promptpack.providers.gemini import to_gemini
from promptpack.providers.openai import to_openai
from promptpack.providers.responses import to_responses
from promptpack.providers.tools import (
    anthropic_tools,
    function_tools,
    gemini_tools,
    openai_tools,
    responses_tools,
    tools_of,
)

if TYPE_CHECKING:
    from promptpack.payload import Payload


def request(payload: Payload, provider: str, *, model: str | None = None, **options: Any) -> dict[str, Any]:
    """Return the keyword arguments of a provider's SDK call.

    provider: openai, openai-responses, anthropic, gemini, cohere or bedrock. model: the payload's own where None.
    options: those of the form: `role` (openai, openai-responses), `citations` (anthropic, bedrock), `documents`
    (cohere). The answer reserve becomes the limit of the answer; without one (`Window(answer=0)`) there is no limit.
    With cache="auto" requests to OpenAI carry a `prompt_cache_key`, which keeps those with the same stable start
    together. APIs refuse a history with tool calls where the request has no tools: give them (`with_tools`).

    Raises OptionError, with the choices, for an unknown provider or option, where no model is known, and for Anthropic,
    which needs a limit, where there is no answer reserve.

    >>> from promptpack.builder import PromptBuilder
    >>> made = request(PromptBuilder(1000).with_question("Why?").render(), "openai", model="gpt-4o")
    >>> sorted(made), made["max_completion_tokens"]
    (['max_completion_tokens', 'messages', 'model'], 250)
    """
    if not isinstance(provider, str) or provider not in _PROVIDERS:
        raise OptionError.unknown("provider", provider, _PROVIDERS)
    make, known = _PROVIDERS[provider]
    for name in options:
        if name not in known:
            raise OptionError.unknown(f"request to {provider}", name, known)
    asked = payload.report.model if model is None else model
    if not isinstance(asked, str) or not asked.strip():
        raise OptionError(
            f"model: expected the name of a model, got {quote(asked)}; give request(model=...) or a builder with one",
            name="model", given=asked,
        )
    return make(payload, asked, payload.budget.answer, options)


def _openai(payload: Payload, model: str, answer: int, options: dict[str, Any]) -> dict[str, Any]:
    return {
        "model": model, "messages": to_openai(payload, model=model, **options),
        **({"tools": openai_tools(tools_of(payload))} if payload.tools else {}),
        **({"max_completion_tokens": answer} if answer else {}), **_key(payload),
    }


def _responses(payload: Payload, model: str, answer: int, options: dict[str, Any]) -> dict[str, Any]:
    return {
        "model": model, **to_responses(payload, model=model, **options),
        **({"tools": responses_tools(tools_of(payload))} if payload.tools else {}),
        **({"max_output_tokens": answer} if answer else {}), **_key(payload),
    }


def _anthropic(payload: Payload, model: str, answer: int, options: dict[str, Any]) -> dict[str, Any]:
    if not answer:
        raise OptionError(
            "answer: Anthropic needs a limit for the answer, and the window reserves nothing for it (Window.answer)",
            name="answer", given=0,
        )
    return {
        "model": model, "max_tokens": answer, **to_anthropic(payload, **options),
        **({"tools": anthropic_tools(tools_of(payload))} if payload.tools else {}),
    }


def _gemini(payload: Payload, model: str, answer: int, options: dict[str, Any]) -> dict[str, Any]:
    made = to_gemini(payload)
    config = {
        **({"system_instruction": made["systemInstruction"]} if "systemInstruction" in made else {}),
        **({"tools": gemini_tools(tools_of(payload))} if payload.tools else {}),
        **({"max_output_tokens": answer} if answer else {}),
    }
    return {"model": model, "contents": made["contents"], **({"config": config} if config else {})}


def _cohere(payload: Payload, model: str, answer: int, options: dict[str, Any]) -> dict[str, Any]:
    tools = tools_of(payload)
    return {
        "model": model, **to_cohere(payload, **options),
        **({"tools": function_tools(tools)} if tools else {}),
        **({"strict_tools": True} if tools and all(one.strict for one in tools) else {}),  # all or none
        **({"max_tokens": answer} if answer else {}),
    }


def _bedrock(payload: Payload, model: str, answer: int, options: dict[str, Any]) -> dict[str, Any]:
    return {
        "modelId": model, **to_bedrock(payload, model=model, **options),
        **({"inferenceConfig": {"maxTokens": answer}} if answer else {}),
    }


def _key(payload: Payload) -> dict[str, str]:
    return {"prompt_cache_key": cache_key(payload)} if payload.layout and payload.layout.cache else {}


Make = Callable[["Payload", str, int, dict[str, Any]], dict[str, Any]]
_PROVIDERS: dict[str, tuple[Make, tuple[str, ...]]] = {
    "openai": (_openai, ("role",)),
    "openai-responses": (_responses, ("role",)),
    "anthropic": (_anthropic, ("citations",)),
    "gemini": (_gemini, ()),
    "cohere": (_cohere, ("documents",)),
    "bedrock": (_bedrock, ("citations",)),
}
