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
    retrieval_ndcg,
    retrieval_precision_at_k,
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


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        # Worked out by hand from the formulas of the docstrings.
        (key_point_recall(["copper", "silver", "tin"], ["a copper pot", "tin"]), 2 / 3),
        (key_point_recall(["Copper"], ["copper"], case_insensitive=True), 1),
        (key_point_recall(["Copper"], ["copper"]), 0),
        (key_point_recall([], ["x"]), 0), (key_point_recall(["x"], []), 0),
        (key_point_precision(["copper"], ["copper", "x", "y"]), 1 / 3),
        (key_point_precision([], ["x"]), 0), (key_point_precision(["x"], []), 0),
        (span_recall(["a b", "b c"], ["x a b y"]), 1 / 2), (span_recall([], []), 0),
        (position_effectiveness([1, 2, 3]), 2), (position_effectiveness([1, 0, 0, 0]), 1 / (20 / 9)),
        (position_effectiveness([4]), 4), (position_effectiveness([]), 0), (position_effectiveness([0, 5, 0]), 0),
        (ndcg([1, 2]), (1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3))), (ndcg([]), 0), (ndcg([0, 0]), 0),
        (ndcg([3, 2, 3, 0, 1, 2]), 0.9608081943360617),  # the usual textbook list, with linear gain
        (retrieval_recall_at_k(["x", "a", "b"], ["a", "b", "c"], 2), 1 / 3), (retrieval_recall_at_k([], ["a"]), 0),
        (retrieval_recall_at_k(["a"], []), 0),
        (retrieval_precision_at_k(["x", "a", "b"], ["a", "b", "c"], 2), 1 / 2),
        (retrieval_precision_at_k([], ["a"]), 0), (retrieval_precision_at_k(["a"], []), 0),
        (retrieval_ndcg(["x", "a", "b"], {"a": 1, "b": 2, "c": 3}),
         (1 / math.log2(3) + 2 / 2) / (3 + 2 / math.log2(3) + 1 / 2)),
        (retrieval_ndcg(["x", "a", "b"], ["a", "b", "c"], 2), (1 / math.log2(3)) / (1 + 1 / math.log2(3))),
        (retrieval_ndcg(["a", "a"], ["a", "b"]), 1 / (1 + 1 / math.log2(3))),
        (retrieval_ndcg([], ["a"]), 0), (retrieval_ndcg(["a"], []), 0), (retrieval_ndcg(["a"], {"a": 0}), 0),
        (exact_match("The Red pot!", ["blue pot", "red pot"]), 1), (exact_match("pot red", ["red pot"]), 0),
        (exact_match("", []), 0), (exact_match("", [""]), 1),
        (token_f1("a b c", ["b c d"]), 2 * 2 / (2 + 3)), (token_f1("x x y", ["x z"]), 2 * 1 / (3 + 2)),
        (token_f1("", ["x"]), 0), (token_f1("", [""]), 1), (token_f1("x", []), 0),
        (answerability_match("x", ["y"]), 1), (answerability_match("", ["y"]), 0), (answerability_match("", []), 1),
        (answerability_match("x", []), 0),
        (faithfulness("the red pot", ["a red kettle"]), 1 / 2), (faithfulness("", ["x"]), 0),
        (faithfulness("red", []), 0), (faithfulness("the of a", ["the of a"]), 0),
        (citation_coverage("a red pot", ["a red kettle"]), 2 / 3), (citation_coverage("", []), 0),
    ],
)
def test_the_numbers_are_those_of_the_definitions(found: float, wanted: float) -> None:
    assert found == pytest.approx(wanted, abs=1e-12)


@given(st.lists(st.sampled_from("abcdef"), max_size=8), st.dictionaries(st.sampled_from("abcdxy"), st.integers(0, 3)))
def test_ndcg_of_ids_is_a_share(retrieved: list[str], gains: dict[str, int]) -> None:
    """Above 1 or below 0 it is no share of the best; what is missing must cost something."""
    found = retrieval_ndcg(retrieved, gains)
    assert 0 <= found <= 1 + 1e-12
    best = sorted(gains, key=lambda one: -gains[one])
    assert retrieval_ndcg(best, gains) == pytest.approx(float(any(gains.values())))
    if any(gain and one not in retrieved for one, gain in gains.items()):
        assert found < 1


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
        (lambda: retrieval_ndcg(["a"], {"a": -1}), "relevant"),
        (lambda: retrieval_ndcg(["a"], {"a": math.nan}), "relevant"),
        (lambda: retrieval_ndcg(["a"], "a"), "relevant"), (lambda: retrieval_ndcg([["a"]], ["a"]), "retrieved"),
        (lambda: retrieval_recall_at_k(["a"], [["a"]]), "relevant"), (lambda: retrieval_ndcg(["a"], ["a"], -1), "k"),
        (lambda: retrieval_recall_at_k(["a"], [("a", ["S1"])]), "relevant"),
        (lambda: retrieval_ndcg([("a", ["S1"])], ["a"]), "retrieved"),
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
