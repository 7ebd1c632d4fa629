"""Any data into any adapter: sources with unique places in the input, or an error of the library."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpack import PromptpackError, Source, adapters
from promptpack.reading import read_sources

KEYS = st.sampled_from([
    "id", "id_", "_id", "text", "content", "page_content", "metadata", "meta", "payload", "score", "_score", "distance",
    "node", "document", "documents", "result", "points", "hits", "matches", "fields", "entity", "ids", "metadatas",
    "distances", "kwargs", "lc", "ranking", "start_index", "source", "relationships", "1", "excluded_llm_metadata_keys",
    "relevance_score", "values", "$",
])
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.binary(max_size=3))


def tree(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=5), st.tuples(inner, inner),
            st.dictionaries(KEYS, inner, max_size=5).map(lambda held: SimpleNamespace(**held)),
        ),
        max_leaves=8,
    )


READERS = [getattr(adapters, name) for name in adapters.__all__]


@pytest.mark.parametrize("read", READERS, ids=adapters.__all__)
@given(data=tree(LEAVES))
@settings(max_examples=60, deadline=None)
def test_any_data_give_sources_or_an_error_of_the_library(read: Any, data: Any) -> None:
    """If it fails, a store's odd answer ends in a TypeError somewhere inside."""
    try:
        found = read(data)
    except PromptpackError as error:
        found = ()
        message = str(error)
    else:
        message = ""
    assert len(message.encode("utf-8")) < 1200
    assert all(isinstance(one, Source) for one in found)


SCORES = st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False))
ROWS = st.lists(st.fixed_dictionaries({
    "id": st.integers(0, 99), "text": st.text(max_size=9), "score": SCORES,
    "metadata": st.dictionaries(st.sampled_from(["title", "date", "source_id", "k"]), st.text(max_size=5), max_size=3),
}), max_size=8)


@given(rows=ROWS)
@settings(max_examples=80, deadline=None)
def test_all_adapters_for_rows_read_the_same(rows: list[dict[str, Any]]) -> None:
    """If it fails, the way that a row came in changes the prompt."""
    expected = tuple(read_sources(rows))
    objects = [SimpleNamespace(**row) for row in rows]
    nested = [{"_id": row["id"], "_score": row["score"], "_source": {"text": row["text"], **row["metadata"]}}
              for row in rows]
    columns = ["id", "text", "score", "metadata"]
    tuples = [tuple(row[name] for name in columns) for row in rows]
    answer = {"ids": [[row["id"] for row in rows]], "documents": [[row["text"] for row in rows]],
              "metadatas": [[row["metadata"] for row in rows]], "distances": [[row["score"] for row in rows]]}
    for found in (
        adapters.from_mappings(rows), adapters.from_vector_store_rows(objects), adapters.from_vector_store_rows(nested),
        adapters.from_pgvector_rows(tuples, columns=columns), adapters.from_vercel_ai(rows),
        adapters.from_langgraph_state({"docs": rows}), adapters.from_pinecone({"matches": rows}),
        adapters.from_chroma(answer, distance=False),
    ):
        assert found == expected
    turned = adapters.from_chroma(answer)
    assert [one.score for one in turned] == [None if one.score is None else 0.0 - one.score for one in expected]
    assert all(one.score is None or math.copysign(1, one.score) == 1 for one in turned if one.score == 0)
