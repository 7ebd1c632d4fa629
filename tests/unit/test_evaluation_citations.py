"""Citation recall and precision against the definition, sentence by sentence."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from promptpack import OptionError
from promptpack.evaluation import citation_scores, cited_sentences, overlap_entails

PASSAGES = {"S1": "a", "S2": "b", "S3": "c"}


def needs(*facts: str) -> Any:
    """A judge: the premise has to hold all of these letters."""
    return lambda premise, statement: all(fact in premise for fact in facts)


@pytest.mark.parametrize(
    ("cited", "facts", "recall", "precision"),
    [
        ([], "a", 0.0, 0.0),                       # nothing cited
        (["S1"], "a", 1.0, 1.0),                   # the one that is needed
        (["S2"], "a", 0.0, 0.0),                   # the wrong one
        (["S1", "S2"], "a", 1.0, 0.5),             # one too many
        (["S1", "S2"], "ab", 1.0, 1.0),            # both are needed
        (["S1", "S2", "S3"], "ab", 1.0, 2 / 3),    # two are needed, one is not
        (["S1", "S3"], "ab", 0.0, 0.0),            # one is missing: none counts
        (["S1", "S1"], "a", 1.0, 1.0),             # repeated: once
        (["S9"], "a", 0.0, 0.0),                   # a label that was not sent
        (["S1", "S9"], "a", 1.0, 0.5),             # beside one that was
    ],
)
def test_one_sentence(cited: list[str], facts: str, recall: float, precision: float) -> None:
    found = citation_scores([("claim", cited)], PASSAGES, needs(*facts))
    assert (found.recall, found.precision) == (recall, precision)


def test_every_small_answer_follows_the_definition() -> None:
    """Worked out again, directly from the definition, for all answers of two sentences over three passages."""
    subsets = [[label for label, bit in zip(PASSAGES, bits, strict=True) if bit] for bits in product((0, 1), repeat=3)]
    for first, second, facts in product(subsets, subsets, ("a", "ab", "bc")):
        judge = needs(*facts)

        def supported(labels: list[str], judge: Any = judge) -> bool:
            return bool(labels) and judge("".join(PASSAGES[label] for label in labels), "")

        recalls, precisions = [], []
        for cited in (first, second):
            recalls.append(supported(cited))
            for label in cited:
                rest = [other for other in cited if other != label]
                irrelevant = not supported([label]) and supported(rest)
                precisions.append(supported(cited) and not irrelevant)
        found = citation_scores([("x", first), ("y", second)], PASSAGES, judge)
        assert found.recall == sum(recalls) / 2
        assert found.precision == (sum(precisions) / len(precisions) if precisions else 0)


def test_the_judge_is_asked_a_bounded_number_of_times() -> None:
    asked: list[str] = []

    def judge(premise: str, statement: str) -> bool:
        asked.append(premise)
        return len(premise.split("\n")) >= 3

    passages = {f"S{at}": str(at) for at in range(20)}
    citation_scores([("x", list(passages))], passages, judge)
    assert len(asked) <= 2 * 20 + 1
    asked.clear()
    assert citation_scores([("x", list(passages))], passages, judge, most=3).citations == 3
    assert len(asked) <= 2 * 3 + 1


def test_nothing_to_count_is_zero() -> None:
    empty = citation_scores([], {}, needs())
    assert (empty.recall, empty.precision, empty.citation_f1) == (0.0, 0.0, 0.0)
    assert citation_scores([("x", ["S1"])], PASSAGES, needs("a")).citation_f1 == 1.0


def test_an_answer_is_read_sentence_by_sentence() -> None:
    answer = (
        "# Returns\nIt takes 45 days [S1][S2]. Lamps are blue.[S3] Is it free? [S1]\n\n- From 3.5 EUR on [S2, S3]\n"
        "```\ncode [S1]\n```\n"
    )
    assert cited_sentences(answer) == [
        ("It takes 45 days.", ("S1", "S2")), ("Lamps are blue.", ("S3",)), ("From 3.5 EUR on", ("S2", "S3")),
    ]
    assert cited_sentences("It is so [D1].", prefix="D") == [("It is so.", ("D1",))]
    assert cited_sentences("") == []


def test_words_stand_in_for_a_model() -> None:
    passages = {"S1": "You can return a lamp within 45 days.", "S2": "Lamps are covered for three years."}
    sentences = cited_sentences("You can return a lamp within 45 days [S1][S2]. Lamps are green [S2].")
    found = citation_scores(sentences, passages, overlap_entails(0.9))
    assert (found.recall, found.precision) == (0.5, 1 / 3)


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (("x", {}, needs()), {}), (([("x", "S1")], {}, needs()), {}), (([("x",)], {}, needs()), {}), (([], {}, 7), {}),
        (([], {}, needs()), {"most": 0}), (([("x", ["S1"])], None, needs()), {}), (([("x", ["S1"])], 5, needs()), {}),
    ],
)
def test_wrong_input_is_named(arguments: Any, options: Any) -> None:
    with pytest.raises(OptionError):
        citation_scores(*arguments, **options)
    with pytest.raises(OptionError):
        overlap_entails(1.5)
