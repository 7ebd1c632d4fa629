"""Units and terms of spans: what a chunk is divided into, and which words count as the same."""

from __future__ import annotations

import pytest

from promptpack.packing.spans_text import LEAST, has_digits, named_as, names, pairs_in, terms, units


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("Refunds, refunding!", ["refund", "refund"]),
        ("Straße STRASSE", ["strass", "strass"]),
        ("caf\u00e9 cafe\u0301", ["café", "café"]),
        ("возврата возврату", ["возвра", "возвра"]),
        ("किताबें किताबों", ["किताबे", "किताबो"]),
        ("東京都", ["東京", "京都"]),
        ("京", ["京"]),
        ("GPT4は速い", ["gpt4", "は速", "速い"]),
        ("ราคา", ["ราค", "าคา"]),
        ("서울은 크다", ["서울은", "크다"]),
        ("snake_case", ["snake", "case"]),
    ],
)
def test_terms(text, expected):
    """If this fails, a question does not find its words in some script or inflection."""
    assert terms(text) == expected


LONG = "The fee for a late payment is five euros a day."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("  ", []),
        ("Yes.", ["Yes."]),
        (f"{LONG} {LONG}", [LONG, LONG]),
        (f"# Fees\n\n{LONG}", [f"# Fees\n\n{LONG}"]),
        (f"{LONG} Ask us.", [f"{LONG} Ask us."]),
        (f"  {LONG}\n\n{LONG}\n", [LONG, LONG]),
        (
            "退款需要三十天。请把商品寄回原来的地址。如果商品有问题，费用由卖家承担。",
            ["退款需要三十天。请把商品寄回原来的地址。", "如果商品有问题，费用由卖家承担。"],
        ),
        (f"- {LONG[:-1]}\n  * {LONG[:-1]}\r\n2. {LONG[:-1]}", [f"- {LONG[:-1]}", f"* {LONG[:-1]}", f"2. {LONG[:-1]}"]),
        ("- keys 5\n- cards 7\n- copies 1\n- ink 3", ["- keys 5\n- cards 7\n- copies 1\n- ink 3"]),
        (f"2026-01-02 {LONG[:-1]}\n[2026-01-03] {LONG[:-1]}", [f"2026-01-02 {LONG[:-1]}", f"[2026-01-03] {LONG[:-1]}"]),
        (f"| {LONG[:-1]} | 5 |\n| {LONG[:-1]} | 7 |", [f"| {LONG[:-1]} | 5 |", f"| {LONG[:-1]} | 7 |"]),
        ("A text of a mail that somebody\nwrapped at some width - or other\n50 of them.", [
            "A text of a mail that somebody\nwrapped at some width - or other\n50 of them."]),
        (f"{LONG}\n\nIt is so.\n\n## Cards\n\n{LONG}", [f"{LONG}\n\nIt is so.", f"## Cards\n\n{LONG}"]),
        (f"# Keys\n\n## Lost\n\n{LONG}\n\n## Found\n\nNone.\n\n## End\n\nIt ends.", [
            f"# Keys\n\n## Lost\n\n{LONG}", "## Found\n\nNone.", "## End\n\nIt ends."]),
        (f"## A heading that is longer than forty columns\n\n{LONG}", [
            f"## A heading that is longer than forty columns\n\n{LONG}"]),
        (f"{LONG}\n\n## End", [f"{LONG}\n\n## End"]),
    ],
)
def test_units(text, expected):
    """If this fails, headings or short sentences are torn from what gives them their sense, or lists are one unit."""
    found = units(text)
    assert [text[start:end] for start, end in found] == expected


def test_units_are_long_enough():
    """If this fails, shreds become options."""
    text = " ".join(f"Item {n} is here." for n in range(50))
    found = units(text)
    assert len(found) > 5
    assert all(end - start >= LEAST for start, end in found)


@pytest.mark.parametrize(
    ("text", "title", "expected"),
    [
        ("he went to paris.", "paris", True),
        ("a comparison", "paris", False),
        ("comparison and paris", "paris", True),
        ("paris", "paris", True),
        ("parisian", "paris", False),
        ("他住在北京市", "北京", True),
    ],
)
def test_names(text, title, expected):
    """If this fails, links between documents are missed, or found inside other words."""
    assert names(text, title) is expected


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Mercury (planet)", "mercury"), ("It", None), ("北京", "北京"), (None, None), (7, None), ("", None),
        ("(x)", "(x)"),
    ],
)
def test_named_as(title, expected):
    """If this fails, a title in metadata breaks the packing or links by two letters."""
    assert named_as(title) == expected


def test_has_digits_in_any_script():
    """If this fails, the feature of digits works for ASCII only."""
    assert [has_digits(text) for text in ("5", "٣", "five", "пять")] == [True, True, False, False]


def test_pairs_in():
    """If this fails, phrases of the question are not seen."""
    assert pairs_in(["a", "b", "c", "a", "b"], frozenset({("a", "b"), ("b", "c"), ("c", "d")})) == 2
    assert pairs_in(["a", "b"], frozenset()) == 0


@pytest.mark.parametrize("text", [
    "Straße “naïve” – Café x2", "ΑΒΓ Ϊ ς", "Ёлка, ёлки – 5 €", "e\u0301te\u0301 İzmir ΐ ǰ",
])
def test_the_quick_way_finds_the_same_terms(text):
    """If this fails, a text's words change because another script stands in it."""
    assert terms(f"{text} 京")[:-1] == terms(text)
