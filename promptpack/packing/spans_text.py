"""Units and terms: what a chunk is divided into, and which words two texts have in common, in every script.

A unit is a sentence, an item of a list or a row of a table, or several short ones: a heading, a list's number or "Yes."
says little alone, so what is short goes with what follows it. A term is the start of a word; scripts without blanks
between words give runs of characters.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from promptpack.packing import sentences
from promptpack.packing.edges import spans
from promptpack.packing.similarity import folded
from promptpack.packing.spans_headings import headings, items

# A unit has at least so many columns; one of a script whose characters are words or syllables counts three.
LEAST = 40
_WIDE_COLUMNS = 3
# Words are compared by so many of their first characters: endings differ (Refund, refunds; Verordnung, Verordnungen).
STEM = 6

_ASCII_DIGIT = re.compile("[0-9]")
_ASCII_WORD = re.compile(rf"([a-z0-9]{{1,{STEM}}})[a-z0-9]*+")  # what is found is the first characters
# All but Latin, Greek and Cyrillic letters that neither need composing nor fold to some that do, and their punctuation:
# in a text without these, words are plain runs.
_ODD = re.compile(
    "[^\\x00-\\u012f\\u0131-\\u01ef\\u01f1-\\u02af\\u0370-\\u038f\\u0391-\\u03af\\u03b1-\\u0482\\u048a-\\u0556"
    "\\u1e00-\\u1e95\\u2010-\\u205e\\u20a0-\\u20bf\\u2190-\\u22ff]"
)
_PLAIN_WORD = re.compile(rf"([^\W_]{{1,{STEM}}})[^\W_]*+")


@functools.cache
def _patterns() -> tuple[Any, Any, Any]:
    import regex

    pairs = r"\p{Han}\p{Hiragana}\p{Katakana}"
    triples = r"\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
    return (
        regex.compile(rf"([{pairs}]+)|([{triples}]+)|(?:(?![{pairs}{triples}])[\p{{L}}\p{{M}}\p{{N}}])+"),
        regex.compile(r"[\u2e80-\uffdc]"),
        regex.compile(r"\p{Nd}"),
    )


def terms(text: str) -> list[str]:
    """Return the terms of a text, in order, repeats and all.

    Case-folded runs of letters, marks and digits, cut to their first 6 characters; in Chinese and Japanese every two
    neighbouring characters, in Thai, Lao, Khmer and Burmese every three. Linear in the length of the text.

    >>> terms("The Refunds, 30 days")
    ['the', 'refund', '30', 'days']
    >>> terms("東京都")
    ['東京', '京都']
    """
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    if _ODD.search(text) is None:
        return _PLAIN_WORD.findall(text.casefold())
    found: list[str] = []
    for match in _patterns()[0].finditer(folded(text).casefold()):
        run = match[0]
        size = 2 if match[1] else 3 if match[2] else 0
        if size:
            found += [run[i:i + size] for i in range(len(run) - size + 1)] or [run]
        else:
            found.append(run[:STEM])
    return found


def has_digits(text: str) -> bool:
    """Tell whether there is a decimal digit of any script in a text.

    >>> has_digits("In 1999."), has_digits("२०"), has_digits("None.")
    (True, True, False)
    """
    return _patterns()[2].search(text) is not None if not text.isascii() else _ASCII_DIGIT.search(text) is not None


def units(text: str) -> list[tuple[int, int]]:
    """Return the units of a text as (start, end) offsets, trimmed of white space, in order.

    Sentences, and items of a list, rows of a table and entries of a log; one shorter than 40 columns goes together with
    the next, and the last one with the one before it; a heading stays with what follows it. They cover every character
    that is not white space, and no edge is inside a grapheme cluster. Linear.

    >>> text = "Fees\\n\\nThe fee for late payment is 5 euros a day. It is due at the end of each calendar month."
    >>> [text[start:end] for start, end in units(text)]
    ['Fees\\n\\nThe fee for late payment is 5 euros a day.', 'It is due at the end of each calendar month.']
    """
    ascii_text = text.isascii()
    each = sentences.spans(text)
    if not ascii_text and _split_clusters(text, each):
        each = list(zip(*spans(text, "sentence"), strict=True))  # with edges between grapheme clusters
    heads: frozenset[int] = frozenset()
    if "\n" in text:
        each = [piece for start, end in each for piece in _by_items(text, start, end)]
        heads = frozenset(start for start, _ in headings(text))
    found: list[tuple[int, int]] = []
    opened: int | None = None
    headed = full = False  # whether what is open begins with a heading; whether there is more of it
    reached = 0
    for start, end in each:
        if opened is not None and start in heads and full:
            _close(found, opened, reached, headed=headed)
            opened = None
        if opened is None:
            opened, headed, full = start, start in heads, False
        full = full or start not in heads
        reached = end
        # A long line that only looks like a heading may as well be an entry of a list, and is a unit of its own.
        if (full or not headed or text[opened] != "#") and (
            end - opened >= LEAST or (not ascii_text and _columns(text, opened, end) >= LEAST)
        ):
            found.append((opened, end))
            opened = None
    if opened is not None:
        _close(found, opened, reached, headed=headed and full)
    return found


def _close(found: list[tuple[int, int]], start: int, end: int, *, headed: bool) -> None:
    """Add what is too short to stand alone to the unit before it; under a heading of its own it does stand alone."""
    found.append((found.pop()[0] if found and not headed else start, end))


def _by_items(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return a sentence in its lines, where these are items of a list, rows of a table or entries of a log."""
    edges = [start, *(at for at in items(text, start, end) if at > start), end]
    pieces = [(first, first + len(text[first:last].rstrip())) for first, last in pairwise(edges)]
    return [piece for piece in pieces if piece[0] < piece[1]]


def _split_clusters(text: str, each: Sequence[tuple[int, int]]) -> bool:
    """Tell, quickly, whether an edge of a sentence may be inside a grapheme cluster: none is between ASCII letters."""
    inside = [at for both in each for at in both if 0 < at < len(text)]
    return any(text[at - 1] >= "\x80" or text[at] >= "\x80" for at in inside)


def _columns(text: str, start: int, end: int) -> int:
    return end - start + (_WIDE_COLUMNS - 1) * len(_patterns()[1].findall(text, start, end))


def names(text: str, title: str) -> bool:
    """Tell whether a text names a title: as a whole word where words are spaced; both are case-folded already.

    >>> names("they met in paris.", "paris"), names("a comparison", "paris")
    (True, False)
    """
    at = text.find(title)
    while at >= 0:
        if not (_joins(text, at) or _joins(text, at + len(title))):
            return True
        at = text.find(title, at + 1)
    return False


def _joins(text: str, at: int) -> bool:
    """Tell whether a word runs on across a place; scripts without blanks have no such places."""
    if at <= 0 or at >= len(text):
        return False
    before, after = text[at - 1], text[at]
    return before < "\u0e00" and after < "\u0e00" and before.isalnum() and after.isalnum()


def named_as(title: object) -> str | None:
    """Return a title as other texts would name it: case-folded, without a bracket at its end; None if too short.

    >>> named_as("Mercury (planet)"), named_as("It"), named_as(None)
    ('mercury', None, None)
    """
    if not isinstance(title, str):
        return None
    name = folded(title).casefold()
    if name.endswith(")") and " (" in name:
        name = name[:name.rindex(" (")].strip()
    return name if len(name) >= 3 or (len(name) == 2 and not name.isascii()) else None


def pairs_in(found: Sequence[str], asked: frozenset[tuple[str, str]]) -> int:
    """Return how many different neighbouring pairs of the question's terms a text has side by side.

    >>> pairs_in(["late", "fee", "due"], frozenset({("late", "fee"), ("fee", "is")}))
    1
    """
    return len(asked.intersection(pairwise(found))) if asked else 0


def titled(metadata: Mapping[str, Any]) -> str:
    """Return what a source is called: its title and its section, as far as they are texts.

    >>> titled({"title": "Lamps", "section": "Returns"}), titled({"section": ["a", "list"]})
    ('Lamps Returns', '')
    """
    parts = [metadata.get(name) for name in ("title", "section")]
    return " ".join(part for part in parts if isinstance(part, str))
