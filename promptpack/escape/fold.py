"""Fold a text to what a forgiving reader sees: look-alikes become ASCII, invisible characters vanish.

Folded text is only ever matched against, never sent. White space other than ASCII becomes a blank,
foreign digits become ASCII digits, letters lose their marks, and ligatures are spelled out
(Unicode NFKD). Nothing here is computed at import: a character is folded when it is first seen.
"""

from __future__ import annotations

import unicodedata

# Brackets that Unicode normalization, or a reader, takes for the ASCII one. U+226E is "<" with a bar.
ANGLES = "<\uff1c\ufe64\u226e"
# Angle-like brackets of mathematics and quotation; U+E000 is the sign that they fold to.
WEAK_ANGLES = "\ue000\u2039\u27e8\u3008\u2329\u276e\u2770\u29fc\u02c2\u1438\u227a"
ANGLES_CLOSE = "\uff1e\ufe65\u226f\u203a\u27e9\u3009\u232a\u276f\u2771\u29fd\u02c3\u1433\u227b"
BRACKETS = "[\uff3b\ufe47\u3010"
BRACKETS_CLOSE = "]\uff3d\ufe48\u3011"
WEAK = "\ue000"
# Stands in a spelled-out character for a sign that may stand in a marker but ends a name.
FILLER = "\ue001"

_SLASHES = "\u2044\u2215\u29f8\u29f5\uff0f\uff3c\ufe68\u2571"
_BARS = "\uff5c\u2502\u2758\u01c0\u2223\u00a6\uffe8"
_HYPHENS = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
_UNDERS = "\u203f\u2040\u2054\ufe33\ufe34\ufe4d\ufe4e\ufe4f\uff3f\u02cd"
# Letters of other scripts and small capitals; upper case is derived. Earlier entries win.
_LETTERS = (
    ("a", "\u0430\u03b1\u0251\u1d00"), ("b", "\u042c\u0184\u0412\u0392\u0299"), ("c", "\u0441\u03f2\u1d04"),
    ("d", "\u0501\u1d05"), ("e", "\u0435\u0454\u03b5\u1d07\u04bd"), ("f", "\u0493\ua730"),
    ("g", "\u0261\u0581\u0262"), ("i", "\u0456\u03b9\u0131\u026a"), ("j", "\u0458\u03f3\u1d0a"),
    ("m", "\u043c\u1d0d\u039c"), ("n", "\u03b7\u0578\u0274"), ("h", "\u04bb\u0570\u043d\u029c"),
    ("k", "\u03ba\u043a\u1d0b"), ("l", "\u04cf\u0269\u029f"),
    ("o", "\u043e\u03bf\u0585\u1d0f\u0ed0\u0ae6"), ("p", "\u0440\u03c1\u1d18"), ("q", "\u051b\u0566"),
    ("r", "\u0433\u1d26\u0280"), ("s", "\u0455\ua731\u13da"), ("t", "\u0442\u03c4\u1d1b"),
    ("u", "\u03c5\u057d\u1d1c\u0446"), ("v", "\u03bd\u0475\u1d20"), ("w", "\u051d\u03c9\u1d21\u0461"),
    ("x", "\u0445\u03c7"), ("y", "\u0443\u03b3\u04af\u028f"), ("z", "\u1d22"),
)
_UNSEEN = {0x034F, 0x115F, 0x1160, 0x3164, 0xFFA0, 0xFFFD, 0x17B4, 0x17B5}

# Blocks whose characters fold to themselves or to others of their script, never to ASCII or to nothing:
# text in these scripts needs no closer look. A test checks every character of them.
PLAIN_BLOCKS = (
    "\u05d0-\u05ea\u0621-\u064a\u0e01-\u0e30\u3001\u3002\u300a-\u300f\u3041-\u3096\u30a1-\u30fa"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
)
_CACHE_LIMIT = 1 << 16


def _specials() -> dict[str, str]:
    table = dict.fromkeys(ANGLES[1:], "<") | dict.fromkeys(WEAK_ANGLES, WEAK)
    table |= dict.fromkeys(ANGLES_CLOSE, ">") | dict.fromkeys(BRACKETS[1:], "[")
    table |= dict.fromkeys(BRACKETS_CLOSE[1:], "]") | dict.fromkeys(_SLASHES, "/")
    table |= dict.fromkeys(_BARS, "|") | dict.fromkeys(_HYPHENS, "-") | dict.fromkeys(_UNDERS, "_")
    for letter, alike in _LETTERS:
        for char in alike:
            table.setdefault(char, letter)
    for letter, alike in _LETTERS:
        for char in alike:
            if len(char.upper()) == 1:
                table.setdefault(char.upper(), letter.upper())
    return table


class _Folding(dict[int, str]):
    """The table for `str.translate`, filled as characters are seen; bounded."""

    def __init__(self) -> None:
        super().__init__()
        self.special = _specials()

    def __missing__(self, point: int) -> str:
        folded = self._fold(chr(point))
        if len(self) < _CACHE_LIMIT:
            self[point] = folded
        return folded

    def _fold(self, char: str) -> str:
        point = ord(char)
        if point < 0x80:
            return "" if (point < 32 and not 9 <= point <= 13) or point == 127 else char
        if char in self.special:
            return self.special[char]
        category = unicodedata.category(char)
        if point in _UNSEEN or 0xE0000 <= point <= 0xE0FFF:
            return ""
        if category in ("Mn", "Me", "Cf", "Cc", "Cs") and point != 0x85:
            return ""
        if char.isspace():
            return " "
        digit = unicodedata.decimal(char, None)
        if digit is not None:
            return str(digit)
        if 0xAC00 <= point <= 0xD7A3:  # a Hangul syllable stays one character
            return char
        parts = [p for p in unicodedata.normalize("NFKD", char) if not unicodedata.combining(p)]
        parts = [self.special.get(p, p) for p in parts]
        if char.isalnum():
            # U+2474 may stand in a marker, as all word characters may; the brackets of its "(1)" may not.
            parts = [p if p.isalnum() or p in "_ -./:=<>|[]\ue000" else FILLER for p in parts]
        return "".join(parts)


_folding: _Folding | None = None


def _table() -> _Folding:
    # Built on first use: a process that never meets an odd character never pays for it.
    global _folding
    if _folding is None:
        _folding = _Folding()
    return _folding


def fold(text: str) -> str:
    r"""Return `text` as a forgiving reader sees it; linear in its length.

    >>> fold("\uff1c\u2215s\u043eur\u200bce_\u2460>")
    '</source_1>'
    """
    return text.translate(_table())


def seen_before(text: str, position: int) -> str:
    """Return the last visible folded character before `position`, or "" at the start of the text."""
    table = _table()
    while position > 0:
        position -= 1
        folded = table[ord(text[position])]
        if folded:
            return folded[-1]
    return ""
