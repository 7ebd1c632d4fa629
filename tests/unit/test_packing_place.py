"""Placement: orders, dates, groups, regions and the automatic choice."""

from __future__ import annotations

import functools
from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from promptpack.curves import PositionCurve
from promptpack.errors import OptionError, SourceError
from promptpack.packing.arrange import arrange, unread_dates
from promptpack.packing.by_rank import ByRank, Spread, buried, fold, spread, u_curve
from promptpack.packing.curve import Curve
from promptpack.packing.dates import instant
from promptpack.packing.place import (
    ByKey,
    Chronological,
    DocumentOrder,
    document_order,
    group_keys,
    grouped,
    region,
    time_order,
)
from promptpack.packing.route import PLACERS, Auto, detect_intent, metadata_coverage, placer
from promptpack.source import Source


def sources(*fields):
    return [Source(f"s{n}", "x", **field) for n, field in enumerate(fields)]


@pytest.mark.parametrize(
    ("n", "order"),
    [(0, []), (1, [1]), (2, [1, 2]), (3, [1, 3, 2]), (4, [1, 3, 4, 2]), (5, [1, 3, 5, 4, 2])],
)
def test_fold(n, order):
    """If this fails, rank 1 does not open or rank 2 does not close the prompt for some length."""
    ranks = list(range(1, n + 1))
    assert fold(ranks) == order
    assert buried(ranks) == fold(ranks[::-1])
    assert spread(ranks) == order


@pytest.mark.parametrize("n", range(41))
def test_the_u_curve_is_the_best_order_under_the_illustrative_curve(n):
    """If this fails, the order is not what it says: best at the highest places, and the fold up to seven."""
    ranks = list(range(n))
    values = [1 / (2 + rank) for rank in ranks]
    best = Curve(PositionCurve.illustrative()).by_cost([10] * n, values, 0, 10 * n)
    assert u_curve(ranks) == list(best)
    assert (u_curve(ranks) == fold(ranks)) is (n < 8)
    assert ByRank("u_curve")(sources(*[{}] * n)) == u_curve(ranks)


@pytest.mark.parametrize(
    ("start", "end", "order"),
    [(1, 2, [1, 4, 5, 6, 2, 3]), (0, 2, [3, 4, 5, 6, 1, 2]), (2, 0, [1, 2, 3, 4, 5, 6]),
     (0, 0, [1, 2, 3, 4, 5, 6]), (2, None, [1, 3, 5, 6, 4, 2]), (3, 3, [1, 3, 5, 6, 4, 2]),
     (9, 9, [1, 3, 5, 6, 4, 2])],
)
def test_spread_with_counts(start, end, order):
    """If this fails, counts are read otherwise than in rag-chunk-reorder."""
    assert spread([1, 2, 3, 4, 5, 6], start, end) == order


def test_regions_are_exact_thirds():
    """If this fails, a third falls on the wrong side through rounding."""
    assert [region(i, 3) for i in range(3)] == ["start", "middle", "end"]
    assert [region(i, 6) for i in range(6)] == ["start", "start", "middle", "middle", "end", "end"]
    assert region(0, 1) == "middle"
    assert [region(i, 2) for i in range(2)] == ["start", "end"]


@pytest.mark.parametrize(
    ("value", "same_as"),
    [
        ("2024-03-01", datetime(2024, 3, 1, tzinfo=UTC)),
        ("2024-03-01T10:00:00", datetime(2024, 3, 1, 10, tzinfo=UTC)),
        ("2024-03-01T10:30:00+02:00", datetime(2024, 3, 1, 8, 30, tzinfo=UTC)),
        ("2024-03-01T09:00:00Z", datetime(2024, 3, 1, 9, tzinfo=UTC)),
        ("2024-03", date(2024, 3, 1)),
        ("2024", date(2024, 1, 1)),
        ("2024/3/1", date(2024, 3, 1)),
        (" 1709281800 ", datetime(2024, 3, 1, 8, 30, tzinfo=UTC)),
        ("Fri, 01 Mar 2024 10:30:00 +0200", datetime(2024, 3, 1, 8, 30, tzinfo=UTC)),
        (1709281800, datetime(2024, 3, 1, 8, 30, tzinfo=UTC)),
        (1709281800000, datetime(2024, 3, 1, 8, 30, tzinfo=UTC)),
        (1709281800.5, datetime(2024, 3, 1, 8, 30, 0, 500000, tzinfo=UTC)),
        (datetime(2024, 3, 1, 2, tzinfo=timezone(timedelta(hours=2))), date(2024, 3, 1)),
        (datetime(2024, 3, 1, 8, 30), datetime(2024, 3, 1, 8, 30, tzinfo=UTC)),
        (date(2024, 2, 29), datetime(2024, 2, 29, tzinfo=UTC)),
        (0, datetime(1970, 1, 1, tzinfo=UTC)),
        (-86400, date(1969, 12, 31)),
    ],
)
def test_dates_in_every_form_are_one_instant(value, same_as):
    """If this fails, a zone is dropped instead of converted, or seconds are taken for milliseconds."""
    assert instant(value) == instant(same_as)


@pytest.mark.parametrize(
    "value", [None, True, "", "  ", "last spring", "03/04/2024", "2024-13-01", "9" * 400, float("nan"),
              float("inf"), 10**400, [2024], "x" * 10_000, "2024-02-30", "Fri, 99 Mar 2024 10:30:00 +0200"],
)
def test_what_is_no_date_is_none(value):
    """If this fails, a date is guessed, or a bare ValueError or OverflowError escapes."""
    assert instant(value) is None


def test_chronological_puts_missing_dates_last_both_ways():
    """If this fails, sources without a date lead the prompt."""
    items = sources({}, {"updated": "2024-03-02"}, {"updated": 1709251200}, {"updated": "?"})
    assert Chronological()(items) == [2, 1, 0, 3]
    assert Chronological(newest_first=True)(items) == [1, 2, 0, 3]
    assert "'s3': '?'" in unread_dates(items, Chronological())
    assert unread_dates(items[:3], Chronological()) is None
    assert unread_dates(items, Spread()) is None


def test_time_order_breaks_ties_by_rank():
    assert time_order([5.0, 5.0, 5.0], ranks=[2, 0, 1]) == [1, 2, 0]
    assert time_order([5.0, 5.0, 5.0], newest_first=True, ranks=[2, 0, 1]) == [1, 2, 0]


def test_document_order():
    """If this fails, chunks of a document are torn apart or out of reading order."""
    items = sources(
        {"document": "y", "position": 5}, {"document": "x", "position": 2}, {"document": "y", "position": 0},
        {"document": "x", "position": 1}, {},
    )
    assert DocumentOrder()(items) == [2, 0, 3, 1, 4]
    by_team = sources({"metadata": {"team": "b"}}, {"metadata": {"team": "a"}}, {"metadata": {"team": "b"}})
    assert DocumentOrder("team")(by_team) == [0, 2, 1]


def test_a_missing_position_is_the_place_in_the_input():
    """If this fails, chunks without a position jump to the front or the end of their document."""
    assert document_order(["x"] * 4, [9, None, 1, 0]) == [3, 1, 2, 0]


def test_group_keys():
    """If this fails, 1 and "1" are two groups, or a missing value joins a real one."""
    assert group_keys([1, "1", 1.0, True, "true", 1.5]) == ["1", "1", "1", "true", "true", "1.5"]
    assert group_keys([10**5000]) == [hex(10**5000)]
    assert group_keys([None, "", {"k": 1}, ["x"], float("nan")]) == ["__default__"] * 5
    assert group_keys([None, "__default__", "__default__#1"])[0] == "__default__#2"


def test_groups_by_best_member_then_first_appearance():
    assert grouped(["x", "y", "x"], [0.1, 0.5, 0.5]) == [("x", [0, 2]), ("y", [1])]


def test_by_key():
    items = sources({"metadata": {"page": 9}}, {}, {"metadata": {"page": 2}}, {"metadata": {"page": 9}})
    assert ByKey("page")(items) == [2, 0, 3, 1]
    assert ByKey("page", reverse=True)(items) == [0, 3, 2, 1]
    assert ByKey(lambda source: source.id, reverse=True)(items) == [3, 2, 1, 0]
    compare = functools.cmp_to_key(lambda a, b: (a.id < b.id) - (a.id > b.id))
    assert ByKey(compare)(items) == [3, 2, 1, 0]
    mixed = sources({"metadata": {"page": 9}}, {"metadata": {"page": "x"}})
    with pytest.raises(SourceError, match="compared"):
        ByKey("page")(mixed)


@pytest.mark.parametrize(
    "make",
    [lambda: Spread(-1), lambda: Spread(1, 1.5), lambda: Spread(True), lambda: ByRank("fild"),
     lambda: ByRank(None), lambda: DocumentOrder(""), lambda: Chronological("yes"), lambda: ByKey(3),
     lambda: Auto(1.5),
     lambda: Auto(intent="poetic"), lambda: Auto(temporal_terms="when"), lambda: Auto(field=None),
     lambda: placer("fild"), lambda: placer(3)],
)
def test_settings_that_cannot_be_are_refused(make):
    with pytest.raises(OptionError):
        make()


@pytest.mark.parametrize("name", sorted(PLACERS))
def test_every_name_places_every_length(name):
    """If this fails, a placement loses a source or fails on no, one or tied sources."""
    for n in range(8):
        items = sources(*({"score": 1.0} for _ in range(n)))
        place = placer(name)
        place = place.resolve(items, None) if isinstance(place, Auto) else place
        assert sorted(place(items)) == list(range(n))


def test_pinned_sources_open_in_an_order_of_their_own():
    """If this fails, the prompt's start changes with the question, and caches never hit."""
    items = sources({}, {"pinned": True, "document": "b"}, {"pinned": True, "document": "a", "position": 2},
                    {"pinned": True, "document": "a", "position": 1}, {})
    assert arrange(items, lambda chosen: range(len(chosen))[::-1]) == [3, 2, 1, 4, 0]


def test_groups_stay_together():
    items = sources({"document": "a"}, {"document": "b"}, {"document": "a"}, {"document": "b"}, {})
    assert arrange(items, ByRank("best_last"), "document") == [2, 0, 3, 1, 4]


@pytest.mark.parametrize(
    "answer", [[0], [0, 0, 1], [0, 1, 2, 2], [1, 2, 3], None, 5, "012", [0, 1, "2"], [0.0, 1.0, 2.0]]
)
def test_a_placer_that_loses_a_source_is_refused(answer):
    """If this fails, a placer of one's own can drop a source in silence."""
    with pytest.raises(OptionError, match="place"):
        arrange(sources({}, {}, {}), lambda chosen: answer)


@pytest.mark.parametrize(
    ("question", "intent"),
    [("When did it open?", "temporal"), ("walk me through it", "factoid"),
     ("Walk  THROUGH it", "narrative"), ("explain the timeline", "temporal"),
     ("prehistoric tools", "factoid"),
     ("ＷＨＥＮ", "temporal"), ("", "factoid"), (None, "factoid"), ("   ", "factoid"),
     ("log-date-2024", "temporal"), ("story2", "factoid")],
)
def test_intent(question, intent):
    """If this fails, part of a word is taken for a word, or a routing differs from rag-chunk-reorder."""
    assert detect_intent(question) == intent


def test_intent_detector_comes_first_and_none_leaves_it_to_the_words():
    assert detect_intent("show the plan", detector=lambda q: "narrative") == "narrative"
    assert detect_intent("when", detector=lambda q: None) == "temporal"
    assert detect_intent(" ", detector=lambda q: "narrative") == "factoid"


@pytest.mark.parametrize("answer", ["poetic", "", 3, ["temporal"], True])
def test_an_unknown_answer_of_the_detector_is_an_error(answer):
    """If this fails, a detector with a misspelt answer is passed over in silence, and nobody learns of it."""
    with pytest.raises(OptionError, match=r"intent: unknown value .* Known: None.*, factoid, narrative, temporal"):
        Auto(intent=lambda q: answer).resolve(sources({}), "when")


def test_auto_needs_what_it_sorts_by():
    """If this fails, a placement by date is chosen for sources without dates."""
    dated = sources({"updated": 1}, {"updated": 2}, {}, {}, {})
    assert Auto().resolve(dated, "latest news") == Chronological()
    assert Auto().resolve(dated[1:], "latest news") == Spread()
    told = sources({"document": "d", "position": 0}, {"document": "d"}, {})
    assert Auto().resolve(told, "give an overview") == DocumentOrder()
    assert Auto(position_coverage=0.5).resolve(told, "give an overview") == Spread()
    assert Auto(intent="narrative").resolve(told, "latest") == DocumentOrder()
    assert Auto().resolve([], "latest") == Spread()
    assert metadata_coverage([]).temporal == 0.0
