"""Quotations are looked up: word for word, nearly so, in another source, or nowhere."""

from __future__ import annotations

import pytest

from promptpack.citations import quotes as module
from promptpack.citations import verify_citations
from promptpack.citations.quotes import Lookup, fold, quotations

LABELS = {"S1": "a", "S2": "b"}
TEXTS = {
    "S1": "Any lamp can be  returned\nwithin 45 days. The “ﬁrst” oﬀer – it’s free. Ａ wide sign.",
    "S2": "Bulbs are free for three years, except in March.",
}


def found(answer):
    return [(one.text, one.found, one.label) for one in verify_citations(answer, LABELS, texts=TEXTS).quotes]


@pytest.mark.parametrize(("quoted", "expected", "label"), [
    ("within 45 days", "verbatim", "S1"),
    ("Any lamp can be returned within", "repaired", "S1"),
    ("ANY LAMP CAN BE", "repaired", "S1"),
    ("The 'first' offer", "repaired", "S1"),
    ("offer - it's free", "repaired", "S1"),
    ("a wide sign.", "repaired", "S1"),
    ("within 45 days,", "repaired", "S1"),
    ("Any lamp ... within 45 days", "repaired", "S1"),
    ("Any lamp […] within 45 days", "repaired", "S1"),
    ("within 45 days ... Any lamp", "missing", None),
    ("Bulbs are free", "elsewhere", "S2"),
    ("bulbs  are free", "elsewhere", "S2"),
    ("the moon is made of cheese", "missing", None),
])
@pytest.mark.parametrize(
    ("opener", "closer"), [('"', '"'), ("“", "”"), ("„", "“"), ("«", "»"), ("「", "」"), ("‘", "’")]
)
def test_a_quotation_is_found_as_what_it_is(quoted, expected, label, opener, closer):
    """If it fails, a made-up quotation passes, or a true one is called wrong for its white space."""
    if opener == "‘" and "'" in quoted:
        quoted = quoted.replace("'", "’")
    assert found(f"It says {opener}{quoted}{closer} [S1].") == [(quoted.strip(), expected, label)]


def test_places_lead_into_the_answer_and_into_the_source():
    """If it fails, a user interface marks other words than those quoted."""
    answer = 'It says "any LAMP [S1] can be returned" so.'
    one = verify_citations(answer, LABELS, texts=TEXTS).quotes[0]
    assert answer[one.start:one.end] == "any LAMP [S1] can be returned"
    assert one.text == "any LAMP can be returned"
    assert TEXTS["S1"][slice(*one.span)] == "Any lamp can be  returned"


@pytest.mark.parametrize("answer", [
    'Say "so" or "twelve chr".', '`x = "a long string in code"`[S1]', "It's ours and it's theirs, isn't it so",
    'A 5" pipe and a 6" pipe and so on', '"never closed and so on', '"one paragraph\n\nand another one"', '""',
    "“”" * 9, '"' + "x" * 1_001 + '"',
])
def test_what_is_no_quotation_is_left_alone(answer):
    """If it fails, apostrophes, inches or short words are looked up."""
    spans = [(0, answer.index("[S1]"))] if "[S1]" in answer else []
    assert quotations(answer, [], spans) == []


def test_code_is_not_quoted():
    """If it fails, strings in code are quotations."""
    assert found('```\nx = "a long string in code"\n```\nIt is so [S1].') == []


def test_a_quotation_in_a_sentence_that_cites_nothing_is_elsewhere_at_best():
    """If it fails, an uncited quotation counts as checked against its source."""
    assert found('It says "within 45 days".') == [("within 45 days", "elsewhere", "S1")]


def test_the_number_of_quotations_that_are_looked_up_is_bounded_and_said(monkeypatch):
    """If it fails, an answer of a million quotations is searched for in every source."""
    monkeypatch.setattr(module, "MOST", 2)
    answer = 'It says "within 45 days", "within 46 days", "within 47 days", "within 45 days" [S1].'
    assert [one[1] for one in found(answer)] == ["verbatim", "missing", "unchecked", "verbatim"]


def test_folding_keeps_what_tells_texts_apart():
    """If it fails, numbers, letters or marks of a script vanish, and different texts are alike."""
    assert fold(" Ａ\u00a0b\u00adc “d”—e ") == "a bc 'd'-e"
    assert fold("45") != fold("46")
    assert fold("ก้") != fold("ก")
    assert fold("résumé") != fold("resume")


def test_a_text_of_any_kind_can_be_searched():
    """If it fails, empty texts or odd characters crash the lookup."""
    lookup = Lookup({"S1": "", "S2": "\ud800 x\x00y İstanbul is a big city"})
    assert lookup.find("i̇stanbul is a big", ("S2",))[0] == "repaired"
    assert lookup.find("... ... ...", ("S1",)) == ("missing", None, None)
