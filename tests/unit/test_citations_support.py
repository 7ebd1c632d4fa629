"""Support: a claim is compared with the text that it cites, in words, numbers and dates, or by a judge."""

from __future__ import annotations

import json
import math

import pytest

from promptpack import PromptBuilder
from promptpack.citations import verify_citations
from promptpack.citations.figures import all_figures, figures
from promptpack.citations.support import Passages
from promptpack.errors import OptionError

LABELS = {"S1": "a", "S2": "b"}
TEXTS = {
    "S1": "You can return any lamp within 45 days of purchase. The fee is 1,000 EUR since 1 March 2026.",
    "S2": "Bulbs are free for three years.",
}


def check(answer, **options):
    return verify_citations(answer, LABELS, texts=TEXTS, **{"min_support": 0.5, **options})


@pytest.mark.parametrize("answer", [
    "You can return a lamp within 45 days [S1].", "Lamps can be returned within 45 days of purchase [S1].",
    "The fee is 1000 EUR [S1].", "Since 2026-03-01 the fee is 1.000 EUR [S1].", "Bulbs are free for 3 years [S2].",
    "You can return any lamp within 45 days, and bulbs are free [S1][S2].", "I don't know [S1].", "Is it free [S1]?",
    "The fee is due since March 2026 [S1].",
])
def test_claims_that_come_from_their_source_are_supported(answer):
    """If it fails, honest sentences are flagged for their spelling."""
    found = check(answer)
    assert found.unsupported == ()
    assert found.ok


@pytest.mark.parametrize(("answer", "missing"), [
    ("You can return any lamp within 46 days [S1].", ("46",)),
    ("The fee is 1,001 EUR since 1 March 2026 [S1].", ("1,001",)),
    ("The fee is 1,000 EUR since 2 March 2026 [S1].", ("2 March 2026",)),
    ("The fee is 1,000 EUR since 2026-04-01 [S1].", ("2026-04-01",)),
    ("Bulbs are free for five years [S2].", ("five",)),
    ("Bulbs are free for three years [S1].", ("three",)),
    ("The moon is made of green cheese [S1].", ()),
    ("The source says \"any lamp is free\" within 45 days of purchase [S1].", ("any lamp is free",)),
])
def test_claims_that_their_source_does_not_have_are_unsupported(answer, missing):
    """If it fails, a wrong number, a wrong date or another matter passes as cited."""
    found = check(answer)
    assert [str(one) for one in found.unsupported] == [answer]
    assert found.unsupported[0].missing == missing
    assert not found.ok


def test_the_formula_is_the_one_in_the_documentation():
    """If it fails, the documented figure and the one that is used differ."""
    passages = Passages({"S1": "alpha beta gamma", "S2": "alpha delta"})
    weight = {"alpha": 1 + math.log(3 / 3), "beta": 1 + math.log(3 / 2), "other": 1 + math.log(3 / 2)}
    expected = (weight["alpha"] + weight["beta"]) / sum(weight.values())
    assert passages.support("Alpha, beta, or other", ["S1"]) == pytest.approx(expected)
    assert passages.support("of it", ["S1"]) == 1.0
    assert passages.support("delta gamma", ["S1", "S2"]) == 1.0


@pytest.mark.parametrize(("claim", "text"), [
    ("ランプは四十五日以内に返品できます。", "お買い上げのランプは四十五日以内であれば返品できます。"),
    ("램프는 45일 이내에 반품할 수 있습니다.", "모든 램프는 구매 후 45일 이내에 반품할 수 있습니다."),
    ("โคมไฟคืนได้ภายใน 45 วัน", "โคมไฟทุกชนิดคืนได้ภายใน 45 วันหลังซื้อ"),
    ("लैंप ४५ दिनों में लौटाया जा सकता है।", "कोई भी लैंप 45 दिनों में लौटाया जा सकता है।"),
])
def test_other_scripts_are_compared_by_their_own_words(claim, text):
    """If it fails, languages without blanks or with marks on their letters have no support at all."""
    passages = Passages({"S1": text})
    assert passages.support(claim, ["S1"]) > 0.6
    assert passages.missing(claim, ["S1"]) == ()


def test_overlap_is_not_entailment():
    """If it fails, the limit that the documentation states is gone: change the documentation."""
    assert check("You can not return any lamp within 45 days of purchase [S1].").unsupported == ()


@pytest.mark.parametrize(("text", "expected"), [
    ("From 3.5 to 1,234.56 or 1.234,56", ["3.5", "1,234.56", "1,234.56"]),
    ("v2.3.1 at 12:30", ["2.3.1", "12", "30"]), ("2.5 million", ["2,500,000"]), ("٣٠ or ३०", ["30", "30"]),
    ("two dozen, twenty", ["2", "12", "20"]), ("3.50", ["3.5"]), ("007", ["7"]), ("5 k", ["5,000"]), ("5 kg", ["5"]),
    ("1\u202f000", ["1000"]), ("no figure", []),
])
def test_numbers_are_read_in_their_spellings(text, expected):
    """If it fails, the same number in another spelling is another number."""
    found = figures(text)
    assert len(found) == len(expected)
    for one, value in zip(found, expected, strict=True):
        assert all_figures(value).has(one), (one, value)


@pytest.mark.parametrize("text", [
    "2026-03-01", "2026/3/1", "1.3.2026", "01/03/2026", "3/1/2026", "1 March 2026", "March 1st, 2026", "Mar 1, 2026",
    "1. März 2026", "1er mars 2026", "1 de marzo de 2026", "1 maart 2026", "2026年3月1日", "the 1st of March 2026",
    "1.3.26",
])
def test_dates_are_read_in_their_spellings(text):
    """If it fails, a date in another spelling is taken for another day."""
    found = figures(text)
    assert len(found) == 1
    for other in ("2026-03-01", "1 March 2026", "On March 1 of the year 2026"):
        assert all_figures(other).has(found[0])
    for other in ("2026-03-02", "2027-03-01", "2026-05-01", "March 2026"):
        assert not all_figures(other).has(found[0])


@pytest.mark.parametrize("text", ["99/99/2026", "2026-13-45", "may be", "1 marching", "0 0 0", "31.2.3", "1/2/3/4"])
def test_what_only_looks_like_a_date_is_no_date(text):
    """If it fails, odd figures crash the reader or become dates."""
    assert all(not one.dates for one in figures(text))


def test_a_judge_decides_alone():
    """If it fails, a better judge cannot be plugged in, or is overruled by word counts."""
    asked = []

    def judge(claim, text):
        asked.append((claim, text))
        return 0.9 if "46" in claim else 0.1

    found = check("It is 46 days [S1]. Bulbs are free for three years [S2][S1].", judge=judge)
    assert asked == [
        ("It is 46 days.", TEXTS["S1"]), ("Bulbs are free for three years.", TEXTS["S2"] + "\n\n" + TEXTS["S1"]),
    ]
    assert [one.support for one in found.claims] == [0.9, 0.1]
    assert [one.start for one in found.unsupported] == [20]
    assert check("It is 46 days [S1].", judge=judge, min_support=None).unsupported == ()


@pytest.mark.parametrize("answer", [None, "high", float("nan"), float("inf"), [0.5]])
def test_a_judge_that_gives_no_number_is_named(answer):
    """If it fails, nonsense from a judge counts as a score."""
    with pytest.raises(OptionError, match="judge: expected a finite number"):
        check("It is so [S1].", judge=lambda claim, text: answer)


def test_errors_of_a_judge_reach_the_caller():
    """If it fails, a judge that is down looks like support."""
    def judge(claim, text):
        raise ConnectionError("down")

    with pytest.raises(ConnectionError):
        check("It is so [S1].", judge=judge)


@pytest.mark.parametrize("options", [
    {"min_support": 1.5}, {"min_support": -0.1}, {"min_support": float("nan")}, {"min_support": "0.5"},
    {"min_support": True}, {"judge": 3}, {"texts": None}, {"texts": ["x"]}, {"texts": {"S1": "x"}},
    {"texts": {"S1": "x", "S2": 3}},
])
def test_wrong_options_are_named(options):
    """If it fails, a wrong threshold or a missing text makes every claim pass, or ends in a TypeError."""
    with pytest.raises(OptionError):
        verify_citations("It is so [S1].", LABELS, **{"texts": TEXTS, "min_support": 0.5, **options})


def test_claims_that_cite_nothing_that_was_sent_have_no_support():
    """If it fails, an unknown label counts as a text without words."""
    found = check("It is so [S9]. It is free.")
    assert [(one.labels, one.support) for one in found.claims] == [(("S9",), None)]
    assert found.unsupported == ()
    assert not found.ok


def test_marks_are_no_numbers_of_the_sentence():
    """If it fails, the 12 of [S12] has to be in the source."""
    found = verify_citations("It is free [S12], [S12345].", {"S12": "a"}, texts={"S12": "It is free"}, min_support=0.5)
    assert found.claims[0].missing == ()


def test_a_payload_knows_its_texts_and_shown_fields():
    """If it fails, `payload.verify` compares with something else than what was sent."""
    hits = [{"id": "fees#7", "text": "The fee is 5 EUR.", "metadata": {"title": "Fees", "updated": "2026-03-01"}}]
    payload = PromptBuilder(2000).add_sources(hits).with_question("How much?").render()
    assert payload.verify("The fee is 5 EUR as of 1 March 2026 [S1].", min_support=0.4).ok
    found = payload.verify("The fee is 7 EUR [S1].", min_support=0.4)
    assert found.unsupported[0].missing == ("7",)
    assert payload.verify("The fee is 7 EUR [S1].").ok
    plain = found.to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["unsupported"][0]["missing"] == ["7"]
    assert payload.verify("x¹ [S01]", superscripts=True, zero_padded=True).known == ("S1",)
