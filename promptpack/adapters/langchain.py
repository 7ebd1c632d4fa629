"""Components of LangChain: a Runnable that makes the prompt, and a compressor and transformer of documents.

Importing this module imports langchain-core.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from promptpack.adapters.frameworks import from_langchain
from promptpack.adapters.sent import LABEL, at_once, check_label, filled, messages_of, missing, notes_of, rendered
from promptpack.adapters.written import builder_of
from promptpack.builder import PromptBuilder
from promptpack.errors import OptionError, quote
from promptpack.payload import PackedSource, Payload

try:
    from langchain_core.documents import BaseDocumentCompressor, BaseDocumentTransformer, Document
    from langchain_core.messages import BaseMessage, convert_to_messages
    from langchain_core.prompt_values import ChatPromptValue
    from langchain_core.runnables import Runnable, RunnableConfig
    from pydantic import ConfigDict, Field, field_validator
except ImportError as error:
    raise ImportError(missing("langchain", "langchain-core")) from error

DOCUMENTS = ("context", "documents", "sources")
QUESTION = ("question", "input", "query")
HISTORY = ("chat_history", "history")
LABELS = ("labels",)


class PackedPromptValue(ChatPromptValue):
    """A prompt that a chat model takes as it is, with the payload that it was made from, to check the answer with."""

    payload: Any = Field(exclude=True, repr=False)

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Return False: a payload has a form of its own, `Payload.to_dict`."""
        return False


class PromptPacker(Runnable[Mapping[str, Any], PackedPromptValue]):
    """A Runnable from retrieved documents and a question to the prompt, which stands where a prompt template does.

    builder: what every prompt shares, or a window in tokens. distance: the numbers of (document, number) pairs are
    distances. documents, question, history, labels: the keys of the input; by default the first of context, documents,
    sources; of question, input, query; of chat_history, history; and labels. Other keys are passed over.

    In a conversation, `payload.carry_labels()` of the turn before goes in as labels, so that each chunk keeps its name.

    In: a mapping with the documents (or pairs), and a question. Out: a `PackedPromptValue`; its `payload` verifies:

        answer = itemgetter("prompt") | model | StrOutputParser()
        chain = RunnablePassthrough.assign(prompt=packer).assign(answer=answer)
        result = chain.invoke({"context": documents, "question": question})
        result["prompt"].payload.verify(result["answer"]).raise_for_unknown()

    Raises OptionError for an input without documents, and what `PromptBuilder.render` raises. A builder with a reranker
    needs `ainvoke`.
    """

    def __init__(
        self, builder: PromptBuilder | int, *, distance: bool = False, documents: str | None = None,
        question: str | None = None, history: str | None = None, labels: str | None = None,
    ) -> None:
        self.builder = builder_of(builder)
        self.distance = distance
        self._keys = tuple(
            ((own,) if own is not None else usual)
            for own, usual in ((documents, DOCUMENTS), (question, QUESTION), (history, HISTORY), (labels, LABELS))
        )

    def invoke(
        self, input: Mapping[str, Any], config: RunnableConfig | None = None, **kwargs: Any
    ) -> PackedPromptValue:
        """Return the prompt for an input."""
        return cast(PackedPromptValue, self._call_with_config(self._prompt, input, config))

    async def ainvoke(
        self, input: Mapping[str, Any], config: RunnableConfig | None = None, **kwargs: Any
    ) -> PackedPromptValue:
        """Return the prompt for an input, awaiting the builder's reranker."""
        return cast(PackedPromptValue, await self._acall_with_config(self._aprompt, input, config))

    def _prompt(self, given: Mapping[str, Any]) -> PackedPromptValue:
        return prompt_value(at_once(self._filled(given), "ainvoke"))

    async def _aprompt(self, given: Mapping[str, Any]) -> PackedPromptValue:
        return prompt_value(await rendered(self._filled(given)))

    def _filled(self, given: Mapping[str, Any]) -> PromptBuilder:
        if not isinstance(given, Mapping):
            raise OptionError(
                f"input: expected a mapping with {DOCUMENTS[0]} and {QUESTION[0]}, got {quote(given)}", name="input"
            )
        documents, question, history, labels = (
            next((given[key] for key in keys if given.get(key) is not None), None) for keys in self._keys
        )
        if documents is None:
            there = ", ".join(quote(key, 20) for key in list(given)[:8]) or "nothing"
            raise OptionError(
                f"input: there are no documents under {', '.join(self._keys[0])}; there is {there}", name="input"
            )
        sources = from_langchain(documents, distance=self.distance)
        return filled(self.builder, sources, question, history or (), labels)


class DocumentPacker(BaseDocumentCompressor, BaseDocumentTransformer):
    """A compressor and transformer of documents: those that fit, deduplicated, cut and placed as the payload has them.

    builder: a PromptBuilder, or a window in tokens. label: the key of the metadata that gets the label (S1, ...), also
    where there was such a key; None leaves the metadata alone. Documents without an id get that of their source, and
    with a reranker `relevance_score` is its score. What came in is not changed.

    >>> packer = DocumentPacker(builder=1000)
    >>> packer.compress_documents([Document(page_content="Lamps last.", id="a")], "How long?")[0].metadata
    {'label': 'S1'}
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    builder: Any
    label: str | None = LABEL

    @field_validator("builder", mode="before")
    @classmethod
    def _builder(cls, value: Any) -> PromptBuilder:
        return builder_of(value)

    @field_validator("label", mode="before")
    @classmethod
    def _label(cls, value: Any) -> Any:
        check_label(value)
        return value

    def compress_documents(
        self, documents: Sequence[Document], query: str | None, callbacks: Any = None
    ) -> list[Document]:
        """Return the documents to send for a question, in the order to send them."""
        built = filled(self.builder, from_langchain(documents), query)
        return self._packed(at_once(built, "acompress_documents"))

    async def acompress_documents(
        self, documents: Sequence[Document], query: str | None, callbacks: Any = None
    ) -> list[Document]:
        """Return what `compress_documents` does, awaiting the builder's reranker."""
        return self._packed(await rendered(filled(self.builder, from_langchain(documents), query)))

    def transform_documents(self, documents: Sequence[Document], **kwargs: Any) -> list[Document]:
        """Return the documents to send, in the order to send them; `query` may be given by name."""
        return self.compress_documents(documents, kwargs.get("query"))

    async def atransform_documents(self, documents: Sequence[Document], **kwargs: Any) -> list[Document]:
        """Return what `transform_documents` does, awaiting the builder's reranker."""
        return await self.acompress_documents(documents, kwargs.get("query"))

    def _packed(self, payload: Payload) -> list[Document]:
        return [self._document(piece) for piece in payload.sources]

    def _document(self, piece: PackedSource) -> Document:
        source = piece.source
        base = source.origin if isinstance(source.origin, Document) else Document("", metadata=dict(source.metadata))
        reranked = {"relevance_score": source.score} if self.builder.rerank is not None else {}
        return base.model_copy(update={
            "page_content": piece.text, "id": base.id if base.id is not None else source.id,
            "metadata": {**base.metadata, **reranked, **notes_of(piece, self.label)},
        })


def prompt_value(payload: Payload) -> PackedPromptValue:
    """Return a payload as a prompt of LangChain."""
    return PackedPromptValue(messages=chat_messages(payload), payload=payload)


def chat_messages(payload: Payload) -> list[BaseMessage]:
    """Return the messages of a payload as LangChain's; those of the history that were LangChain's stay so."""
    return messages_of(payload, "langchain", lambda plain: convert_to_messages([plain])[0])
