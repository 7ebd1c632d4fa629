"""What a scarce window holds by default, sentences, and what "top" would send of the same: for a person to read.

To accept a difference: `pytest tests/snapshots --snapshot-update`, and read the diff of the snapshot files.
"""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from promptpack import Payload, PromptBuilder, Source, Window

RETURNS = Source(
    "returns#1",
    "Our shops take back what you bought there. Bring the receipt, or the card that you paid with. "
    "A lamp can be returned within 45 days of delivery. Its bulb must not be broken. "
    "We do not take back candles, food, or anything that was made to measure. "
    "Every shop has a counter for this, mostly on the ground floor beside the lifts.",
    0.82, document="returns", updated="2026-03-01", metadata={"title": "Returns"},
)
REFUNDS = Source(
    "refunds#1",
    "Refunds are paid in the way in which you paid. Cash is paid out at once, at the same counter. "
    "For a lamp that is returned by post, the refund takes 6 working days from the day that it reaches us. "
    "Cards may take 2 to 4 days more, which depends on the bank. Gift cards are filled up again on the same day.",
    0.8, document="refunds", metadata={"title": "Refunds"},
)
SHOPS = Source(
    "shops#1",
    "Our shops are open from nine to six, and until eight on Thursday. Parking is free for the first two hours. "
    "There is a restaurant on the top floor, with a view of the harbour. Dogs are welcome, apart from the restaurant.",
    0.84, document="shops", metadata={"title": "Opening hours"},
)
QUESTION = "How many days do I have to return a lamp, and how long does the refund take?"


def made(select: str) -> Payload:
    builder = PromptBuilder(Window(215, answer=0)).add_sources([RETURNS, REFUNDS, SHOPS]).with_question(QUESTION)
    return (builder if select == "auto" else builder.with_packing(select=select)).render()


class PlainText(SingleFileSnapshotExtension):
    """One file a snapshot, holding the very text."""

    _write_mode = WriteMode.TEXT
    file_extension = "txt"


@pytest.mark.parametrize("select", ["auto", "top"])
def test_scarce_room(select: str, snapshot: SnapshotAssertion) -> None:
    assert made(select).to_text() == snapshot(extension_class=PlainText)


def test_explanation(snapshot: SnapshotAssertion) -> None:
    assert made("auto").explain() == snapshot(extension_class=PlainText)


def test_the_report_says_which_selection_was_used_and_why() -> None:
    """If this fails, nobody learns why a source is there in part only."""
    assert made("top").report.select == "top"
    told = made("auto").report
    assert told.select.startswith("spans: a question is given, and ")
    assert f"select={told.select}" in told.notes
