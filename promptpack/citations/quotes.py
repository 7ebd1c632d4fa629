"""Quotations of an answer, looked up in the texts that were sent: word for word, nearly so, elsewhere, or nowhere.

A quotation is what stands between quotation marks (not apostrophes) in one paragraph: 12 to 1,000 characters without
the citations in it, outside of code. Nearly so means: the same after white space, case, kinds of quotation marks and
dashes, ligatures and other compatibility forms, and invisible signs are made alike, without the stop at its end, and
with its omissions ("...") read as such: all parts have to stand in the same text, in order.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

Found = Literal["verbatim", "repaired", "elsewhere", "missing", "unchecked"]
Span = tuple[int, int]

SHORTEST = 12
LONGEST = 1_000
MOST = 1_000  # different quotations of one answer that are looked up, so that the work has a bound


@dataclass(frozen=True, slots=True)
class Quotation:
    """One quotation, by its place in the answer (without its marks), and where it was found.

    found: verbatim or repaired (in a text that its sentence cites), elsewhere (in one that it does not cite), missing
    (in none), or unchecked (beyond the first 1,000 different ones). label: of the text that has it; span: its place
    there, from 0.
    """

    text: str
    start: int
    end: int
    found: Found
    label: str | None = None
    span: Span | None = None


def quotations(answer: str, marks: Iterable[Span], code: Iterable[Span]) -> list[tuple[int, int, str]]:
    """Return the quotations of an answer: their places, and their text without citations; linear.

    marks: the spans of the citations. code: those of fenced blocks.

    >>> quotations('They say "it is free [S1] of charge" and "so".', [(21, 25)], [])
    [(10, 35, 'it is free of charge')]
    """
    if not any(sign in answer for sign in '"“„«»「『‘'):
        return []
    spans = sorted({*marks, *code})
    plain = _without(answer, spans)
    found = []
    for match in _pattern().finditer(plain):
        start, end = match.span(match.lastindex or 0)
        text = plain[start:end].strip()
        if "\x00" in text:
            text = re.sub(r"[ \t]*+\x00++", "", text).strip()
        if len(text) >= SHORTEST:
            found.append((start, end, text))
    return found


class Lookup:
    """Looks quotations up in texts by label."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self._folded: dict[str, str] = {}
        self._known: dict[tuple[str, tuple[str, ...]], tuple[Found, str | None, Span | None]] = {}

    def find(self, text: str, cited: tuple[str, ...]) -> tuple[Found, str | None, Span | None]:
        """Return how a quotation was found, in which text and where; `cited`: the labels that its sentence cites.

        >>> Lookup({"S1": "The  ﬁrst fee is due."}).find("the first fee", ("S1",))
        ('repaired', 'S1', (0, 13))
        """
        key = text, cited
        if key not in self._known:
            if len(self._known) >= MOST:
                return "unchecked", None, None
            self._known[key] = self._find(text, cited)
        return self._known[key]

    def _find(self, text: str, cited: tuple[str, ...]) -> tuple[Found, str | None, Span | None]:
        others = [label for label in self._texts if label not in cited]
        parts: list[str] | None = None  # folded once for all the texts, where no text has it word for word
        searches: tuple[tuple[Found, Iterable[str]], ...] = (("repaired", cited), ("elsewhere", others))
        for found, labels in searches:
            for label in labels:
                at = self._texts[label].find(text)
                if at >= 0:
                    return "verbatim" if labels is cited else found, label, (at, at + len(text))
            parts = _parts(text) if parts is None else parts
            for label in labels if parts else ():
                span = self._alike(parts, label)
                if span:
                    return found, label, span
        return "missing", None, None

    def _alike(self, parts: list[str], label: str) -> Span | None:
        if label not in self._folded:
            self._folded[label] = fold(self._texts[label])
        folded = self._folded[label]
        start, at = -1, 0
        for part in parts:
            place = folded.find(part, at)
            if place < 0:
                return None
            start = place if start < 0 else start
            at = place + len(part)
        return _original(self._texts[label], start, at)


def _parts(text: str) -> list[str]:
    """Return what a quotation has to find, folded, in order: the parts between its omissions, or nothing."""
    parts = [part.strip(" .,;:!?'-") for part in re.split(r"\[? ?\.\.\.+ ?\]?", fold(text))]
    parts = [part for part in parts if part]
    if len(parts) > 1 and sum(map(len, parts)) < SHORTEST:
        return []  # a few letters with omissions between them stand in every text
    return parts


def fold(text: str) -> str:
    """Return a text as a forgiving reader sees it.

    >>> fold("The “ﬁrst”  Fee\\u00ad\\n– now")
    "the 'first' fee - now"
    """
    plain = unicodedata.normalize("NFKD", text).casefold().translate(_alike_signs())
    return " ".join(plain.split())


def _original(text: str, start: int, end: int) -> Span:
    """Return the span of the text that fold(text)[start:end] came from."""
    places: list[int] = []  # for each character of the folded text, where it came from
    blank = True
    for at, char in enumerate(text):
        for sign in unicodedata.normalize("NFKD", char).casefold().translate(_alike_signs()):
            if not (sign.isspace() and blank):
                places.append(at)
            blank = sign.isspace()
    return places[start], places[end - 1] + 1


@lru_cache(maxsize=1)
def _alike_signs() -> dict[int, str | None]:
    signs: dict[int, str | None] = {
        **dict.fromkeys(map(ord, "\"`´‘’‚‛“”„‟′″«»‹›「」『』"), "'"), **dict.fromkeys(map(ord, "‐‑‒–—―−⁃"), "-"),
    }
    return signs | dict.fromkeys((0xAD, 0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0x2060, 0xFEFF))


def _without(text: str, spans: list[Span]) -> str:
    pieces: list[str] = []
    at = 0
    for start, end in spans:
        if start >= at:
            pieces += (text[at:start], "\x00" * (end - start))
            at = end
    return "".join(pieces) + text[at:]


@lru_cache(maxsize=1)
def _pattern() -> re.Pattern[str]:
    gap = r"\n(?![^\S\n]*+\n)"  # a blank line ends a paragraph, and with it what was never closed

    def pair(opener: str, closer: str, others: str, after: str = "") -> str:
        # The signs of a pair stand in no quotation of it, so the length is known from how far the next of them is.
        near = rf"(?=[^{others}]{{{SHORTEST},{LONGEST}}}+[{closer}])"
        return rf"{opener}{near}((?:[^{others}\n]++|{gap})++)[{closer}]{after}"

    return re.compile("|".join([
        pair(r'"(?<![\w"]")(?=\S)', '"', '"', r'(?<=\S")(?!\w)'),
        pair("“", "”", "“”"), pair("„", "“”", "„“”"), pair("«", "»", "«»"), pair("»", "«", "«»"),
        pair("「", "」", "「」"), pair("『", "』", "『』"),
        # The closing one is an apostrophe, too.
        rf"‘(?<!\w‘)(?=\S)((?:[^‘\n]|{gap}){{{SHORTEST},{LONGEST}}}?)(?<=\S)’(?!\w)",
    ]))
