"""Stitching chunks of one document: the merged text must hold every member, and nothing that was not there."""

from __future__ import annotations

import pytest

from promptpack.packing.candidate import Candidate, DropReason
from promptpack.packing.merge import merge, overlap
from promptpack.source import Source

BOOK = "Filters are washed every week. The pump must be switched off before service. Gauge B shows the pressure. "


def run(*sources: Source) -> tuple[list[Candidate], list[str], list[str]]:
    notes: list[str] = []
    kept, gone = merge([Candidate.of(source, at, at + 1) for at, source in enumerate(sources)], notes)
    assert all(drop.reason == DropReason.MERGED for drop in gone)
    return kept, [f"{drop.source.id}>{drop.of}" for drop in gone], notes


def piece(id_: str, start: int, end: int, **fields: object) -> Source:
    return Source(id_, BOOK[start:end], document="d", start=start, end=end, **fields)  # type: ignore[arg-type]


def test_offsets_stitch_overlaps_in_the_order_of_the_document() -> None:
    kept, gone, notes = run(piece("late", 40, 90), piece("early", 0, 50))
    assert [c.text for c in kept] == [BOOK[:90]]
    assert kept[0].chunk_ids == ("late", "early")
    assert kept[0].source.id == "late"
    assert gone == ["early>late"]
    assert "2 chunks" in notes[0]


def test_offsets_that_touch_are_joined_by_what_was_stripped() -> None:
    texts = [("a", 0, "One."), ("b", 5, "Two."), ("c", 11, "Three."), ("z", 40, "Far.")]
    found = [Source(i, t, document="d", start=s, end=s + len(t)) for i, s, t in texts]
    kept, _, _ = run(*found)
    assert [c.text for c in kept] == ["One. Two.\n\nThree.", "Far."]


def test_offsets_that_disagree_with_the_text_are_not_believed() -> None:
    a = Source("a", "x" * 50, document="d", start=0, end=50)
    b = Source("b", "y" * 50, document="d", start=40, end=90)
    assert len(run(a, b)[0]) == 2


def test_text_overlap_without_offsets() -> None:
    a = Source("d#0", "Filters are washed every week. The pump must be off.", document="d", position=0)
    b = Source("d#1", "The pump must be off. Pressure is checked.", document="d", position=1)
    kept, _, _ = run(b, a)
    assert kept[0].text == "Filters are washed every week. The pump must be off. Pressure is checked."
    assert kept[0].chunk_ids == ("d#1", "d#0")


def test_contained_text_goes_into_the_longer_one() -> None:
    kept, gone, _ = run(Source("part", BOOK[40:70], document="d"), Source("all", BOOK, document="d"))
    assert [c.text for c in kept] == [BOOK]
    assert gone == ["all>part"]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (Source("a", BOOK[:60], document="d"), Source("b", BOOK[40:], document="e")),
        (Source("a", BOOK[:60]), Source("b", BOOK[40:])),
        (Source("a", "he ran to the", document="d"), Source("b", "the end of it", document="d")),
        (Source("a", BOOK[:60], document="d", position=5), Source("b", BOOK[40:], document="d", position=2)),
    ],
)
def test_what_is_not_merged(a: Source, b: Source) -> None:
    """Other documents, unknown documents, chance agreements, and the wrong order stay apart."""
    assert len(run(a, b)[0]) == 2


def test_pages_flags_and_rank_of_the_members() -> None:
    kept, _, _ = run(
        piece("a", 30, 80, metadata={"page": 4, "page_label": "iv", "title": "T"}, score=0.9),
        piece("b", 0, 40, metadata={"page": 3, "page_label": "iii"}, required=True, priority=2),
        piece("c", 70, 100, metadata={"page": "5-6", "page_label": "v"}),
    )
    (merged,) = kept
    assert merged.source.metadata == {"page": "3-6", "page_label": "iii, iv, v", "title": "T"}
    assert merged.source.required
    assert merged.source.priority == 2
    assert (merged.rank, merged.score, merged.source.text) == (1, 0.9, BOOK[30:80])


def test_running_headers_do_not_pair_everything() -> None:
    """A beginning that all chunks share must not be compared pair by pair."""
    found = [Source(str(at), f"Annual report of the company. Part {at} {at * 'x'}", document="d") for at in range(40)]
    assert len(run(*found)[0]) == 40


@pytest.mark.parametrize(
    ("left", "right", "minimum", "expected"),
    [
        ("abcabc", "abcabcd", 1, 6), ("abcab", "abx", 1, 2), ("abc", "xyz", 1, 0), ("", "abc", 1, 0), ("abc", "", 1, 0),
        ("aaaaaaaaaaab" + "aaaa", "aaaac", 1, 4), ("a" * 30 + "b", "a" * 30 + "c", 1, 0), ("xab", "ab", 2, 2),
        ("xab", "ab", 3, 0), ("a" * 40, "a" * 20, 5, 20), ("ab" * 30 + "a", "ab" * 20 + "c", 2, 39),
        ("ab" * 30, "ab" * 9, 2, 18),
    ],
)  # fmt: skip
def test_overlap(left: str, right: str, minimum: int, expected: int) -> None:
    assert overlap(left, right, minimum) == expected
