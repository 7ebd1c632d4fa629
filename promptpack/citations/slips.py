"""What stands in the text as if to cite, outside of every mark, and cannot be read: it is reported, never lost.

In square brackets hardly anything but a citation looks like a label, so `promptpack.citations.scan` reports slips
there. Round ones are common in prose: `(S3 is cheap)` speaks of storage. There only what cannot be prose is a slip:
words that point at a label, `(see S1)`; a label with a wrong or no closing bracket at the end of a sentence or line;
and one with invisible characters inside, with any bracket or none (`source_1`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from promptpack.citations.grammar import DIGITS, HIDDEN, INVISIBLE, PAIRS, POINTING, Grammar, Item
from promptpack.citations.scan import Mark, outside

_LISTED = 20  # labels in one slip


def slips(text: str, rules: Grammar, marks: Sequence[Mark]) -> Iterator[Mark]:
    """Yield the slips of a text whose code is blanked out, outside of its marks; linear.

    >>> from promptpack.citations.grammar import grammar
    >>> [mark.items[0].fault for mark in slips("So (see S1). So (S2. So (s3 is cheap).", grammar("S"), [])]
    ['more than a label', 'no closing bracket']
    """
    patterns = _patterns(rules.prefix)
    if "(" in text or "（" in text:
        for match in outside(text, patterns["round"], marks):
            if match["pointed"]:
                fault, (start, end) = "more than a label", match.span("pointed")
            else:
                wrong = text[match.end():match.end() + 1] in tuple(PAIRS.values())
                start, end = match.start(), match.end() + wrong
                fault = "closed by another kind of bracket" if wrong else "no closing bracket"
            yield _slip(start, end, fault)
    if not text.isascii() and patterns["sign"].search(text):
        for match in outside(text, patterns["invisible"], marks):
            if patterns["sign"].search(match[0]):
                yield _slip(*match.span(), HIDDEN)


def _slip(start: int, end: int, fault: str) -> Mark:
    return Mark(start, end, "paren", [Item(start, end, fault=fault)])


@lru_cache(maxsize=64)
def _patterns(prefix: str) -> dict[str, re.Pattern[str]]:
    letters = "".join(f"[{sign.upper()}{sign.lower()}]" for sign in prefix)
    label = rf"{letters}[ ]?[0-9]{{1,{DIGITS}}}(?![0-9A-Za-z_])"
    listed = rf"{label}(?:[ ]?(?:[,;&-]|and|–)[ ]?{label}){{0,{_LISTED}}}+"
    openers, closing = (re.escape("".join(signs)) for signs in (PAIRS.keys(), PAIRS.values()))
    between = f"(?:{INVISIBLE}){{0,3}}"
    hidden = between.join(f"[{sign.upper()}{sign.lower()}]" for sign in prefix)
    digits = rf"[0-9](?:{between}[0-9]){{0,{DIGITS - 1}}}"
    source = between.join(("[Ss]", *"ource"))
    return {
        "round": re.compile(
            rf"[(（]\s{{0,3}}(?:(?P<pointed>{POINTING}\s{{0,3}}{listed})(?=\s{{0,3}}[)）])"
            rf"|{listed}(?=\s{{0,3}}(?:[{closing}]|\Z|\n)|[.!?](?:\s|\Z)|。))"
        ),
        "invisible": re.compile(
            rf"[(（{openers}][ ]{{0,3}}{between}{hidden}(?:{INVISIBLE}|[ ]){{0,4}}{digits}{between}(?![0-9A-Za-z_])"
            rf"|(?<![\w/.@#-]){source}{between}_{between}{digits}(?![0-9A-Za-z_])"
        ),
        "sign": re.compile(INVISIBLE),
    }
