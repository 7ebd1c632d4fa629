"""Render real chat templates with what `Payload.to_chat_template` gives, and check what comes out.

    python benchmarks/chat_templates.py PATH

PATH: a wheel, or a folder, with JSON files that hold a "chat_template" (the package xinference carries those of some
80 families: `pip download --no-deps xinference`). Each template is rendered as transformers renders it, for payloads
with and without persona, history and tool calls. The texts, the labels and the question have to be in the result,
the question behind the passages; a template that refuses a conversation (tools that it does not know, a system turn)
is counted apart. Exit status 1 where a rendered prompt lacks something.
"""

from __future__ import annotations

import json
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jinja2
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

from promptpack import OptionError, PromptBuilder, Source

SIGNS = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
HITS = [
    Source("returns#1", "You can return any lamp within 45 days.", 0.9, metadata={"title": "Returns"}),
    Source("returns#3", "We send the money back within 6 working days.", 0.8),
]
QUESTION = "How long do I have to return a lamp?"
CALL = {"id": "abcdef123", "type": "function", "function": {"name": "look_up", "arguments": '{"order": "A7"}'}}
HISTORIES: dict[str, list[Any]] = {
    "bare": [],
    "history": [("user", "Hello, I bought a lamp."), ("assistant", "Good to know.")],
    "tools": [
        ("user", "Where is my order?"), {"role": "assistant", "content": "", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "abcdef123", "content": "On its way."}, ("assistant", "It is on its way."),
    ],
}
ORDER = {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]}
TOOLS = [{"type": "function", "function": {"name": "look_up", "description": "Find an order.", "parameters": ORDER}}]


def templates(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and the chat template of every JSON file that has one."""
    if path.is_dir():
        files = [(file.name, file.read_bytes()) for file in sorted(path.rglob("*.json"))]
    else:
        with zipfile.ZipFile(path) as wheel:
            names = sorted(name for name in wheel.namelist() if name.endswith(".json"))
            files = [(name.rsplit("/", 1)[-1], wheel.read(name)) for name in names]
    for name, data in files:
        try:
            read = json.loads(data)
        except ValueError:
            continue
        for one in read if isinstance(read, list) else [read]:
            if isinstance(one, dict) and isinstance(one.get("chat_template"), str) and one["chat_template"].strip():
                yield name.removesuffix(".json"), one["chat_template"]


class RefusedError(Exception):
    """The template calls raise_exception."""


def compiled(template: str) -> jinja2.Template:
    """Compile a chat template as transformers does."""
    def refuse(message: str) -> None:
        raise RefusedError(message)

    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
    environment.filters["tojson"] = lambda value, **options: json.dumps(value, **{"ensure_ascii": False} | options)
    environment.globals |= {"raise_exception": refuse, "strftime_now": lambda pattern: "2026-11-30"}
    return environment.from_string(template)


class Tokenizer:
    """As much of a tokenizer of transformers as `to_chat_template` asks about."""

    def __init__(self, template: str) -> None:
        self.chat_template = template


def faults(prompt: str, payload: Any) -> list[str]:
    """Return what is wrong with a rendered prompt."""
    missing = [one.label for one in payload.sources if one.text not in prompt]
    unnamed = [one.label for one in payload.sources if one.label not in prompt]
    told = [f"no text of {label}" for label in missing] + [f"no label {label}" for label in unnamed]
    if prompt.count(QUESTION) != 1:
        told.append(f"the question stands there {prompt.count(QUESTION)} times")
    elif not missing and prompt.index(QUESTION) < max(prompt.rindex(one.text) for one in payload.sources):
        told.append("the question stands before a passage")
    return told


def main(path: str) -> int:
    """Render all templates of a path; return the exit status."""
    counts: Counter[str] = Counter()
    broken = 0
    seen: set[str] = set()
    for name, text in templates(Path(path)):
        if text in seen:
            continue
        seen.add(text)
        try:
            template = compiled(text)
        except jinja2.TemplateError as error:
            counts["do not compile"] += 1
            print(f"{name}: does not compile: {error}")
            continue
        for persona in (None, "You help a lamp shop."):
            for kind, history in HISTORIES.items():
                builder = PromptBuilder(4000).add_sources(HITS).with_question(QUESTION).with_system(persona)
                builder = builder.add_history(history)
                payload = (builder.with_tools(TOOLS) if kind == "tools" else builder).render()
                try:
                    given = payload.to_chat_template(Tokenizer(text))
                except OptionError:  # it has no place for tools, and the library says so
                    counts[f"{kind}: refused by the library"] += 1
                    continue
                messages = given.pop("conversation")
                try:
                    prompt = template.render(messages=messages, **SIGNS, **given)
                except RefusedError:
                    counts[f"{kind}: refused by the template"] += 1
                    continue
                except Exception as error:
                    counts[f"{kind}: failed"] += 1
                    print(f"{name}: {kind}: {type(error).__name__}: {str(error)[:100]}")
                    continue
                wrong = faults(prompt, payload)
                counts[f"{kind}: {'wrong' if wrong else 'right'}"] += 1
                if wrong:
                    broken += 1
                    print(f"{name}: {kind}: {'; '.join(wrong)}")
    print(f"{len(seen)} different templates")
    for what, count in sorted(counts.items()):
        print(f"{count:>6}  {what}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
