"""Where sentences begin and end, in any script, without a model.

One pass over the text looks at every mark that may end a sentence and asks its neighbourhood. A mark
in doubt does not end a sentence: a missed end only makes a sentence longer, while a false one makes
fragments that then look like repeats.
"""

# Why our own rules, and not a library behind this function. sentencex 1.0.32 (compiled, wants the language of
# each text, which a chunk does not tell) and this module on the same texts; "ok" is the split that readers
# make:
#
#   text                                             sentencex                        here
#   decimals, versions, URLs, file names, e.g.       ok                               ok
#   inside quotes and brackets                       ok                               ok
#   fig. 3, vol. 2, No. 5                            cut after "vol."                 ok
#   डॉ. शर्मा; د. أحمد                                cut after the title              ok
#   「行く。すぐに。」と言った。                          cut before と言った                ok
#   1. Open it. 2. Press go.                         "1." alone                       ok
#   Thai (ends at blanks)                            one sentence                     ok
#   Acme Inc. Sells boxes.                           ok                               ok
#   Cats nap. and a tail                             cut                              not cut (see above)
#
# Correcting its output would need the same neighbourhood rules again, so they are used alone.

from __future__ import annotations

import functools
import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import Any, NamedTuple

from promptpack.packing.wordlists import ABBREVIATIONS, BEFORE_NUMBER, BEFORE_ORDINAL, BEFORE_SMALL, MAY_END, MONTHS

# Marks that end a sentence without a blank after them, and marks that need one.
_HARD = "。！？｡؟۔।॥։።፧။៕།"
_SOFT = ".!?…．"
_CLOSERS = "\"'”’»›)]）】」』》〉*_"
_OPENERS = "\"'“‘„«‹([（【「『《〈¿¡*_-–—•"

# A quotation or bracket longer than this (characters) is taken for one that was never closed.
_LONGEST_ENCLOSURE = 1000
_DEEPEST = 8
# What is looked at before a full stop (characters): no abbreviation is longer.
_LOOK_BACK = 40
_CAPITALS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_SMALL = frozenset("abcdefghijklmnopqrstuvwxyz")
# White space at the end of a paragraph (characters) that is looked through at once.
_BREAK = 3
# A stop and the letters before it: no abbreviation has as many ASCII letters in a row.
_LONGER = 9

_PAIRS = {
    '"': '"', "“": "”", "”": "”", "„": "“", "«": "»", "»": "«", "「": "」", "『": "』", "（": "）",
    "(": ")", "[": "]", "【": "】", "《": "》",
}


@dataclass(frozen=True, slots=True)
class _Patterns:
    breaks: Any
    ends: Any
    pairs: Any
    gap: Any
    word: Any
    spaces: Any
    thai: Any


@functools.cache
def _patterns() -> _Patterns:
    """Compile on first use. Repeats are possessive, so that no pattern backtracks over a long run."""
    import regex

    marks, closers = re.escape(_HARD + _SOFT), re.escape(_CLOSERS)
    return _Patterns(
        # a blank line, the end of a heading line, a page or paragraph separator
        breaks=regex.compile(r"\n[^\S\n]*+\n|^\#{1,6}[^\S\n][^\n]*+\n|[\f\u2029]", regex.M),
        # A stop inside a word of ASCII letters or digits ends nothing. Led by the marks, which `re` can skip to.
        ends=re.compile(rf"([{marks}](?<!\.(?=[A-Za-z0-9]))[{marks}]*+)([{closers}]*+)"),
        pairs=re.compile("[" + re.escape("".join({**_PAIRS, **dict.fromkeys(_PAIRS.values())})) + "]"),
        gap=regex.compile(r"\s*+"),
        word=regex.compile(r"[\p{L}\p{M}]++"),
        spaces=regex.compile(
            r"(?<=[\p{Thai}\p{Lao}])(?<!ๆ)\s++(?=[\p{Thai}\p{Lao}])(?![ๆฯ\p{M}])"
        ),
        thai=re.compile("[\u0e00-\u0eff]"),
    )


def spans(text: str) -> list[tuple[int, int]]:
    """Return the sentences of a text as (start, end) offsets, trimmed of white space, in order.

    Together they cover every character that is not white space. `. ! ?` end a sentence before white space,
    but not after abbreviations, initials, numbers of a list or before a small letter, and not inside quotes
    or brackets; a stop inside a word (3.5, v2.1, a.py, URLs) never does. `。！？؟।` and their like need no
    blank; Thai and Lao end at blanks. A blank line and the end of a heading always end a sentence. Linear in
    the length of the text.

    >>> text = "Give 3.5 mg, e.g. at noon. Keep it dry!"
    >>> [text[a:b] for a, b in spans(text)]
    ['Give 3.5 mg, e.g. at noon.', 'Keep it dry!']
    """
    found = []
    start = 0
    for cut in [*_cuts(text), len(text)]:
        piece = text[start:cut].lstrip()
        if piece:
            found.append((cut - len(piece), cut - len(piece) + len(piece.rstrip())))
        start = cut
    return found


def _cuts(text: str) -> list[int]:
    """Return the offsets at which a sentence ends, ascending."""
    patterns = _patterns()
    breaks = sorted({match.end() for match in patterns.breaks.finditer(text)} | {len(text)})
    has_capitals = text != text.lower()
    thai = not text.isascii() and patterns.thai.search(text) is not None
    cuts: list[int] = []
    start = 0
    for stop in breaks:
        block = _Block(text, start, stop, _enclosures(text, start, stop), has_capitals)
        sentence = start
        found = []
        for match in patterns.ends.finditer(text, start, stop):
            end = match.end()
            ends = block.plainly(match[0], end)
            if ends is None:
                ends = block.ends(match.start(), match.end(1), end, sentence)
            if ends:
                found.append(end)
                sentence = end
        if thai:
            blanks = [match.start() for match in patterns.spaces.finditer(text, start, stop)]
            found = sorted({*found, *(at for at in blanks if not block.inside(at))})
        cuts += found
        cuts.append(stop)
        start = stop
    return cuts


def _enclosures(text: str, start: int, stop: int) -> list[tuple[int, int]]:
    """Return the outermost quotations and brackets of a block as (open, close) offsets, ascending."""
    closed: list[tuple[int, int]] = []
    waiting: list[tuple[str, int]] = []
    for match in _patterns().pairs.finditer(text, start, stop):
        char, at = match[0], match.start()
        depth = len(waiting) - 1
        while depth >= 0 and waiting[depth][0] != char:
            depth -= 1
        if depth >= 0 and not (char in '"”' and _opens(text, at, start) and not _closes(text, at, stop)):
            opened = waiting[depth][1]
            del waiting[depth:]
            if at - opened <= _LONGEST_ENCLOSURE:
                while closed and closed[-1][0] > opened:
                    closed.pop()
                closed.append((opened, at))
        elif char in _PAIRS and (char not in '"”»' or _opens(text, at, start)):
            waiting.append((_PAIRS[char], at))
            if len(waiting) > _DEEPEST:
                del waiting[0]
    return closed


def _opens(text: str, at: int, start: int) -> bool:
    """Return whether a mark that both opens and closes stands where an opening one would."""
    before = text[at - 1] if at > start else " "
    return before.isspace() or before in _OPENERS or before in "=:,，、：。"


def _closes(text: str, at: int, stop: int) -> bool:
    return at + 1 >= stop or not text[at + 1].isalnum()


class _Block(NamedTuple):  # made for every paragraph, so it has to be cheap
    """A paragraph, and the questions asked about the marks in it."""

    text: str
    start: int
    stop: int
    enclosures: list[tuple[int, int]]
    has_capitals: bool

    def plainly(self, marks: str, end: int) -> bool | None:
        """Return what `ends` would say of one mark without closers, in the cases that are by far the most common.

        A stop inside a word ends nothing; one after an ordinary word, before a blank and a capital, ends the
        sentence. None: it takes a closer look.
        """
        if len(marks) > 1:
            return None
        if self.enclosures and self.inside(end - 1) >= end:
            return False
        text, stop = self.text, self.stop
        if stop - end <= _BREAK and not text[end:stop].strip():
            return True
        after, following = text[end], text[end + 1 : end + 2]
        if after != " " or end + 1 == stop:
            return None if marks != "." or after.isspace() else False
        if following not in _CAPITALS:
            return False if self.has_capitals and following in _SMALL and marks in ".!?" else None
        if marks != ".":
            return True if marks in "!?" else None
        if end - self.start < _LONGER:
            return None
        before = text[end - _LONGER : end - 1]
        word = before[before.rfind(" ") + 1 :]
        if len(word) < 2 or not (word.isascii() and word.isalpha()):
            return None if word else True  # behind a blank it belongs to no word
        return len(word) == _LONGER - 1 or word.lower() not in ABBREVIATIONS

    def inside(self, at: int) -> int:
        """Return the offset at which the enclosure around `at` closes, 0 if there is none."""
        k = bisect_right(self.enclosures, (at, -1)) - 1
        if k >= 0 and self.enclosures[k][0] < at < self.enclosures[k][1]:
            return self.enclosures[k][1]
        return 0

    def ends(self, at: int, marks_end: int, end: int, sentence: int) -> bool:
        """Return whether the marks from `at`, with closers up to `end`, end the sentence from `sentence`."""
        text, marks = self.text, self.text[at:marks_end]
        if self.inside(at) >= end:
            return False
        following = self._following(end)
        if not following:
            return True
        spaced = end < self.stop and text[end].isspace()
        if any(mark in _HARD for mark in marks):
            # A closed quotation goes on where a particle or a comma follows it.
            return spaced or end == marks_end or following not in "とっはがをにのもで、，,;；："
        if not spaced:
            wide = "\u2e80" <= following <= "\uffdc" and ("!" in marks or "?" in marks)
            return wide or ("．" in marks and not (following.isdigit() and text[at - 1 : at].isdigit()))
        if following.islower() and self.has_capitals:
            return False
        return marks != "." or not self._abbreviated(at, following, sentence)

    def _following(self, end: int) -> str:
        """Return the first character after `end` that is neither white space nor an opening mark."""
        at = _patterns().gap.match(self.text, end, self.stop).end()
        for char in self.text[at : min(at + 4, self.stop)]:
            if char not in _OPENERS:
                return char
        return self.text[at : at + 1] if at < self.stop else ""

    def _abbreviated(self, at: int, following: str, sentence: int) -> bool:
        """Return whether the full stop at `at` belongs to the word before it."""
        before = self.text[max(self.start, at - _LOOK_BACK) : at]
        words = [] if before[-1:].isspace() else before.split()
        if not words:
            return False
        word = words[-1].lstrip(_OPENERS)
        previous = words[-2].lower() if len(words) > 1 else ""
        low = word.lower()
        if low in ABBREVIATIONS:
            return True
        if low in BEFORE_NUMBER and following.isdigit():
            return True
        if low in BEFORE_SMALL and following.islower():
            return True
        if word.isdigit():
            return self._numbering(at, word, previous, sentence)
        if low in MAY_END and following.isupper():
            # "So do I." ends, "I. Newton" does not.
            return low == "i" and not previous.isalpha()
        parts = low.split(".")
        # An initial (J. Smith, А. С. Пушкин, د. أحمد) or dotted letters (U.S., z.B.).
        return all(_is_letter(part) for part in parts)

    def _numbering(self, at: int, word: str, previous: str, sentence: int) -> bool:
        """Return whether a number with a full stop counts something: an item of a list, a day, a century."""
        if len(word) > 3:
            return False
        line = self.text.rfind("\n", max(self.start, at - _LOOK_BACK), at) + 1
        opening = max(sentence, line)
        if not self.text[opening : at - len(word)].strip(_OPENERS + " \t\r\n"):
            return True
        if len(word) > 2:
            return False
        gap = _patterns().gap.match(self.text, at + 1, self.stop).end()
        following = _patterns().word.match(self.text, gap, min(gap + _LOOK_BACK, self.stop))
        if following is not None and following.group().lower() in MONTHS:
            return True
        return previous in BEFORE_ORDINAL


def _is_letter(part: str) -> bool:
    """Return whether a text is one letter with its marks, of a script that abbreviates by letters."""
    if not part or len(part) > 4:
        return False
    first = part[0]
    if not first.isalpha() or "\u0e00" <= first <= "\u0eff" or first >= "\u1100":
        # Thai, Hangul, kana and ideographs: one character can be a whole word.
        return False
    return not any(char.isalnum() for char in part[1:])
