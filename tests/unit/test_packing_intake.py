"""Admission and ranking: what enters, what is refused and how equal scores are told apart."""

from __future__ import annotations

import pickle

import pytest

from promptpack.errors import DuplicateIdError, OptionError, SourceError
from promptpack.packing.intake import admit, keep_apart
from promptpack.packing.ranking import rank_gain, rank_order
from promptpack.source import Source

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("score", [NAN, INF, -INF, 10**400])
@pytest.mark.parametrize("field", ["score", "priority", "position", "reliability"])
def test_strict_refuses_numbers_that_are_not_finite(field, score):
    """If this fails, an order may depend on how NaN happens to compare."""
    with pytest.raises(SourceError) as caught:
        admit([Source("fine", "x"), Source("odd", "x", **{field: score})])
    assert (caught.value.id, caught.value.index, caught.value.field) == ("odd", 1, field)
    assert "odd" in str(caught.value)
    assert field in str(caught.value)


def test_coerce_repairs_and_says_so():
    """If this fails, a repair is silent or wrong."""
    odd = Source("odd", "x", NAN, position=INF, priority=-INF, reliability=NAN)
    admitted = admit([odd, Source("fine", "y", 0.5)], "coerce")
    (repaired, fine) = admitted.sources
    assert (repaired.score, repaired.priority) == (0.0, 0.0)
    assert (repaired.position, repaired.reliability) == (None, None)
    assert fine.score == 0.5
    assert len(admitted.notes) == 4
    assert all("odd" in note for note in admitted.notes)


def test_large_finite_numbers_enter_unchanged():
    """If this fails, the test for finite numbers overflows where the numbers do not."""
    sources = [Source("a", "x", 1e308, position=1e308, reliability=1e308, priority=10**300)]
    assert admit(sources).sources == tuple(sources)
    assert admit(sources).notes == ()


def test_repeated_ids_are_refused_by_name_and_index():
    """If this fails, two sources could not be told apart afterwards."""
    with pytest.raises(DuplicateIdError) as caught:
        admit([Source("a", "x"), Source("b", "x"), Source("a", "x")])
    assert (caught.value.id, caught.value.index, caught.value.field) == ("a", 2, "id")
    assert pickle.loads(pickle.dumps(caught.value)).id == "a"


def test_coerce_keeps_repeats_apart_without_taking_a_used_name():
    """If this fails, keeping repeats apart makes a new repeat."""
    ids = ["x", "x", "x~2", "x", "x~2"]
    apart = keep_apart([Source(id_, str(n)) for n, id_ in enumerate(ids)])
    assert [source.id for source in apart] == ["x", "x~3", "x~2", "x~4", "x~2~2"]
    assert [source.text for source in apart] == ["0", "1", "2", "3", "4"]
    notes = admit([Source(id_, "") for id_ in ids], "coerce").notes
    assert len(notes) == 3


@pytest.mark.parametrize("sources", ["a text", b"bytes", {"id": "a"}, Source("a", "x"), None, 7])
def test_one_thing_instead_of_a_list_is_refused(sources):
    """If this fails, a text is packed letter by letter, or a bare TypeError escapes."""
    with pytest.raises(SourceError, match="sources"):
        admit(sources)


def test_items_that_are_no_sources_are_named_by_index():
    """If this fails, a wrong item surfaces as an AttributeError later on."""
    with pytest.raises(SourceError, match=r"sources\[1\]") as caught:
        admit([Source("a", "x"), {"id": "b"}])
    assert caught.value.index == 1


def test_unknown_validate_suggests_the_right_one():
    with pytest.raises(OptionError, match="did you mean 'strict'"):
        admit([], "stict")


@pytest.mark.parametrize(
    ("scores", "ids", "by_id", "by_input"),
    [
        ([], [], [], []),
        ([1, 2, 3], "abc", [2, 1, 0], [2, 1, 0]),
        ([0.5, 0.5, 0.5], "cab", [1, 2, 0], [0, 1, 2]),
        ([None, 0.0, None, -1.0], "dcba", [1, 3, 2, 0], [1, 3, 0, 2]),
        ([None, None], "ba", [0, 1], [0, 1]),  # nothing is scored: the input is the ranking
        ([0.0, -0.0], "ba", [1, 0], [0, 1]),
        ([10**400, 1e308], "ab", [0, 1], [0, 1]),
    ],
)
def test_ranking_is_total(scores, ids, by_id, by_input):
    """If this fails, the ranking depends on something that is not in the input."""
    assert rank_order(scores, list(ids), "id") == by_id
    assert rank_order(scores, list(ids), "input") == by_input


def test_ids_are_compared_as_text():
    """If this fails, a10 ranks after a2, unlike in the systems that promptpack covers."""
    assert rank_order([0.5] * 3, ["a2", "a10", "a1"]) == [2, 1, 0]


@pytest.mark.parametrize("rank", [0, -1, True, 1.5, "1"])
def test_rank_gain_wants_a_rank(rank):
    with pytest.raises(OptionError):
        rank_gain(rank)


def test_unknown_tie():
    with pytest.raises(OptionError, match="tie"):
        rank_order([], [], "random")
