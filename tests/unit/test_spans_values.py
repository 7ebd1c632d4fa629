"""What units are worth: the formula of spans, its inputs, and its limits."""

from __future__ import annotations

import math

import pytest

from promptpack.packing.candidate import Candidate
from promptpack.packing.spans_repeats import HALF, Repeats, counted
from promptpack.packing.spans_scores import (
    FEATURES,
    before_all_behind,
    below_best,
    by_score,
    constants,
    softmax,
    standing,
)
from promptpack.packing.spans_text import units
from promptpack.packing.spans_values import features, linked, valued
from promptpack.source import Source


def candidate(id_, text, score=None, rank=1, **fields):
    return Candidate.of(Source(id_, text, score, **fields), rank - 1, rank)


def test_constants_are_positive_and_complete():
    """If this fails, a value could fall where one of its inputs rises, or the data file lacks a constant."""
    given = constants()
    assert len(given.sentence) == len(FEATURES)
    assert all(number > 0 for number in (*given.first, *given.sentence, given.rank, given.score_only, given.opening))


@pytest.mark.parametrize("at", range(len(FEATURES)))
def test_a_value_grows_with_each_input(at):
    """If this fails, values are not monotone in their inputs."""
    from promptpack.packing.spans_values import Features

    rows = [[0.1] * len(FEATURES) for _ in range(3)]
    before = valued(Features((tuple(map(tuple, rows)),), True))[0][1]
    rows[1][at] += 0.5
    after = valued(Features((tuple(map(tuple, rows)),), True))[0]
    assert after[1] > before > after[0]
    assert math.isclose(math.fsum(after), 1.0)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([3.0, 1.0], [0.0, -2.0]),
        ([1.0, 1.0], [0.0, 0.0]),
        ([5.0], [0.0]),
        ([1e308, -1e308], [0.0, -2.0]),
        ([0.0, 0.0, None], [0.0, 0.0, 0.0]),
        ([2.0, None, 0.0], [0.0, -2 / math.sqrt(8 / 9), -2 / math.sqrt(8 / 9)]),
    ],
)
def test_standing(scores, expected):
    """If this fails, a scale of scores, or a missing one, breaks the value."""
    ranked = [candidate(str(k), "x", score, k + 1) for k, score in enumerate(scores)]
    assert standing(ranked) == pytest.approx(expected)


def test_standing_without_scores_is_by_rank():
    """If this fails, sources without scores have no order for spans."""
    ranked = [candidate(str(k), "x", None, k + 1) for k in range(3)]
    assert standing(ranked, 2.0) == pytest.approx([0.0, -2 * math.log(2), -2 * math.log(3)])


@pytest.mark.parametrize("factor", [0.01, 1.0, 1e6])
def test_the_scale_of_scores_does_not_matter(factor):
    """If this fails, cosines and BM25 scores of the same distances give different choices."""
    assert below_best([5 * factor, 3 * factor, 2 * factor]) == pytest.approx(below_best([5.0, 3.0, 2.0]))


def test_softmax_far_apart():
    """If this fails, great differences overflow."""
    assert softmax([0.0, -1e9]) == pytest.approx([1.0, 0.0])
    assert softmax([]) == []


def test_features_by_hand():
    """If this fails, the features are not what the documentation says."""
    ranked = [
        candidate("a", "Late fee is 5 euros.", 2.0, 1, metadata={"title": "Fees"}),
        candidate("b", "Cats sleep.", 1.0, 2),
    ]
    found = features(ranked, [["Late fee is 5 euros."], ["Cats sleep."]], "late fee?")
    assert found.matched[0]
    assert dict(zip(FEATURES, found.rows[0][0], strict=True)) == {
        "score": 0.0, "title": 0.0, "links": 0.0, "words": 1.0, "pairs": 1.0, "digits": 1.0, "dated": 0.0,
    }
    assert found.rows[1][0] == (-2.0, *[0.0] * 6)


def test_a_question_without_known_words_tells_nothing():
    """If this fails, a question in another language is taken for evidence."""
    ranked = [candidate("a", "Cats sleep.", 2.0)]
    assert not any(features(ranked, [["Cats sleep."]], "wann ist die Frist?").matched)


def test_links_count_other_documents_only():
    """If this fails, a document links to itself, or links between documents are missed."""
    ranked = [
        candidate("a", "It was written by Ada Lovelace.", 2.0, 1, document="x", metadata={"title": "Notes"}),
        candidate("b", "A mathematician.", 1.0, 2, document="y", metadata={"title": "Ada Lovelace"}),
        candidate("c", "Ada Lovelace was born in 1815.", 1.0, 3, document="y", metadata={"title": "Ada Lovelace"}),
    ]
    assert linked(ranked, [0.6, 0.3, 0.1]) == pytest.approx([0.0, 0.6, 0.6])


def test_scores_alone():
    """If this fails, the values without a question are not the candidates' probabilities."""
    ranked = [candidate("a", "abcd", 2.0, 1), candidate("b", "ab", 1.0, 2)]
    values = by_score(ranked, [["ab", "cd"], ["ab"]])
    assert math.fsum(map(math.fsum, values)) == pytest.approx(1.0)
    assert values[0][0] == values[0][1] > values[1][0]


SENTENCE = "The fee for a late payment is five euros a day."


def test_a_repeat_within_a_document_counts_once():
    """If this fails, overlapping windows fill the prompt with the same sentences."""
    worth = counted([[0.2, 0.1], [0.4]], [[SENTENCE, "Other."], [SENTENCE]], ["d", "d"], Repeats())
    assert worth[0][0] == 0
    assert worth[1][0] == 2 * round(0.4 * HALF) + 2 * round(0.2 * HALF)


@pytest.mark.parametrize("documents", [["d", "e"], [None, None]])
def test_the_same_words_elsewhere_are_kept(documents):
    """If this fails, dated documents that repeat each other lose the right one."""
    worth = counted([[0.2], [0.4]], [[SENTENCE], [SENTENCE]], documents, Repeats())
    assert 0 not in (worth[0][0], worth[1][0])


def test_what_is_sent_already_is_worth_nothing():
    """If this fails, required sources are repeated by the others of their document."""
    repeats = Repeats()
    repeats.add("d", SENTENCE, None)
    assert counted([[0.9, 0.1]], [[SENTENCE, "Something else altogether is said here."]], ["d"], repeats)[0][0] == 0


def test_the_longer_copy_counts_where_it_says_much_more():
    """If this fails, a fragment at a window's edge wins over the whole sentence."""
    longer = "Anyone who pays after the end of the month has to know this: " + SENTENCE
    worth = counted([[0.6], [0.4]], [[SENTENCE], [longer]], ["d", "d"], Repeats())
    assert worth[0][0] == 0
    assert worth[1][0] > 0


def test_no_unit_is_worth_nothing_at_all():
    """If this fails, room is left unused although a source could fill it."""
    assert counted([[1e-300]], [["x"]], ["d"], Repeats()) == [[2]]


def test_a_long_chunk_does_not_outweigh_the_others_by_its_length() -> None:
    """A whole manual in one chunk would take the room of the passages that answer."""
    answer = candidate("answer", "Returns are free for 30 days. Money comes back within 6 days.", 0.9, 1)
    manual = candidate("manual", "A part of the lamp that returns is listed here. " * 120, 0.5, 2)
    texts = [[one.text[a:b] for a, b in units(one.text)] for one in (answer, manual)]
    asked = "For how many days are returns free?"
    short, long = (sum(own) for own in valued(features([answer, manual], texts, asked)))
    assert short > 0.5 > long
    assert sum(map(sum, valued(features([answer, manual], texts, "What is a part?")))) == pytest.approx(1)


@pytest.mark.parametrize(
    "scores", [[], [3.0], [1.0] * 30, [5.0, 4.9, 1.0, -7.0], [None] * 12, [1e308, -1e308, 0.0], [2.0, None, 1.0]],
    ids=lambda scores: f"{len(scores)}-{str(scores)[:18]}",
)
def test_no_source_gives_way_to_those_behind_it(scores):
    """If this fails, a larger budget without a question could send what is worth less, or a value is above 1."""
    worth, rest = before_all_behind([candidate(str(k), "x", score, k + 1) for k, score in enumerate(scores)])
    assert all(one >= math.fsum([*worth[k + 1:], rest]) for k, one in enumerate(worth))
    assert math.fsum([*worth, rest]) == 1.0
    assert 0.0 < rest <= 1.0
