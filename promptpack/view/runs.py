"""Texts for a page, cut into runs: what reads like a label is marked, what cannot be seen is shown as its code point.

The characters that are shown are listed here and not asked of Python, whose tables grow with each version: a page has
the same bytes everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from promptpack.citations.parse import read_marks

_LABEL = 12  # letters of the longest prefix of labels


class Run(NamedTuple):
    """A piece of a text. kind: text, odd (code points of what cannot be seen), label, or said (reads like a label)."""

    kind: str
    text: str


class Span(NamedTuple):
    """A place in a text that is marked, and how."""

    start: int
    end: int
    kind: str


def runs(text: str, marked: Iterable[Span] = ()) -> list[Run]:
    """Cut a text at its marked spans (in order, without overlap) and at characters that cannot be seen.

    >>> runs("See [S9]\\u202e.", [Span(4, 8, "said")])
    [Run(kind='text', text='See '), Run(kind='said', text='[S9]'), Run(kind='odd', text='U+202E'), \
Run(kind='text', text='.')]
    """
    found: list[Run] = []
    at = 0
    for start, end, kind in marked:
        found += plain(text[at:start])
        found.append(Run(kind, literal(text[start:end])))
        at = end
    found += plain(text[at:])
    return found


def plain(text: str) -> Iterator[Run]:
    """Yield the runs of a text without marks."""
    text = text.replace("\r\n", "\n")  # what a browser makes of it, too
    at = 0
    for match in _odd().finditer(text):
        if match.start() > at:
            yield Run("text", text[at:match.start()])
        yield Run("odd", _points(match[0]))
        at = match.end()
    if at < len(text):
        yield Run("text", text[at:])


def literal(text: str) -> str:
    """Return a text with every character that cannot be seen, or that a page cannot hold, as its code point.

    >>> literal("a\\u202eb\\ud800")
    'a[U+202E]b[U+D800]'
    """
    return _odd().sub(lambda match: f"[{_points(match[0])}]", text.replace("\r\n", "\n"))


def line(text: str, limit: int | None = None) -> str:
    """Return a text as one line, cut to `limit` characters and an ellipsis where it is longer.

    >>> line("one\\ntwo three", 7)
    'one two…'
    """
    # Code points take more room, never less: what lies far behind the limit need not be looked at.
    head = text if limit is None else text[: 4 * limit + 4]
    whole = " ".join(literal(head).split())
    if limit is None or (len(whole) <= limit and len(head) == len(text)):
        return whole
    return whole[:limit].rstrip() + "…"


def said(text: str, prefix: str) -> list[Span]:
    """Return what reads like a citation in a text, once for each place; linear in the length of the text."""
    found: list[Span] = []
    at = 0
    if 0 < len(prefix) <= _LABEL and prefix.isascii() and prefix.isalpha():
        for (start, end), _ in groupby(read_marks(text, prefix=prefix).citations, key=lambda one: (one.start, one.end)):
            if start >= at:
                found.append(Span(start, end, "said"))
                at = end
    return found


def labelled(text: str, labels: Sequence[str], apart: Sequence[tuple[int, int]]) -> list[Span]:
    """Return where labels stand in a message, outside of the spans `apart` (in order), which hold passages."""
    known = frozenset(labels)
    spans = iter([*apart, (len(text), len(text))])
    start, end = next(spans)
    found: list[Span] = []
    for match in _word().finditer(text):
        while match.start() >= end < len(text):
            start, end = next(spans)
        if match[0] in known and not start <= match.start() < end:
            found.append(Span(match.start(), match.end(), "label"))
    return found


def _points(text: str) -> str:
    """Return code points, each with how often it follows itself."""
    told = []
    for char, same in groupby(text):
        times = sum(1 for _ in same)
        told.append(f"U+{ord(char):04X}" + (f" ×{times:,}" if times > 1 else ""))
    return " ".join(told)


@lru_cache(maxsize=1)
def _word() -> re.Pattern[str]:
    # An opener that was escaped makes no label.
    return re.compile(r"(?<![0-9A-Za-z_])(?<!&#91;)[A-Za-z]{1,12}[0-9]{1,4}(?![0-9A-Za-z_])")


@lru_cache(maxsize=1)
def _odd() -> re.Pattern[str]:
    # Controls but tab and line feed; what turns the direction of writing, is invisible alone, or is no character; not
    # the joiners that words and emoji need. The last plane of code points has tags that hide text.
    return re.compile(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e"
        "\u2060-\u206f\u3164\ud800-\udfff\ufdd0-\ufdef\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U000e0000-\U000e00ff"
        "\U000e01f0-\U000e0fff]+|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2,}"
    )
