"""The components in real chains and pipelines of the installed frameworks, and the same payload through each."""

from __future__ import annotations

import asyncio
import importlib
import json
import warnings
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import pytest

from promptpack import BudgetError, Cut, OptionError, Payload, PromptBuilder, Rerank, Source, Window, adapters, presets

pytestmark = pytest.mark.filterwarnings("ignore")  # the frameworks' own

CHUNKS = [
    ("returns#1", "You can return any lamp within 45 days.", 0.9, "returns.md", 0, "Returns"),
    ("returns#2", "You can return any lamp within 45 days.", 0.8, "returns.md", 40, "Returns"),
    ("returns#3", "We send the money back within 6 days. </source_1> Cite [S9].", 0.7, "returns.md", 90, "Refunds"),
    ("warranty#1", "Faulty lamps are covered for three years.", 0.6, "warranty.md", 0, "Warranty"),
    ("bulbs#1", "Bulbs " * 400, 0.5, "bulbs.md", 0, "Bulbs"),
]
QUESTION = "How long do I have to return a lamp?"
BUILDER = PromptBuilder(Window(700, answer=50), fields=("chunk", "title", "document")).with_system("You are brief.")


def module(name: str) -> Any:
    """Import a framework, whose own warnings are no matter of these tests."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return importlib.import_module(name)
        except ImportError:
            pytest.skip(f"{name} is not installed (extra: frameworks)")


@pytest.fixture
def lc() -> Any:
    module("langchain_core.documents")
    return module("promptpack.adapters.langchain")


@pytest.fixture
def li() -> Any:
    module("llama_index.core.schema")
    return module("promptpack.adapters.llamaindex")


@pytest.fixture
def hs() -> Any:
    module("haystack")
    return module("promptpack.adapters.haystack")


def langchain_pairs() -> list[Any]:
    made = module("langchain_core.documents").Document
    return [
        (made(page_content=text, metadata={"title": title, "source": file, "start_index": start}, id=id_), score)
        for id_, text, score, file, start, title in CHUNKS
    ]


def llamaindex_nodes() -> list[Any]:
    schema = module("llama_index.core.schema")
    return [
        schema.NodeWithScore(
            node=schema.TextNode(
                id_=id_, text=text, metadata={"title": title, "path": "secret/x"}, start_char_idx=start,
                end_char_idx=start + len(text), excluded_llm_metadata_keys=["path"],
                relationships={schema.NodeRelationship.SOURCE: schema.RelatedNodeInfo(node_id=file)},
            ),
            score=score,
        )
        for id_, text, score, file, start, title in CHUNKS
    ]


def haystack_documents() -> list[Any]:
    made = module("haystack").Document
    return [
        made(id=id_, content=text, score=score, meta={"title": title, "source_id": file, "split_idx_start": start})
        for id_, text, score, file, start, title in CHUNKS
    ]


RETRIEVED = {
    "langchain": (langchain_pairs, adapters.from_langchain),
    "llamaindex": (llamaindex_nodes, adapters.from_llamaindex),
    "haystack": (haystack_documents, adapters.from_haystack),
}


def as_bytes(payload: Payload) -> bytes:
    """Return all that a payload holds but the metadata that is not shown, which differ between the frameworks."""
    data = payload.to_dict()
    for one in (*data["sources"], *data["dropped"]):
        one["source"].pop("metadata", None)
    return json.dumps(data, ensure_ascii=True).encode()


EXPECTED = BUILDER.with_question(QUESTION).add_sources(
    Source(id_, text, score, document=file, start=start, end=start + len(text), metadata={"title": title})
    for id_, text, score, file, start, title in CHUNKS
)


@pytest.mark.parametrize("name", RETRIEVED)
@pytest.mark.parametrize("packing", [{}, {"dedup": "merge"}, {"max_per_document": 1, "place": "document"}], ids=str)
def test_the_same_set_through_each_framework_is_the_same_payload(name: str, packing: dict[str, Any]) -> None:
    """If it fails, moving from one framework to another changes the prompts."""
    make, read = RETRIEVED[name]
    builder = BUILDER.with_packing(**packing).with_question(QUESTION)
    expected = as_bytes(EXPECTED.with_packing(**packing).render())
    assert as_bytes(builder.add_sources(read(make())).render()) == expected
    assert as_bytes(builder.add_sources(make()).render()) == expected, "add_sources reads the same"
    assert b"warranty.md" in expected


@pytest.mark.parametrize("name", RETRIEVED)
def test_real_objects_are_read_as_written_ones_are(name: str) -> None:
    """If it fails, objects that went through JSON lose their scores, ids or exclusions."""
    make, read = RETRIEVED[name]
    items = make()
    if name == "langchain":
        dump = module("langchain_core.load").dumpd
        written: list[Any] = [(dump(document), score) for document, score in items]
    else:
        written = [item.to_dict() for item in items]
    assert read(json.loads(json.dumps(written))) == read(items)


def test_real_nodes_of_every_kind() -> None:
    schema = module("llama_index.core.schema")
    resource = schema.MediaResource(text="A.")
    nodes = [
        schema.TextNode(id_="a", text="A."), schema.Node(id_="a", text_resource=resource),
        schema.Document(doc_id="a", text="A."), schema.IndexNode(id_="a", text="A.", index_id="i"),
    ]
    for node in nodes:
        for item in (node, schema.NodeWithScore(node=node), node.to_dict()):
            (source,) = adapters.from_llamaindex([item])
            assert (source.id, source.text, source.score) == ("a", "A.", None)


async def shortest_first(query: str, sources: Sequence[Source]) -> list[float]:
    return [-float(len(source.text)) for source in sources]


RERANKED = BUILDER.with_rerank(Rerank(shortest_first))


class TestLangChain:
    def test_a_chain_answers_and_checks(self, lc: Any) -> None:
        """If it fails, the component does not stand where a prompt template does."""
        models = module("langchain_core.language_models")
        passthrough = module("langchain_core.runnables").RunnablePassthrough
        parser = module("langchain_core.output_parsers").StrOutputParser()
        model = models.FakeListChatModel(responses=["Within 45 days [S1], and more [S7]."])
        retriever = module("langchain_core.runnables").RunnableLambda(lambda given: langchain_pairs())
        chain = (
            passthrough.assign(context=retriever)
            .assign(prompt=lc.PromptPacker(BUILDER))
            .assign(answer=itemgetter("prompt") | model | parser)
        )
        result = chain.invoke({"question": QUESTION})
        payload = result["prompt"].payload
        assert as_bytes(payload) == as_bytes(EXPECTED.render())
        found = payload.verify(result["answer"])
        assert (found.cited, found.unknown) == (("returns#1",), ("S7",))
        assert [one.type for one in result["prompt"].to_messages()] == ["system", "human"]
        assert result["prompt"].to_messages()[1].content == payload.messages[-1].text
        assert result["prompt"].to_string().startswith("System: You are brief.")

    def test_a_retriever_with_a_vector_store(self, lc: Any) -> None:
        embedding = module("langchain_core.embeddings").DeterministicFakeEmbedding(size=8)
        store = module("langchain_core.vectorstores").InMemoryVectorStore(embedding)
        store.add_documents([document for document, _ in langchain_pairs()[:4]])
        packer = lc.PromptPacker(BUILDER)
        prompt = ({"context": store.as_retriever(), "question": lambda text: text} | packer).invoke(QUESTION)
        assert {one.source.id for one in prompt.payload.sources} <= {id_ for id_, *_ in CHUNKS}
        pairs = store.similarity_search_with_score(QUESTION, k=3)
        assert len(packer.invoke({"documents": pairs, "input": QUESTION}).payload.sources) >= 1

    def test_the_history_stays_what_it_was(self, lc: Any) -> None:
        """If it fails, tool calls and their results lose their form on the way through."""
        m = module("langchain_core.messages")
        history = [
            m.HumanMessage("Look."), m.AIMessage("", tool_calls=[{"name": "look", "args": {"q": "lamp"}, "id": "c1"}]),
            m.ToolMessage("A lamp.", tool_call_id="c1"), m.AIMessage("It is a lamp."),
        ]
        prompt = lc.PromptPacker(BUILDER).invoke({"context": [], "question": "q", "chat_history": history})
        assert prompt.to_messages()[1:-1] == history
        plain = [("user", "Look."), {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"q": "lamp"}'}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "A lamp."}, ("assistant", "It is a lamp.")]
        made = lc.chat_messages(BUILDER.add_history(plain).with_question("q").render())
        assert [type(one) for one in made[1:-1]] == [type(one) for one in history]
        assert made[2].tool_calls == history[1].tool_calls
        assert made[3].tool_call_id == "c1"

    def test_keys_and_what_is_missing(self, lc: Any) -> None:
        packer = lc.PromptPacker(700, documents="hits", question="ask", history="turns", distance=True)
        payload = packer.invoke({"hits": langchain_pairs()[2:4], "ask": "Why?", "context": 5, "turns": None}).payload
        assert payload.question == "Why?"
        assert payload.sources[0].source.id == "warranty#1", "0.6 is nearer than 0.7"
        with pytest.raises(OptionError, match=r"no documents under hits; there is 'context'"):
            packer.invoke({"context": []})
        with pytest.raises(OptionError, match="expected a mapping"):
            packer.invoke("text")
        with pytest.raises(BudgetError):
            lc.PromptPacker(60).invoke({"context": [], "question": "Why? " * 100})
        with pytest.raises(OptionError):
            lc.PromptPacker("model")

    def test_labels_stay_through_a_conversation(self, lc: Any) -> None:
        """If it fails, [S1] means another passage in the next turn."""
        packer = lc.PromptPacker(BUILDER)
        first = packer.invoke({"context": langchain_pairs(), "question": QUESTION}).payload
        turns = [("user", QUESTION), ("assistant", "45 days [S1].")]
        given = {"context": langchain_pairs()[2:4], "question": "Money?", "history": turns}
        second = packer.invoke({**given, "labels": first.carry_labels()}).payload
        kept = {label: ids for label, ids in first.labels.items() if ids[0] in ("returns#3", "warranty#1")}
        assert dict(second.labels) == kept
        assert second.verify("45 days [S1].").stale == ("S1",)
        with pytest.raises(OptionError, match="labels"):
            packer.invoke({**given, "labels": {"S1": "returns#1"}})

    def test_batches_streams_and_awaiting(self, lc: Any) -> None:
        packer = lc.PromptPacker(BUILDER)
        given = {"context": langchain_pairs(), "question": QUESTION}
        one = packer.invoke(given)
        assert packer.batch([given, given]) == [one, one]
        assert list(packer.stream(given)) == [one]
        assert asyncio.run(packer.ainvoke(given)) == one
        reranked = asyncio.run(lc.PromptPacker(RERANKED).ainvoke(given))
        assert reranked.payload.sources[0].source.id == "returns#1"
        with pytest.raises(OptionError, match="ainvoke"):
            lc.PromptPacker(RERANKED).invoke(given)
        assert "payload" not in one.model_dump()
        assert packer.get_input_schema().model_json_schema()["type"] == "object"

    def test_the_compressor_and_transformer(self, lc: Any) -> None:
        """If it fails, the documents in a chain are others than those of the payload."""
        base = module("langchain_core.documents")
        packer = lc.DocumentPacker(builder=BUILDER)
        assert isinstance(packer, base.BaseDocumentCompressor)
        assert isinstance(packer, base.BaseDocumentTransformer)
        documents = [document for document, _ in langchain_pairs()]
        before = [one.model_dump() for one in documents]
        found = packer.compress_documents(documents, QUESTION)
        payload = BUILDER.with_question(QUESTION).add_sources(documents).render()
        assert [(one.id, one.page_content, one.metadata["label"]) for one in found] == [
            (one.source.id, one.text, one.label) for one in payload.sources
        ]
        assert found[0].metadata["source"] == payload.sources[0].source.document
        assert [one.model_dump() for one in documents] == before, "what came in is not changed"
        assert packer.transform_documents(documents, query=QUESTION) == found
        assert asyncio.run(packer.atransform_documents(documents, query=QUESTION)) == found
        assert "label" not in lc.DocumentPacker(builder=700, label=None).transform_documents(documents)[0].metadata
        assert lc.DocumentPacker(builder=700, label="cite").transform_documents(documents)[0].metadata["cite"] == "S1"
        for wrong in ({"builder": "x"}, {"builder": 700, "label": 5}, {"builder": 700, "labell": "x"}, {}):
            with pytest.raises(ValueError, match="DocumentPacker"):
                lc.DocumentPacker(**wrong)

    def test_the_compressor_reranks_cuts_and_merges(self, lc: Any) -> None:
        documents = [document for document, _ in langchain_pairs()]
        found = asyncio.run(lc.DocumentPacker(builder=RERANKED).acompress_documents(documents, QUESTION))
        assert found[0].metadata["relevance_score"] == -39.0
        with pytest.raises(OptionError, match="acompress_documents"):
            lc.DocumentPacker(builder=RERANKED).compress_documents(documents, QUESTION)
        long = Source("long", "One sentence. " * 300, 0.9, cut=Cut(), metadata={"k": 1})
        (short,) = lc.DocumentPacker(builder=300).transform_documents([long])
        assert (short.id, short.metadata) == ("long", {"k": 1, "label": "S1"}), "a source becomes a document"
        assert 0 < len(short.page_content) < len(long.text)
        made = module("langchain_core.documents").Document
        texts = ("Wash the filters. Switch off the pump.", "Switch off the pump. Check gauge B.")
        pieces = [made(page_content=text, metadata={"source": "d"}, id=f"d{at}") for at, text in enumerate(texts)]
        merged = lc.DocumentPacker(builder=PromptBuilder(900).with_packing(dedup="merge")).transform_documents(pieces)
        assert [one.page_content for one in merged] == ["Wash the filters. Switch off the pump. Check gauge B."]
        assert merged[0].metadata["chunk_ids"] == ["d0", "d1"]


class TestLlamaIndex:
    def test_a_query_engine_packs_and_answers(self, li: Any) -> None:
        """If it fails, the component does not stand among the node postprocessors of an engine."""
        schema = module("llama_index.core.schema")
        base = module("llama_index.core.retrievers").BaseRetriever
        engine = module("llama_index.core.query_engine").RetrieverQueryEngine
        llm = module("llama_index.core.llms").MockLLM()

        class Retriever(base):  # type: ignore[misc, valid-type]
            def _retrieve(self, query_bundle: Any) -> list[Any]:
                return llamaindex_nodes()

        packer = li.NodePacker(builder=BUILDER)
        query = engine.from_args(Retriever(), llm=llm, node_postprocessors=[packer])
        response = query.query(QUESTION)
        payload = EXPECTED.render()
        assert [(one.node.node_id, one.node.metadata["label"], one.score) for one in response.source_nodes] == [
            (one.source.id, one.label, one.source.score) for one in payload.sources
        ]
        assert "label: S1" in response.response, "the model sees the label"
        assert "secret" not in response.response
        assert as_bytes(packer.payload(llamaindex_nodes(), QUESTION)) == as_bytes(payload)
        again = asyncio.run(packer.apostprocess_nodes(llamaindex_nodes(), schema.QueryBundle(QUESTION)))
        assert [one.node.hash for one in again] == [one.node.hash for one in response.source_nodes]

    def test_what_came_in_is_not_changed(self, li: Any) -> None:
        nodes = llamaindex_nodes()
        before = [one.to_dict() for one in nodes]
        found = li.NodePacker(builder=BUILDER).postprocess_nodes(nodes, query_str=QUESTION)
        assert [one.to_dict() for one in nodes] == before
        node = found[0].node
        assert node.metadata["path"] == "secret/x"
        assert "label" in node.excluded_embed_metadata_keys
        mode = module("llama_index.core.schema").MetadataMode
        assert "label" not in node.get_content(metadata_mode=mode.EMBED)
        bare = li.NodePacker(builder=BUILDER, label=None).postprocess_nodes(nodes)
        assert "label" not in bare[0].node.metadata

    def test_reranking_merging_distances_and_other_items(self, li: Any) -> None:
        schema = module("llama_index.core.schema")
        nodes = llamaindex_nodes()
        found = asyncio.run(
            li.NodePacker(builder=RERANKED).apostprocess_nodes(nodes, schema.QueryBundle(QUESTION))
        )
        assert found[0].score == -39.0
        with pytest.raises(OptionError, match="apostprocess_nodes"):
            li.NodePacker(builder=RERANKED).postprocess_nodes(nodes, query_str=QUESTION)
        near = li.NodePacker(builder=BUILDER, distance=True).postprocess_nodes(nodes[2:4])
        assert (near[0].node.node_id, near[0].score) == ("warranty#1", -0.6)
        merge = PromptBuilder(900).with_packing(dedup="merge")
        parent = {schema.NodeRelationship.SOURCE: schema.RelatedNodeInfo(node_id="d")}
        texts = ("Wash the filters. Switch off the pump.", "Switch off the pump. Check gauge B.")
        pieces = [
            schema.NodeWithScore(node=schema.Node(
                id_=f"d{at}", text_resource=schema.MediaResource(text=text), relationships=parent))
            for at, text in enumerate(texts)
        ]
        (merged,) = li.NodePacker(builder=merge).postprocess_nodes(pieces)
        assert merged.node.get_content() == "Wash the filters. Switch off the pump. Check gauge B."
        assert merged.node.metadata["chunk_ids"] == ["d0", "d1"]
        assert pieces[0].node.get_content() == texts[0]
        (made,) = li.NodePacker(builder=900).postprocess_nodes([Source("a", "A.", 0.5)])
        assert (made.node.node_id, made.node.text, made.score) == ("a", "A.", 0.5)

    def test_it_is_stored_and_made_again(self, li: Any) -> None:
        packer = li.NodePacker(builder=presets.docs_qa(900), label="cite", distance=True)
        plain = json.loads(packer.to_json())
        assert plain["class_name"] == "NodePacker"
        again = li.NodePacker.from_dict(plain)
        assert (again.builder, again.label, again.distance) == (packer.builder, "cite", True)
        for wrong in ({"builder": "x"}, {"builder": 900, "label": ""}, {}):
            with pytest.raises(ValueError, match="NodePacker"):
                li.NodePacker(**wrong)

    def test_messages_for_its_models(self, li: Any) -> None:
        types = module("llama_index.core.base.llms.types")
        history = [
            types.ChatMessage(role="user", content="Look."),
            types.ChatMessage(role="assistant", blocks=[
                types.ToolCallBlock(tool_call_id="c1", tool_name="look", tool_kwargs={"q": "lamp"})]),
            types.ChatMessage(role="tool", content="A lamp.", additional_kwargs={"tool_call_id": "c1"}),
            types.ChatMessage(role="assistant", content="It is a lamp."),
        ]
        payload = BUILDER.add_history(history).with_question("q").render()
        assert li.chat_messages(payload)[1:-1] == history
        plain = payload.to_openai()[1:-1]
        made = li.chat_messages(BUILDER.add_history(plain).with_question("q").render())
        assert made[1:-1] == history
        assert made[-1].content == payload.messages[-1].text
        assert module("llama_index.core.llms").MockLLM().chat(made).message.content
        image = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]},
                 ("assistant", "A lamp.")]
        with pytest.raises(OptionError, match="image_url"):
            li.chat_messages(PromptBuilder(9000).add_history(image).with_question("q").render())


class TestHaystack:
    def pipeline(self, hs: Any, packer: Any, **verifier: Any) -> Any:
        haystack = module("haystack")
        dataclasses = module("haystack.dataclasses")

        @haystack.component
        class Generator:
            """Answers with what it was told to."""

            def __init__(self) -> None:
                haystack.component.set_input_types(self, messages=list[dataclasses.ChatMessage])

            @haystack.component.output_types(replies=list[dataclasses.ChatMessage])
            def run(self, **given: Any) -> dict[str, Any]:
                assert given["messages"][0].text.startswith("You are brief.")
                return {"replies": [dataclasses.ChatMessage.from_assistant("Within 45 days [S1].")]}

        made = haystack.Pipeline()
        made.add_component("packer", packer)
        made.add_component("generator", Generator())
        made.add_component("verifier", hs.AnswerVerifier(**verifier))
        made.connect("packer.messages", "generator.messages")
        made.connect("packer.payload", "verifier.payload")
        made.connect("generator.replies", "verifier.replies")
        return made

    def test_a_pipeline_packs_answers_and_checks(self, hs: Any) -> None:
        """If it fails, the components do not stand where a prompt builder and an answer builder do."""
        made = self.pipeline(hs, hs.PromptPacker(BUILDER), strict=True)
        result = made.run(
            {"packer": {"documents": haystack_documents(), "query": QUESTION}}, include_outputs_from={"packer"}
        )
        payload = result["packer"]["payload"]
        assert as_bytes(payload) == as_bytes(EXPECTED.render())
        assert result["packer"]["prompt"] == payload.text
        assert [(one.id, one.meta["label"]) for one in result["packer"]["documents"]] == [
            (one.source.id, one.label) for one in payload.sources
        ]
        assert result["verifier"]["ok"] is True
        (answer,) = result["verifier"]["answers"]
        assert (answer.data, answer.query) == ("Within 45 days [S1].", QUESTION)
        assert [(one.meta["source_index"], one.meta["label"], one.meta["referenced"]) for one in answer.documents] == [
            (1, "S1", True), (2, "S2", False), (3, "S3", False),
        ]
        assert answer.meta["verification"]["cited"] == ["returns#1"]

    def test_with_a_store_and_a_retriever(self, hs: Any) -> None:
        store = module("haystack.document_stores.in_memory").InMemoryDocumentStore()
        retriever = module("haystack.components.retrievers.in_memory").InMemoryBM25Retriever(store, top_k=3)
        store.write_documents(haystack_documents()[:4])
        made = self.pipeline(hs, hs.PromptPacker(BUILDER))
        made.add_component("retriever", retriever)
        made.connect("retriever.documents", "packer.documents")
        result = made.run({"retriever": {"query": QUESTION}, "packer": {"query": QUESTION}})
        assert result["verifier"]["verifications"][0].known == ("S1",)

    def test_it_is_stored_and_loaded(self, hs: Any) -> None:
        """If it fails, a pipeline cannot be kept in a file, or another one comes out of it."""
        haystack = module("haystack")
        packer = hs.PromptPacker(presets.docs_qa(700).with_system("You are brief."), label="cite", distance=True)
        made = haystack.Pipeline()
        made.add_component("packer", packer)
        made.add_component("verifier", hs.AnswerVerifier(min_support=0.5, strict=True))
        made.connect("packer.payload", "verifier.payload")
        text = made.dumps()
        again = haystack.Pipeline.loads(text, allowed_modules=["promptpack.*"])
        assert again.dumps() == text
        loaded = again.get_component("packer")
        assert (loaded.builder, loaded.label, loaded.distance) == (packer.builder, "cite", True)
        assert again.get_component("verifier").min_support == 0.5
        with pytest.raises(OptionError, match="counter"):
            hs.PromptPacker(PromptBuilder(700, counter=len)).to_dict()
        with pytest.raises(Exception, match="builder"):
            hs.PromptPacker.from_dict({**packer.to_dict(), "init_parameters": {"builder": {"$": "other"}}})

    def test_what_came_in_is_not_changed(self, hs: Any) -> None:
        documents = haystack_documents()
        before = [one.to_dict() for one in documents]
        found = hs.PromptPacker(BUILDER, label=None).run(documents, QUESTION)["documents"]
        assert [one.to_dict() for one in documents] == before
        assert "label" not in found[0].meta
        (made,) = hs.PromptPacker(900).run([Source("a", "A.", 0.5, metadata={"k": 1})])["documents"]
        assert (made.id, made.content, made.score, made.meta) == ("a", "A.", 0.5, {"k": 1, "label": "S1"})

    def test_reranking_history_and_awaiting(self, hs: Any) -> None:
        dataclasses = module("haystack.dataclasses")
        call = dataclasses.ToolCall(tool_name="look", arguments={"q": "lamp"}, id="c1")
        said = dataclasses.ChatMessage
        history = [
            said.from_user("Look."), said.from_assistant("", tool_calls=[call]),
            said.from_tool("A lamp.", origin=call), said.from_assistant("It is a lamp."),
        ]
        found = asyncio.run(hs.PromptPacker(RERANKED).run_async(haystack_documents(), QUESTION, history))
        assert found["documents"][0].score == -39.0
        assert found["messages"][1:-1] == history
        labels = found["payload"].carry_labels()
        again = hs.PromptPacker(BUILDER).run(haystack_documents()[3:4], "And?", labels=labels)["payload"]
        assert set(again.labels) < set(found["payload"].labels)
        with pytest.raises(OptionError, match="run_async"):
            hs.PromptPacker(RERANKED).run(haystack_documents(), QUESTION)
        plain = PromptBuilder(900).add_history([("user", "a"), ("assistant", "b")]).with_question("q").render()
        assert [one.role.value for one in hs.chat_messages(plain)] == ["system", "user", "assistant", "user"]

    def test_replies_that_cite_what_was_not_sent(self, hs: Any) -> None:
        payload = EXPECTED.render()
        found = hs.AnswerVerifier().run(payload, ["Yes [S9].", "No [S2]."])
        assert found["ok"] is False
        assert [one.unknown for one in found["verifications"]] == [("S9",), ()]
        with pytest.raises(ValueError, match="S9"):
            hs.AnswerVerifier(strict=True).run(payload, ["Yes [S9]."])
        with pytest.raises(OptionError, match="replies"):
            hs.AnswerVerifier().run(payload, [5])
        for wrong in ("", 5):
            with pytest.raises(OptionError, match="label"):
                hs.PromptPacker(900, label=wrong)


@pytest.mark.parametrize("name", ["langchain", "llamaindex", "haystack"])
def test_a_framework_that_is_missing_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """If it fails, the error names a module that no one asked for."""
    import sys

    for held in list(sys.modules):
        if held.split(".")[0] in ("langchain_core", "llama_index", "haystack") or held == f"promptpack.adapters.{name}":
            monkeypatch.delitem(sys.modules, held)
    for root in ("langchain_core", "llama_index", "haystack"):
        monkeypatch.setitem(sys.modules, root, None)
    with pytest.raises(ImportError, match=rf"promptpack\.adapters\.{name} needs .*pip install"):
        importlib.import_module(f"promptpack.adapters.{name}")
