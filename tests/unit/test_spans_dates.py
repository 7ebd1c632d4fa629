"""Months with their years, in questions and of documents; and what they are worth to spans."""

from __future__ import annotations

from datetime import date

import pytest

from promptpack.packing import Packing, pack
from promptpack.packing.spans_dates import months_in, months_of
from promptpack.source import Source


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("At the January 2004 meeting", {(2004, 1)}),
        ("on January 28, 2004 and on Oct. 3rd, 1999", {(2004, 1), (1999, 10)}),
        ("am 3. März 2004", {(2004, 3)}),
        ("el 28 de enero de 2004", {(2004, 1)}),
        ("le 1 août 1999", {(1999, 8)}),
        ("28 января 2004 года", {(2004, 1)}),
        ("अक्टूबर 1954 में", {(1954, 10)}),
        ("2004年10月3日", {(2004, 10)}),
        ("2004년 1월", {(2004, 1)}),
        ("2004-01-28, 2005/3/1", {(2004, 1), (2005, 3)}),
        ("the season 2001-02", set()), ("2004-13-01", set()), ("May we? In 2004", set()), ("March of 20041", set()),
        ("mayor 2004", set()), ("in 2004", set()), ("", set()),
    ],
)
def test_months_in_a_text(text, found):
    """If this fails, a date of some language is not read, or something is taken for one."""
    assert months_in(text) == found


@pytest.mark.parametrize(
    ("metadata", "updated", "found"),
    [
        ({"title": "Minutes, March 2004", "section": "Of 2004-02-01"}, "2005-01-01", {(2004, 3), (2004, 2)}),
        ({"title": "Minutes"}, date(2005, 1, 31), {(2005, 1)}),
        ({"title": 7}, 1_709_281_800, {(2024, 3)}),
        ({}, None, set()), ({}, "soon", set()), ({}, 9e10, {(4821, 12)}), ({}, -9e10, set()),
    ],
)
def test_months_of_a_document(metadata, updated, found):
    """If this fails, the date of an update counts although the title names another, or an odd one ends in an error."""
    assert months_of(metadata, updated) == found


RATE = "The members set the target for the rate of the loans to banks at {} percent for the time being."


@pytest.mark.parametrize("dated", ["title", "updated"])
def test_the_document_of_the_month_that_is_asked_for(dated):
    """If this fails, of near-duplicates that differ by their date the one is sent that a retriever likes best."""
    hits = [
        Source(
            f"m{month}", RATE.format(month), 1 - month / 9, document=str(month),
            metadata={"title": f"Minutes of 2004-0{month}-20"} if dated == "title" else {},
            updated=f"2004-0{month}-20" if dated == "updated" else None,
        )
        for month in (1, 3, 5, 6)
    ]
    packing = Packing(select="spans", place="best_first", dedup="off")
    packed = pack(hits, 20, packing=packing, question="What was the target for the rate in June 2004?")
    assert packed.ids == ("m6",)
    assert pack(hits, 20, packing=packing, question="What was the target for the rate?").ids == ("m1",)
