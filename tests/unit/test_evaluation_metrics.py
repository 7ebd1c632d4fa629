"""Metrics of retrieval and of answers: their ranges, their edges, and what they must not do."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpack import OptionError, Source, evaluation
from promptpack.evaluation import (
    answerability_match,
    citation_coverage,
    evaluate_answer_set,
    exact_match,
    faithfulness,
    key_point_precision,
    key_point_recall,
    ndcg,
    position_effectiveness,
    retrieval_recall_at_k,
    span_recall,
    token_f1,
)
from promptpack.evaluation.answers import words

TEXTS = st.lists(st.text("abé .\u0301,", max_size=8), max_size=4)
TEXT = st.text("abAé .\u0301,日", max_size=8)


@pytest.mark.parametrize("name", evaluation.__all__)
def test_every_name_is_there_and_documented(name: str) -> None:
    assert getattr(evaluation, name).__doc__.strip()


@given(TEXTS, TEXTS, st.booleans())
def test_shares_stay_shares(points: list[str], texts: list[str], fold: bool) -> None:
    """No input divides by zero or leaves 0..1."""
    for metric in (key_point_recall, key_point_precision, span_recall):
        assert 0 <= metric(points, texts, case_insensitive=fold) <= 1


@given(TEXT, st.lists(TEXT, max_size=3), st.lists(TEXT, max_size=3))
def test_answer_metrics_stay_shares(said: str, references: list[str], contexts: list[str]) -> None:
    for metric in (exact_match, token_f1, answerability_match):
        assert 0 <= metric(said, references) <= 1
    for metric in (faithfulness, citation_coverage):
        assert 0 <= metric(said, contexts) <= 1
    assert token_f1(said, [said]) == exact_match(said, [said]) == answerability_match(said, [said]) == 1
    assert exact_match(said, references) <= token_f1(said, references)


@given(st.lists(st.floats(0, 1e6), max_size=8))
def test_ranking_metrics_stay_shares(scores: list[float]) -> None:
    assert 0 <= ndcg(scores) <= 1 + 1e-9
    assert ndcg(sorted(scores, reverse=True)) == pytest.approx(float(any(scores)))
    assert 0 <= position_effectiveness(scores) <= max(scores, default=0) * (1 + 1e-9)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=9))
def test_the_fold_is_best_for_the_edges(scores: list[float]) -> None:
    """The metric has to say that what the library does is an improvement."""
    from promptpack.packing import fold

    ranked = sorted(scores, reverse=True)
    assert position_effectiveness(fold(ranked)) >= position_effectiveness(ranked) - 1e-9
    assert position_effectiveness(fold(ranked)) >= position_effectiveness(fold(ranked[::-1])) - 1e-9


@given(st.lists(st.sampled_from("abcd"), max_size=6), st.sets(st.sampled_from("abcde")), st.integers(0, 7))
def test_recall_grows_with_k(retrieved: list[str], relevant: set[str], k: int) -> None:
    wanted = sorted(relevant)
    assert 0 <= retrieval_recall_at_k(retrieved, wanted, k) <= retrieval_recall_at_k(retrieved, wanted, k + 1) <= 1
    assert retrieval_recall_at_k(retrieved, wanted, 7) == retrieval_recall_at_k(retrieved, wanted)


def test_recall_reads_sources_and_chunks() -> None:
    assert retrieval_recall_at_k([Source("a", "x"), {"id": "b"}, "c"], ["a", "b", "c"]) == 1
    for k in (-1, math.nan, "2", True):
        with pytest.raises(OptionError):
            retrieval_recall_at_k(["a"], ["a"], k)  # type: ignore[arg-type]


def test_key_points_are_found_in_both_forms_of_unicode() -> None:
    assert key_point_recall(["caf\u00e9"], ["cafe\u0301"]) == 1


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]), ("ภาษาไทย", ["ภาษาไทย"]), ("كِتَاب", ["كِتَاب"]), ("3.5 %", ["3", "5"]),
        ("aéro the", ["aéro", "the"]), ("😀", []), ("", []), ("ﬁn", ["fin"]), ("naïve", ["naïve"]),
    ],
)
def test_words_are_whole(text: str, wanted: list[str]) -> None:
    """Marks belong to their word: without them different words become equal."""
    assert words(text) == wanted


def test_different_syllables_are_different_answers() -> None:
    assert exact_match("की", ["का"]) == 0
    assert exact_match("aéro kettle", ["éro kettle"]) == 0


def test_a_summary_leaves_out_what_nothing_says() -> None:
    cases = [
        {"prediction": "a red pot", "references": ["red pot"], "contexts": ["red pots"]},
        {"prediction": "blue", "references": "green"},
    ]
    found = evaluate_answer_set(cases)
    assert (found.count, found.exact_match, found.faithfulness) == (2, 0.5, 0.5)
    assert found.per_example[1].citation_coverage is None
    empty = evaluate_answer_set([])
    assert (empty.count, empty.answerability, empty.faithfulness, empty.per_example) == (0, 0.0, None, ())


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: key_point_recall("copper", ["x"]), "key_points"), (lambda: key_point_recall(["x"], [1]), "texts"),
        (lambda: ndcg([math.nan]), "scores"), (lambda: ndcg("12"), "scores"), (lambda: exact_match(7, ["x"]), "text"),
        (lambda: token_f1("x", None), "references"), (lambda: faithfulness("x", "text"), "contexts"),
        (lambda: faithfulness("x", ["y"], min_token_length=-1), "min_token_length"),
        (lambda: evaluate_answer_set([7]), "cases"), (lambda: evaluate_answer_set([{}]), "prediction"),
        (lambda: evaluate_answer_set([{"prediction": "x"}]), "references"), (lambda: evaluate_answer_set({}), "cases"),
    ],
)
def test_wrong_input_is_named(call: Any, name: str) -> None:
    """A text where a list is expected would be compared letter by letter."""
    with pytest.raises(OptionError) as caught:
        call()
    assert caught.value.name == name
