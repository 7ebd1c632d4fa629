"""The fast join against the plain rule: other groups would mean that filters rule out true pairs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpack.packing import join
from promptpack.packing.facts import contradict
from promptpack.packing.join import near_groups
from promptpack.packing.similarity import trigram_similarity


@lru_cache(maxsize=1 << 16)  # the tests ask for the same pairs under many settings
def alike(a: str, b: str) -> float:
    return trigram_similarity(a, b)


def plain_groups(
    texts: Sequence[str], threshold: float, guard: bool = False, bucket: int | None = None, most: int | None = None
) -> list[list[int]]:
    """Compare every text with the first text of every group, pair by pair."""
    taken: set[int] = set()
    groups = []
    for first, a in enumerate(texts):
        if first in taken:
            continue
        group, compared = [first], 0
        for other in range(first + 1, len(texts)):
            b = texts[other]
            if other in taken or (bucket and abs(len(a) // bucket - len(b) // bucket) > 1):
                continue
            if most is not None and compared >= most:
                break
            compared += 1
            if alike(a, b) >= threshold and not (guard and contradict(a, b)):
                taken.add(other)
                group.append(other)
        groups.append(group)
    return groups


def chunks(n: int, seed: int, words: int) -> list[str]:
    """Texts over one vocabulary, a third of them copies of others with some words changed."""
    rng = random.Random(seed)
    vocabulary = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(2, 8))) for _ in range(400)]
    vocabulary += ["not", "25", "250", "three"]
    texts: list[str] = []
    for _ in range(n):
        if texts and rng.random() < 0.35:
            text = rng.choice(texts).split()
            for _ in range(rng.randint(0, words // 8 + 1)):
                text[rng.randrange(len(text))] = rng.choice(vocabulary)
        else:
            text = rng.choices(vocabulary, k=words)
        texts.append(" ".join(text))
    return texts


@pytest.mark.parametrize("threshold", [0.4, 0.75, 0.9])
@pytest.mark.parametrize("options", [{}, {"guard": True}, {"bucket": 20}, {"most": 17}])
def test_same_groups_as_the_plain_rule(threshold: float, options: dict[str, int]) -> None:
    texts = chunks(220, seed=7, words=30)
    found, unseen = near_groups(
        texts, threshold, guard=bool(options.get("guard")), length_bucket=options.get("bucket"),
        max_candidates=options.get("most"),
    )
    assert found == plain_groups(texts, threshold, **options)  # type: ignore[arg-type]
    assert (unseen > 0) is ("most" in options)


@pytest.mark.parametrize("width", join._WIDTHS)
def test_the_width_of_the_sketch_changes_nothing(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = chunks(150, seed=3, words=25)
    expected = plain_groups(texts, 0.8)
    monkeypatch.setattr(join._Join, "_width", lambda self, sketches: width)
    monkeypatch.setattr(join, "_ROWS", 32)
    monkeypatch.setattr(join, "_COLUMNS", 48)
    monkeypatch.setattr(join, "_PAIRS", 7)
    assert near_groups(texts, 0.8, guard=False)[0] == expected


@given(
    st.lists(st.text(alphabet="ab1é😀 ", max_size=14), max_size=14), st.sampled_from([0.0, 0.3, 0.7, 0.95]),
    st.booleans(), st.sampled_from([None, 2]), st.sampled_from([None, 1, 3]),
)
@settings(max_examples=150, deadline=None)
def test_small_and_odd_texts(
    texts: list[str], threshold: float, sketched: bool, bucket: int | None, most: int | None
) -> None:
    """Empty, short, equal and non-BMP texts go through sketches (forced here) and direct comparison alike."""
    few, join._FEW = join._FEW, 0 if sketched else 48
    try:
        found = near_groups(texts, threshold, guard=False, length_bucket=bucket, max_candidates=most)[0]
    finally:
        join._FEW = few
    assert found == plain_groups(texts, threshold, bucket=bucket, most=most)


@given(st.text(alphabet="abc ", max_size=40), st.text(alphabet="abc ", max_size=40))
def test_sketch_distance_never_exceeds_the_difference(a: str, b: str) -> None:
    """The bound that the whole join rests on."""
    import numpy as np

    x, y = join.trigram_codes(a), join.trigram_codes(b)
    difference = len(np.setxor1d(x, y))
    both = np.stack([join._sketch(x), join._sketch(y)])
    for width in join._WIDTHS:
        narrow = join._folded(both, width)
        assert join._ones(narrow[:1] ^ narrow[1:])[0] <= difference


def test_few_exact_comparisons_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Growth: unlike texts are settled by sketches, so exact comparisons stay in proportion to true pairs."""
    calls = 0
    exact = join._Join._alike

    def counted(self: join._Join, *args: object) -> bool:
        nonlocal calls
        calls += 1
        return exact(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(join._Join, "_alike", counted)
    texts = chunks(600, seed=5, words=60)
    groups, _ = near_groups(texts, 0.9, guard=False)
    joined = len(texts) - len(groups)
    assert joined > 20
    assert calls < 4 * len(texts)
