"""How a citation is spelled: the patterns for one prefix, and the reading of one item between separators.

Every pattern is linear: repeats are possessive or bounded, no two neighbouring ones share a character, and
what stands between brackets is bounded and holds no further bracket.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from promptpack.citations.code import BLANK, STOP, TARGET
from promptpack.errors import OptionError, quote

DIGITS = 4  # a label has at most four digits, so that no answer can make a number of any length
RANGE = 1_000  # labels in one range
BODY = 400  # characters between the brackets of one citation
LONG_LABEL = 10  # blanks and a sign that a label of too many digits may have besides its prefix and the digits
MOST = 200  # labels after the first in round brackets, where no character but those of labels may stand

PAIRS = {"[": "]", "【": "】", "［": "］", "〖": "〗", "〔": "〕"}
_OPEN = "".join("\\" + sign if sign == "[" else sign for sign in PAIRS)
_CLOSE = "".join("\\" + sign if sign == "]" else sign for sign in PAIRS.values())
_SEPARATOR = r"(?:[,;，；、､،؛&/|+]|(?<![A-Za-z])and(?![A-Za-z]))"
_DASH = r"[-‐‑‒–—−~〜～]"
_END = r"(?![0-9A-Za-z_])"
_SPACE = "[ \\t\u00a0\u202f\u3000]"
INVISIBLE = (
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\ufe00-\ufe0f\ufeff]"
)
HIDDEN = "invisible characters in a label"
# Words that do nothing but point at a source, as in `(see S1)`; with the colon behind them.
POINTING = (
    r"(?i:see(?: also)?|cf\.?|compare|refs?\.?|references?|sources?|citations?|quoted from|according to|based on"
    r"|as per|per|siehe(?: auch)?|vgl\.?|quellen?|laut|nach|voir(?: aussi)?|selon|véase|ver|fuentes?|según|vedi"
    r"|fonti?|zie|bron(?:nen)?|参见|见|參見|来源|出典|参照) ?[:：]?"
)
_TRIM = " \t\r\n\v\f\u00a0\u2009\u202f\u3000*^\\"  # white space and emphasis around a label say nothing


@dataclass(frozen=True, slots=True)
class Item:
    """One item between separators: labels first..last (numbers), or what is wrong with it, or neither.

    start and end are offsets in the text that it was read from. An item with neither number nor fault is
    plain writing.
    """

    start: int
    end: int
    first: int = -1
    last: int = -1
    fault: str = ""

    @property
    def plain(self) -> bool:
        """Whether it is neither a label nor something that looks like one."""
        return self.first < 0 and not self.fault


@dataclass(frozen=True, slots=True, eq=False)
class Grammar:
    """The patterns of one prefix; get it from `grammar(prefix)`."""

    prefix: str
    zero_padded: bool
    mark: re.Pattern[str]
    name: re.Pattern[str]
    item: re.Pattern[str]
    number: re.Pattern[str]
    hint: re.Pattern[str]
    nearly: re.Pattern[str]
    group: re.Pattern[str]
    more: re.Pattern[str]
    begun: re.Pattern[str]

    def is_group(self, text: str) -> bool:
        """Tell whether a text is nothing but labels and separators, as in `S1, S2`."""
        return self.group.fullmatch(text) is not None

    def items(self, body: str, at: int) -> list[Item]:
        """Read what stands between two brackets, which begins at offset `at`; no items for plain writing."""
        return [
            Item(at + item.start, at + item.end, item.first, item.last, item.fault)
            for item in _items(self, body)
        ]

    def _read(self, text: str, folded: str, at: int, *, after: bool) -> list[Item]:
        match = self.item.fullmatch(text) or (self.number.fullmatch(text) if after else None)
        if match is not None:
            return [self._numbered(match, at)]
        words = list(re.finditer(r"\S+", text))
        several = [self.item.fullmatch(word[0]) for word in words] if len(words) > 1 else []
        if several and all(several):
            pairs = zip(several, words, strict=True)
            return [self._numbered(one, at + word.start()) for one, word in pairs if one]
        end = at + len(text)
        seen = _visible(folded)
        if not self.nearly.search(seen):
            return [Item(at, end)]
        if len(seen) < len(folded) and self.item.fullmatch(seen):
            return [Item(at, end, fault=HIDDEN)]
        if self.item.fullmatch(folded):
            return [Item(at, end, fault="digits or letters that are not ASCII")]
        if re.search(rf"[0-9]{{{DIGITS + 1},}}", folded):
            return [Item(at, end, fault=f"more than {DIGITS} digits")]
        return [Item(at, end, fault="more than a label")]

    def _numbered(self, match: re.Match[str], at: int) -> Item:
        start, end = at + match.start(), at + match.end()
        digits = [one for one in match.groups() if one is not None]
        if not self.zero_padded and any(one[0] == "0" and len(one) > 1 for one in digits):
            return Item(start, end, fault="a leading zero")
        first, last = int(digits[0]), int(digits[-1])
        if last < first:
            return Item(start, end, fault="a range that runs backwards")
        if last - first >= RANGE:
            return Item(start, end, fault=f"a range of more than {RANGE} labels")
        return Item(start, end, first, last)


@lru_cache(maxsize=64)
def grammar(prefix: str = "S", zero_padded: bool = False) -> Grammar:
    """Return the patterns for a prefix of 1 to 12 ASCII letters; OptionError for any other one.

    >>> [(item.first, item.last) for item in grammar("S").items("S1, S3-5", 0)]
    [(1, 1), (3, 5)]
    """
    if not isinstance(prefix, str) or not re.fullmatch(r"[A-Za-z]{1,12}", prefix):
        raise OptionError(
            f"citations: the prefix has 1 to 12 ASCII letters, got {quote(prefix)}",
            name="prefix", given=prefix,
        )
    # Written out instead of IGNORECASE, which would take the long s and the Kelvin sign for letters, too.
    letters = "".join(f"[{sign.upper()}{sign.lower()}]" for sign in prefix)
    start = rf"(?:{letters}{_SPACE}{{0,3}}|[Ss]ource[ _]?)"
    number = rf"[0-9]{{1,{DIGITS}}}{_END}"
    label = start + number
    joint = rf"{_SPACE}{{0,3}}(?:{_SEPARATOR}|{_DASH}){_SPACE}{{0,3}}"
    following = rf"{joint}(?:{label}|[0-9]{{1,3}}{_END})"
    listed = rf"{label}(?:{following}){{0,{MOST}}}+"
    inside = rf"[^{_OPEN}{_CLOSE}{STOP}]"
    many = BODY + 1 - LONG_LABEL - len(prefix)
    mark = (
        rf"[{_OPEN}(（](?:"
        rf"(?<=[(（])\s{{0,3}}(?P<paren>{listed})(?:\s{{0,3}}(?P<shut>[)）]))?+"
        rf"|(?<=\[)(?P<one>{letters}[1-9][0-9]{{0,{DIGITS - 1}}})\](?!\()"
        rf"|(?<=\[)\[(?P<double>{inside}{{1,{BODY}}}+)\]\](?P<far>\({TARGET}*+\))?"
        rf"|(?<![(（])(?P<body>{inside}{{1,{BODY}}}+)(?P<close>[{_CLOSE}])(?P<link>(?<=\])\({TARGET}*+\))?"
        rf"|(?<![(（])(?P<cut>{_SPACE}{{0,3}}{listed})"
        # Digits past what brackets may hold: no more of them is read, so that a stream need not wait.
        rf"|(?<![(（])(?P<long>{_SPACE}{{0,3}}{letters}{_SPACE}{{0,3}}[-_#:=]?{_SPACE}{{0,3}}\d{{{many}}}))"
    )
    range_end = rf"(?:\s*+{_DASH}\s*+(?:{start})?([0-9]{{1,{DIGITS}}}))?"
    dagger = r"(?:\s*+†[^,;，；、､،؛&/|+]*+)?"
    return Grammar(
        prefix,
        zero_padded,
        mark=re.compile(mark),
        name=re.compile(rf"(?<![0-9A-Za-z_<>/.@#{BLANK}-])[Ss]ource_([0-9]{{1,{DIGITS}}}){_END}(?!\.[0-9A-Za-z_{BLANK}]|[-/=(\[{BLANK}])"),
        item=re.compile(rf"{start}([0-9]{{1,{DIGITS}}}){range_end}{dagger}"),
        # A bare number counts only after a label, and not with four digits: [S1, 1998] names a year.
        number=re.compile(rf"([0-9]{{1,3}}){range_end}{dagger}"),
        hint=re.compile(rf"(?:{letters}|[Ss]ource){_SPACE}*+[-_#:=]?{_SPACE}*+[0-9]"),
        nearly=re.compile(
            rf"\A{letters}[0-9]++{_END}"
            rf"|(?<![0-9A-Za-z_]){prefix}{_SPACE}{{0,3}}[-_#:=]?{_SPACE}{{0,3}}[0-9]++{_END}"
        ),
        group=re.compile(rf"\s*+{listed}\s*+"),
        more=re.compile(following),
        # What a mark in round brackets may begin with: words of labels, the last of them perhaps not whole.
        begun=re.compile(
            rf"[(（]\s{{0,3}}(?=[{prefix[0].upper()}{prefix[0].lower()}Ss]|\Z)(?:(?:{letters}|[Ss]ource_?|and)?{_SPACE}{{0,3}}(?:[0-9]{{1,{DIGITS}}}|{_SEPARATOR}|{_DASH})"
            rf"|{_SPACE})*+(?:{_beginnings(prefix)}|[Ss](?:o(?:u(?:r(?:c(?:e_?)?)?)?)?)?|an?d?|)\s*+\Z"
        ),
    )


def _beginnings(prefix: str) -> str:
    """Return a pattern of the beginnings of a prefix in small and capital letters, the longest first."""
    pattern = ""
    for sign in reversed(prefix):
        pattern = f"[{sign.upper()}{sign.lower()}]" + (f"(?:{pattern})?" if pattern else "")
    return pattern


@lru_cache(maxsize=2048)  # an answer cites the same few groups again and again
def _items(rules: Grammar, body: str) -> tuple[Item, ...]:
    match = rules.item.fullmatch(body)
    if match is not None:
        return (rules._numbered(match, 0),)
    folded = body if body.isascii() else _fold(body)
    seen = _visible(folded)
    if not rules.hint.search(seen):
        return (Item(0, len(body), fault="no number"),) if seen.strip(_TRIM) == rules.prefix else ()
    read: list[Item] = []
    labelled = pointed = False
    for start, end in _pieces(body):
        lead = len(body[start:end]) - len(body[start:end].lstrip(_TRIM))
        text = body[start:end].strip(_TRIM)
        if not text:
            continue
        start += lead
        new = rules._read(text, folded[start:start + len(text)], start, after=labelled)
        if not (pointed and new[0].plain):  # what follows a dagger is a place in the source, not an item
            read.extend(new)
        labelled = labelled or new[0].first >= 0
        pointed = pointed or "†" in text
    if all(item.plain for item in read):
        return ()
    return tuple(Item(item.start, item.end, fault="not a label") if item.plain else item for item in read)


def _pieces(body: str) -> list[tuple[int, int]]:
    ends = [match.span() for match in re.finditer(_SEPARATOR, body)]
    starts = [0, *(end for _, end in ends)]
    return list(zip(starts, [*(start for start, _ in ends), len(body)], strict=True))


def _visible(text: str) -> str:
    return text if text.isascii() else re.sub(INVISIBLE, "", text)


def _fold(text: str) -> str:
    """Return the text as a forgiving reader sees it, one character for one: ASCII digits, letters, dashes."""
    return "".join(_plain(sign) for sign in text)


@lru_cache(maxsize=4096)
def _plain(sign: str) -> str:
    value = unicodedata.digit(sign, None)
    if value is not None:
        return str(value)
    plain = unicodedata.normalize("NFKC", sign)
    return plain if len(plain) == 1 else sign
