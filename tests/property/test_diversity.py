"""Maximal marginal relevance against the formula, written out plainly."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from promptpack.packing.candidate import Candidate
from promptpack.packing.diversity import Diversity, diversify, mmr
from promptpack.packing.similarity import trigram_similarity
from promptpack.source import Source

TEXTS = st.text(alphabet="abc ", max_size=12)


def plain(
    gains: list[float], alike: list[list[float]], balance: float, weight: float, documents: list[str]
) -> list[int]:
    left, picks = list(range(len(gains))), []
    while left:

        def score(at: int) -> float:
            near = max((alike[pick][at] for pick in picks), default=0.0)
            used = sum(documents[pick] == documents[at] for pick in picks)
            return balance * gains[at] - (1 - balance) * near - weight * used

        best = max(left, key=lambda at: (score(at), -at))
        picks.append(best)
        left.remove(best)
    return picks


@given(
    st.lists(st.tuples(TEXTS, st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.sampled_from("xy")), min_size=2, max_size=8),
    st.sampled_from([0.0, 0.3, 0.7, 1.0]), st.sampled_from([0.0, 0.125]),
)
@settings(max_examples=150, deadline=None)
def test_order_is_that_of_the_formula(batch: list[tuple[str, float, str]], balance: float, weight: float) -> None:
    batch = sorted(batch, key=lambda item: -item[1])
    found = [Candidate.of(Source(str(at), t, s, document=d), at, at + 1) for at, (t, s, d) in enumerate(batch)]
    scores = [score for _, score, _ in batch]
    low, high = min(scores), max(scores)
    gains = [(score / 2 - low / 2) / (high / 2 - low / 2) if high > low else 1.0 for score in scores]
    alike = [[trigram_similarity(a, b) for b, _, _ in batch] for a, _, _ in batch]
    expected = plain(gains, alike, balance, weight, [document for _, _, document in batch])
    order = diversify(found, Diversity(relevance=balance, document_weight=weight))
    assert [int(candidate.source.id) for candidate in order] == expected


@given(st.lists(st.floats(-1, 1), max_size=8), st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 10))
@settings(max_examples=100, deadline=None)
def test_mmr_picks_different_items(gains: list[float], balance: float, k: int) -> None:
    n = len(gains)
    alike = [[1.0 if i == j else (i * j % 7) / 7 for j in range(n)] for i in range(n)]
    picks = mmr(gains, alike, balance, k)
    assert len(picks) == len(set(picks)) == min(k, n)
    if picks:
        assert gains[picks[0]] == max(gains)
    if balance == 1.0:
        assert [gains[at] for at in picks] == sorted(gains, reverse=True)[: len(picks)]
