"""Whether two nearly equal texts say different things: another number, or a negation more.

"The fee is 25 EUR" and "the fee is 250 EUR" share almost every trigram and contradict each other.
The rule is careful on purpose: where it is wrong it keeps two texts that could have been one.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from dataclasses import dataclass
from typing import Any

from promptpack.packing.similarity import folded
from promptpack.packing.wordlists import NEGATION_SIGNS, NEGATIONS, NEGATIVE_PREFIXES, NUMBER_WORDS

_INTERESTING = NUMBER_WORDS | NEGATIONS


@dataclass(frozen=True, slots=True)
class Facts:
    """The parts of a text that a near-duplicate must share: numbers and negations, in their order."""

    numbers: tuple[str, ...]
    negations: tuple[str, ...]


@functools.cache
def _patterns() -> tuple[Any, Any, Any]:
    """Compile on first use: words in ASCII, words in any script, signs of negation."""
    import regex

    # A word may carry digits, marks, and inner . , : / - ' between letters and digits (3.5, 12:30, A-4,
    # don't); a sign counts where nothing stands before it (-5, but not 3-5, where it is inside the word).
    # A currency or percent sign belongs to its number. The first form is the second one for ASCII.
    plain = re.compile(r"(?:(?<![a-z0-9])[-+])?[$#]?[a-z0-9]+(?:[.,:/'-][a-z0-9]+)*%?")
    word = regex.compile(
        r"(?:(?<![\p{L}\p{N}])[-−+])?[\p{Sc}#]?[\p{L}\p{N}\p{M}]+(?:[.,:/'’‑–-][\p{L}\p{N}\p{M}]+)*[%‰]?"
    )
    return plain, word, regex.compile("|".join(map(regex.escape, NEGATION_SIGNS)))


def _lower(text: str) -> str:
    return text.lower() if text.isascii() else folded(text.lower())


def _words(low: str) -> list[str]:
    plain, word, _ = _patterns()
    found: list[str] = (plain if low.isascii() else word).findall(low)
    return found


def facts(text: str) -> Facts:
    """Return the numbers and negations of a text, lower-cased; linear in its length.

    A number is a word with a digit in it, its sign, currency and percent sign included (`-5`, `v2.1`,
    `25%`), a spelt-out number in one of ten languages, or a run of characters that are numbers without
    being digits (三十).

    >>> facts("The fee isn't 25 EUR, but two.").numbers
    ('25', 'two')
    >>> facts("The fee isn't 25 EUR.").negations
    ("isn't",)
    """
    low = _lower(text)
    numbers: list[str] = []
    negations: list[str] = []
    # Ordinary words are by far the most, and no word has white space inside: they go before words are looked
    # for.
    unusual = [
        word for word in low.split() if word in _INTERESTING or not (word.isalpha() and word.isascii())
    ]
    for item in _words(" ".join(unusual)):
        if item in NEGATIONS or item.endswith(("n't", "n’t")):
            negations.append(item)
        elif any(map(str.isdigit, item)) or not NUMBER_WORDS.isdisjoint((item, *item.split("-"))):
            numbers.append(item)
        elif not item.isascii():
            numbers.extend(_numerals(item))
    if not low.isascii():
        negations.extend(_patterns()[2].findall(low))
    return Facts(tuple(numbers), tuple(negations))


def _numerals(item: str) -> list[str]:
    """Return the runs of characters of a word that are numbers (三十, ½, Ⅳ)."""
    runs, run = [], ""
    for char in item:
        if unicodedata.numeric(char, None) is not None:
            run += char
        elif run:
            runs.append(run)
            run = ""
    return [*runs, run] if run else runs


def contradict(a: str, b: str) -> bool:
    """Return whether two texts differ in a number or a negation, so that neither stands for the other.

    A negation is also a word with a negative prefix where the other text has the word without it
    (available, unavailable).

    >>> contradict("It is 25 EUR.", "It is 250 EUR.")
    True
    >>> contradict("It is available.", "It is unavailable!")
    True
    >>> contradict("It costs 25 EUR now.", "It costs 25 EUR today.")
    False
    """
    return facts(a) != facts(b) or negate(a, b)


def negate(a: str, b: str) -> bool:
    """Return whether one text has a word with a negative prefix where the other has it without."""
    words_a, words_b = set(_words(_lower(a))), set(_words(_lower(b)))
    only_a, only_b = words_a - words_b, words_b - words_a
    return _prefixed(only_a, only_b) or _prefixed(only_b, only_a)


def _prefixed(words: set[str], others: set[str]) -> bool:
    return any(prefix + word in others for word in words if len(word) > 2 for prefix in NEGATIVE_PREFIXES)
