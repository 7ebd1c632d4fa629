"""Relevance against repetition: the weight 0 is a weight, ties are settled, nothing is NaN."""

from __future__ import annotations

import math

import pytest

from promptpack.errors import OptionError
from promptpack.packing.candidate import Candidate
from promptpack.packing.diversity import Diversity, diversify, mmr, trigram_rows
from promptpack.packing.similarity import cosine, cosine_matrix, trigram_similarity
from promptpack.source import Source

LAMPS = [
    ("a", "the copper lantern is lit", 0.9, "x"), ("b", "the copper lantern is lit.", 0.88, "x"),
    ("c", "granite ledger", 0.5, "y"), ("e", "violet harbor signal", 0.3, "z"),
]


def lamps() -> list[Candidate]:
    return [Candidate.of(Source(i, t, s, document=d), at, at + 1) for at, (i, t, s, d) in enumerate(LAMPS)]


def order(policy: Diversity, candidates: list[Candidate] | None = None) -> str:
    return "".join(c.source.id for c in diversify(candidates or lamps(), policy))


@pytest.mark.parametrize(
    ("relevance", "weight", "expected"),
    [
        (0.7, 0.15, "abce"), (0.3, 0.15, "aceb"), (0.5, 0.15, "aceb"), (0.5, 0.0, "acbe"), (0.0, 0.0, "aceb"),
        (1.0, 0.0, "abce"), (1.0, 5.0, "aceb"),
    ],
)
def test_balance_and_documents(relevance: float, weight: float, expected: str) -> None:
    """With relevance 0 the first is still the most relevant; documents count even where likeness does not."""
    assert order(Diversity(relevance=relevance, document_weight=weight)) == expected


def test_metadata_field_and_missing_documents_share_one() -> None:
    teams = [("a", "one", {"team": 1}), ("b", "two", {"team": "1"}), ("c", "six", {}), ("d", "ten", {})]
    found = [
        Candidate.of(Source(id_, text, 0.9 - at / 10, metadata=metadata), at, at + 1)
        for at, (id_, text, metadata) in enumerate(teams)
    ]
    assert order(Diversity(relevance=1.0, document_weight=9, field="team"), found) == "acbd"


def test_those_beyond_the_bound_follow_in_their_order() -> None:
    assert order(Diversity(relevance=0.0, max_candidates=3)) == "acbe"
    assert order(Diversity(max_candidates=1)) == "abce"


def test_without_scores_the_rank_is_the_relevance() -> None:
    texts = ["same text", "same texts", "other"]
    found = [Candidate.of(Source(str(at), text), at, at + 1) for at, text in enumerate(texts)]
    assert order(Diversity(relevance=1.0), found) == "012"
    assert order(Diversity(relevance=0.2), found) == "021"


def test_own_similarity() -> None:
    apart = Diversity(relevance=0.4, similarity=lambda a, b: float(a.id + b.id in ("ac", "ca")))
    assert order(apart)[:2] == "ab"
    with pytest.raises(OptionError, match="similarity"):
        order(Diversity(similarity=lambda a, b: math.nan))


def test_rows_are_the_trigram_similarity() -> None:
    texts = ["abcdef", "abcxef", "ab", "ab", "", "日本語の本", "日本語の木", "x" * 700 + "abcdef"]
    row = trigram_rows(texts)
    for at, text in enumerate(texts):
        assert row(at).tolist() == pytest.approx([trigram_similarity(text, other) for other in texts], rel=1e-12)


def test_mmr_of_vectors() -> None:
    query, vectors = [1.0, 0.0], [[0.98, 0.199], [0.97, 0.2431], [0.1, 0.995]]
    gains, alike = cosine(query, vectors), cosine_matrix(vectors)
    assert mmr(gains, alike, 1.0, 2) == [0, 1]
    assert 2 in mmr(gains, alike, 0.0, 2)
    assert sorted(mmr(gains, alike, 1.0, 3)) == [0, 1, 2]
    assert mmr(gains, alike, 0.5, 1) == [0]
    assert mmr(gains, lambda i, j: alike[i][j], 0.0, 2) == mmr(gains, alike, 0.0, 2)


def test_mmr_of_a_zero_vector() -> None:
    vectors = [[0.0, 0.0], [1.0, 0.0], [0.9, 0.1]]
    gains, alike = cosine([1.0, 0.0], vectors), cosine_matrix(vectors)
    assert mmr(gains, alike, 1.0, 2) == [1, 2]
    assert set(mmr(gains, alike, 0.5, 3)) == {0, 1, 2}


def test_mmr_of_few_and_none() -> None:
    assert mmr([], [], 0.5, 3) == []
    assert mmr([0.5], [[1.0]], 0.5, 3) == [0]
    assert mmr([0.5], [[1.0]], 0.5, 0) == []


@pytest.mark.parametrize(
    ("gains", "alike", "balance", "k"),
    [
        ([1.0], [[1.0]], 1.5, 1), ([1.0], [[1.0]], 0.5, -1), ([1.0], [[1.0]], 0.5, 1.5), ([math.nan], [[1.0]], 0.5, 1),
        ([1.0, 2.0], [[1.0]], 0.5, 1), (["x"], [[1.0]], 0.5, 1), ([1.0], [[math.inf]], 0.5, 1),
    ],
)
def test_mmr_refuses_what_is_no_number(gains: list[float], alike: list[list[float]], balance: float, k: int) -> None:
    with pytest.raises(OptionError):
        mmr(gains, alike, balance, k)


@pytest.mark.parametrize(
    "wrong",
    [
        {"relevance": 1.1}, {"relevance": math.nan}, {"document_weight": -1}, {"field": ""}, {"max_candidates": 0},
        {"similarity": "trigrams"}, {"similarity": 3},
    ],
)
def test_wrong_options_are_named(wrong: dict[str, object]) -> None:
    with pytest.raises(OptionError, match=next(iter(wrong))):
        Diversity(**wrong)  # type: ignore[arg-type]
