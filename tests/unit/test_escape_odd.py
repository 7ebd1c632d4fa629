"""The quick look never calls a character harmless that the full rule would act on."""

from __future__ import annotations

import sys
from functools import cache

import pytest

from promptpack.escape import LiveLabels, Rules, escape_text
from promptpack.escape.fold import WEAK, fold
from promptpack.escape.odd import is_quiet

RULES = Rules(labels=LiveLabels(None))


@cache  # a second for a million code points, and the same for each opener
def quiet_characters() -> tuple[str, ...]:
    return tuple(
        char for char in map(chr, range(128, sys.maxunicode + 1, 1)) if (ord(char) < 0x3400 or ord(char) >= 0xA000)
        and (ord(char) < 0x20000 or ord(char) >= 0xE0000) and not 0xAC00 <= ord(char) < 0xD7A4 and is_quiet(char)
    )


@pytest.mark.parametrize("after", ["/source_1>", "S1]", "lt;/source_1>", "|im_start|>", "sources>", "INST]"])
def test_harmless_characters_open_nothing(after: str) -> None:
    """Every code point before every kind of opener's rest: quiet means that the full rule changes nothing."""
    quiet = quiet_characters()
    assert len(quiet) > 10_000
    text = " ".join(char + after for char in quiet)
    # An ASCII opener elsewhere makes the full rule look at the whole text.
    assert str(escape_text(text + " < ", RULES)) == text + " < "


def test_whatever_folds_to_an_opener_is_harmful() -> None:
    """The list of odd openers is typed in; every code point that folds to one has to be on it."""
    for point in range(128, sys.maxunicode + 1):
        if point < 0x30000 or point >= 0xE0000:
            char = chr(point)
            if not {"<", "[", "]", "&", WEAK}.isdisjoint(fold(char)):
                assert not is_quiet(char), hex(point)


@pytest.mark.parametrize("text", [
    "\x00", "a\x1bb", "\ud800", "\u200b", "\ufe0f", "\U000e0041", "\uff1c", "\u3010", "\uff06",
])
def test_hidden_text_and_odd_openers_are_not_quiet(text: str) -> None:
    assert not is_quiet(text)


@pytest.mark.parametrize("text", [
    "plain", "tab\tand\r\nbreaks", "It’s – “fine” €", "ランプ", "คืน", "हिन्दी", "يومًا", "e\u0301", "😀",
])
def test_ordinary_text_is_quiet(text: str) -> None:
    assert is_quiet(text)
