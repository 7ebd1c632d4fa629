"""Components of Haystack: one that makes the prompt from documents, and one that checks the replies.

Importing this module imports haystack. To load a stored pipeline, say `Pipeline.loads(text,
allowed_modules=["promptpack.*"])`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from promptpack.adapters.frameworks import from_haystack
from promptpack.adapters.sent import LABEL, at_once, check_label, filled, messages_of, missing, notes_of, rendered
from promptpack.adapters.written import builder_of, write_builder
from promptpack.builder import PromptBuilder
from promptpack.citations import Verification
from promptpack.errors import OptionError, quote
from promptpack.labels import Labels
from promptpack.payload import PackedSource, Payload

try:
    from haystack import Document, component, default_from_dict, default_to_dict
    from haystack.dataclasses import ChatMessage, GeneratedAnswer
except ImportError as error:
    raise ImportError(missing("haystack", "haystack-ai")) from error


@component
class PromptPacker:
    """A component from documents and a question to the messages to send, which stands where a ChatPromptBuilder does.

    builder: a PromptBuilder, what was written of one, or a window in tokens. label: the key of the documents' meta that
    gets the label (S1, ...); None leaves it alone. distance: the documents' scores are distances.

    Outputs: messages, for a chat generator; prompt, all of it as one text; documents, those that are sent, in that
    order, with their label; payload, for `AnswerVerifier`. A builder with a reranker needs `run_async`. In a
    conversation, `payload.carry_labels()` of the turn before goes in as labels, so that each chunk keeps its name.
    """

    def __init__(
        self, builder: PromptBuilder | int | dict[str, Any], label: str | None = LABEL, distance: bool = False
    ) -> None:
        check_label(label)
        self.builder = builder_of(builder)
        self.label = label
        self.distance = distance

    def to_dict(self) -> dict[str, Any]:
        """Return the component as Haystack stores it; OptionError where its builder holds a function or an object."""
        written = write_builder(self.builder)
        return dict(default_to_dict(self, builder=written, label=self.label, distance=self.distance))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> PromptPacker:
        """Return the component that Haystack stored."""
        return default_from_dict(cls, data)  # type: ignore[no-any-return]

    @component.output_types(messages=list[ChatMessage], prompt=str, documents=list[Document], payload=Payload)
    def run(
        self, documents: list[Document], query: str | None = None, history: list[ChatMessage] | None = None,
        labels: Labels | None = None,
    ) -> dict[str, Any]:
        """Return the messages, the prompt, the documents that are sent, and the payload."""
        return self._outputs(at_once(self._filled(documents, query, history, labels), "run_async"))

    @component.output_types(messages=list[ChatMessage], prompt=str, documents=list[Document], payload=Payload)
    async def run_async(
        self, documents: list[Document], query: str | None = None, history: list[ChatMessage] | None = None,
        labels: Labels | None = None,
    ) -> dict[str, Any]:
        """Return what `run` does, awaiting the builder's reranker."""
        return self._outputs(await rendered(self._filled(documents, query, history, labels)))

    def _filled(
        self, documents: Sequence[Document], query: str | None, history: Sequence[ChatMessage] | None,
        labels: Labels | None,
    ) -> PromptBuilder:
        return filled(self.builder, from_haystack(documents, distance=self.distance), query, history or (), labels)

    def _outputs(self, payload: Payload) -> dict[str, Any]:
        return {
            "messages": chat_messages(payload), "prompt": payload.text, "payload": payload,
            "documents": [packed_document(piece, self.label) for piece in payload.sources],
        }


@component
class AnswerVerifier:
    """A component that checks the citations of replies against the payload that they answer.

    min_support: the share of a cited sentence's words that its passage has to hold (`Payload.verify`); None: not
    checked. strict: raise CitationError for a reply that cites what was not sent, instead of only saying so.

    Outputs: answers, one for each reply, with the documents that were sent, their meta telling label, source_index
    (from 1) and referenced, and the whole verification in the answer's meta; verifications; and ok, whether all are.
    """

    def __init__(self, min_support: float | None = None, strict: bool = False) -> None:
        self.min_support = min_support
        self.strict = strict

    @component.output_types(answers=list[GeneratedAnswer], verifications=list[Verification], ok=bool)
    def run(self, payload: Payload, replies: list[ChatMessage] | list[str]) -> dict[str, Any]:
        """Return the answers, their verifications, and whether all are in order."""
        texts = [_text(reply) for reply in replies]
        found = [payload.verify(text, min_support=self.min_support) for text in texts]
        if self.strict:
            for one in found:
                one.raise_for_unknown()
        answers = [
            GeneratedAnswer(
                data=text, query=payload.question or "", documents=_marked(payload, one),
                meta={"verification": one.to_dict()},
            )
            for text, one in zip(texts, found, strict=True)
        ]
        return {"answers": answers, "verifications": found, "ok": all(one.ok for one in found)}


def packed_document(piece: PackedSource, label: str | None = LABEL) -> Document:
    """Return a passage as a document of Haystack: the one that came in, with the text that is sent and the label."""
    source = piece.source
    notes = notes_of(piece, label)
    if isinstance(source.origin, Document):
        meta = {**source.origin.meta, **notes}
        return replace(source.origin, content=piece.text, meta=meta, score=source.score)
    return Document(id=source.id, content=piece.text, meta={**source.metadata, **notes}, score=source.score)


def chat_messages(payload: Payload) -> list[ChatMessage]:
    """Return the messages of a payload as Haystack's; those of the history that were its own stay so."""
    return messages_of(payload, "haystack", ChatMessage.from_openai_dict_format)


def _text(reply: Any) -> str:
    text = reply if isinstance(reply, str) else getattr(reply, "text", None)
    if not isinstance(text, str):
        raise OptionError(f"replies: expected texts or messages with a text, got {quote(reply)}", name="replies")
    return text


def _marked(payload: Payload, verification: Verification) -> list[Document]:
    cited = set(verification.known)
    documents = []
    for index, piece in enumerate(payload.sources, 1):
        document = packed_document(piece)
        meta = {**document.meta, "source_index": index, "referenced": piece.label in cited}
        documents.append(replace(document, meta=meta))
    return documents
