"""The numbers and dates of a text, in the spellings of several languages, so that two texts can be compared.

A number may be written with separators (1,000; 1.000; 1 000 with a narrow blank; 3.5; 3,5), with a scale
(2.5 million), with the digits of any script, or as a word up to twelve and the tens. Where a spelling can be read in
two ways, each of them counts. Signs, currencies and units are left out: -5 and 5 % are the number 5. A date may be
written in figures (2026-03-01, 1.3.2026, 3/1/2026) or with the name of the month in seven languages.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

_MONTHS = (
    "january januar jänner janvier enero gennaio janeiro januari jan",
    "february februar février fevrier febrero febbraio fevereiro februari feb",
    "march märz maerz mars marzo março maart mar", "april avril abril aprile apr", "may mai mayo maggio maio mei",
    "june juni juin junio giugno junho jun", "july juli juillet julio luglio julho jul",
    "august août aout agosto augustus aug", "september septembre septiembre settembre setembro sept sep",
    "october oktober octobre octubre ottobre outubro oct okt", "november novembre noviembre novembro nov",
    "december dezember décembre decembre diciembre dicembre dezembro dec dez",
)
_MONTH = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}
_WORDS = (
    "one", "two zwei deux dos due dois duas twee", "three drei trois tres tre três drie",
    "four vier quatre cuatro quattro quatro", "five fünf cinq cinco cinque vijf", "six sechs seis sei zes",
    "seven sieben sept siete sette sete zeven", "eight acht huit ocho otto oito", "nine neun neuf nueve nove negen",
    "ten zehn dix diez dieci dez tien", "eleven elf onze undici", "twelve zwölf douze doce dodici doze twaalf dozen",
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety", "hundred")
_VALUE = {
    **{word: str(number) for number, words in enumerate(_WORDS, 1) for word in words.split()},
    **{word: str(10 * number) for number, word in enumerate(_TENS, 2)},
}
# Words that a sentence has to find again: those that mean nothing else, also not in another language.
_PLAIN = frozenset({"two", "three", "four", "five", "seven", "eight", "nine", "eleven", "twelve", "dozen", *_TENS})
_SCALE = {
    **dict.fromkeys(("thousand", "tausend", "mille", "mil", "k"), 3),
    **dict.fromkeys(("million", "millions", "millionen", "mio", "mn", "millones", "milioni"), 6),
    **dict.fromkeys(("billion", "billions", "bn", "milliarde", "milliarden", "mrd", "milliard", "milliards"), 9),
}


@dataclass(frozen=True, slots=True)
class Figure:
    """A number (its readings) or a date (year, month, day; 0 for what is not given), as it was written."""

    text: str
    readings: frozenset[str] = frozenset()
    dates: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Figures:
    """All numbers and dates that a text holds; the numbers in its dates count as numbers, too."""

    readings: frozenset[str]
    dates: frozenset[tuple[int, int, int]]

    def has(self, figure: Figure) -> bool:
        """Tell whether a number or a date occurs; of a date, what is not in one date may stand apart as a number."""
        if not figure.dates:
            return not figure.readings.isdisjoint(self.readings)
        return any(self._has_date(wanted, held) for wanted in figure.dates for held in self.dates)

    def _has_date(self, wanted: tuple[int, int, int], held: tuple[int, int, int]) -> bool:
        pairs = zip(wanted, held, strict=True)
        return all(a in (0, b) or (not b and str(a) in self.readings) for a, b in pairs) and wanted[1] == held[1]


def figures(text: str) -> list[Figure]:
    """Return the numbers and dates of a text that another one has to hold; linear.

    >>> [one.text for one in figures("Since March 1, 2026 it is 1,000 EUR for two.")]
    ['March 1, 2026', '1,000', 'two']
    """
    plain = _digits(text)
    found: list[tuple[int, Figure]] = []
    taken: list[tuple[int, int]] = []
    for start, end, dates in _dates(plain):
        taken.append((start, end))
        found.append((start, Figure(text[start:end], dates=dates)))
    pieces: list[str] = []
    at = 0
    for start, end in taken:
        pieces += (plain[at:start], " " * (end - start))
        at = end
    rest = "".join(pieces) + plain[at:]
    for match in _patterns()["number"].finditer(rest):
        found.append((match.start(), Figure(text[match.start():match.end()], _readings(match[1], match[2] or ""))))
    for match in _patterns()["word"].finditer(rest):
        if match[0] in _PLAIN:
            found.append((match.start(), Figure(text[match.start():match.end()], frozenset({_VALUE[match[0]]}))))
    return [figure for _, figure in sorted(found, key=lambda one: one[0])]


def all_figures(text: str) -> Figures:
    """Return everything in a text that a number or a date of another one may be found in; linear."""
    plain = _digits(text)
    readings: set[str] = set()
    for match in _patterns()["number"].finditer(plain):
        readings |= _readings(match[1], match[2] or "")
    for match in _patterns()["word"].finditer(plain):
        if match[0] in _VALUE:
            readings.add(_VALUE[match[0]])
    dates = {date for _, _, several in _dates(plain) for date in several}
    return Figures(frozenset(readings), frozenset(dates))


def _digits(text: str) -> str:
    """Return the text in small letters with ASCII digits, of the same length."""
    low = text.lower()
    if len(low) != len(text):  # a capital that becomes two letters
        low = "".join(char.lower() if len(char.lower()) == 1 else char for char in text)
    if low.isascii():
        return low
    return "".join([str(unicodedata.decimal(char)) if char.isdecimal() else char for char in low])


@lru_cache(maxsize=4096)
def _readings(number: str, scale: str) -> frozenset[str]:
    """Return the values that a number may have, as plain decimals."""
    parts = re.split(r"[^0-9]+", number)
    found = set()
    if len(parts) == 1 or all(len(part) == 3 for part in parts[1:]):
        found.add(_plain("".join(parts), ""))
    last = re.split(r"[0-9]+", number)[-2] if len(parts) > 1 else ""
    if len(parts) > 1 and last in (".", ",", "٫") and all(len(part) == 3 for part in parts[1:-1]):
        found.add(_plain("".join(parts[:-1]), parts[-1]))
    if not found:  # a version, a time, a clause: 2.3.1 is itself alone
        found.add(number)
    if scale:
        found |= {_scaled(one, _SCALE[scale]) for one in found if one.replace(".", "", 1).isdigit()}
    return frozenset(found)


def _plain(whole: str, fraction: str) -> str:
    fraction = fraction.rstrip("0")
    return (whole.lstrip("0") or "0") + (f".{fraction}" if fraction else "")


def _scaled(number: str, zeros: int) -> str:
    whole, _, fraction = number.partition(".")
    fraction = fraction.ljust(zeros, "0")
    return _plain(whole + fraction[:zeros], fraction[zeros:])


def _dates(plain: str) -> list[tuple[int, int, tuple[tuple[int, int, int], ...]]]:
    found = []
    for match in _patterns()["date"].finditer(plain):
        part = {name: value for name, value in match.groupdict().items() if value}
        year = int(next((part[name] for name in ("y1", "y2", "y3", "y4", "y5", "y6") if name in part), 0))
        if "m1" in part:
            readings = [(year, int(part["m1"]), int(part["d1"]))]
        elif "m6" in part:
            readings = [(year, int(part["m6"]), int(part.get("d6", 0)))]
        elif "a" in part:
            first, second = int(part["a"]), int(part["b"])
            year += 2000 if len(part["y2"]) == 2 else 0
            readings = [(year, second, first)]
            if part["sep"] != ".":
                readings.append((year, first, second))
        else:
            month = _MONTH[next(part[name] for name in ("n3", "n4", "n5") if name in part)]
            readings = [(year, month, int(part.get("d3") or part.get("d4") or 0))]
        good = tuple(dict.fromkeys(one for one in readings if 1 <= one[1] <= 12 and one[2] <= 31))
        if good:
            found.append((match.start(), match.end(), good))
    return found


@lru_cache(maxsize=1)
def _patterns() -> dict[str, re.Pattern[str]]:
    month = "|".join(sorted(_MONTH, key=len, reverse=True))
    scale = "|".join(sorted(_SCALE, key=len, reverse=True))
    year = r"[12][0-9]{3}(?![0-9])"
    return {
        "number": re.compile(
            rf"([0-9]++(?:[.,'’٫٬\u00a0\u202f][0-9]++)*+)(?:[ \u00a0\u202f]?({scale})(?![^\W_]))?"
        ),
        "word": re.compile(r"[^\W\d_]++"),
        "date": re.compile(
            rf"(?<![0-9.,/])(?:(?P<y1>[12][0-9]{{3}})[-./](?P<m1>[0-9]{{1,2}})[-./](?P<d1>[0-9]{{1,2}})(?![0-9])"
            rf"|(?P<y6>[12][0-9]{{3}})\s?年\s?(?P<m6>[0-9]{{1,2}})\s?月(?:\s?(?P<d6>[0-9]{{1,2}})\s?日)?"
            rf"|(?P<a>[0-9]{{1,2}})(?P<sep>[./-])(?P<b>[0-9]{{1,2}})(?P=sep)(?P<y2>[12][0-9]{{3}}|[0-9]{{2}})(?![0-9])"
            rf"|(?P<d3>[0-9]{{1,2}})(?:st|nd|rd|th|er|[.º])?\s{{1,3}}(?:of\s|de\s)?(?P<n3>{month})(?![^\W_])\.?"
            rf"(?:,?\s{{1,3}}(?:de\s)?(?P<y3>{year}))?)"
            rf"|(?<![^\W_])(?P<n4>{month})\.?\s{{1,3}}(?P<d4>[0-9]{{1,2}})(?![0-9])(?:st|nd|rd|th)?(?:,?\s{{1,3}}(?P<y4>{year}))?"
            rf"|(?<![^\W_])(?P<n5>{month})\.?,?\s{{1,3}}(?:de\s)?(?P<y5>{year})"
        ),
    }
