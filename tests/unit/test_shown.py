"""What a field looks like in the prompt: one line of text, or nothing, or an error that names it."""

from __future__ import annotations

import enum
import uuid
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from promptpack.builder import PromptBuilder
from promptpack.errors import OptionError, PromptpackError, SourceError
from promptpack.shown import shown_date, shown_field, shown_value
from promptpack.source import Source


class Level(str, enum.Enum):  # noqa: UP042 - the older kind, whose str() is not its value
    HIGH = "high"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        ("", ""),
        ("  a b \n", "a b"),
        (3, "3"),
        (-3, "-3"),
        (0, "0"),
        (3.0, "3"),
        (2.5, "2.5"),
        (-0.0, "0"),
        (1e20, "1e+20"),
        (float("nan"), ""),
        (float("inf"), ""),
        (True, "true"),
        (False, "false"),
        (date(2026, 3, 1), "2026-03-01"),
        (datetime(2026, 3, 1, 9, 30, 15, 999), "2026-03-01T09:30:15"),
        (10**39, "1" + "0" * 39),
        (Decimal("3.50"), "3.50"),
        (Decimal("NaN"), ""),
        (Decimal("-Infinity"), ""),
        (Fraction(1, 2), "0.5"),
        (np.int64(2**53 + 1), "9007199254740993"),
        (np.float32(0.5), "0.5"),
        (np.float64("nan"), ""),
        (np.uint8(7), "7"),
        (np.str_("x"), "x"),
        (Markup(" <b> "), "<b>"),
        (Level.HIGH, "high"),
    ],
    ids=lambda v: f"{type(v).__name__}",
)
def test_values(value: Any, text: str) -> None:
    found = shown_value(value)
    assert found == text
    assert type(found) is str


@pytest.mark.parametrize(
    "value",
    [
        [],
        [1],
        {},
        (),
        {1},
        b"x",
        object(),
        1j,
        10**40,
        -(10**40),
        10**5000,
        Fraction(10**400),
        time(9),
        uuid.uuid4,
        lambda: None,
        np.array([1, 2]),
    ],
    ids=lambda v: type(v).__name__,
)
def test_values_that_no_line_can_show(value: Any) -> None:
    """A number that is left out because it is long would be dropped in silence."""
    with pytest.raises(OptionError, match="cannot be shown in one line") as caught:
        shown_value(value)
    assert caught.value.name == "fields"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([], ""), ((), ""), (["Returns", "Time limit"], "Returns, Time limit"), ((1, 2.0, True), "1, 2, true"),
        ([" a ", "", None, date(2026, 3, 1), float("nan")], "a, 2026-03-01"), ([np.int64(3), Decimal("1.5")], "3, 1.5"),
    ],
)
def test_a_list_is_one_line(value: Any, text: str) -> None:
    """If it fails, a title that is a list, as document loaders write it, ends the rendering."""
    assert shown_field(Source("a", "x"), "section", value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (" 2026-03-01 ", "2026-03-01"),
        ("last spring", "last spring"),
        (date(1, 1, 1), "0001-01-01"),
        (datetime(2026, 3, 1), "2026-03-01"),
        (datetime(2026, 3, 1, tzinfo=UTC), "2026-03-01"),
        (datetime(2026, 3, 1, 9, tzinfo=UTC), "2026-03-01T09:00:00+00:00"),
        (datetime(2026, 3, 1, 0, tzinfo=timezone(timedelta(hours=2))), "2026-03-01T00:00:00+02:00"),
        (0, "1970-01-01"),
        (1_772_323_200, "2026-03-01"),
        (1_772_323_200_000, "2026-03-01"),
        (1_772_323_201.5, "2026-03-01T00:00:01Z"),
        (-86400, "1969-12-31"),
        (np.int64(1_772_323_200), "2026-03-01"),
        (np.float32(0), "1970-01-01"),
        (Fraction(3, 2), "1970-01-01T00:00:01Z"),
        (1e300, "1e+300"),
        (float("nan"), ""),
        (float("inf"), ""),
        (None, ""),
    ],
    ids=lambda v: f"{type(v).__name__}",
)
def test_dates(value: Any, text: str) -> None:
    assert shown_date(value) == text


@pytest.mark.parametrize(
    "value", [[], {}, 10**5000, Fraction(10**400), object(), b"2026"], ids=lambda v: type(v).__name__
)
def test_dates_that_are_none(value: Any) -> None:
    with pytest.raises(OptionError):
        shown_date(value)


def attributes(source: Source, *names: str) -> dict[str, str]:
    payload = PromptBuilder(4000, fields=names, counter="words").add_sources([source]).render()
    return dict(payload.sources[0].attributes)


def test_fields_in_their_order_and_only_those_asked_for() -> None:
    source = Source(
        "a",
        "x",
        0.5,
        document="d",
        position=2,
        updated="2026",
        reliability=0.25,
        priority=3,
        metadata={"title": "T", "secret": "s", "document": "other", "page": None, "lang": " "},
    )
    names = (
        "updated",
        "chunk",
        "title",
        "page",
        "lang",
        "missing",
        "document",
        "position",
        "reliability",
        "priority",
        "score",
    )
    assert list(attributes(source, *names).items()) == [
        ("updated", "2026"),
        ("chunk", "a"),
        ("title", "T"),
        ("document", "d"),
        ("position", "2"),
        ("reliability", "0.25"),
        ("priority", "3"),
        ("score", "0.5"),
    ]
    assert attributes(source) == {}


def test_metadata_stands_in_for_a_field_that_is_empty() -> None:
    source = Source("a", "x", metadata={"document": "from metadata", "updated": 1_772_323_200})
    assert attributes(source, "document", "updated") == {"document": "from metadata", "updated": "2026-03-01"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("title", [["a"]]),
        ("title", {"a": 1}),
        ("title", {"a"}),
        ("updated", [{}]),
        ("page", 10**50),
        ("title", b"x"),
        ("position", {}),
    ],
)
def test_errors_name_source_and_field(name: str, value: Any) -> None:
    with pytest.raises(SourceError, match=f"^source 'a': field {name}: ") as caught:
        shown_field(Source("a", "x"), name, value)
    assert (caught.value.id, caught.value.field) == ("a", name)
    with pytest.raises(SourceError, match=f"field {name}: "):
        attributes(Source("a", "x", metadata={name: value}), name)


@pytest.mark.parametrize(
    "name", ["id", "n", "label", "text", "attributes", "block", "Title", "", "a b", "_x", "x" * 33]
)
def test_names_that_no_field_can_have(name: str) -> None:
    """What the library itself writes in a template cannot also be a field of a source."""
    with pytest.raises(OptionError, match=r"^fields: "):
        PromptBuilder(4000, fields=(name,))


@given(
    st.one_of(
        st.none(),
        st.text(),
        st.integers(),
        st.floats(),
        st.decimals(),
        st.fractions(),
        st.dates(),
        st.datetimes(),
        st.booleans(),
        st.binary(),
        st.lists(st.integers()),
        st.complex_numbers(),
        st.times(),
        st.datetimes(timezones=st.timezones()),
    )
)
def test_anything_is_text_or_our_error(value: Any) -> None:
    for show in (shown_value, shown_date):
        try:
            text = show(value)
        except PromptpackError:
            continue
        assert type(text) is str
        assert text == text.strip()
        assert text not in ("None", "nan", "inf", "NaT") or isinstance(value, str)
