"""What retrievers of frameworks and stores return becomes sources, by its shape alone."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections import namedtuple
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpack import OptionError, PromptBuilder, Source, SourceError
from promptpack.adapters import (
    from_chroma,
    from_haystack,
    from_langchain,
    from_langgraph_state,
    from_llamaindex,
    from_mappings,
    from_pgvector_rows,
    from_pinecone,
    from_qdrant,
    from_vector_store_rows,
    from_vercel_ai,
)
from promptpack.reading import content_id


def document(text: str, id_: str | None = None, **metadata: Any) -> SimpleNamespace:
    return SimpleNamespace(page_content=text, metadata=metadata, id=id_)


def node(text: str, id_: str, hidden: tuple[str, ...] = (), **metadata: Any) -> SimpleNamespace:
    return SimpleNamespace(
        node_id=id_, text=text, metadata=metadata, excluded_llm_metadata_keys=list(hidden), ref_doc_id="d",
        start_char_idx=3, end_char_idx=3 + len(text),
    )


def seen(sources: tuple[Source, ...]) -> list[tuple[str, str, float | None]]:
    return [(one.id, one.text, one.score) for one in sources]


def test_no_framework_is_imported() -> None:
    """If it fails, reading a list of dictionaries needs half of PyPI."""
    code = (
        "import sys, promptpack.adapters as a; a.from_langchain([{'page_content': 'x'}])\n"
        "sys.stdout.write(str([m for m in ('langchain_core', 'llama_index', 'haystack', 'pydantic', 'qdrant_client', "
        "'chromadb', 'pinecone', 'numpy', 'tiktoken', 'jinja2') if m in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]"


class TestLangChain:
    def test_documents_and_pairs(self) -> None:
        one, two = document("A.", "a"), document("B.", score=0.25)
        assert seen(from_langchain([one, two])) == [("a", "A.", None), (content_id("B."), "B.", 0.25)]
        assert seen(from_langchain([(one, 0.5), (two, np.float32(0.75))])) == [
            ("a", "A.", 0.5), (content_id("B."), "B.", 0.75),
        ]
        assert [source.origin for source in from_langchain([one, (two, 0.5)])] == [one, two]

    def test_what_a_reranker_wrote_comes_before_what_the_store_wrote(self) -> None:
        """If it fails, reranked documents are ranked by the vector search that the reranker was to correct."""
        (source,) = from_langchain([document("A.", score=0.9, relevance_score=0.1)])
        assert source.score == 0.1
        assert from_langchain([(document("A.", relevance_score=0.1), 0.7)])[0].score == 0.7

    def test_source_names_the_document_and_start_index_its_place(self) -> None:
        """If it fails, overlapping chunks of a splitter cannot be stitched, nor counted by document."""
        (source,) = from_langchain([document("Lamps.", source="a.md", start_index=10)])
        assert (source.document, source.start, source.end) == ("a.md", 10, 16)
        assert from_langchain([document("A.", source="wiki", source_id="d1")])[0].document == "d1"
        for odd in (-1, None, "7", 1.5, True):
            assert from_langchain([document("A.", start_index=odd)])[0].start is None
        assert from_langchain([document("A.", source=["a"])])[0].document is None

    def test_written_documents(self) -> None:
        plain = {"page_content": "A.", "metadata": {"title": "T"}, "id": "a", "type": "Document"}
        dumped = {"lc": 1, "type": "constructor", "id": ["langchain", "Document"], "kwargs": plain}
        for given_ in (plain, dumped):
            (source,) = from_langchain([given_])
            assert (source.id, source.text, dict(source.metadata)) == ("a", "A.", {"title": "T"})
            assert source.origin is given_
        assert from_langchain([(plain, 0.5)])[0].score == 0.5

    def test_metadata_never_replace_the_real_values(self) -> None:
        odd = {"id": 7, "text": "other", "score": "high", "chunk": "x", "label": "S9"}
        (source,) = from_langchain([SimpleNamespace(page_content="A.", metadata=odd, id="real")])
        assert (source.id, source.text, source.score) == ("real", "A.", None)

    def test_adding_them_to_a_builder_is_the_same(self) -> None:
        """If it fails, `add_sources(documents)` and `add_sources(from_langchain(documents))` are two prompts."""
        documents = [(document("A.", source="a.md", start_index=1, score=0.3), 0.5), document("B.", "b", date="2026")]
        assert PromptBuilder(900).add_sources(documents) == PromptBuilder(900).add_sources(from_langchain(documents))


class TestLlamaIndex:
    def test_nodes(self) -> None:
        hit = SimpleNamespace(node=node("A.", "a", hidden=("path",), path="x", title="T"), score=0.5)
        (source,) = from_llamaindex([hit])
        assert (source.id, source.score, source.document, source.start, source.end) == ("a", 0.5, "d", 3, 5)
        assert dict(source.metadata) == {"title": "T"}
        assert source.origin is hit
        assert from_llamaindex([hit.node])[0].score is None
        assert from_llamaindex(SimpleNamespace(source_nodes=[hit])) == (source,)

    def test_written_nodes(self) -> None:
        written = {
            "node": {
                "id_": "a", "text": "A.", "metadata": {"path": "x", "title": "T"}, "start_char_idx": 3,
                "end_char_idx": 5, "excluded_llm_metadata_keys": ["path"],
                "relationships": {"1": {"node_id": "d"}}, "class_name": "TextNode",
            },
            "score": 0.5, "class_name": "NodeWithScore",
        }
        expected = from_llamaindex(
            [SimpleNamespace(node=node("A.", "a", hidden=("path",), path="x", title="T"), score=0.5)]
        )
        assert from_llamaindex([written]) == expected
        assert from_llamaindex([json.loads(json.dumps(written))["node"]])[0].text == "A."
        assert from_llamaindex([{"id_": "b", "text_resource": {"text": "B."}, "metadata": {}}])[0].text == "B."

    def test_what_is_excluded_cannot_be_shown(self) -> None:
        """If it fails, what a node keeps from the model is sent to it, under its own name or another field's."""
        hit = node("A.", "a", hidden=("secret", "date", "score", "source_id"), secret="s3cret", date="s3cret-2026",
                   score=0.9, source_id="s3cret-doc")
        hit.ref_doc_id = None
        fields = ("chunk", "secret", "date", "updated", "document", "score")
        payload = PromptBuilder(900, fields=fields).add_sources(from_llamaindex([hit])).with_question("Why?").render()
        assert "s3cret" not in payload.text
        assert payload.sources[0].source.score is None


class TestHaystack:
    def test_documents(self) -> None:
        one = SimpleNamespace(
            id="h", content="Lamps.", meta={"source_id": "d", "split_idx_start": 4, "page_number": 2}, score=0.5
        )
        (source,) = from_haystack([one])
        assert (source.id, source.score, source.document, source.start, source.end) == ("h", 0.5, "d", 4, 10)
        assert from_haystack({"documents": [one]}) == (source,)
        flat = {"id": "h", "content": "Lamps.", "score": 0.5, "embedding": [0.1], "blob": None, **one.meta}
        nested = {"id": "h", "content": "Lamps.", "score": 0.5, "meta": one.meta, "sparse_embedding": None}
        assert from_haystack([flat]) == from_haystack([nested]) == (source,)
        with pytest.raises(SourceError, match=r"^sources\[0\]: meta: expected a mapping"):
            from_haystack([{"content": "x", "meta": 5}])


class TestStates:
    def test_a_graph_s_state(self) -> None:
        documents = [document("A.", "a"), {"content": "B.", "score": 0.5, "metadata": {"k": 1}}]
        expected = [("a", "A.", None), (content_id("B."), "B.", 0.5)]
        assert seen(from_langgraph_state({"question": "q", "documents": documents})) == expected
        assert seen(from_langgraph_state(SimpleNamespace(context=documents, messages=[]))) == expected
        assert seen(from_langgraph_state({"hits": documents, "docs": [1]}, "hits")) == expected
        assert seen(from_langgraph_state(documents)) == expected
        assert from_langgraph_state([({"content": "B."}, 0.5)], distance=True)[0].score == -0.5

    @pytest.mark.parametrize(
        ("state", "key", "said"),
        [
            ({"messages": []}, None, "no list is under documents, context"),
            ({"documents": [], "context": []}, None, "lists are under documents, context"),
            ({"context": "already joined"}, None, "no list is under"),
            ({"a": 1}, "b", "nothing under 'b'; there is 'a'"), (SimpleNamespace(), "b", "none of it"),
            ({"b": "text"}, "b", "expected a list"), (None, None, "no list is under"),
        ],
    )
    def test_a_state_that_does_not_say_which(self, state: Any, key: str | None, said: str) -> None:
        with pytest.raises(SourceError, match=said):
            from_langgraph_state(state, key)


class TestVercel:
    def test_results(self) -> None:
        rows = [{"content": "A.", "score": 0.5, "metadata": {"k": 1}}, {"id": "b", "text": "B.", "similarity": 0.25}]
        assert seen(from_vercel_ai(rows)) == [(content_id("A."), "A.", 0.5), ("b", "B.", 0.25)]

    def test_a_ranking(self) -> None:
        ranking = [
            {"originalIndex": 1, "score": 0.9, "document": "A."},
            {"originalIndex": 0, "score": 0.5, "document": {"id": "b", "body_md": "B.", "score": 0.1}},
        ]
        found = from_vercel_ai({"ranking": ranking[:1], "rerankedDocuments": ["A."]})
        assert seen(found) == [(content_id("A."), "A.", 0.9)]
        assert seen(from_vercel_ai(ranking[1:], keys={"text": "body_md"})) == [("b", "B.", 0.5)]


class TestStores:
    def test_qdrant(self) -> None:
        point = {"id": 1, "score": 0.5, "payload": {"page_content": "A.", "metadata": {"k": 1, "text": "other"}}}
        as_object = SimpleNamespace(**point)
        expected = [("1", "A.", 0.5)]
        for result in (
            [point], [as_object], SimpleNamespace(points=[as_object]), {"points": [point]},
            {"result": {"points": [point]}}, {"result": [point]}, ([as_object], "next page"),
        ):
            assert seen(from_qdrant(result)) == expected
        assert dict(from_qdrant([point])[0].metadata) == {"k": 1, "text": "other"}
        own = [{"id": 1, "score": 2.0, "payload": {"body": "A.", "text": "no"}}]
        (source,) = from_qdrant(own, keys={"text": "body"}, distance=True)
        assert (source.text, source.score, dict(source.metadata)) == ("A.", -2.0, {"text": "no"})
        for odd in ({"id": 1, "payload": None}, {"payload": {}}, 5, "x"):
            with pytest.raises(SourceError, match=r"sources\[0\]"):
                from_qdrant([odd])

    def test_chroma(self) -> None:
        asked = {
            "ids": [["a", "b"]], "documents": [["A.", "B."]], "metadatas": [[{"k": 1}, None]],
            "distances": [[0.25, 0.0]], "embeddings": None, "included": ["documents"],
        }
        assert seen(from_chroma(asked)) == [("a", "A.", -0.25), ("b", "B.", 0.0)]
        assert math.copysign(1, from_chroma(asked)[1].score or 0) == 1, "no -0.0, which would be shown"
        assert from_chroma(asked, distance=False)[0].score == 0.25
        got = {"ids": ["a", "b"], "documents": ["A.", "B."], "metadatas": None}
        assert seen(from_chroma(got)) == [("a", "A.", None), ("b", "B.", None)]
        assert from_chroma({"ids": [], "documents": []}) == from_chroma({"ids": [[]], "documents": [[]]}) == ()
        two = {"ids": [["a"], ["b", "c"]], "documents": [["A."], ["B.", "C."]]}
        assert [one.id for one in from_chroma(two, query=1)] == ["b", "c"]

    @pytest.mark.parametrize(
        ("result", "query", "error", "said"),
        [
            ({"ids": [["a"]]}, None, SourceError, "include="),
            ({"ids": [["a"], ["b"]], "documents": [["A."], ["B."]]}, None, SourceError, "answers 2 questions"),
            ({"ids": [["a"], ["b"]], "documents": [["A."], ["B."]]}, 2, OptionError, "from 0 to 1, got 2"),
            ({"ids": ["a"], "documents": ["A."]}, True, OptionError, "got True"),
            ({"ids": [["a", "b"]], "documents": [["A."]]}, None, SourceError, "documents: expected a list of 2.*got 1"),
            ({"ids": [["a"]], "documents": ["A."]}, None, SourceError, "documents: expected a list of 1"),
            ({"ids": [["a"]], "documents": [[None]]}, None, SourceError, r"sources\[0\]: there is no text"),
            ({"ids": [["a"]], "documents": [["A."]], "distances": [["x"]]}, None, SourceError, "score"),
            ([], None, SourceError, "what Chroma returns"), ({"ids": "a"}, None, SourceError, "what Chroma returns"),
        ],
    )
    def test_chroma_lists_that_do_not_fit(self, result: Any, query: Any, error: type[Exception], said: str) -> None:
        """If it fails, texts get the ids of their neighbours."""
        with pytest.raises(error, match=said):
            from_chroma(result, query=query)

    def test_pinecone(self) -> None:
        match = {"id": "a", "score": 0.5, "values": [0.1], "metadata": {"chunk_text": "A.", "k": 1}}
        hit = {"_id": "a", "_score": 0.5, "fields": {"chunk_text": "A.", "k": 1}}
        for result in (
            {"matches": [match]}, [match], SimpleNamespace(matches=[SimpleNamespace(**match)]),
            {"result": {"hits": [hit]}, "usage": {}}, [hit],
        ):
            (source,) = from_pinecone(result)
            assert (source.id, source.text, source.score, dict(source.metadata)) == ("a", "A.", 0.5, {"k": 1})
        assert from_pinecone([match], distance=True)[0].score == -0.5
        own = {"id": "a", "score": 1, "metadata": {"story": "A."}}
        assert from_pinecone([own], keys={"text": "story"})[0].text == "A."
        with pytest.raises(SourceError, match=r"sources\[0\]: there is no text"):
            from_pinecone([own])

    def test_pgvector(self) -> None:
        row = {"id": 7, "content": "A.", "distance": 0.25, "metadata": '{"title": "T"}', "embedding": np.zeros(3)}

        class Record:
            """As asyncpg and sqlite3 give them: no mapping, but with keys."""

            def keys(self) -> list[str]:
                return list(row)

            def __getitem__(self, key: str) -> Any:
                return row[key]

        named = namedtuple("named", row)(**row)  # type: ignore[misc]
        for one in (row, Record(), named, SimpleNamespace(_mapping=row), SimpleNamespace(**row)):
            (source,) = from_pgvector_rows([one], distance=True)
            assert (source.id, source.text, source.score, dict(source.metadata)) == ("7", "A.", -0.25, {"title": "T"})
            assert source.origin is one
        (source,) = from_pgvector_rows([tuple(row.values())], columns=list(row), distance="distance")
        assert source.score == -0.25
        langchain = {"id": "a", "document": "A.", "cmetadata": {"source": "x"}, "distance": 0.5}
        assert seen(from_pgvector_rows([langchain], distance=True)) == [("a", "A.", -0.5)]
        llama = {"node_id": "n", "text": "A.", "metadata_": {"k": 1}, "dist": 0.5}
        (source,) = from_pgvector_rows([llama], keys={"id": "node_id"}, distance="dist")
        assert (source.id, source.score, dict(source.metadata)) == ("n", -0.5, {"k": 1})

    def test_pgvector_rows_without_names(self) -> None:
        with pytest.raises(SourceError, match=r"sources\[1\]: a row without names; say columns="):
            from_pgvector_rows([{"text": "x"}, (1, "x")])
        with pytest.raises(SourceError, match="a row of 2 values for 1 columns"):
            from_pgvector_rows([(1, "x")], columns=["id"])
        with pytest.raises(OptionError, match="columns"):
            from_pgvector_rows([(1, "x")], columns="id")
        with pytest.raises(SourceError, match="metadata: expected a mapping, got 'not json'"):
            from_pgvector_rows([{"text": "x", "metadata": "not json"}])

    def test_rows_of_other_stores(self) -> None:
        rows = [
            {"id": 1, "score": 0.5, "entity": {"text": "A.", "k": 1}},
            {"_id": "1", "_score": 0.5, "_source": {"text": "A.", "k": 1}, "vector": [0.1]},
            {"id": 1, "score": 0.5, "text": "A.", "k": 1, "vector": [0.1]},
            SimpleNamespace(id=1, score=0.5, text="A.", metadata={"k": 1}, _private=1),
        ]
        for row in rows:
            (source,) = from_vector_store_rows([row])
            assert (source.id, source.text, source.score, dict(source.metadata)) == ("1", "A.", 0.5, {"k": 1})

    def test_named_keys(self) -> None:
        row = {"pk": 7, "id": "other", "text": "summary", "meta": {"body": "Body.", "changed": "2026-01-02"}}
        keys = {"id": "pk", "text": "body", "updated": "changed"}
        (source,) = from_mappings([row], keys=keys)
        assert (source.id, source.text, source.updated) == ("7", "Body.", "2026-01-02")
        assert dict(source.metadata) == {"id": "other", "text": "summary"}, "what is displaced is kept"
        assert row["meta"] == {"body": "Body.", "changed": "2026-01-02"}, "what came in is not changed"
        with pytest.raises(SourceError, match=r"sources\[0\]: text: there is no 'boddy'; there is 'pk', 'id'"):
            from_mappings([row], keys={"text": "boddy"})
        with pytest.raises(OptionError, match="did you mean 'text'"):
            from_mappings([row], keys={"txt": "body"})
        for wrong in ([("text", "body")], {"text": 5}):
            with pytest.raises(OptionError, match="keys"):
                from_mappings([row], keys=wrong)  # type: ignore[arg-type]
        extra = {"text": "A.", "metadata": {"k": 1}, "more": {"m": 2}}
        assert dict(from_mappings([extra], keys={"metadata": "more"})[0].metadata) == {"k": 1, "m": 2}
        with pytest.raises(SourceError, match="expected a mapping, got 'text'"):
            from_mappings(["text"])  # type: ignore[list-item]


class TestDistance:
    PAIRS = ((document("far", "far"), 0.9), (document("near", "near"), 0.1), (document("mid", "mid"), 0.5))

    def test_the_nearest_ranks_first(self) -> None:
        """If it fails, the worst document is taken for the best."""
        payload = PromptBuilder(900).add_sources(from_langchain(self.PAIRS, distance=True)).render()
        assert [one.source.id for one in sorted(payload.sources, key=lambda one: one.rank)] == ["near", "mid", "far"]
        assert {payload.sources[0].source.id, payload.sources[-1].source.id} == {"near", "mid"}

    def test_min_score_is_a_greatest_distance(self) -> None:
        packed = PromptBuilder(900).with_packing(min_score=-0.5)
        payload = packed.add_sources(from_langchain(self.PAIRS, distance=True)).render()
        assert {one.source.id for one in payload.sources} == {"near", "mid"}

    @pytest.mark.parametrize("key", ["distance", "_distance"])
    def test_one_that_nobody_declared_is_an_error(self, key: str) -> None:
        """If it fails, rows are ranked by nothing, or the wrong way round, without a word."""
        rows = [{"text": "A.", "score": 0.5, key: 0.5}, {"text": "B.", key: 0.25}]
        assert from_vector_store_rows(rows[:1])[0].score == 0.5, "there is a score, which ranks"
        for read in (from_mappings, from_vector_store_rows, from_pgvector_rows):
            with pytest.raises(SourceError, match=rf"^sources\[1\]: {key}: .*say distance=True") as caught:
                read(rows)
            assert caught.value.index == 1
        assert [one.score for one in from_mappings(rows, distance=True)] == [-0.5, -0.25]
        assert from_mappings([{"text": "A.", "metadata": {"distance": 5}}])[0].metadata["distance"] == 5

    def test_keys_of_distances(self) -> None:
        rows = [{"text": "A.", "d": 0.5, "score": 9}, {"text": "B.", "metadata": {"d": 0.25}}]
        assert [one.score for one in from_mappings(rows, distance="d")] == [-0.5, -0.25]
        with pytest.raises(SourceError, match=r"sources\[0\]: distance: there is nothing under 'e'; there is 'text'"):
            from_mappings(rows, distance="e")
        with pytest.raises(SourceError, match=r"sources\[0\]: 'd': expected a number, got '0.5'"):
            from_mappings([{"text": "A.", "d": "0.5"}], distance="d")
        for wrong in (1, None, 0.5):
            with pytest.raises(OptionError, match="distance: expected True or False or the key"):
                from_mappings(rows, distance=wrong)  # type: ignore[arg-type]
        for read in (from_langchain, from_llamaindex, from_haystack, from_langgraph_state, from_qdrant, from_pinecone):
            with pytest.raises(OptionError, match="got 'd'"):
                read([], distance="d")  # type: ignore[arg-type, operator]

    @given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=20))
    def test_the_order_is_turned_and_nothing_else(self, numbers: list[float]) -> None:
        pairs = [(document(str(at), str(at)), number) for at, number in enumerate(numbers)]
        found = from_langchain(pairs, distance=True)
        assert [one.score for one in found] == [-number for number in numbers]
        assert [one.id for one in found] == [str(at) for at in range(len(numbers))]

    def test_odd_numbers_are_left_to_the_packing(self) -> None:
        assert math.isnan(from_langchain([(document("A."), math.nan)], distance=True)[0].score or 0)
        assert from_langchain([Source("a", "A.", 0.5), Source("b", "B.")], distance=True)[0].score == -0.5
        assert from_langchain([document("A.")], distance=True)[0].score is None


class Raises:
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"no {name} without a connection")


READERS = [
    from_langchain, from_llamaindex, from_haystack, from_langgraph_state, from_vercel_ai, from_qdrant, from_pinecone,
    from_pgvector_rows, from_vector_store_rows, from_mappings,
]


BAD: list[Any] = [
    None, 5, b"x", object(), {}, {"text": 5}, {"id": "a"}, [], Raises(), {"text": "x", "score": "y"},
    {"text": "x", "metadata": 5}, ("x", "high"), {"content": {}, "meta": {}},
]


@pytest.mark.parametrize("read", READERS, ids=[read.__name__ for read in READERS])
@pytest.mark.parametrize("item", BAD, ids=[f"{at}-{type(item).__name__}" for at, item in enumerate(BAD)])
def test_items_that_cannot_be_read_are_named(read: Any, item: Any) -> None:
    """If it fails, an error from the middle of the library says neither which item nor what is wrong with it."""
    fine = {"id": "a", "payload": {"text": "fine"}} if read is from_qdrant else {"text": "fine", "content": "fine"}
    with pytest.raises(SourceError) as caught:
        read([fine, item])
    assert caught.value.index == 1
    assert str(caught.value).startswith("sources[1]: ")
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("read", READERS, ids=[read.__name__ for read in READERS])
@pytest.mark.parametrize("items", [None, 5, "text", b"x", {"a"}, {"a": 1}, Source("a", "x")])
def test_what_is_no_list_is_refused(read: Any, items: Any) -> None:
    with pytest.raises(SourceError):
        read(items)
    assert read([]) == ()
