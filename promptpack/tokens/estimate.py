"""An estimate of the token count for models whose vocabulary is not at hand; it errs high.

The text is split into runs of white space and runs of anything else; each run costs a whole number of
tokens, whatever stands beside it. So estimates add up exactly where `boundary.cuts_here` is true. The costs
were fitted so that ordinary text is not undercounted by either o200k_base or cl100k_base.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cache

from promptpack.tokens.base import BaseCounter
from promptpack.tokens.boundary import WHITE_SPACE

# From this code point on a character costs so many hundredths of a token. Where a script is missing its
# characters cost as many tokens as they have bytes in UTF-8, which no byte-level vocabulary can pass.
_SCRIPTS = (
    (0x00A0, 100, "Latin-1 signs"),
    (0x00C0, 170, "Latin letters with marks, counted beside the word that they are in"),
    (0x0250, 200, "phonetic letters"),
    (0x0300, 150, "combining marks"),
    (0x0370, 110, "Greek"),
    (0x0400, 60, "Cyrillic"),
    (0x0530, 200, "Armenian"),
    (0x0590, 110, "Hebrew"),
    (0x0600, 90, "Arabic"),
    (0x0700, 200, "Syriac and its neighbours"),
    (0x0800, 300, "other scripts"),
    (0x0900, 150, "Devanagari"),
    (0x0980, 250, "other Indic scripts"),
    (0x0E00, 125, "Thai"),
    (0x0E80, 300, "other scripts"),
    (0x1E00, 175, "Latin with two marks, as in Vietnamese"),
    (0x1F00, 300, "Greek with marks"),
    (0x2010, 110, "dashes, quotation marks, ellipsis"),
    (0x2030, 250, "signs and arrows"),
    (0x2500, 150, "lines and boxes"),
    (0x25A0, 300, "symbols"),
    (0x3000, 110, "punctuation of East Asia"),
    (0x3041, 115, "Hiragana and Katakana"),
    (0x3100, 300, "other scripts"),
    (0x4E00, 150, "Han"),
    (0xA000, 300, "other scripts"),
    (0xAC00, 150, "Hangul"),
    (0xD7A4, 300, "other characters"),
    (0xFE00, 200, "variation selectors"),
    (0xFE10, 300, "other characters"),
    (0xFF00, 120, "full-width forms"),
    (0xFFF0, 300, "other characters"),
    (0x10000, 400, "rare scripts"),
    (0x1F000, 300, "emoji"),
    (0x20000, 400, "rare characters"),
)
_STARTS = tuple(start for start, _, _ in _SCRIPTS)
_LONGEST_KEPT = 32
_MOST_KEPT = 50_000


@cache
def _runs() -> re.Pattern[str]:
    space = re.escape(WHITE_SPACE)
    return re.compile(f"[{space}]+|[^{space}]+")


@cache
def _pieces() -> re.Pattern[str]:
    return re.compile(
        r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[A-Z]|[0-9]+|[!-/:-@\[-`{-~]+|[\x00-\x1f\x7f]+|[^\x00-\x7f]+"
    )


class _Costs(dict[str, int]):
    # the cost of a run; runs seen before are kept, so that common words cost one look-up

    def __missing__(self, run: str) -> int:
        cost = run_cost(run)
        if len(run) <= _LONGEST_KEPT:
            if len(self) >= _MOST_KEPT:
                self.clear()
            self[run] = cost
        return cost


class Estimate(BaseCounter):
    """Estimates tokens by script: words, digits, signs and white space of ASCII, a rate for other scripts.

    Deterministic; not exact, and marked so. Errs high on English, code, Chinese, Japanese, Thai, emoji and
    UUIDs: about a fifth on English prose, more on scripts that newer vocabularies pack better.

    >>> Estimate()("The quick brown fox jumps over the lazy dog.")
    10
    """

    __slots__ = ("_costs",)

    def __init__(self) -> None:
        super().__init__("estimate", exact=False, additive=True, uniform_digits=True)
        self._costs = _Costs()

    def _measure(self, text: str) -> int:
        return sum(map(self._costs.__getitem__, _runs().findall(text)))


def run_cost(run: str) -> int:
    """Return the cost of one run of white space, or of one run of anything else, in whole tokens.

    >>> run_cost(" "), run_cost("word"), run_cost("internationalization,"), run_cost("12345")
    (0, 1, 7, 3)
    """
    if run == " ":
        return 0  # goes with the word that follows
    if run[0] in WHITE_SPACE:
        return _space_cost(run)
    hundredths = 0
    pieces = _pieces().findall(run)
    for piece in pieces:
        first = piece[0]
        if first > "\x7f":
            hundredths += sum(map(_rate, piece))
        elif first.isalpha():
            hundredths += 100 * _word_cost(piece)
        elif first.isdigit():
            hundredths += 100 * ((len(piece) + 2) // 3)
        elif first < " " or first == "\x7f":
            hundredths += 100 * len(piece)
        elif len(piece) == 1 or piece.count(first) == len(piece):
            hundredths += 100 + 100 * (len(piece) // 16)
        else:
            hundredths += 100 * (1 + (len(piece) - 1) // 3)
    # a number does not take the space before it along; ids of letters and digits break oddly
    extra = ("0" <= run[0] <= "9") + (len(pieces) > 6 and sum(piece[0].isdigit() for piece in pieces) > 2)
    return -(-hundredths // 100) + extra


def _space_cost(run: str) -> int:
    wide = sum(1 for char in run if char > "\x7f")
    plain = len(run) - wide
    newlines = run.count("\n")
    if newlines == len(run):
        return 1 + newlines // 8
    return 1 + (newlines > 0) + newlines // 2 + plain // 16 + 2 * wide


def _word_cost(word: str) -> int:
    size = len(word)
    if word.isupper():
        return (size + 2) // 3
    # names, which begin with a capital, are less often one token than other words
    if size <= (7 if word.islower() else 5):
        return 1
    return 2 if size <= 10 else 2 + (size - 8) // 3


@cache
def _rate(char: str) -> int:
    place = bisect_right(_STARTS, ord(char)) - 1
    return _SCRIPTS[place][1] if place >= 0 else 200
