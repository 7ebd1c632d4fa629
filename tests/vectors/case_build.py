"""Turns the values of a case into a builder and renders it: one call, timed, its error kept."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from vector_files import message_text

if TYPE_CHECKING:
    from promptpack import Payload, PromptBuilder

Given = Mapping[str, Any]
Check = Mapping[str, Any]
Predicate = Callable[[Check, "Outcome", "Run"], None]

COUNTERS: dict[str, Callable[[str], int]] = {
    "words": lambda text: len(text.split()),
    "chars": len,
    "pieces": lambda text: len(re.findall(r"\w+|[^\w\s]|\n", text)),
    "utf8bytes": lambda text: len(text.encode("utf-8")),
}

PLACES = {
    "preserveOrder": "document", "scoreSpread": "spread", "chronological": "chronological", "fold": "fold",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """One call: the values that it had, what it gave (or the error that it raised) and its seconds."""

    given: Given
    value: Any = None
    error: Exception | None = None
    seconds: float = 0.0

    @property
    def result(self) -> Any:
        """What the call gave; an error is raised again."""
        if self.error is not None:
            raise self.error
        return self.value

    @property
    def payload(self) -> Payload:
        """The payload of a build."""
        found: Payload = self.result
        return found


@dataclass(frozen=True, slots=True)
class Run:
    """All calls of a case, in order; `names` are those of its steps; `answer` is a verified answer."""

    given: Given
    outcomes: tuple[Outcome, ...]
    names: tuple[str, ...] = ()
    answer: Outcome | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)

    def at(self, name: str | None) -> Outcome:
        """Return the outcome of a step; without a name the only one."""
        if name is not None:
            return self.outcomes[self.names.index(name)]
        if len(self.outcomes) != 1:
            raise ValueError(f"the check needs a step: {len(self.outcomes)} calls were made")
        return self.outcomes[0]


def attempt(given: Given, call: Callable[[Given], Any]) -> Outcome:
    """Make a call and keep its error for the checks: a case may ask for a refusal."""
    begin = time.perf_counter()
    try:
        value, error = call(given), None
    except Exception as raised:  # judged by the checks, which raise it again where none was due
        value, error = None, raised
    return Outcome(given, value, error, time.perf_counter() - begin)


def case_counter(given: Given) -> Callable[[str], int]:
    """Return the counter of a case: one of its own (above), or one of the library by name."""
    from promptpack import counter

    named = given["counter"]["name"] if isinstance(given["counter"], Mapping) else given["counter"]
    return COUNTERS[named] if named in COUNTERS else counter(named)


def changes(given: Given) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Translate the options of a case: settings of Packing, of the builder, and fields of every chunk."""
    options = given.get("options") or {}
    if isinstance(options, str):
        if options != "library defaults":
            raise ValueError(f"unknown options {options!r}")
        options = {}
    packing: dict[str, Any] = {"select": "top"}  # the default that the cases were written for
    settings: dict[str, Any] = {}
    chunk: dict[str, Any] = {}
    for name, value in options.items():
        if name == "truncate_chunks":
            chunk |= {"cut": {}} if value else {}
        elif name == "metadata_fields":
            settings["fields"] = ("chunk", *value)
        elif name == "sentence_dedup":
            packing |= {"dedup": "sentences"} if value else {}
        elif name == "reorder":
            packing["place"] = PLACES[value]
        else:
            raise ValueError(f"unknown option {name!r}")
    return packing, settings, chunk


def builder(given: Given, **more: Any) -> PromptBuilder:
    """Return the builder for the values of a case; sources go in as the mappings that they are."""
    from promptpack import PromptBuilder, TemplateSet, Window

    packing, settings, chunk = changes(given)
    if "custom_template" in given:
        settings["template"] = TemplateSet.from_string(given["custom_template"])
    if "model" in given:
        settings["model"] = given["model"]
    built = PromptBuilder(
        Window(given["window"], answer=given.get("reserve", 0), margin=0), counter=case_counter(given),
        **settings | more,
    )
    built = built.with_packing(**packing)
    if "system" in given:
        built = built.with_system(given["system"])
    built = built.add_history(given.get("history") or [])
    if "question" in given:
        built = built.with_question(given["question"])
    chunks = [{**one, **chunk} for one in given.get("chunks") or []]
    return built.add_sources(in_input_order(chunks) if packing.get("place") == "document" else chunks)


def in_input_order(chunks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give each chunk its place in the input as position, where it has none.

    That is what a missing position means to preserveOrder (and to `Reorderer`); to `pack()` it is the rank.
    """
    from promptpack.reading import read_source

    return [
        {**one, "position": index} if read_source(one, index).position is None else one
        for index, one in enumerate(chunks)
    ]


def build(given: Given, **more: Any) -> Payload:
    """Build and render once."""
    return builder(given, **more).render()


def label_map(outcome: Outcome) -> dict[str, tuple[str, ...]]:
    """Return the labels of a payload with their chunk ids, in the order of the map."""
    return {label: tuple(ids) for label, ids in outcome.payload.labels.items()}


def sent_ids(outcome: Outcome) -> list[str]:
    """Return the chunk ids of the label map, in its order."""
    return [id_ for ids in label_map(outcome).values() for id_ in ids]


def payload_text(payload: Payload) -> str:
    """Return everything that a model gets to read: the content of every message."""
    return "\n".join(message_text(message) for message in payload.messages)
