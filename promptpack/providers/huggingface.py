"""Chat templates: the arguments of `tokenizer.apply_chat_template(**payload.to_chat_template(tokenizer))`.

What a template takes is read off the template itself, which is Jinja: documents and tools where it uses those names, a
system message where rendering one does not fail. Passages go in as documents where the template takes them, else they
stay in the text. Messages of one role that follow each other become one, since many templates insist on turns.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from promptpack.errors import OptionError, TemplateRenderError, quote
from promptpack.escape import LiveLabels, Rules
from promptpack.escape.escaped import apply
from promptpack.escape.find import find
from promptpack.escape.shapes import shapes_for
from promptpack.escape.text import replacements
from promptpack.providers.calls import Call
from promptpack.providers.parts import (
    Media,
    Other,
    Part,
    Passage,
    Result,
    Said,
    Text,
    instructions,
    joined,
    passages,
    said,
)
from promptpack.providers.tools import function_tools, tools_of

if TYPE_CHECKING:
    from promptpack.payload import Payload


def to_chat_template(payload: Payload, tokenizer: Any = None) -> dict[str, Any]:
    """Return `{"conversation": [...], "documents": [...], "tools": [...], "add_generation_prompt": True}`.

    tokenizer: an object with a `chat_template` (a text, or texts by name, of which `rag` or `tool_use` is taken where
    it fits, else `default`), or the template's text; None for nothing known: then passages stay in the text. Documents
    are mappings of `doc_id` (the label), `title` (which opens with the label) and `text`, in which tags that the
    template itself writes are escaped at every level; documents and tools are left out where there are none.

    Where the template refuses a system message, its text opens the first user message. Raises OptionError where the
    payload has tools and the template has no place for them, TemplateRenderError where the template cannot be parsed.

    >>> from promptpack.builder import PromptBuilder
    >>> payload = PromptBuilder(1000).add_sources([{"id": "a#1", "text": "Free."}]).with_question("Cost?").render()
    >>> to_chat_template(payload, "{{ documents }} {{ messages }}")["documents"]
    [{'doc_id': 'S1', 'title': 'S1', 'text': 'Free.'}]
    """
    template = _template(tokenizer, rag=bool(payload.sources), tools=bool(payload.tools))
    takes = None if template is None else _takes(template)
    native = bool(takes and "documents" in takes and payload.sources)
    if takes is not None and payload.tools and "tools" not in takes:
        raise OptionError("tools: this chat template has no place for tool schemas", name="tools", given=None)
    conversation: list[dict[str, Any]] = []
    for one in said(payload, native=native):
        made = _message(one)
        if made is None:
            continue
        if conversation and made["role"] == conversation[-1]["role"] == "user":
            conversation[-1]["content"] = _both(conversation[-1]["content"], made["content"])
        else:
            conversation.append(made)
    told = instructions(payload)
    if told and (template is None or _takes_system(template)):
        conversation.insert(0, {"role": "system", "content": told})
    elif told and conversation:  # the first message is a user's: histories begin with one
        conversation[0]["content"] = _both(told, conversation[0]["content"])
    elif told:
        conversation.append({"role": "user", "content": told})
    return {
        "conversation": conversation,
        **({"documents": [_document(one, template or "") for one in passages(payload)]} if native else {}),
        **({"tools": function_tools(tools_of(payload))} if payload.tools else {}),
        "add_generation_prompt": True,
    }


def _document(one: Passage, template: str) -> dict[str, str]:
    return {"doc_id": one.label, "title": _inside(one.line, template), "text": _inside(one.text, template)}


def _inside(text: str, template: str) -> str:
    """Return a text, escaped for its own set before, that closes and opens no tag of the template it goes into."""
    rules = Rules(names=_tags(template), numbered=frozenset(), labels=LiveLabels(0), level="structure")
    hits = find(text, shapes_for(rules), rules.labels, references=False)
    return apply(text, replacements(text, hits))[0] if hits else text


@functools.lru_cache(maxsize=64)
def _tags(template: str) -> frozenset[str]:
    """Return the names of the tags that a template closes, in its text or in strings of its code."""
    return frozenset(re.findall(r"</([A-Za-z][A-Za-z0-9_-]{0,63})>", template))


def _message(one: Said) -> dict[str, Any] | None:
    parts = [part for part in one.parts if not isinstance(part, Passage | Call)]
    if one.role == "tool":
        result = next(part for part in parts if isinstance(part, Result))
        content = _content(result.parts)
        return {"role": "tool", "tool_call_id": result.call.id, "name": result.call.name, "content": content}
    calls = [_call(part) for part in one.parts if isinstance(part, Call)]
    content = _content(parts)
    if not content and not calls and one.parts:
        return None  # it held passages and nothing else
    return {"role": one.role, "content": content, **({"tool_calls": calls} if calls else {})}


def _content(parts: Sequence[Part]) -> str | list[dict[str, Any]]:
    """Return texts as one text; with other parts as a list, in the form that processors of images take."""
    if all(isinstance(part, Text) for part in parts):
        return joined(parts)
    return [_part(part) for part in parts]


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    if isinstance(part, Media):
        if part.data is not None and part.kind == "image":
            return {"type": "image", "base64": part.data}
        return {"type": part.kind, "url": part.url or f"data:{part.type};base64,{part.data}"}
    assert isinstance(part, Other)  # noqa: S101 - calls, results and passages have been taken out
    return dict(part.part)


def _call(call: Call) -> dict[str, Any]:
    # Templates write the arguments out as JSON themselves, so they take an object.
    return {"type": "function", "id": call.id, "function": {"name": call.name, "arguments": dict(call.arguments)}}


def _both(first: Any, second: Any) -> Any:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*_list(first), *_list(second)]


def _list(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _template(tokenizer: Any, *, rag: bool, tools: bool) -> str | None:
    if tokenizer is None:
        return None
    if isinstance(tokenizer, str):
        return str(tokenizer)
    found = getattr(tokenizer, "chat_template", None)
    if isinstance(found, list):  # as tokenizer_config.json has several
        found = {one.get("name"): one.get("template") for one in found if isinstance(one, Mapping)}
    if isinstance(found, Mapping):
        names = [*(["tool_use"] if tools else []), *(["rag"] if rag else []), "default"]
        found = next((found[name] for name in names if name in found), None)
    if not isinstance(found, str):
        raise OptionError(
            f"tokenizer: expected a chat template, or an object with one as `chat_template`, got {quote(tokenizer)}",
            name="tokenizer", given=None,
        )
    return str(found)


@functools.lru_cache(maxsize=64)
def _takes(template: str) -> frozenset[str]:
    """Return the names that a template asks for."""
    from jinja2 import TemplateError, meta

    environment = _environment()
    try:
        return frozenset(meta.find_undeclared_variables(environment.parse(template)))
    except (TemplateError, RecursionError) as error:
        raise _broken(error) from error


@functools.lru_cache(maxsize=64)
def _takes_system(template: str) -> bool:
    """Tell whether a template accepts a system message: it is rendered with one, in Jinja's sandbox."""
    environment = _environment()
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
    try:
        compiled = environment.from_string(template)
    except Exception as error:  # Jinja raises what its compiler raises
        raise _broken(error) from error

    def renders(turns: list[dict[str, str]]) -> str | None:
        try:
            return str(compiled.render(messages=turns, add_generation_prompt=True, bos_token="", eos_token=""))
        except Exception:  # a template may fail in any way; only whether it does is of interest
            return None

    with_system = renders(messages)
    if with_system is not None:
        return True
    return renders(messages[1:]) is None  # it needs something else, so nothing is known: send what was asked for


def _broken(error: Exception) -> TemplateRenderError:
    return TemplateRenderError(
        f"chat template: cannot be parsed ({type(error).__name__}: {quote(str(error))})", template="chat_template"
    )


@functools.cache
def _environment() -> Any:
    """Return an environment like the one in which chat templates are rendered."""
    from jinja2.exceptions import TemplateError
    from jinja2.ext import Extension
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Generation(Extension):
        """The tag that marks what an assistant wrote, for training; here its content is just printed."""

        tags = {"generation"}  # noqa: RUF012 - as Jinja declares it

        def parse(self, parser: Any) -> Any:
            next(parser.stream)
            return parser.parse_statements(("name:endgeneration",), drop_needle=True)

    def fail(message: str) -> str:
        raise TemplateError(message)

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols", Generation]
    )
    environment.globals["raise_exception"] = fail
    environment.globals["strftime_now"] = lambda form: ""  # no clock: what a template makes of the date is not asked
    return environment
