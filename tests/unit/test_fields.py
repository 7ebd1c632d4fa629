"""fields="auto": the fields that tell sources apart, chosen from the allow-list and never beyond it."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpack import PromptBuilder, Source
from promptpack.errors import OptionError, SourceError
from promptpack.fields import telling_fields

FIELDS = ("chunk", "title", "section", "updated")


def hits(*metadata: dict[str, Any], **own: Any) -> list[Source]:
    return [Source(f"s{n}", f"Text {n}.", metadata=one, **own) for n, one in enumerate(metadata)]


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ([{}, {}], ("chunk",)),
        ([{"title": "A"}, {"title": "A"}], ("chunk",)),
        ([{"title": "A"}, {"title": "B"}], ("chunk", "title")),
        ([{"title": "A"}, {}], ("chunk", "title")),
        ([{"title": ""}, {}], ("chunk",)),
        ([{"title": None}, {"title": float("nan")}], ("chunk",)),
        ([{"title": "A "}, {"title": "A"}], ("chunk",)),
        ([{"title": 7.0}, {"title": 7}], ("chunk",)),
        ([{"title": "A", "section": 1}, {"title": "A", "section": 2}], ("chunk", "section")),
        ([{"title": "A"}], ("chunk", "title")),
        ([{}], ("chunk",)),
        ([], FIELDS),
    ],
)
def test_what_is_kept(metadata: list[dict[str, Any]], expected: tuple[str, ...]) -> None:
    assert telling_fields(FIELDS, hits(*metadata)) == expected


def test_own_fields_come_before_metadata_as_when_shown() -> None:
    same = hits({"updated": "2020-01-01"}, {"updated": "2021-01-01"}, updated=date(2026, 3, 1))
    assert telling_fields(FIELDS, same) == ("chunk",)
    assert telling_fields(FIELDS, [
        Source("a", "A", updated=datetime(2026, 3, 1)), Source("b", "B", updated=date(2026, 3, 1))
    ]) == ("chunk",)


@given(st.lists(st.dictionaries(st.sampled_from(("title", "section", "page")), st.sampled_from("ab")), min_size=2))
def test_a_field_that_differs_somewhere_is_kept(metadata: list[dict[str, str]]) -> None:
    kept = telling_fields(("title", "page", "section"), hits(*metadata))
    for name in ("title", "page", "section"):
        assert (name in kept) is (len({one.get(name, "") for one in metadata}) > 1)


def test_a_value_that_cannot_be_shown_is_an_error_as_ever() -> None:
    with pytest.raises(SourceError, match="source 's0': field title"):
        telling_fields(("title",), hits({"title": [{}]}, {}))


def test_lists_are_shown_and_told_of() -> None:
    """If this fails, hits whose section is a list of headings cannot be rendered, or a list is changed in silence."""
    sources = hits({"section": ["Lamps", "Returns"]}, {"section": ("A",)}, {"section": "B"}, {"other": [1]})
    payload = PromptBuilder(2000).add_sources(sources).with_question("Why?").render()
    shown = {one.source.id: one.attributes.get("section") for one in payload.sources}
    assert shown == {"s0": "Lamps, Returns", "s1": "A", "s2": "B", "s3": None}
    told = "field section of 's0' and 1 more: a list is shown as one line, with commas between its values"
    assert told in payload.report.notes
    assert 'section="Lamps, Returns"' in payload.text


def builder(**options: Any) -> PromptBuilder:
    sources = hits({"title": "Lamps", "section": "A", "secret": 1}, {"title": "Lamps", "section": "B", "secret": 2})
    return PromptBuilder(2000, **options).add_sources(sources).with_question("Why?")


def test_a_payload_shows_what_tells() -> None:
    """If this fails tokens go into the same title before every passage; or a field that nobody allowed is shown."""
    payload = builder(fields="auto").render()
    assert [one.attributes for one in payload.sources] == [
        {"chunk": "s0", "section": "A"}, {"chunk": "s1", "section": "B"},
    ]
    assert "fields auto shows chunk, section" in payload.report.notes
    assert payload.tokens < builder().render().tokens
    assert builder().with_fields("auto").render() == payload
    assert payload.messages == builder(fields=("chunk", "section")).render().messages


def test_auto_is_a_word_of_its_own() -> None:
    assert builder().with_fields("auto", "title").fields == ("auto", "title")
    with pytest.raises(OptionError, match=r"^fields: expected a tuple of field names, or 'auto', got 'automatic'"):
        builder(fields="automatic")
