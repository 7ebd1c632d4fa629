"""Which copies go and which stay: a wrong rule here loses evidence or pays for it twice."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

from promptpack.errors import OptionError
from promptpack.packing.candidate import Candidate, DropReason
from promptpack.packing.dedup import Dedup, Deduplicated, deduplicate
from promptpack.source import Source

LATE = "Clause 7. The late fee for invoices unpaid after thirty days is {} EUR and is charged by the finance team."


def candidates(*sources: Source) -> list[Candidate]:
    order = sorted(range(len(sources)), key=lambda at: -(sources[at].score or 0))
    return [Candidate.of(sources[index], index, rank) for rank, index in enumerate(order, 1)]


def ids(result: Deduplicated) -> list[str]:
    return [candidate.source.id for candidate in result.kept]


def test_best_copy_stays_whatever_the_input_order() -> None:
    worse, better = Source("B", "Same text here.", 0.2), Source("A", "Same text here.", 0.95)
    for order in ((worse, better), (better, worse)):
        result = deduplicate(candidates(*order), Dedup())
        assert ids(result) == ["A"]
        (drop,) = result.dropped
        assert (drop.source.id, drop.of, drop.rank, drop.reason) == ("B", "A", 1, DropReason.DUPLICATE)
        assert "'A'" in drop.detail
        assert drop.stage == "dedup"


@pytest.mark.parametrize(("keep", "stays"), [("best", "y"), ("first", "x"), ("last", "z")])
@pytest.mark.parametrize("threshold", [1.0, 0.8])
def test_keep_policies(keep: str, stays: str, threshold: float) -> None:
    text = "the lantern"
    found = candidates(Source("x", text, 0.1), Source("y", text, 0.9), Source("z", text, 0.5))
    assert ids(deduplicate(found, Dedup(threshold=threshold, keep=keep))) == [stays]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("Le café est fermé.", "Le cafe\u0301 est ferme\u0301.", True),
        ("Refunds: 30 days.\nReceipt.", "  Refunds:  30 days. \r\n\r\n Receipt.  ", True),
        ("a\u00a0b", "a b", True),
        ("東京の本社は港区です。", "大阪の本社は北区です。", False),
        ("Доставка бесплатна.", "Гарантия два года.", False),
        ("Case", "case", False),
        ("\ud800 lone", "\ud800  lone", True),
        ("", "  \n", True),
    ],
)
def test_exact_comparison(a: str, b: str, same: bool) -> None:
    """NFC and white space fold, nothing else does: other folding makes different texts one."""
    result = deduplicate(candidates(Source("1", a, 1.0), Source("2", b, 0.5)), Dedup())
    assert (len(result.kept) == 1) is same


def test_texts_can_be_compared_exactly_as_they_are() -> None:
    found = candidates(Source("1", "a  b", 1.0), Source("2", "a b", 0.5))
    assert len(deduplicate(found, Dedup(fold=False)).kept) == 2


def test_required_copy_is_the_one_that_stays() -> None:
    """A required source is never dropped, not even as a copy of a better one."""
    found = candidates(Source("a", "text one", 0.9), Source("b", "text one", 0.1, required=True))
    result = deduplicate(found, Dedup())
    assert ids(result) == ["b"]
    assert result.dropped[0].of == "b"
    both = candidates(Source("a", "text", 0.9, required=True), Source("b", "text", 0.1, pinned=True))
    assert ids(deduplicate(both, Dedup())) == ["a", "b"]


def test_near_never_merges_other_numbers_or_negations() -> None:
    near = Dedup(threshold=0.8)
    texts = [LATE.format("25"), LATE.format("250"), LATE.format("25").replace("is charged", "is not charged")]
    found = candidates(*(Source(str(at), text, 1 - at / 10) for at, text in enumerate(texts)))
    assert len(deduplicate(found, near).kept) == 3
    assert ids(deduplicate(found, replace(near, guard_numbers=False))) == ["0"]


def test_near_says_how_near() -> None:
    found = candidates(Source("a", LATE.format(25), 0.9), Source("b", LATE.format(25) + "!", 0.8))
    (drop,) = deduplicate(found, Dedup(threshold=0.9)).dropped
    assert drop.reason == DropReason.NEAR_DUPLICATE
    assert drop.of == "a"
    assert "0.9" in drop.detail


def test_a_bound_that_was_reached_is_noted() -> None:
    texts = ["granite ledger one", "something else", "yet another", "granite ledger one."]
    found = candidates(*(Source(str(at), text, 1 - at / 10) for at, text in enumerate(texts)))
    bounded = deduplicate(found, Dedup(threshold=0.7, max_candidates=1, guard_numbers=False))
    assert len(bounded.kept) == 4
    assert "max_candidates=1" in bounded.notes[0]
    enough = deduplicate(found, Dedup(threshold=0.7, max_candidates=3, guard_numbers=False))
    assert len(enough.kept) == 3
    assert not enough.notes


def test_repeated_sentences_leave_their_own_text() -> None:
    found = candidates(
        Source("0", "Filters are washed. The pump must be off.", 0.9),
        Source("1", "The pump must be off. Pressure is checked.\n\nUse gauge B.", 0.8),
        Source("2", "The  pump must be off.", 0.7),
    )
    result = deduplicate(found, Dedup.named("sentences") or Dedup())
    assert [c.text for c in result.kept] == [
        "Filters are washed. The pump must be off.", "Pressure is checked.\n\nUse gauge B.",
    ]
    (drop,) = result.dropped
    assert (drop.reason, drop.of) == (DropReason.REPEATED_SENTENCES, "0")
    assert (result.sentences_sent, result.sentences_total) == (4, 6)


@pytest.mark.parametrize(
    ("texts", "kept", "sent", "total"),
    [
        (["Cats nap. Cats nap. Birds sing."], ["Cats nap. Cats nap. Birds sing."], 2, 3),
        (["Cats nap.  Dogs run.", "cats nap. Dogs run."], ["Cats nap. Dogs run.", "cats nap."], 3, 4),
        (["Line one\ngoes on. Next.", "Next. Last."], ["Line one\ngoes on. Next.", "Last."], 3, 4),
        (["Cats nap.", "Cats nap.", "Dogs run."], ["Cats nap.", "Dogs run."], 2, 3),
        (["No stop at all"], ["No stop at all"], 1, 1),
        (["Ready? Yes! Go.", "Go. Stop."], ["Ready? Yes! Go.", "Stop."], 4, 5),
        (["防水です。二年です。", "二年です。無料です。"], ["防水です。二年です。", "無料です。"], 3, 4),
        ([], [], 0, 0),
    ],
)
def test_sentence_counts(texts: list[str], kept: list[str], sent: int, total: int) -> None:
    found = candidates(*(Source(str(at), text, 1 - at / 10) for at, text in enumerate(texts)))
    result = deduplicate(found, Dedup(sentences=True))
    assert [c.text for c in result.kept] == kept
    assert (result.sentences_sent, result.sentences_total) == (sent, total)


def test_required_source_with_nothing_new_is_read_first() -> None:
    found = candidates(Source("a", "One. Two.", 0.9), Source("b", "Two.", 0.1, required=True))
    result = deduplicate(found, Dedup(sentences=True))
    assert [(c.source.id, c.text) for c in result.kept] == [("a", "One."), ("b", "Two.")]


def test_fragments_are_no_sentences() -> None:
    """If "e.g." or "3." ended a sentence, the second dose would read "Give 2"."""
    texts = [f"Give {dose} mg per dose, e.g. at noon. Keep the box dry." for dose in ("3.5", "2.5")]
    found = candidates(*(Source(str(at), text, 1 - at / 10) for at, text in enumerate(texts)))
    assert [c.text for c in deduplicate(found, Dedup(sentences=True)).kept] == [
        texts[0], "Give 2.5 mg per dose, e.g. at noon.",
    ]


def test_named_policies() -> None:
    assert Dedup.named("off") is None
    assert Dedup.named("exact") == Dedup()
    assert Dedup.named("merge") == Dedup(merge=True)
    with pytest.raises(OptionError, match="did you mean 'exact'"):
        Dedup.named("exat")
    assert pickle.loads(pickle.dumps(Dedup(threshold=0.5))) == Dedup(threshold=0.5)


@pytest.mark.parametrize(
    "wrong",
    [
        {"threshold": 1.5}, {"threshold": float("nan")}, {"threshold": "1"}, {"threshold": True}, {"keep": "worst"},
        {"sentences": 1}, {"merge": None}, {"length_bucket": 0}, {"max_candidates": -1}, {"max_candidates": 2.0},
    ],
)
def test_wrong_options_are_named(wrong: dict[str, object]) -> None:
    with pytest.raises(OptionError, match=next(iter(wrong))):
        Dedup(**wrong)  # type: ignore[arg-type]
