"""What retrievers return becomes sources: every shape, every alias, and an error of ours for all the rest."""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections import OrderedDict, UserDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from promptpack.builder import PromptBuilder
from promptpack.errors import OptionError, SourceError
from promptpack.foreign import ID_KEYS, METADATA_KEYS, SCORE_KEYS, TEXT_KEYS
from promptpack.reading import HASH_MARK, content_id, read_source, read_sources
from promptpack.source import Cut, Source

ROOT = Path(__file__).parents[2]


def one(item: Any) -> Source:
    (source,) = read_sources([item])
    return source


# Objects with the attributes that the frameworks' own have.


@dataclass
class LangChainDocument:
    page_content: str
    metadata: dict[str, Any] = field(default_factory=dict)
    id: str | None = None
    type: str = "Document"


@dataclass
class TextNode:
    text: str
    metadata: dict[str, Any] = field(default_factory=dict)
    id_: str = "node-1"
    excluded_llm_metadata_keys: list[str] = field(default_factory=list)
    excluded_embed_metadata_keys: list[str] = field(default_factory=list)
    start_char_idx: int | None = None
    end_char_idx: int | None = None
    ref_doc_id: str | None = None

    @property
    def node_id(self) -> str:
        return self.id_

    def get_content(self, metadata_mode: str = "none") -> str:
        return self.text


@dataclass
class NodeWithScore:
    node: Any
    score: float | None = None

    @property
    def node_id(self) -> str:
        return str(self.node.node_id)

    @property
    def text(self) -> str:
        return str(self.node.text)

    @property
    def metadata(self) -> Any:
        return self.node.metadata


@dataclass
class HaystackDocument:
    id: str
    content: str | None
    meta: dict[str, Any] = field(default_factory=dict)
    score: float | None = None
    blob: Any = None
    embedding: Any = None


@dataclass
class ScoredPoint:
    id: Any
    score: float
    payload: dict[str, Any] | None
    version: int = 0
    vector: Any = None


class Raises:
    """Every attribute raises, as a closed session's or a lazy object's do."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"no {name} without a connection")


class TestFrameworks:
    def test_langchain(self) -> None:
        document = LangChainDocument("Text.", {"source": "a.md", "page": 3, "score": 0.5, "date": "2026-01-02"}, "d1")
        source = one(document)
        assert (source.id, source.text, source.score, source.updated) == ("d1", "Text.", 0.5, "2026-01-02")
        assert source.metadata["page"] == 3
        assert source.origin is document

    def test_langchain_without_id_and_with_a_score_beside_it(self) -> None:
        document = LangChainDocument("Text.", {"score": 0.1})
        source = one((document, np.float32(0.75)))
        assert (source.id, source.score) == (content_id("Text."), 0.75)  # the retriever's score comes first
        assert type(source.score) is float
        assert source.origin is document

    def test_llamaindex_node(self) -> None:
        node = TextNode(
            "Text.",
            {"file_name": "a.md", "secret": "x", "date": "2026-01-02"},
            "n1",
            ["secret", "date"],
            start_char_idx=10,
            end_char_idx=15,
            ref_doc_id="doc",
        )
        source = one(node)
        assert (source.id, source.document, source.start, source.end) == ("n1", "doc", 10, 15)
        assert dict(source.metadata) == {"file_name": "a.md"}
        assert source.updated is None  # what is kept from the model is not shown under another name either

    def test_llamaindex_with_score(self) -> None:
        hit = NodeWithScore(TextNode("Text.", {"k": 1, "hidden": 2}, "n1", ["hidden"]), 0.25)
        source = one(hit)
        assert (source.id, source.score, dict(source.metadata)) == ("n1", 0.25, {"k": 1})
        assert source.origin is hit
        assert one(NodeWithScore(TextNode("Text."))).score is None

    def test_llamaindex_document_with_a_text_resource(self) -> None:
        node = SimpleNamespace(node_id="n", metadata=None, get_content=lambda: "From the resource.")
        assert one(node).text == "From the resource."

    def test_haystack(self) -> None:
        document = HaystackDocument("h1", "Text.", {"file_path": "a", "source_id": "doc", "split_id": 2}, 0.5)
        source = one(document)
        assert (source.id, source.document, source.score) == ("h1", "doc", 0.5)
        assert source.metadata["split_id"] == 2

    def test_haystack_document_without_text(self) -> None:
        with pytest.raises(SourceError, match=r"^sources\[0\]: there is no text") as caught:
            one(HaystackDocument("h1", None, blob=b"..."))
        assert (caught.value.index, caught.value.field) == (0, "text")

    @pytest.mark.parametrize("id_", [7, "7", uuid.UUID(int=7)])
    def test_qdrant(self, id_: Any) -> None:
        source = one(ScoredPoint(id_, 0.5, {"page_content": "Text.", "metadata": {"date": "2026"}, "lang": "en"}))
        assert (source.id, source.text, source.score, source.updated) == (str(id_), "Text.", 0.5, "2026")
        assert dict(source.metadata) == {"date": "2026", "lang": "en"}

    def test_qdrant_payload_is_kept_whole(self) -> None:
        """Metadata that is no mapping was dropped without a word."""
        source = one(ScoredPoint(1, 0.5, {"text": "Text.", "metadata": "not a mapping"}))
        assert dict(source.metadata) == {"metadata": "not a mapping"}

    def test_qdrant_without_payload(self) -> None:
        with pytest.raises(SourceError, match="there is no text"):
            one(ScoredPoint(1, 0.5, None))


class TestMappings:
    @pytest.mark.parametrize("key", TEXT_KEYS)
    def test_text_keys(self, key: str) -> None:
        assert one({key: "Text."}).text == "Text."

    @pytest.mark.parametrize("key", ID_KEYS)
    def test_id_keys(self, key: str) -> None:
        assert one({"text": "x", key: "a"}).id == "a"

    @pytest.mark.parametrize("key", SCORE_KEYS)
    def test_score_keys(self, key: str) -> None:
        assert one({"text": "x", key: 0.5}).score == 0.5

    @pytest.mark.parametrize("key", METADATA_KEYS)
    def test_metadata_keys(self, key: str) -> None:
        source = one({"text": "x", key: {"title": "T"}, "lang": "en"})
        assert dict(source.metadata) == {"lang": "en", "title": "T"}

    def test_the_first_alias_with_a_value_counts_and_the_others_stay(self) -> None:
        source = one({"content": "b", "text": None, "snippet": "c", "id": None, "_id": 5})
        assert (source.text, source.id, dict(source.metadata)) == ("b", "5", {"snippet": "c"})

    def test_names_of_fields_fill_them(self) -> None:
        source = one(
            {
                "text": "x",
                "document": "d",
                "position": 3,
                "updated": "2026",
                "reliability": 0.5,
                "priority": 2,
                "required": True,
                "pinned": False,
                "tokens": 4,
                "start": 1,
                "end": 2,
                "cut": {"keep": "end", "min_tokens": 5},
            }
        )
        assert source == Source(
            source.id,
            "x",
            document="d",
            position=3,
            updated="2026",
            reliability=0.5,
            priority=2,
            required=True,
            tokens=4,
            start=1,
            end=2,
            cut=Cut("end", 5),
        )

    @pytest.mark.parametrize(
        ("field", "key", "value"),
        [
            *(("updated", key, "2026-01-01") for key in ("updated", "date", "timestamp", "updated_at")),
            ("updated", "timestamp", 1_700_000_000),
            ("updated", "date", date(2026, 1, 1)),
            *(("document", key, "d") for key in ("document", "doc", "source_id", "sourceId", "ref_doc_id")),
            *(("document", key, "a.md") for key in ("source", "file_path")),
            *(("position", key, 3) for key in ("position", "index", "sectionIndex")),
            ("score", "score", 0.5),
        ],
    )
    def test_metadata_fills_what_is_empty(self, field: str, key: str, value: Any) -> None:
        source = one({"text": "x", "metadata": {key: value}})
        assert getattr(source, field) == value
        assert source.metadata[key] == value  # it stays a shown field, too

    def test_the_place_that_it_was_read_from_names_the_document_last(self) -> None:
        """If it fails, chunks of one file are of no document, or of the file's name where an exact one is known."""
        meta = {"source": "a.md", "file_path": "/x/a.md", "source_id": "doc"}
        assert one({"text": "x", "metadata": meta}).document == "doc"
        assert one({"text": "x", "metadata": {"file_path": "/x/a.md", "source": 3}}).document == "/x/a.md"
        document = HaystackDocument("h1", "Text.", {"file_path": "/x/a.md"}, 0.5)
        assert one(document).document == "/x/a.md"
        bare = SimpleNamespace(
            id_="n1", node_id="n1", text="Text.", get_content=lambda: "Text.", metadata={"file_path": "/x/a.md"},
        )
        assert one(SimpleNamespace(node=bare, score=0.5)).document == "/x/a.md"

    @pytest.mark.parametrize("key", ["distance", "_distance"])
    def test_an_undeclared_distance_without_a_score_is_an_error(self, key: str) -> None:
        """If it fails, rows of a vector store are ranked by nothing, or the wrong way round, in silence."""
        with pytest.raises(SourceError, match=rf"^sources\[1\]: {key}: a distance .*from_mappings") as caught:
            list(read_sources(["First.", {"id": "a", "text": "x", key: np.float32(0.25)}]))
        assert (caught.value.index, caught.value.field, caught.value.id) == (1, "distance", "a")
        with pytest.raises(SourceError, match="a distance"):
            PromptBuilder(2000).add_sources([{"text": "x", key: 0.5}])

    @pytest.mark.parametrize(
        "item",
        [
            {"text": "x", "distance": 0.25, "score": 0.5}, {"text": "x", "distance": 0.25, "metadata": {"score": 0.5}},
            ({"text": "x", "distance": 0.25}, 0.5),
        ],
    )
    def test_a_distance_beside_a_score_is_metadata(self, item: Any) -> None:
        source = one(item)
        assert (source.score, source.metadata["distance"]) == (0.5, 0.25)

    @pytest.mark.parametrize("value", ["5 km", None, True, float("nan")], ids=str)
    def test_what_is_no_number_is_no_distance(self, value: Any) -> None:
        assert one({"text": "x", "distance": value}).score is None
        assert one({"text": "x", "metadata": {"distance": 0.5}}).score is None

    def test_metadata_does_not_replace(self) -> None:
        meta = {"date": "1999", "doc": "e", "index": 9, "score": 0.1}
        source = one({"text": "x", "score": 0.9, "document": "d", "position": 1, "updated": "2026", "metadata": meta})
        assert (source.score, source.document, source.position, source.updated) == (0.9, "d", 1, "2026")

    @pytest.mark.parametrize(
        "value",
        [
            float("nan"),
            float("inf"),
            "0.5",
            True,
            None,
            [],
            Decimal("0.5"),
            pytest.param(10**400, id="huge"),
        ],
        ids=lambda v: type(v).__name__,
    )
    def test_scores_in_metadata_that_are_none(self, value: Any) -> None:
        """Metadata is a free field: what is no finite number there is no score, and no error."""
        score = one({"text": "x", "metadata": {"score": value}}).score
        assert score is None or (type(value) is int and score == value)

    @pytest.mark.parametrize("value", ["", None, True, [], {}, time(9, 30), float("nan")], ids=str)
    def test_dates_in_metadata_that_are_none(self, value: Any) -> None:
        assert one({"text": "x", "metadata": {"timestamp": value}}).updated is None

    def test_the_not_a_time_of_pandas_is_no_date(self) -> None:
        class NotATime(datetime):
            def __eq__(self, other: object) -> bool:
                return False

            def __ne__(self, other: object) -> bool:
                return True

            __hash__ = datetime.__hash__

        assert one({"text": "x", "metadata": {"date": NotATime(1, 1, 1)}}).updated is None

    @pytest.mark.parametrize("make", [dict, OrderedDict, UserDict])
    def test_any_mapping(self, make: Any) -> None:
        item = make({"text": "x", "id": "a", "metadata": make({"k": 1})})
        source = one(item)
        assert (source.id, dict(source.metadata)) == ("a", {"k": 1})

    def test_the_item_is_not_changed(self) -> None:
        item = {"text": "x", "id": 1, "score": 0.5, "metadata": {"date": "2026"}, "lang": "en"}
        before = {**item, "metadata": dict(item["metadata"])}  # type: ignore[call-overload]
        one(item)
        assert item == before

    def test_numbers_of_numpy_become_plain(self) -> None:
        """A payload with numpy numbers in its sources could not be read back."""
        source = one(
            {"text": "x", "id": np.int64(3), "score": np.float32(0.5), "metadata": {"date": np.int64(1_700_000_000)}}
        )
        assert source.id == "3"
        assert type(source.score) is float
        assert type(source.updated) is int

    def test_keys_that_are_numbers(self) -> None:
        assert dict(one({"text": "x", "metadata": {1: "a", 2.5: "b"}}).metadata) == {"1": "a", "2.5": "b"}

    @pytest.mark.parametrize(
        "meta",
        [
            {None: 1},
            {("a",): 1},
            {b"a": 1},
            {True: 1},
            {float("nan"): 1},
            {10**5000: 1},
            {1: "a", "1": "b"},
        ],
        ids=["none", "tuple", "bytes", "bool", "nan", "huge", "twice"],
    )
    def test_keys_that_are_no_names(self, meta: Any) -> None:
        with pytest.raises(SourceError, match="metadata: a key ") as caught:
            one({"text": "x", "metadata": meta})
        assert (caught.value.field, caught.value.index) == ("metadata", 0)


class TestPairsAndTexts:
    def test_pairs(self) -> None:
        assert one(("Text.", 1)).score == 1
        assert one(["Text.", 0.5]).score == 0.5
        assert one(({"text": "x", "id": "a", "score": 0.1}, Fraction(1, 2))).score == 0.5
        assert one((Source("a", "x", 0.1), np.int64(3))).score == 3

    @pytest.mark.parametrize(
        "score", [None, True, "0.5", b"1", [], 1j, Decimal("0.5"), object()], ids=lambda v: type(v).__name__
    )
    def test_pairs_without_a_number(self, score: Any) -> None:
        with pytest.raises(
            SourceError, match=r"sources\[0\]: expected a pair \(item, score\) with a number as score, got"
        ) as caught:
            one(("Text.", score))
        assert (caught.value.index, caught.value.field) == (0, "score")

    @pytest.mark.parametrize("item", [(), ("a",), ("a", 1, 2), [], ["a", "b", "c"]], ids=str)
    def test_no_pairs(self, item: Any) -> None:
        with pytest.raises(SourceError, match=f"got {len(item)} parts"):
            one(item)

    @pytest.mark.parametrize("score", [float("nan"), float("inf"), 10**400], ids=["nan", "inf", "huge"])
    def test_scores_that_packing_judges(self, score: Any) -> None:
        """What is a number comes in; `pack(validate=...)` says what becomes of it."""
        source = one(("x", score))
        assert source.score == score or score != score

    def test_pairs_in_pairs_without_end(self) -> None:
        item: Any = "x"
        for _ in range(50_000):
            item = (item, 1)
        with pytest.raises(SourceError, match="RecursionError"):
            one(item)
        while isinstance(item, tuple):  # freed level by level: some Pythons recurse here
            item = item[0]

    def test_ids_of_texts_are_their_content(self) -> None:
        assert one("Same.").id == one({"content": "Same."}).id == content_id("Same.")
        assert one("Same.").id != one("Same. ").id
        assert one("Same.").id.startswith(HASH_MARK)

    @pytest.mark.parametrize("text", ["", "\x00", "\ud800", "a\udfff", "\U0001f600", "x" * 10**6], ids=ascii)
    def test_any_text_has_an_id(self, text: str) -> None:
        if len(text) < 100:
            assert one(text).text == text
        assert len(content_id(text)) == len(HASH_MARK) + 12

    def test_ids_are_the_same_in_every_process(self) -> None:
        """Labels of a conversation that goes on elsewhere would all be new."""
        texts = ["a", "\u00e9", "\ud800", "\U0001f600", "Long text. " * 100]
        code = (
            "import sys; from promptpack.reading import content_id\n"
            f"sys.stdout.write(' '.join(content_id(text) for text in {texts!a}))"
        )
        for seed in ("0", "4711"):
            run = subprocess.run(
                [sys.executable, "-c", code],
                capture_output=True,
                text=True,
                check=True,
                cwd=ROOT,
                env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            )
            assert run.stdout.split() == [content_id(text) for text in texts]


class TestManyItems:
    def test_generators_and_the_count_of_items(self) -> None:
        def hits() -> Iterator[Any]:
            yield "a"
            yield {"text": None}

        with pytest.raises(SourceError, match=r"sources\[8\]") as caught:
            list(read_sources(hits(), first=7))
        assert caught.value.index == 8

    def test_an_error_of_the_caller_is_the_caller_s(self) -> None:
        def broken() -> Iterator[Any]:
            yield "a"
            raise ConnectionError("lost")

        with pytest.raises(ConnectionError):
            list(read_sources(broken()))

    @pytest.mark.parametrize(
        "items",
        [
            None,
            5,
            "text",
            b"text",
            {"text": "x"},
            Source("a", "x"),
            1.5,
            True,
            object(),
            {"a", "b"},
            frozenset("ab"),
            {"text": "x"}.keys(),
            LangChainDocument("x"),
        ],
        ids=lambda v: type(v).__name__,
    )
    def test_no_list_of_sources(self, items: Any) -> None:
        """A set would be packed in another order in every run."""
        with pytest.raises(
            SourceError, match=r"^sources: expected an iterable of sources, got a value of type"
        ) as caught:
            list(read_sources(items))
        assert caught.value.field == "sources"

    def test_sources_come_through_as_they_are(self) -> None:
        class Own(Source):
            pass

        sources = [Source("a", "x"), Own("b", "y")]
        assert all(found is given for found, given in zip(read_sources(sources), sources, strict=True))


BAD = [
    None,
    5,
    1.5,
    True,
    b"bytes",
    object(),
    Source,
    LangChainDocument,
    {"a"},
    1j,
    iter([]),
    lambda: None,
    ...,
    SimpleNamespace(),
    SimpleNamespace(page_content="x"),
    {},
    {"id": "a"},
    {"text": None},
    {"text": 5},
    {"text": b"x"},
    {"text": ["x"]},
    {"text": True},
    {"text": "x", "id": []},
    {"text": "x", "id": True},
    {"text": "x", "id": b"a"},
    {"text": "x", "id": float("nan")},
    {"text": "x", "id": float("inf")},
    {"text": "x", "id": 10**5000},
    {"text": "x", "id": 1j},
    {"text": "x", "score": "0.9"},
    {"text": "x", "score": True},
    {"text": "x", "score": []},
    {"text": "x", "score": Decimal(1)},
    {"text": "x", "metadata": []},
    {"text": "x", "metadata": "m"},
    {"text": "x", "metadata": 5},
    {"text": "x", "document": ["d"]},
    {"text": "x", "document": {}},
    {"text": "x", "document": True},
    {"text": "x", "document": 10**5000},
    {"text": "x", "position": "1"},
    {"text": "x", "updated": []},
    {"text": "x", "updated": float("nan")},
    {"text": "x", "updated": True},
    {"text": "x", "reliability": "high"},
    {"text": "x", "priority": "high"},
    {"text": "x", "required": 1},
    {"text": "x", "required": "yes"},
    {"text": "x", "pinned": 0},
    {"text": "x", "cut": "start"},
    {"text": "x", "cut": {"keap": "start"}},
    {"text": "x", "cut": {"keep": "strat"}},
    {"text": "x", "cut": {1: 2}},
    {"text": "x", "cut": {"min_tokens": -1}},
    {"text": "x", "tokens": -1},
    {"text": "x", "tokens": 1.5},
    {"text": "x", "start": 5, "end": 1},
    {"text": "x", "start": True},
    Raises(),
    LangChainDocument(None),  # type: ignore[arg-type]
    LangChainDocument("x", 5),
    LangChainDocument("x", id=[]),
    TextNode("x", 5),
    TextNode("x", [1]),  # type: ignore[arg-type]
    TextNode("x", excluded_llm_metadata_keys=5),
    TextNode("x", excluded_llm_metadata_keys=[[]]),  # type: ignore[arg-type,list-item]
    TextNode("x", start_char_idx=5, end_char_idx=1),
    NodeWithScore(None, 0.5),
    NodeWithScore(TextNode("x"), "high"),  # type: ignore[arg-type]
    HaystackDocument([], "x"),
    HaystackDocument("a", "x", 5),
    ScoredPoint(None, 0.5, 5),
    ScoredPoint([], 0.5, {"text": "x"}),  # type: ignore[arg-type]
    SimpleNamespace(page_content="x", metadata=Raises()),
    SimpleNamespace(node=Raises(), score=1),
    (None, 0.5),
    (Raises(), 0.5),
    (("a", "b"), 0.5),
]


@pytest.mark.parametrize("item", BAD, ids=[f"{i}-{type(item).__name__}" for i, item in enumerate(BAD)])
def test_bad_items_are_named(item: Any) -> None:
    """A bare TypeError from the middle of the library says neither which item nor what is wrong with it."""
    with pytest.raises((SourceError, OptionError)) as caught:
        list(read_sources([Source("ok", "fine"), item]))
    message = str(caught.value)
    message.encode("utf-8")
    assert len(message) < 500
    if isinstance(caught.value, SourceError):
        assert caught.value.index == 1
        assert message.startswith("sources[1]: ")
        assert caught.value.field


@pytest.mark.parametrize(
    "item", [{"text": 5, "secret": "s" * 10**6}, {"s" * 10**6: 1}, {"text": "s" * 10**6, "score": "s" * 10**6}]
)
def test_messages_quote_little(item: Any) -> None:
    with pytest.raises(SourceError) as caught:
        one(item)
    assert len(str(caught.value)) < 400


def test_errors_of_a_foreign_object_are_kept_as_the_cause() -> None:
    with pytest.raises(SourceError, match="RuntimeError: 'no page_content without a connection'") as caught:
        read_source(Raises())
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_deep_metadata_comes_in_as_it_is() -> None:
    deep: Any = {}
    for _ in range(2000):
        deep = {"in": deep}
    assert one({"text": "x", "metadata": {"deep": deep}}).metadata["deep"] is deep


def test_zone_of_dates_is_kept() -> None:
    moment = datetime(2026, 3, 1, 9, tzinfo=UTC)
    assert one({"text": "x", "metadata": {"date": moment}}).updated == moment


def test_a_text_of_none_is_not_named_as_found():
    """The message said that `text` was expected and `text` was there."""
    with pytest.raises(SourceError) as caught:
        PromptBuilder(window=900).add_sources([{"text": None, "id": "a"}])
    assert "got 'id'" in str(caught.value)
