"""to_dict, JSON and from_dict give an equal payload, whatever the sources, the history and the metadata are."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpack.builder import PromptBuilder
from promptpack.payload import Payload
from promptpack.source import Cut, Source
from promptpack.stored_values import as_plain, restored
from promptpack.window import Window

TEXT = st.text(max_size=40) | st.text(st.characters(categories=["Cs", "Lu", "Zs"]), max_size=10)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | TEXT
    | st.dates()
    | st.datetimes()
    | st.binary(max_size=5)
    | st.decimals(allow_nan=False)
)
KEYS = TEXT | st.sampled_from(["$date", "$float", "$object", "$tuple", "$mapping", "$"]) | st.integers() | st.none()
DATA = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple) | st.dictionaries(KEYS, inner, max_size=3)
    ),
    max_leaves=8,
)
NUMBERS = st.none() | st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53), 2**53)
SOURCES = st.builds(
    Source,
    st.text(min_size=1, max_size=5),
    TEXT,
    NUMBERS,
    document=st.none() | TEXT,
    position=NUMBERS,
    reliability=NUMBERS,
    updated=st.none() | st.dates() | st.datetimes() | TEXT | st.integers(0, 10**13),
    required=st.booleans(),
    cut=st.none()
    | st.builds(Cut, st.sampled_from(["start", "end", "ends"]), st.integers(0, 9), marker=st.none() | TEXT),
    start=st.none() | st.integers(0, 5),
    end=st.none() | st.integers(5, 9),
    metadata=st.dictionaries(TEXT, DATA, max_size=3),
)
TURNS = st.lists(st.tuples(st.sampled_from(["user", "assistant"]), TEXT), max_size=5)


@given(
    sources=st.lists(SOURCES, max_size=6),
    turns=TURNS,
    question=st.none() | TEXT,
    system=st.none() | TEXT,
    size=st.integers(400, 2000),
)
@settings(max_examples=120, deadline=None)
def test_a_payload_comes_back_equal(
    sources: list[Source], turns: list[Any], question: str | None, system: str | None, size: int
) -> None:
    sources = [one for one in sources if one.text.strip()]  # a required one without text is refused
    payload = (
        PromptBuilder(Window(size, answer=10), counter="words")
        .add_sources(sources)
        .add_history(turns)
        .with_system(system)
        .with_question(question)
        .with_fields("chunk")
        .render()
    )
    text = json.dumps(payload.to_dict(), allow_nan=False, ensure_ascii=False)
    again = Payload.from_dict(json.loads(text.encode("utf-8")))
    assert again == payload
    assert again.to_dict() == payload.to_dict()
    assert hash(again) == hash(payload)


@pytest.mark.parametrize("name", ["\ud800", "text", "", "$text", {"$object": "x"}, {"$text": "eda080"}, None, 3])
def test_a_value_that_looks_like_a_tag_comes_back(name: object) -> None:
    """If this fails, metadata that looks like stored data is another value when a payload is read again."""
    plain = json.loads(json.dumps(as_plain({"$object": name})))
    assert restored(plain) == {"$object": name}
    assert as_plain(restored(plain)) == plain
