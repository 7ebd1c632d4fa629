"""Builds the request of an injection case, and its baseline, with `placeholder` in the place under test."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from vector_files import Vector, message_text

if TYPE_CHECKING:
    from promptpack import Payload

PLACEHOLDER = "placeholder"
FIELDS = ("chunk", "title", "section", "url")
ROOMY = 500_000_000  # the largest text under test has a few million characters
FIELD_PARTS = ("text", "title", "section", "next_text")


@dataclass(frozen=True, slots=True)
class Request:
    """A case with the text that goes into its place."""

    vector: Vector
    text: str

    @property
    def baseline(self) -> Request:
        """The request with the harmless text; an empty value stays empty."""
        fields = {name: harmless(value) for name, value in self.vector.get("fields", {}).items()}
        changed = {**self.vector, "fields": fields} if fields else self.vector
        return replace(self, vector=changed, text=harmless(self.text))


def harmless(text: str) -> str:
    return PLACEHOLDER if text else ""


def request(vector: Vector, share: float = 1.0) -> Request:
    """Return the request of a case; of a repeated text only this share of the repeats."""
    if "repeat" not in vector:
        return Request(vector, vector["text"])
    return Request(vector, repeated(vector["repeat"], share))


def repeated(given: Mapping[str, Any], share: float = 1.0) -> str:
    times = int(given["times"] * share)
    return str(given.get("prefix", "") + given["unit"] * times + given.get("suffix", ""))


def nested(given: Mapping[str, Any]) -> Any:
    """Build a list or mapping nested `depth` deep, without recursion."""
    value: Any = PLACEHOLDER
    for _ in range(given["depth"]):
        value = {"key": value} if given["open"].startswith("{") else [value]
    return value


def sources(asked: Request) -> list[dict[str, Any]]:
    """Return the sources as mappings; the first one holds the text where the case puts it into a source."""
    vector, where = asked.vector, asked.vector["where"]
    found: list[dict[str, Any]] = [
        {"id": f"doc-{number}", "text": f"{PLACEHOLDER} {number}", "metadata": {}}
        for number in range(1, vector.get("sources", 2) + 1)
    ]
    first = found[0]
    first["text"] = PLACEHOLDER
    first["metadata"] |= vector.get("meta", {})
    if where == "body":
        first["text"] = asked.text
    elif where == "id":
        first["id"] = asked.text
    elif where == "attr" and "attr" in vector:
        first["metadata"][vector["attr"]] = nested(vector["nest"]) if "nest" in vector else asked.text
    if "attr_name" in vector:
        first["metadata"][vector["attr_name"]] = vector["attr_value"]
    fields = vector.get("fields", {})
    unknown = set(fields) - set(FIELD_PARTS)
    if unknown:
        raise ValueError(f"unknown fields {sorted(unknown)}")
    first["text"] = fields.get("text", first["text"])
    first["metadata"] |= {name: fields[name] for name in ("title", "section") if name in fields}
    if "next_text" in fields:
        found[1]["text"] = fields["next_text"]
    if vector.get("duplicate"):
        found[1]["id"] = first["id"]
    return found


def history(asked: Request) -> list[dict[str, str]]:
    """Return one earlier exchange whose user or assistant turn is the text; any other role stands alone."""
    if asked.vector["where"] != "history":
        return []
    role = asked.vector["role"]
    turns = {"user": PLACEHOLDER, "assistant": PLACEHOLDER}
    if role in turns:
        return [{"role": name, "content": text} for name, text in (turns | {role: asked.text}).items()]
    return [{"role": role, "content": asked.text}]


def build(asked: Request) -> Payload:
    """Build and render the request at the default level."""
    from promptpack import OptionError, Packing, PromptBuilder, TemplateSet, Window

    vector, where = asked.vector, asked.vector["where"]
    builder = PromptBuilder(
        Window(ROOMY, answer=0), counter="chars", fields=FIELDS,
        packing=Packing(place="best_first", dedup="off"),
    )
    if "attr_name" in vector and vector["attr_name"] not in FIELDS:
        # Refused by name for the library's own attributes; then the metadata is there, but not asked for.
        with contextlib.suppress(OptionError):
            builder = builder.with_fields(*FIELDS, vector["attr_name"])
    if where == "template":
        builder = builder.with_template(TemplateSet.untrusted(asked.text))
    builder = builder.add_history(history(asked)).add_sources(sources(asked))
    return builder.with_question(asked.text if where == "question" else PLACEHOLDER).render()


def whole(payload: Payload) -> str:
    """Return the whole of what a model gets: every message's content."""
    return "\n".join(message_text(message) for message in payload.messages)


@dataclass
class Case:
    """A case with what was built for it, each payload once and only when a property asks for it."""

    asked: Request
    made: dict[str, Any] = field(default_factory=dict)

    def payload(self, of: str = "asked") -> Payload:
        if of not in self.made:
            self.made[of] = build(self.asked if of == "asked" else self.asked.baseline)
        found: Payload = self.made[of]
        return found

    @property
    def text(self) -> str:
        return whole(self.payload())

    @property
    def baseline(self) -> str:
        return whole(self.payload("baseline"))

    def error(self) -> Exception | None:
        """Return the error that building raises, None where it succeeds."""
        try:
            self.payload()
        except Exception as error:  # judged by the property
            return error
        return None
