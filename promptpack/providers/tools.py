"""Tool schemas as each provider takes them, from whichever of their forms they came in.

Read are OpenAI's chat form (`function` or `custom` inside), its Responses form and Bedrock's `toolSpec`, Anthropic's
(`input_schema`), Gemini's (`functionDeclarations`), and a bare name with parameters. What is none of these (a tool
that a provider runs itself, such as a web search) passes through unchanged: only that provider knows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from promptpack.errors import OptionError, quote
from promptpack.plain_data import copied

if TYPE_CHECKING:
    from promptpack.payload import Payload

_NOTHING: Mapping[str, Any] = {"type": "object", "properties": {}}
_FREE: Mapping[str, Any] = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. schema: of its arguments, as JSON Schema; None for a custom tool, which takes free text.

    raw: what came in, where it is no function: a provider's own tool, or a custom one.
    """

    name: str = ""
    description: str | None = None
    schema: Mapping[str, Any] | None = None
    strict: bool | None = None
    raw: Mapping[str, Any] | None = None

    @property
    def own(self) -> bool:
        """Whether this is a tool of a provider, to be passed on as it is."""
        return not self.name

    @property
    def object_schema(self) -> dict[str, Any]:
        """The schema for a provider without free text: one field, `input`, for a custom tool."""
        return dict(_FREE if self.schema is None else self.schema)


def tools_of(payload: Payload) -> list[Tool]:
    """Read the tool schemas of a payload; OptionError names one that has no name or no schema."""
    return tools_from(payload.tools)


def tools_from(schemas: Sequence[Mapping[str, Any]]) -> list[Tool]:
    """Read tool schemas; OptionError names one that has no name or no schema."""
    return [tool for index, one in enumerate(schemas) for tool in _read(copied(one, "tools"), index)]


def openai_tools(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """Return tools as OpenAI's chat takes them.

    >>> openai_tools([Tool("look", schema={"type": "object", "properties": {}})])[0]["function"]["name"]
    'look'
    """
    return [
        dict(one.raw) if one.raw is not None else {"type": "function", "function": {
            "name": one.name, **_told(one), "parameters": one.object_schema,
            **({} if one.strict is None else {"strict": one.strict}),
        }}
        for one in tools
    ]


def function_tools(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """Return tools in OpenAI's chat form without `strict`, custom ones as functions of one text.

    This is how Cohere and chat templates take them.
    """
    return openai_tools([one if one.own else Tool(one.name, one.description, one.object_schema) for one in tools])


def responses_tools(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """Return tools as OpenAI's Responses take them: flat, with `strict` always there."""
    made = []
    for one in tools:
        if one.own or one.raw is not None:
            body = (one.raw or {}).get("custom")
            made.append({"type": "custom", **body} if isinstance(body, Mapping) else dict(one.raw or {}))
        else:
            made.append({
                "type": "function", "name": one.name, **_told(one), "parameters": one.object_schema,
                "strict": bool(one.strict),
            })
    return made


def anthropic_tools(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """Return tools as Anthropic takes them; `strict` is passed on where it was given."""
    return [
        dict(one.raw or {}) if one.own else {
            "name": one.name, **_told(one), "input_schema": one.object_schema,
            **({} if one.strict is None else {"strict": one.strict}),
        }
        for one in tools
    ]


def gemini_tools(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """Return tools as Gemini takes them: the functions in one entry, with plain JSON Schema, its own tools after."""
    functions = [
        {"name": one.name, **_told(one), "parametersJsonSchema": one.object_schema} for one in tools if not one.own
    ]
    own = [dict(one.raw or {}) for one in tools if one.own]
    return [*([{"functionDeclarations": functions}] if functions else []), *own]


def bedrock_tools(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """Return tools as Bedrock's Converse takes them."""
    return [
        dict(one.raw or {}) if one.own else {"toolSpec": {
            "name": one.name, **_told(one), "inputSchema": {"json": one.object_schema},
            **({} if one.strict is None else {"strict": one.strict}),
        }}
        for one in tools
    ]


def _told(tool: Tool) -> dict[str, str]:
    return {"description": tool.description} if tool.description else {}


def _read(one: Mapping[str, Any], index: int) -> Iterator[Tool]:
    kind = one.get("type")
    declared = one.get("functionDeclarations", one.get("function_declarations"))
    if isinstance(declared, list | tuple):
        for inner in declared:
            yield _function(inner, index)
        rest = {key: value for key, value in one.items() if value is not declared}
        if rest:
            yield Tool(raw=rest)
    elif isinstance(one.get("function"), Mapping):
        yield _function(one["function"], index)
    elif isinstance(one.get("toolSpec"), Mapping):
        yield _function(one["toolSpec"], index)
    elif kind == "custom" and "input_schema" not in one:  # OpenAI's: takes free text
        flat = {key: value for key, value in one.items() if key != "type"}
        body = one["custom"] if isinstance(one.get("custom"), Mapping) else flat
        yield Tool(_name(body, index), body.get("description"), raw={"type": "custom", "custom": dict(body)})
    elif kind in (None, "function", "custom") and "name" in one:
        yield _function(one, index)
    elif kind == "function":
        raise _wrong(index, f"expected a function with a name, got {quote(one.get('function'))}")
    else:
        yield Tool(raw=one)


def _function(body: object, index: int) -> Tool:
    if not isinstance(body, Mapping):
        raise _wrong(index, f"expected a mapping with a name, got {quote(body)}")
    schema: Any = None
    for key in ("parameters", "input_schema", "parametersJsonSchema", "parameters_json_schema", "inputSchema"):
        if schema is None:
            schema = body.get(key)
    if isinstance(schema, Mapping) and "inputSchema" in body and isinstance(schema.get("json"), Mapping):
        schema = schema["json"]
    if schema is None:
        schema = _NOTHING
    if not isinstance(schema, Mapping):
        raise _wrong(index, f"parameters: expected a JSON Schema as a mapping, got {quote(schema)}")
    strict, told = body.get("strict"), body.get("description")
    if told is not None and not isinstance(told, str):
        raise _wrong(index, f"description: expected a text, got {quote(told)}")
    return Tool(_name(body, index), told, dict(schema), strict if isinstance(strict, bool) else None)


def _name(body: Mapping[str, Any], index: int) -> str:
    name = body.get("name")
    if not isinstance(name, str) or not name:
        raise _wrong(index, f"name: expected a text, got {quote(name)}")
    return name


def _wrong(index: int, why: str) -> OptionError:
    return OptionError(f"tools: schema {index}: {why}", name="tools", given=None)
