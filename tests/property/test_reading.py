"""Whatever comes in is a source or an error of the library, and a source keeps its text."""

from __future__ import annotations

import uuid
from datetime import date
from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from promptpack.errors import PromptpackError, SourceError
from promptpack.foreign import ID_KEYS, METADATA_KEYS, SCORE_KEYS, TEXT_KEYS
from promptpack.reading import FILLS, content_id, read_sources
from promptpack.source import Source

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.builds(lambda: 10**5000),
    st.floats(),
    st.text(max_size=8),
    st.binary(max_size=4),
    st.dates(),
    st.datetimes(),
    st.times(),
    st.decimals(),
    st.fractions(),
    st.complex_numbers(),
    st.uuids(),
)
KEYS = st.sampled_from(
    [
        *TEXT_KEYS,
        *ID_KEYS,
        *SCORE_KEYS,
        *METADATA_KEYS,
        *(key for keys in FILLS.values() for key in keys),
        "cut",
        "tokens",
        "start",
        "end",
        "required",
        "pinned",
        "priority",
        "reliability",
        "title",
        "origin",
    ]
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(KEYS, inner, max_size=6)
        | st.dictionaries(st.integers() | st.none() | st.text(max_size=2), inner, max_size=2)
    ),
    max_leaves=12,
)


@given(item=ANYTHING | st.dictionaries(KEYS, ANYTHING, max_size=8))
def test_nothing_but_our_errors(item: Any) -> None:
    try:
        (source,) = read_sources([item])
    except PromptpackError as error:
        str(error).encode("utf-8")
        if isinstance(error, SourceError):
            assert error.index == 0  # noqa: PT017
    else:
        assert isinstance(source, Source)
        assert isinstance(source.id, str)


@given(
    text=st.text(),
    id_=st.text() | st.integers(-(10**39), 10**39) | st.uuids(),
    score=st.none() | st.floats() | st.integers(),
    text_key=st.sampled_from(TEXT_KEYS),
    id_key=st.sampled_from(ID_KEYS),
    score_key=st.sampled_from(SCORE_KEYS),
    meta_key=st.sampled_from(METADATA_KEYS),
    meta=st.dictionaries(st.sampled_from(["title", "url", "page"]), st.text() | st.integers() | st.dates()),
)
def test_mappings_say_the_same_under_every_alias(
    text: str,
    id_: str | int | uuid.UUID,
    score: float | None,
    text_key: str,
    id_key: str,
    score_key: str,
    meta_key: str,
    meta: dict[str, str | int | date],
) -> None:
    (found,) = read_sources([{text_key: text, id_key: id_, score_key: score, meta_key: meta}])
    expected = str(id_) or content_id(text)  # an empty id is none
    assert (found.id, found.text, dict(found.metadata)) == (expected, text, meta)
    assert found.score == score or score != score
    (pair,) = read_sources([({text_key: text, id_key: id_, meta_key: meta}, 0.5)])
    assert (pair.id, pair.text, pair.score) == (expected, text, 0.5)


@given(st.lists(st.text() | st.decimals() | st.none(), max_size=5))
def test_the_position_of_the_first_fault(items: list[str | Decimal | None]) -> None:
    wrong = next((index for index, item in enumerate(items) if not isinstance(item, str)), None)
    try:
        assert [source.text for source in read_sources(items)] == items
        assert wrong is None
    except SourceError as error:
        assert error.index == wrong  # noqa: PT017
