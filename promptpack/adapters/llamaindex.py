"""A node postprocessor of LlamaIndex: the nodes that fit, deduplicated, cut and placed as the payload has them.

Importing this module imports llama-index-core.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from promptpack.adapters.frameworks import from_llamaindex
from promptpack.adapters.sent import (
    LABEL,
    at_once,
    check_label,
    filled,
    messages_of,
    missing,
    notes_of,
    rendered,
    texts_of,
)
from promptpack.adapters.written import builder_of, write_builder
from promptpack.builder import PromptBuilder
from promptpack.payload import PackedSource, Payload

try:
    from llama_index.core.base.llms.types import ChatMessage, TextBlock, ToolCallBlock
    from llama_index.core.bridge.pydantic import Field, field_serializer, field_validator
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import BaseNode, NodeWithScore, QueryBundle, TextNode
except ImportError as error:
    raise ImportError(missing("llamaindex", "llama-index-core")) from error


class NodePacker(BaseNodePostprocessor):
    """A postprocessor that keeps the nodes that fit the builder's window, in the order in which models read best.

    builder: a PromptBuilder, or a window in tokens. label: the key of the metadata that gets the label (S1, ...), where
    the model sees it and embeddings do not; None leaves the metadata alone. distance: scores are distances; those of
    the nodes that come out are then negative. What came in is not changed.

    The window counts promptpack's own enclosures; a synthesizer that writes larger ones needs a margin
    (`Window(size, margin=...)`), or `chat_messages(packer.payload(nodes, question))` sent by itself, which is exact.

    >>> packer = NodePacker(builder=1000)
    >>> nodes = packer.postprocess_nodes([NodeWithScore(node=TextNode(id_="a", text="Lamps last."))], query_str="Long?")
    >>> nodes[0].node.metadata
    {'label': 'S1'}
    """

    builder: Any = Field(description="What every payload shares.")
    label: str | None = Field(default=LABEL, description="The metadata key of the label.")
    distance: bool = Field(default=False, description="Whether scores are distances.")

    @field_validator("builder", mode="before")
    @classmethod
    def _builder(cls, value: Any) -> PromptBuilder:
        return builder_of(value)

    @field_validator("label", mode="before")
    @classmethod
    def _label(cls, value: Any) -> Any:
        check_label(value)
        return value

    @field_serializer("builder")
    def _written(self, builder: PromptBuilder) -> Any:
        return write_builder(builder)

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex stores it."""
        return "NodePacker"

    def payload(self, nodes: Sequence[NodeWithScore], question: str | None = None) -> Payload:
        """Return the payload for these nodes: the same passages, with the messages to send and what checks answers."""
        return at_once(self._filled(nodes, question), "apostprocess_nodes")

    async def apayload(self, nodes: Sequence[NodeWithScore], question: str | None = None) -> Payload:
        """Return what `payload` does, awaiting the builder's reranker."""
        return await rendered(self._filled(nodes, question))

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return self._packed(self.payload(nodes, query_bundle.query_str if query_bundle else None))

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return self._packed(await self.apayload(nodes, query_bundle.query_str if query_bundle else None))

    def _filled(self, nodes: Sequence[NodeWithScore], question: str | None) -> PromptBuilder:
        return filled(self.builder, from_llamaindex(nodes, distance=self.distance), question)

    def _packed(self, payload: Payload) -> list[NodeWithScore]:
        return [NodeWithScore(node=self._node(piece), score=piece.source.score) for piece in payload.sources]

    def _node(self, piece: PackedSource) -> BaseNode:
        origin = piece.source.origin
        base = origin.node if isinstance(origin, NodeWithScore) else origin
        if isinstance(base, BaseNode):
            node = base.model_copy()
        else:
            node = TextNode(id_=piece.source.id, text=piece.text, metadata=dict(piece.source.metadata))
        notes = notes_of(piece, self.label)
        node.metadata = {**node.metadata, **notes}
        hidden = [key for key in notes if key not in node.excluded_embed_metadata_keys]
        node.excluded_embed_metadata_keys = [*node.excluded_embed_metadata_keys, *hidden]
        if node.get_content() != piece.text:
            node.set_content(piece.text)
        return node


def chat_messages(payload: Payload) -> list[ChatMessage]:
    """Return the messages of a payload as LlamaIndex's, for `llm.chat`; those of the history that were its own stay so.

    Raises OptionError for an image or file of a history that came from elsewhere.
    """
    return messages_of(payload, "llamaindex", _message)


def _message(plain: dict[str, Any]) -> ChatMessage:
    content = plain.get("content")
    texts = texts_of(content) if isinstance(content, list) else [content] if content else []
    blocks: list[Any] = [TextBlock(text=text) for text in texts]
    for call in plain.get("tool_calls", ()):
        body = call.get("function") or call.get("custom") or {}
        given = body.get("arguments", body.get("input", ""))
        name = body.get("name", "")
        blocks.append(ToolCallBlock(tool_call_id=call.get("id"), tool_name=name, tool_kwargs=_read(given)))
    more = {"tool_call_id": plain["tool_call_id"]} if plain.get("tool_call_id") else {}
    return ChatMessage(role=plain["role"], blocks=blocks, additional_kwargs=more)


def _read(arguments: str) -> Any:
    """Return the arguments of a call as a mapping where they are one, else as the text that they are."""
    try:
        found = json.loads(arguments)
    except ValueError:
        return arguments
    return found if isinstance(found, dict) else arguments
