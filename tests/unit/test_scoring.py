"""Scores from words, age, position and weights: a wrong scale here reorders everything after it."""

from __future__ import annotations

import math
import pickle
from datetime import UTC, date, datetime, timedelta

import pytest

from promptpack.errors import OptionError
from promptpack.packing.candidate import Candidate
from promptpack.packing.scorers import overlap_score, recency_score, weighted_score
from promptpack.packing.scoring import Scoring, normalized, overlap, recency, score_candidates, weighted
from promptpack.source import Source


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("late invoice fee", "the late fee applies to an invoice", 0.6), ("Late, INVOICE!", "invoice; late.", 1.0),
        ("", "x", 0.0), ("x", "", 0.0), ("", "", 0.0), ("pay pay pay", "pay once", 2 / 3),
        ("room 101", "room 101 is open", 2 / 3),
        ("cafe\u0301 menu", "the café menu today", 2 / 3), ("हिन्दी में", "हिन्दी", 2 / 3),
        ("हि", "ही", 0.0), ("a_b", "a b", 1.0),
    ],
)  # fmt: skip
def test_overlap(query: str, text: str, expected: float) -> None:
    """Marks belong to their word: without them, different Hindi words would be equal."""
    assert overlap_score(query, text) == pytest.approx(expected, rel=1e-12)
    assert overlap(query)([Source("a", text)]) == [pytest.approx(expected, rel=1e-12)]


@pytest.mark.parametrize(
    ("age", "half_life", "expected"),
    [(0, 7, 1.0), (7, 7, 0.5), (70, 7, 0.0009765625), (-3, 7, 1.0), (1e300, 1e-300, 0.0), (math.inf, 1, 0.0)],
)
def test_recency_score(age: float, half_life: float, expected: float) -> None:
    assert recency_score(age, half_life) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("half_life", [0, -1, math.nan, math.inf, "7", True])
def test_half_life_is_above_zero(half_life: float) -> None:
    with pytest.raises(OptionError, match="half_life"):
        recency_score(1, half_life)
    with pytest.raises(OptionError, match="half_life"):
        recency("2024-01-01", half_life)


def test_recency_reads_every_form_of_date() -> None:
    moments = [
        date(2024, 3, 1), datetime(2024, 3, 1, tzinfo=UTC), "2024-03-01T00:00:00Z", 1709251200, 1709251200000,
        None, "last spring", "2024-03-09",
    ]
    sources = [Source(str(at), "x", updated=moment) for at, moment in enumerate(moments)]
    expected = [0.5] * 5 + [0.0, 0.0, 1.0]
    assert recency("2024-03-08", 7)(sources) == expected
    assert recency(date(2024, 3, 8), timedelta(days=7))(sources) == expected
    with pytest.raises(OptionError, match="now"):
        recency("yesterday", 7)


def test_weighted_adds_up_without_normalising() -> None:
    assert weighted_score([0.9, 0.1], [2, 1]) == pytest.approx(1.9)
    scorer = weighted({"score": 2, overlap("fee"): 1})
    assert scorer([Source("a", "fee", 0.5), Source("b", "other")]) == [2.0, 0.0]
    with pytest.raises(OptionError, match="weights"):
        weighted_score([1.0], [1.0, 2.0])
    for wrong in ({}, {"skore": 1}, {"score": math.nan}, [("score", 1)]):
        with pytest.raises(OptionError, match="weighted"):
            weighted(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("how", "scores", "expected"),
    [
        ("none", [3.0, 1.0], [3.0, 1.0]), ("minmax", [0.9, 0.1, 0.5], [1.0, 0.0, 0.5]),
        ("minmax", [0.5, 0.5], [1.0, 1.0]),
        ("zscore", [0.1] * 3, [0.0] * 3), ("zscore", [0.3] * 6, [0.0] * 6), ("zscore", [1.0, 3.0], [-1.0, 1.0]),
        ("softmax", [0.5] * 3, [1 / 3] * 3), ("softmax", [1e308, -1e308], [1.0, 0.0]),
        ("minmax", [1.7e308, -1.7e308], [1.0, 0.0]),
        ("zscore", [1.7e308, -1.7e308], [1.0, -1.0]), ("zscore", [], []),
    ],
)  # fmt: skip
def test_normalized(how: str, scores: list[float], expected: list[float]) -> None:
    assert normalized(scores, how) == pytest.approx(expected, rel=1e-12, abs=1e-12)  # type: ignore[arg-type]


def test_parts_are_rescaled_over_what_is_there() -> None:
    batch = [
        Source("a", "t", 0.2, updated=100, position=1, reliability=0.5),
        Source("b", "t", 0.6, updated=300, position=4, reliability=0.9), Source("d", "t", 0.4, updated=150),
    ]
    assert Scoring(0, 1)(batch) == pytest.approx([0, 1, 0.25])
    assert Scoring(0.5, 0.2, 0.2, 0.1)(batch) == pytest.approx([0.1, 0.8, 0.25])
    assert Scoring(clamp=(0.3, 0.5))(batch) == [0.3, 0.5, 0.4]
    assert Scoring(1, 1)([Source("a", "t", 0.5, updated=7), Source("b", "t", updated=7)]) == [0.5, 0.0]
    assert Scoring()([]) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"similarity": math.inf}, {"recency": "1"}, {"normalize": "minMax"}, {"temperature": 0}, {"temperature": -3},
        {"clamp": (1, 0)}, {"clamp": (0, math.nan)}, {"clamp": 3},
    ],
)
def test_wrong_options_are_named(wrong: dict[str, object]) -> None:
    with pytest.raises(OptionError, match=next(iter(wrong))):
        Scoring(**wrong)  # type: ignore[arg-type]


def test_candidates_are_scored_as_they_would_be_sent() -> None:
    candidate = Candidate(Source("a", "late fee and more", tokens=4), 0, 1, 0.25, "fee", ("a",))
    assert [c.score for c in score_candidates([candidate], overlap("fee"))] == [1.0]
    assert [c.score for c in score_candidates([candidate], "overlap", "fee")] == [1.0]
    assert [c.score for c in score_candidates([candidate], Scoring())] == [0.25]


@pytest.mark.parametrize(
    "scorer", [lambda s: [], lambda s: [math.nan], lambda s: ["x"], lambda s: None, "overlapp", "overlap", 3]
)
def test_scorers_that_misbehave_are_refused(scorer: object) -> None:
    with pytest.raises(OptionError, match="score"):
        score_candidates([Candidate.of(Source("a", "x"))], scorer)  # type: ignore[arg-type]


def test_scorers_travel_to_other_processes() -> None:
    scorer = weighted({overlap("fee"): 1, recency(0, 1): 2})
    assert pickle.loads(pickle.dumps(scorer)) == scorer
