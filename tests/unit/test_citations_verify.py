"""An answer is checked against the labels that were sent, and the result says what each part of it is."""

from __future__ import annotations

import json
import pickle

import pytest

from promptpack.citations import verify_citations
from promptpack.citations.refusals import is_refusal
from promptpack.errors import CitationError, OptionError

LABELS = {"S1": "doc-a", "S2": "doc-b", "S3": "doc-c"}


def uncited(answer: str) -> list[str]:
    return [str(one) for one in verify_citations(answer, LABELS).uncited]


def test_known_unknown_stale_and_unused_labels_are_told_apart():
    """If it fails, a citation of a source that was not sent could pass."""
    found = verify_citations(
        "It is [S2, S9]. So [S2], [S7] and [S1].", {"S1": ["a", "b"], "S2": ["b", "c"], "S3": ["d"]},
        carried={"S1": ["a", "b"], "S7": ["z"]},
    )
    assert found.known == ("S2", "S1")
    assert found.cited == ("b", "c", "a")
    assert found.unknown == ("S9",)
    assert found.stale == ("S7",)
    assert found.unused == ("S3",)
    assert not found.ok
    assert [one.label for one in found.citations] == ["S2", "S9", "S2", "S7", "S1"]


def test_raise_for_unknown_names_what_is_wrong_and_what_was_sent():
    """If it fails, the error does not say which labels to look at; or a good answer raises."""
    with pytest.raises(CitationError) as caught:
        verify_citations("x [S9] [S7]", LABELS, carried={"S7": "z"}).raise_for_unknown()
    assert "S9 (unknown) and S7 (stale" in str(caught.value)
    assert "S1, S2, S3" in str(caught.value)
    copied = pickle.loads(pickle.dumps(caught.value))
    assert copied.verification == caught.value.verification
    good = verify_citations("x [S1]", LABELS)
    assert good.raise_for_unknown() is good


def test_the_message_stays_short_for_an_answer_of_unknown_labels():
    """If it fails, a hostile answer makes an error of megabytes."""
    found = verify_citations("".join(f"[S{n}]" for n in range(5_000)), LABELS)
    with pytest.raises(CitationError) as caught:
        found.raise_for_unknown()
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(("answer", "ok"), [
    ("It is 30 days [S1].", True),
    ("It is 30 days [S1]. It is free.", True),
    ("There are three documents.", False),
    ("", False),
    ("I don't know.", True),
    ("The sources do not mention that.", True),
    ("I don't know [S9].", False),
    ("It is 30 days [S1] [S2.", False),
    ("It is 30 days [S1]. [S]", False),
])
def test_ok_needs_a_citation_or_a_refusal_and_nothing_wrong(answer, ok):
    """If it fails, an answer without any tie to a source passes, or an honest refusal does not."""
    assert verify_citations(answer, LABELS).ok is ok


@pytest.mark.parametrize(("answer", "expected"), [
    ("The dose is 3.5 mg, e.g. two tablets [S1]. Keep it in a dry place.", ["Keep it in a dry place."]),
    ("It is 30 days. [S1] It is free.[S2] Keep it.", ["Keep it."]),
    ("It is 30 days.\n\n[S1][S2]", []),
    ("[S1] It is 30 days.\n[S2] It is free.", []),
    ("It is 30 days [S1]. [S2] says it is free.", []),
    ("It is 30\ndays [S1]. It is\nfree.", ["It is\nfree."]),
    ("三十日以内です。【S1】送料は無料です。", ["送料は無料です。"]),
    ("- Refund: 30 days [S1]\n- [S2] The fee is 5 EUR\n- [ ] Shipping is free\n", ["Shipping is free"]),
    ("1. One [S1].\n2) Two is free.\n   It goes on [S2].", ["Two is free."]),
    ("Here are the rules:\n\n- One [S1]", []),
    ("Here is the rule: it is free.", ["Here is the rule: it is free."]),
    ("## Refunds\nIt is 30 days [S1].", []),
    ("Refunds\n=======\nIt is 30 days [S1].", []),
    ("Refunds\n---\nIt is 30 days [S1].", []),
    ("It is free.\n---\nIt is 30 days [S1].", ["It is free."]),
    ("**Refunds:**\nIt is 30 days [S1].", []),
    ("**It is free.**", ["**It is free.**"]),
    ("Is it free? \"Is it?\" Yes, it is [S1].", []),
    ("| Fee | Days |\n|---|:-:|\n| 5 EUR | 30 [S1] |\n| 6 EUR | 14 |", ["6 EUR | 14"]),
    ("```\nThis is code. So is this.\n```\nIt is 30 days [S1].", []),
    ("Run this:\n```\nx = 1\n```", []),
    ("> It is quoted [S1].\n> It goes on.", ["It goes on."]),
    ("He said \"it is free. It is.\" It is 30 days [S1].", ["He said \"it is free. It is.\""]),
    ("It is free [S9].", []),
    ("It is free [S1", ["It is free [S1"]),
    ("*** \n---\n...", []),
])
def test_sentences_without_a_citation(answer, expected):
    """If it fails, claims without a source go unseen, or headings and lists are taken for claims."""
    assert uncited(answer) == expected


def test_spans_of_uncited_sentences_lead_into_the_answer():
    """If it fails, a user interface would mark the wrong text."""
    answer = (
        "# Title [S1]\n\nIt is [S2] 30 days [S1], so. It is free.  [S3]\n\n```\nx\n```\n"
        "- Keep it dry!\n- b [S1]"
    )
    for one in verify_citations(answer, LABELS).uncited:
        assert answer[one.start:one.end] == one.text == str(one)
    assert uncited(answer) == ["Keep it dry!"]


@pytest.mark.parametrize(("answer", "coverage"), [
    ("", 1.0), ("I don't know.", 1.0), ("# Only a title", 1.0), ("It is free.", 0.0),
    ("It is free [S1].", 1.0), ("It is free [S9].", 0.0),
    ("One [S1]. Two is so. Three is so [S2]. Four is so [S9].", 0.5),
])
def test_coverage_is_the_share_of_claims_with_a_known_citation(answer, coverage):
    """If it fails, unknown labels count as evidence, or an answer without claims divides by zero."""
    assert verify_citations(answer, LABELS).coverage == coverage


@pytest.mark.parametrize("sentence", [
    "I don't know.", "I don\u2019t know the answer.", "I do not know",
    "I'm sorry, but I cannot find that in the sources.", "I'm not sure.", "I am not sure about that.",
    "I can't help with that.", "I can\u2019t provide an answer.", "I don't have access to that file.",
    "I don't have that information.", "That is unclear from the excerpts.", "It remains unclear from the sources.",
    "That information is not available in the sources.", "That information isn't available in the provided context.",
    "No answer was found in the sources.", "No answer to that could be found in the documents.", "N/A", "N/A.", "*N/A*",
    "n. a.", "Not available.", "Unknown.", "Not specified", "No information available.", "(Not found)",
    "No information about it was found in the search results.", "This is missing from the documents.",
    "The answer is not present in any of the given passages.", "I was not able to find an answer.",
    "There is no relevant passage on this in the sources.", "I'm unable to confirm that.", "Keine Angabe.",
    "Unbekannt.", "不明", "未知。",
    "The sources do not mention gift cards.", "This is not covered: the documents don't say it.",
    "The provided context does not contain this.", "There is no information about that.",
    "None of the sources gives a fee.", "I'm unable to answer this.", "Das weiß ich nicht.",
    "Das steht nicht in den Quellen.", "Je ne sais pas.", "Les documents ne mentionnent pas ce point.",
    "No lo sé.",
    "Las fuentes no mencionan eso.", "Não sei.", "Non lo so.", "Dat weet ik niet.", "Nie wiem.", "Я не знаю.",
    "我不知道。", "分かりません。", "모르겠습니다.", "मुझे नहीं पता।", "لا أعرف.", "ไม่ทราบ",
])
def test_refusals(sentence):
    """If it fails, an honest answer counts as a claim without a source."""
    assert is_refusal(sentence)
    found = verify_citations(sentence, LABELS)
    assert found.ok
    assert found.uncited == ()


@pytest.mark.parametrize("sentence", [
    "I don't know, but it is 5 EUR.", "The sources do not say so; however, it is free.",
    "The fee is not in the price.",
    "You do not have to pay.", "I do not have to pay.", "It is not free.",
    "Ich weiß es nicht, aber es ist frei.",
    "The document is not available in German.", "Delivery is not available in Austria.", "Not available in Austria.",
    "The parcel was not found in the depot.", "The unknown fee is 5 EUR.", "Unknown callers pay 5 EUR.", "None.", "No.",
    "No answer is due within 30 days.", "The document names the fee.", "I don't know " + "and it is so " * 40,
])
def test_claims_that_only_look_like_refusals(sentence):
    """If it fails, a claim hides behind a turn of phrase."""
    assert not is_refusal(sentence)


def test_to_dict_is_plain_data():
    """If it fails, a result cannot be stored as JSON."""
    found = verify_citations("It is so [S1, S9]. Free. [S", {"S1": ["a", "b"]})
    plain = found.to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["citations"][0] == {
        "label": "S1", "start": 9, "end": 17, "text": "[S1, S9]", "form": "bracket", "inner": [10, 12],
        "chunk_ids": ["a", "b"], "cited_text": None,
    }
    assert plain["ok"] is False
    assert plain["uncited"][0]["text"].startswith("Free")


def test_options_reach_the_reader():
    """If it fails, zero padding, superscripts or another prefix work in parsing but not in checking."""
    assert verify_citations("x [S01]", LABELS, zero_padded=True).known == ("S1",)
    assert verify_citations("x¹", LABELS, superscripts=True).known == ("S1",)
    assert verify_citations("x [Doc1]", {"Doc1": "a"}, prefix="Doc").known == ("Doc1",)


@pytest.mark.parametrize("label", ["a", "S", "S01", "S12345", "Doc1", "s1", "S1-2", "S 1", ""])
def test_labels_that_nobody_could_cite_are_refused(label):
    """If it fails, a wrong label map makes every citation unknown without a word."""
    with pytest.raises(OptionError, match="could never be cited"):
        verify_citations("x", {label: "a"})


def test_an_empty_label_map_knows_nothing():
    """If it fails, an answer over no sources crashes."""
    found = verify_citations("It is [S1].", {})
    assert (found.known, found.unknown, found.coverage) == ((), ("S1",), 0.0)
    with pytest.raises(CitationError, match="sent: none"):
        found.raise_for_unknown()


@pytest.mark.parametrize("many", [5, 300, 380, 391, 398, 399, 400, 401, 5_000, 100_000])
@pytest.mark.parametrize("begin", ["[S", "[ S ", "【S", "[[S", "[S-"])
def test_a_label_of_any_number_of_digits_is_malformed(begin: str, many: int) -> None:
    """If this fails, an answer with a label that cannot be is taken for one that cites well."""
    close = {"【": "】", "[": "]"}[begin[0]] * (2 if begin.startswith("[[") else 1)
    text = f"Fine [S1] but {begin}{'9' * many}{close}. And [S1]."
    found = verify_citations(text, {"S1": ("a",)})
    assert [one.why for one in found.malformed] == ["more than 4 digits"]
    assert len(found.malformed[0].text) <= 401
    assert len(found.citations) == 2
    assert not found.ok


def test_digits_without_end_take_linear_time() -> None:
    """If this fails, an answer of digits and brackets keeps a server busy."""
    assert len(verify_citations("[S" + "9" * 2_000_000, {"S1": ("a",)}).malformed) == 1
    assert len(verify_citations(("[S" + "9" * 395) * 2_000, {"S1": ("a",)}).malformed) == 2_000
