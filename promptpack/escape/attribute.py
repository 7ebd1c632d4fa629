"""Escape the value of an attribute: one line, between double quotes, decoded by any HTML reader."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator
from datetime import date, time
from decimal import Decimal
from functools import lru_cache
from numbers import Integral, Real

from promptpack.errors import OptionError, SourceError, quote
from promptpack.escape.escaped import Change, Edit, Escaped, EscapedAttribute, apply, unescape_edits
from promptpack.escape.find import find
from promptpack.escape.fold import BRACKETS, BRACKETS_CLOSE, WEAK_ANGLES, fold
from promptpack.escape.hidden import REPLACEMENT, hidden_runs
from promptpack.escape.rules import Rules
from promptpack.escape.shapes import shapes_for
from promptpack.escape.text import merged, replacements

CAP = 512
ELLIPSIS = "\u2026"
# What nearly all values are: words of common scripts and ordinary signs, one blank apart.
_SIGN = (
    r"[!#-%'-;=?-Z\\^-~\xa1-\xac\xae-\u024f\u0400-\u0482\u048a-\u04ff"
    r"\u2013\u2014\u2018-\u201d\u2026\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3]++"
)
_PLAIN = re.compile(f"{_SIGN}(?: {_SIGN})*+")
# Controls of C1 (NEL is white space) and bidirectional controls have no place in a single line.
_NO_PLACE = re.compile("[\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069]+")
_SPACES = re.compile(r"\s+")
_SIGNS = re.compile('["<>\uff02\uff1c\uff1e\ufe64\ufe65\u226e\u226f]')
_OPENED = re.compile(r"\[[ \w/\\|,;~\u2013-]*+")
_MINIMAX = re.compile(r"\]~!?b?")
_QUOTED = {'"': "&quot;", "<": "&lt;", ">": "&gt;", "'": "&#39;", "&": "&amp;"}


def escape_attribute(value: object, rules: Rules, cap: int = CAP) -> EscapedAttribute:
    r"""Make a value fit between double quotes: HTML-decoding the result gives the value, on one line.

    Runs of white space become one blank, ends are trimmed, control and hidden characters become U+FFFD,
    more than `cap` characters (before escaping) end in an ellipsis. Quotes and angle brackets, full-width
    ones too, are always references; "&" is only where a reader would decode it; "[" as in text. Numbers,
    booleans and dates give their text (ISO for dates). This holds at every level, `off` too; `html` encodes
    all of `& < > " '`. Every change is an edit, so `unescape` gives the exact value back.

    Raises SourceError for None (leave the attribute out), nested values, NaN and infinities; OptionError
    for a cap below 1.

    >>> str(escape_attribute('R&D "plans" &lt; [S1]\n 2', Rules()))
    'R&D &quot;plans&quot; &amp;lt; &#91;S1] 2'
    """
    if isinstance(cap, bool) or not isinstance(cap, int) or cap < 1:
        raise OptionError(f"cap: expected a whole number of 1 or more, got {quote(cap)}", name="cap", given=cap)
    if isinstance(value, Escaped):
        if isinstance(value, EscapedAttribute):
            return value
        value = unescape_edits(value)
    text = _text_of(value)
    if is_inert_attribute(text, rules, cap):
        return EscapedAttribute.of(text)
    line, first = apply(text, _single_line(text, cap))
    shown, second = apply(line, _escapes(line, rules))
    return EscapedAttribute.of(shown, _composed(first, second))


def is_inert_attribute(text: str, rules: Rules, cap: int = CAP) -> bool:
    """Tell, quickly, that a text is an attribute's value as it is; False where it has to be looked at closely.

    >>> is_inert_attribute("Returns and refunds", Rules()), is_inert_attribute('The "best"', Rules())
    (True, False)
    """
    return len(text) <= cap and rules.level != "html" and not rules.reserved and _PLAIN.fullmatch(text) is not None


def _text_of(value: object) -> str:
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, date | time):  # a datetime is a date
        return value.isoformat()
    if isinstance(value, Integral):
        number = value if isinstance(value, bool) else int(value)
        if number.bit_length() > 1024:
            raise SourceError("an attribute's value is an integer of more than 300 digits", field="metadata")
        return str(number)
    if isinstance(value, Real | Decimal):
        if not math.isfinite(value):
            raise SourceError(
                f"an attribute's value is not a finite number: {quote(str(value))}", field="metadata"
            )
        return str(value)
    raise SourceError(
        f"an attribute's value must be a text, a number, a boolean or a date, got {quote(value)}",
        field="metadata",
    )


def _single_line(text: str, cap: int) -> list[Change]:
    """White space, hidden text and length: the changes that make one short line."""
    hidden = [(a, b, REPLACEMENT, "hidden") for a, b in hidden_runs(text)]
    hidden = [c for c in hidden if not text[c[0] : c[1]].isspace()]
    no_place = [(m.start(), m.end(), REPLACEMENT, "hidden") for m in _NO_PLACE.finditer(text)]
    hidden = _apart(hidden, no_place)
    changes: list[Change] = []
    last = len(text.rstrip())
    for match in _SPACES.finditer(text):
        start, end = match.span()
        if start == 0 or start >= last:
            changes.append((start, end, "", "space"))
        elif match.group() != " ":
            changes.append((start, end, " ", "space"))
    return _capped(text, _apart(changes, hidden), cap)


def _apart(first: list[Change], second: list[Change]) -> list[Change]:
    """Both lists in order; what overlaps an earlier change is shortened to the part behind it."""
    if not first or not second:
        return first or second
    out: list[Change] = []
    done = 0
    for start, end, sign, kind in sorted(first + second, key=lambda c: (c[0], -c[1])):
        if end > done:
            out.append((max(start, done), end, sign, kind))
            done = end
    return out


def _capped(text: str, changes: list[Change], cap: int) -> list[Change]:
    length = len(text) + sum(len(out) - (end - start) for start, end, out, _ in changes)
    if length <= cap:
        return changes
    room, position, kept = cap - 1, 0, 0
    for start, end, out, _ in changes:
        used = start - position + len(out)
        if used > room:
            break
        room -= used
        position, kept = end, kept + 1
    limit = changes[kept][0] if kept < len(changes) else len(text)
    cut = _before_cluster(text, position, min(position + room, limit))
    if cut > position and text[cut - 1] == " ":
        cut -= 1
    return [*changes[:kept], (cut, len(text), ELLIPSIS, "cut")]


def _before_cluster(text: str, low: int, cut: int) -> int:
    """Move a cut back from inside a character that is written with several code points."""
    for _ in range(32):
        if not low < cut < len(text):
            break
        after = text[cut]
        joined = "\u200d" in (after, text[cut - 1])
        if not joined and unicodedata.category(after) not in ("Mn", "Me", "Mc"):
            break
        cut -= 1
    return cut


def _escapes(line: str, rules: Rules) -> list[Change]:
    if rules.level == "html":
        every = [(m.start(), m.end(), _QUOTED[m[0]], "markup") for m in re.finditer("[&<>\"']", line)]
    else:
        every = [
            (m.start(), m.end(), _QUOTED.get(m[0]) or f"&#{ord(m[0])};", "quote")
            for m in _SIGNS.finditer(line)
        ]
        every += [(p + 1, p + 1, "amp;", "reference") for p in _decodable(line)]
        every.sort()
    hits = find(line, shapes_for(rules), rules.labels, references=False)
    return merged(every, merged(replacements(line, hits), _cut_off(line)))


def _cut_off(line: str) -> list[Change]:
    """Replace the last bracket or angle where the end of the value cuts off what it opens.

    What a template writes behind a value is not known here, and `]` or `|` may complete a label or a marker.
    """
    if line and line[-1] in WEAK_ANGLES:
        return [(len(line) - 1, len(line), f"&#{ord(line[-1])};", "end")]
    at = max(line.rfind(char) for char in BRACKETS)
    if at >= 0 and _OPENED.fullmatch(fold(line[at:])):
        return [(at, at + 1, f"&#{ord(line[at])};", "end")]
    at = max(line.rfind(char) for char in BRACKETS_CLOSE)
    if at >= 0 and _MINIMAX.fullmatch(fold(line[at:])):
        return [(at, at + 1, f"&#{ord(line[at])};", "end")]
    return []


def _decodable(line: str) -> Iterator[int]:
    """The places of every "&" that an HTML reader would decode, and of those that stand for an opener."""
    if "&" not in line:
        return
    for match in _ampersand().finditer(line):
        name = match["name"]
        if name is None or name + ";" in _names() or any(name.startswith(n) for n in _bare_names()[name[0]]):
            yield match.start()


@lru_cache(maxsize=1)
def _ampersand() -> re.Pattern[str]:
    return re.compile(r"&(?:#(?:[0-9]|[xX][0-9a-fA-F])|(?P<name>[A-Za-z][A-Za-z0-9]{0,31}))")


@lru_cache(maxsize=1)
def _names() -> frozenset[str]:
    from html.entities import html5

    return frozenset(html5)


@lru_cache(maxsize=1)
def _bare_names() -> dict[str, list[str]]:
    import string

    names: dict[str, list[str]] = {c: [] for c in string.ascii_letters}
    for name in sorted(n for n in _names() if not n.endswith(";")):
        names[name[0]].append(name)
    return names


def _composed(first: tuple[Edit, ...], second: tuple[Edit, ...]) -> tuple[Edit, ...]:
    """One list of edits from two in a row that never touch the same character."""
    if not second:
        return first
    if not first:
        return second
    out: list[Edit] = []
    i = j = 0
    out_shift = src_shift = 0  # from the middle text to the result, and to the source
    while i < len(first) or j < len(second):
        if j == len(second) or (i < len(first) and first[i].out_start <= second[j].src_start):
            edit = first[i]
            start, end = edit.out_start + out_shift, edit.out_end + out_shift
            out.append(Edit(edit.kind, start, end, edit.src_start, edit.src_end, edit.source))
            src_shift = edit.src_end - edit.out_end
            i += 1
        else:
            edit = second[j]
            start, end = edit.src_start + src_shift, edit.src_end + src_shift
            out.append(Edit(edit.kind, edit.out_start, edit.out_end, start, end, edit.source))
            out_shift = edit.out_end - edit.src_end
            j += 1
    return tuple(out)
