"""What the components of all frameworks share: a payload for retrieved sources, and its messages as their objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from promptpack.builder import PromptBuilder
from promptpack.errors import OptionError, quote
from promptpack.labels import Labels
from promptpack.message import Message
from promptpack.payload import PackedSource, Payload
from promptpack.shapes_in.back import framework_messages
from promptpack.source import Source

LABEL = "label"


def filled(
    builder: PromptBuilder, sources: Iterable[Source], question: str | None = None, history: Iterable[Any] = (),
    labels: Labels | None = None,
) -> PromptBuilder:
    """Return the builder with sources, and with a question, turns and labels of earlier turns where there are any."""
    built = builder.add_sources(sources)
    if labels is not None:
        built = built.with_labels(labels)
    turns = list(history)
    if turns:
        built = built.add_history(turns)
    return built if question is None else built.with_question(question)


def at_once(builder: PromptBuilder, awaited: str) -> Payload:
    """Return the payload; OptionError for a builder with a reranker, which names the method that awaits it."""
    if builder.rerank is not None:
        message = f"rerank: the builder has a reranker, which is to be awaited; use `await ...{awaited}(...)`"
        raise OptionError(message, name="rerank", given=builder.rerank)
    return builder.render()


async def rendered(builder: PromptBuilder) -> Payload:
    """Return the payload, awaiting the builder's reranker where it has one."""
    return await builder.arender() if builder.rerank is not None else builder.render()


def messages_of(payload: Payload, shape: str, make: Callable[[dict[str, Any]], Any]) -> list[Any]:
    """Return the payload's messages as a framework's objects.

    Turns that came in as objects of that framework are given back as such, with whatever else they held; `make` makes
    the others from their OpenAI form.
    """
    found: list[Any] = []
    own: list[Message] = []
    for message, plain in zip(payload.messages, payload.to_openai(), strict=True):
        if message.native is not None and message.native.shape == shape:
            own.append(message)
            continue
        found += framework_messages(own, shape)
        own = []
        found.append(make(plain))
    return found + framework_messages(own, shape)


def notes_of(piece: PackedSource, label: str | None) -> dict[str, Any]:
    """Return what is written into the metadata of a passage: its label, and the ids of merged chunks.

    label: the key of the label; None writes nothing.
    """
    if label is None:
        return {}
    return {label: piece.label, **({"chunk_ids": list(piece.chunk_ids)} if len(piece.chunk_ids) > 1 else {})}


def check_label(label: object) -> None:
    """Raise OptionError unless it is the name of a metadata key, or None."""
    if label is not None and (not isinstance(label, str) or not label):
        raise OptionError(f"label: expected the name of a metadata key, or None, got {quote(label)}", name="label")


def missing(framework: str, package: str) -> str:
    """Return what to say where a framework is not installed."""
    return f'promptpack.adapters.{framework} needs {package}: pip install {package}'


def texts_of(parts: Sequence[Any]) -> list[str]:
    """Return the texts of OpenAI content parts; OptionError for a part of another kind."""
    found = []
    for part in parts:
        if part.get("type") != "text":
            raise OptionError(
                f"messages: a part of type {quote(part.get('type'))} has no form in this framework", name="messages"
            )
        found.append(part["text"])
    return found
