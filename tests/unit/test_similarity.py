"""Folding, trigrams, vectors, and the guard: the measures that dedup and diversity rest on."""

from __future__ import annotations

import unicodedata

import pytest

from promptpack.errors import OptionError
from promptpack.packing import similarity
from promptpack.packing.facts import contradict, facts
from promptpack.packing.join import near_groups
from promptpack.packing.similarity import cosine, cosine_matrix, folded, trigram_codes, trigram_similarity, trigrams


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("", "", 1.0), ("ab", "ab", 1.0), ("ab", "abc", 0.0), ("aaaa", "aaa", 1.0), ("Otter", "otter", 0.5),
        ("blue kettle", "blue  kettle", 8 / 11), ("日本語の本", "日本語の木", 0.5), ("😀a", "😀b", 0.0),
    ],
)
def test_trigram_similarity(a: str, b: str, expected: float) -> None:
    assert trigram_similarity(a, b) == pytest.approx(expected, rel=1e-12)
    assert trigram_similarity(b, a) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("text", ["", "ab", "abcabc", "日本語の本", "\ud800x\udfff\U0010ffff", "a" * 300])
def test_codes_are_the_trigrams(text: str) -> None:
    """The join compares numbers, the definition sets of text: they must have the same size."""
    codes = trigram_codes(text)
    assert len(codes) == len(trigrams(text))
    assert codes.tolist() == sorted(codes.tolist())


@pytest.mark.parametrize("text", ["a\tb\x1fc\x0bd", " x ", "a\u3000b", "\u2003", "tab\tonly", "a \n b"])
def test_folding_agrees_with_split(text: str) -> None:
    """The ASCII short cut must fold what `str.split` folds."""
    assert folded(text) == " ".join(text.split())


def test_long_runs_of_marks_keep_their_canonical_form() -> None:
    """Ordering marks ourselves must not change what a text is equal to."""
    text = "a" + "\u0301\u0323\u0f73\u0344\u093e\u0301" * 40 + "b"
    assert similarity._with_ordered_marks(text) != text
    assert folded(text) == unicodedata.normalize("NFC", text)


def test_long_runs_of_marks_are_ordered_before_normalising(monkeypatch: pytest.MonkeyPatch) -> None:
    """`unicodedata` sorts by insertion: given an unordered run it would take quadratic time."""
    seen: list[str] = []
    normalize = unicodedata.normalize

    def spy(form: str, text: str) -> str:
        seen.append(text)
        return normalize(form, text)  # type: ignore[arg-type]

    monkeypatch.setattr(unicodedata, "normalize", spy)
    folded("a" + "\u0301\u0323" * 5000)
    (run,) = [text for text in seen if len(text) > 100]
    classes = [unicodedata.combining(mark) for mark in run[1:]]
    assert classes == sorted(classes)


@pytest.mark.parametrize(
    ("a", "b", "differs"),
    [
        ("is 25 EUR", "is 250 EUR", True), ("v2.1 is out", "v2.2 is out", True), ("-5 degrees", "5 degrees", True),
        ("for two years", "for three years", True), ("三十日以内", "四十日以内", True), ("५ दिन", "६ दिन", True),
        ("it is charged", "it is not charged", True), ("it can fail", "it can't fail", True),
        ("das gilt", "das gilt nicht", True), ("使用できます。", "使用できません。", True),
        ("可以退货", "不可以退货", True),
        ("it is available", "it is unavailable", True), ("5 mg and 10 mg", "10 mg and 5 mg", True),
        ("the 5mg pill", "the 5g pill", True), ("$5 each", "€5 each", True),
        ("the price is 25 now", "the price is 25", False),
        ("Late fee: 25.", "late fee 25", False), ("ร้านเปิด", "ร้านไม่เปิด", True), ("работает", "не работает", True),
    ],
)  # fmt: skip
def test_guard(a: str, b: str, differs: bool) -> None:
    assert contradict(a, b) is differs
    assert contradict(b, a) is differs


def test_facts_of_empty_text() -> None:
    assert facts("") == facts("plain words")


def test_cosine_of_a_zero_vector_is_zero() -> None:
    assert cosine([1.0, 0.0], [[0.0, 0.0], [2.0, 0.0], [1e200, 1e200], [1e-200, 0.0]]) == pytest.approx(
        [0.0, 1.0, 0.5**0.5, 1.0]
    )
    assert cosine_matrix([[0.0, 0.0], [1.0, 0.0]]) == [[0.0, 0.0], [0.0, 1.0]]
    assert cosine([1.0], []) == []


@pytest.mark.parametrize("vectors", [[[1.0]], [[1.0, float("nan")]], [["a", "b"]], [[1.0, 2.0], [1.0]]])
def test_wrong_vectors_are_refused(vectors: list[list[float]]) -> None:
    with pytest.raises(OptionError, match="vectors"):
        cosine([1.0, 0.0], vectors)


@pytest.mark.parametrize(
    ("bucket", "groups"), [(1, [[0, 1], [2], [3]]), (5, [[0, 1], [2], [3]]), (1000, [[0, 1, 2, 3]])]
)
def test_length_buckets_differ_by_at_most_one(bucket: int, groups: list[list[int]]) -> None:
    texts = ["abcdefghij", "abcdefghijk", "abcdefghijklmnopqrst", "abcdefghijklmnopqrstuvwxyzabcdef"]
    assert near_groups(texts, 0.3, length_bucket=bucket)[0] == groups


def test_only_first_texts_are_compared_with() -> None:
    """The third is near the second but not the first: chains must not swallow it."""
    assert near_groups(["abcdefgh", "abcdefghij", "abcdefghijkl"], 0.75)[0] == [[0, 1], [2]]


def test_threshold_zero_and_nothing() -> None:
    assert near_groups(["abc", "xyz", ""], 0.0)[0] == [[0, 1, 2]]
    assert near_groups([], 0.5) == ([], 0)
    assert near_groups([], 0.5, guard=False) == ([], 0)
