"""How well the words of a cited passage cover a sentence: overlap, which is not entailment.

A sentence can share every word with its source and say the opposite ("it is *not* free"), and can be right in other
words. The figure finds sentences that cannot come from what they cite; whether a passage supports a claim is for a
judge, a callable `(claim, text) -> score`, to say.

    support = sum of w(k) over the keys of the sentence that the cited text has / sum of w(k) over all of them
    w(k) = 1 + ln((1 + N) / (1 + n(k)))        N: passages sent; n(k): those of them that have the key, at least 1

The keys of a text are its words of three letters or more, in small letters without their endings (a last s goes, and
the first five letters stand for a word), and for scripts without blanks and Hangul each pair of neighbouring
characters. The weight is the inverse document frequency as in text retrieval, so that words which every passage has
count least. A sentence without any key is supported by its figures alone.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from numbers import Real
from typing import Any

from promptpack.citations.figures import Figures, all_figures, figures
from promptpack.errors import OptionError, quote

Judge = Callable[[str, str], float]

_STEM = 5  # letters that stand for a word
_SHORTEST = 3  # letters of a word that counts


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence that cites something: its text with its marks, its place, the labels that it cites, and its support.

    support: 0.0 to 1.0, or what a judge said; None where no cited label was sent. missing: the numbers, dates and
    quotations of the sentence that the cited text does not have.
    """

    text: str
    start: int
    end: int
    labels: tuple[str, ...]
    support: float | None = None
    missing: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text


class Passages:
    """The texts that were sent, by label; keys and figures are read once for each text that needs them."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = texts
        self._figures: dict[str, Figures] = {}
        self._keys: dict[str, frozenset[str]] = {}
        self._weights: dict[str, float] = {}

    def support(self, claim: str, labels: Iterable[str]) -> float:
        """Return the lexical support of a sentence (without its marks) by the texts of these labels together.

        >>> texts = Passages({"S1": "Lamps can be returned within 45 days.", "S2": "Bulbs break."})
        >>> round(texts.support("You may return a lamp within 45 days.", ["S1"]), 2)
        0.67
        """
        wanted = _keys(claim)
        if not wanted:
            return 1.0
        self._read()
        rare = 1 + math.log((1 + len(self.texts)) / 2)
        held: set[str] = set().union(*(self._keys[label] for label in labels))
        # In order, since a sum of floats depends on it.
        whole = math.fsum(self._weights.get(key, rare) for key in wanted)
        return math.fsum(self._weights.get(key, rare) for key in wanted & held) / whole

    def missing(self, claim: str, labels: Iterable[str]) -> tuple[str, ...]:
        """Return the numbers and dates of a sentence that none of the texts of these labels has.

        >>> texts = Passages({"S1": "Since 2026-03-01 it costs 1,000 EUR."})
        >>> texts.missing("From 1 March 2026: 1000 EUR, 5 %.", ["S1"])
        ('5',)
        """
        found = [self._held(label) for label in labels]
        return tuple(dict.fromkeys(one.text for one in figures(claim) if not any(held.has(one) for held in found)))

    def _held(self, label: str) -> Figures:
        if label not in self._figures:
            self._figures[label] = all_figures(self.texts[label])
        return self._figures[label]

    def _read(self) -> None:
        if self._keys or not self.texts:
            return
        self._keys = {label: _keys(text) for label, text in self.texts.items()}
        count = Counter(key for keys in self._keys.values() for key in keys)
        self._weights = {key: 1 + math.log((1 + len(self.texts)) / (1 + n)) for key, n in count.items()}


def judged(judge: Judge, claim: str, text: str) -> float:
    """Return what a judge says of a claim, as a float; OptionError where that is no finite number."""
    score: Any = judge(claim, text)
    if isinstance(score, Real) or hasattr(score, "__float__"):
        number = float(score)
        if math.isfinite(number):
            return number
    raise OptionError(
        f"judge: expected a finite number for the claim {quote(claim)}, got {quote(score)}", name="judge", given=score
    )


def _keys(text: str) -> frozenset[str]:
    pattern = _word()
    found: set[str] = set()
    for word in pattern.findall(unicodedata.normalize("NFKC", text).casefold()):
        if word[0] >= "\u0e00" and _unspaced(word[0]):
            found.update(word[at:at + 2] for at in range(max(1, len(word) - 1)))
        elif len(word) >= _SHORTEST:
            found.add(word[:-1][:_STEM] if len(word) > _SHORTEST and word[-1] == "s" else word[:_STEM])
    return frozenset(found)


def _unspaced(sign: str) -> bool:
    """Tell whether a script writes words without blanks, or hangs particles on them: Thai, Khmer, CJK, Hangul, ..."""
    low = ("\u0e00" <= sign <= "\u0eff", "\u1000" <= sign <= "\u109f", "\u1780" <= sign <= "\u17ff")
    return any(low) or sign >= "\u2e80"


@lru_cache(maxsize=1)
def _word() -> Any:
    import regex

    # Marks belong to their letters; a change to or from a script without blanks ends a word.
    unspaced = r"\p{Thai}\p{Lao}\p{Myanmar}\p{Khmer}\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}ー々"
    return regex.compile(rf"[{unspaced}][{unspaced}\p{{M}}]*+|(?:(?![{unspaced}])[\p{{L}}\p{{M}}])++")
