"""The parts of an answer that cite nothing: code, addresses, comments and the attributes of HTML tags.

They are blanked out before citations are read, so that the reader of citations knows nothing of Markdown.
Fenced blocks come first (`promptpack.citations.fence`); then code spans, tags, link targets and addresses, from left to
right. Everything is linear: where a part has no end, that is remembered and not searched for again.

No part but a fenced block is longer than `REACH` characters, so that a stream has to wait no longer than that
to know what something is.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

BLANK = "\x00"  # stands for every character that is blanked out
TARGET = "\x02"  # the same for the target of a link
STOP = "\x01"  # stands for every character of a fenced block: no mark reaches across one
REACH = 2_000  # characters from where a code span, tag, element, target or address begins to where it ends

Span = tuple[int, int]
_HIDDEN = ("code", "pre", "script", "style")  # elements that show code, or nothing
_HINTS = ("`", "<", "://", "www.", "](")


def blanked(text: str, blocks: list[Span], keep: Callable[[str], bool]) -> str:
    """Return the text, of the same length, with code, addresses, link targets and attributes blanked out.

    blocks: the fenced blocks, as `fences` gives them. keep: tells whether the target of a link has to stay,
    which is so where it is itself a list of labels.

    >>> blanked("`x[S1]` [S2](http://a.b/c)", [], lambda target: False).replace(BLANK, ".").replace(TARGET, "t")
    '....... [S2](tttttttttttt)'
    """
    if not blocks and not any(hint in text for hint in _HINTS):
        return text
    pieces: list[str] = []
    at = 0
    for block in [*blocks, (len(text), len(text))]:
        for start, end, sign in _inline(text, at, block[0], keep, None):
            pieces += (text[at:start], sign * (end - start))
            at = end
        pieces += (text[at:block[0]], STOP * (block[1] - block[0]))
        at = block[1]
    return "".join(pieces)


def blanked_so_far(text: str, keep: Callable[[str], bool]) -> tuple[str, list[int]]:
    """Return a text that may go on as `blanked` does, and where each part begins that is not decided yet.

    The text has no fenced block. A part that is not decided yet is visible, except for an address, which can
    only become longer; more text can hide everything from its beginning on, or leave it as it is.

    >>> blanked_so_far("a `b [S1]", lambda target: False)
    ('a `b [S1]', [2])
    """
    undecided: list[int] = []
    pieces: list[str] = []
    at = 0
    for start, end, sign in _inline(text, 0, len(text), keep, undecided):
        pieces += (text[at:start], sign * (end - start))
        at = end
    return "".join(pieces) + text[at:], undecided


def partial_start(text: str) -> int:
    """Return where a part may begin of which the text holds no more than the first signs; else its length."""
    match = _patterns()["partial"].search(text, max(0, len(text) - 8))
    return match.start() if match else len(text)


def _inline(
    text: str, at: int, end: int, keep: Callable[[str], bool], undecided: list[int] | None
) -> Iterator[tuple[int, int, str]]:
    """Yield the spans to blank of text[at:end], in order, each with the sign to do it with.

    undecided: where parts are noted that may go on after `end`; None: the text is whole.
    """
    patterns = _patterns()
    open_ended = undecided is not None
    ticks = _Ticks(text, at, end, open_ended)
    tags = _Tags(text, end, open_ended)
    while (match := patterns["start"].search(text, at, end)) is not None:
        first, at = match.start(), match.end()
        kind = match.group()
        span: Span | None = None
        waits = False
        if kind[0] == "`":
            close, waits = ticks.close(first, len(kind))
            span = (first, close) if close else None
        elif kind[0] == "<":
            span, waits = tags.span(first)
        elif kind == "](":
            limit = min(end, at + REACH)
            target = patterns["target"].match(text, at, limit)
            if target and not keep(target["inside"]):
                span = target.span("inside")
            waits = target is None and open_ended and limit == end and _target_may_follow(text, at, end)
        elif kind[0] != "\\":
            limit = min(end, first + REACH)
            span = first, _address_end(text, first, limit)
            waits = open_ended and limit == end == span[1]
        if waits and undecided is not None:
            undecided.append(first)
        if span:
            yield *span, TARGET if kind == "](" else BLANK
            at = span[1]


def _target_may_follow(text: str, at: int, end: int) -> bool:
    """Tell whether text[at:end] may be the beginning of the target of a link."""
    match = _partial_target().match(text, at, end, partial=True)
    return match is not None and match.partial


class _Ticks:
    """Finds the end of code spans: the next run of as many backticks, in the same paragraph."""

    def __init__(self, text: str, start: int, end: int, open_ended: bool) -> None:
        self._runs: dict[int, list[int]] = {}
        self._breaks: list[int] = []
        self._end, self._open_ended = end, open_ended
        if text.find("`", start, end) >= 0:
            for run in re.finditer("`+", text[start:end]):
                self._runs.setdefault(run.end() - run.start(), []).append(start + run.start())
            self._breaks = [start + gap.start() for gap in re.finditer(r"\n[ \t\r]*\n", text[start:end])]
        self._breaks.append(end)

    def close(self, first: int, length: int) -> tuple[int, bool]:
        """Return where the span that opens at `first` ends (0: plain text), and whether more text may tell."""
        places = self._runs.get(length, [])
        index = bisect_right(places, first)
        limit = self._breaks[min(bisect_right(self._breaks, first), len(self._breaks) - 1)]
        close = places[index] + length if index < len(places) and places[index] < limit else 0
        if close - first > REACH:
            close = 0
        if self._open_ended and (close == self._end or first + length == self._end):
            return 0, True  # the run of backticks may become longer
        return close, self._open_ended and not close and limit == self._end and self._end - first < REACH


class _Tags:
    """Finds what to blank at a `<`: a comment, an address, the attributes of a tag, or what a code element holds."""

    def __init__(self, text: str, end: int, open_ended: bool) -> None:
        self._text, self._end, self._open_ended = text, end, open_ended
        self._dead: dict[int, bool] = {}  # places between attributes from which no tag ends, and whether one may
        self._open: set[str] = set()  # quotes that never close any more
        self._closes: dict[str, tuple[int, re.Match[str] | None]] = {}  # from where looked for, and the next end

    def span(self, first: int) -> tuple[Span | None, bool]:
        """Return the span to blank for the `<` at `first`, if any, and whether more text may change that."""
        patterns = _patterns()
        near = self._open_ended and self._end - first < REACH
        if self._text.startswith("<!--", first, self._end):
            close = self._close("comment", first + 2)  # `<!-->` is one, too
            whole = close is not None and close.end() - first <= REACH
            return ((first, close.end()) if close and whole else None), near and close is None
        address = patterns["autolink"].match(self._text, first, min(self._end, first + REACH))
        if address:
            return address.span(), False
        if near and patterns["autolink_begun"].match(self._text, first, self._end):
            return None, True
        name = patterns["tag"].match(self._text, first, self._end)
        if name is None:
            return None, False
        end, waits = self._tag_end(name.end())
        if not end or end - first > REACH:
            return None, near and waits
        element, waits = name["name"].lower(), False
        if element in _HIDDEN:
            close = self._close(element, end)
            if close and close.end() - first <= REACH:
                return (name.end(), close.start()), False
            waits = near and close is None
        return ((name.end(), end - 1) if end - 1 > name.end() else None), waits

    def _close(self, element: str, at: int) -> re.Match[str] | None:
        since, known = self._closes.get(element, (-1, None))
        if since < 0 or at < since or (known is not None and known.start() < at):
            since, known = at, _patterns()[element].search(self._text, at, self._end)
            self._closes[element] = since, known
        return known

    def _tag_end(self, at: int) -> tuple[int, bool]:
        """Return where the tag ends whose attributes go on at `at` (0: nowhere), and whether more text may tell."""
        patterns = _patterns()
        passed = []
        waits = False
        while at not in self._dead:
            close = patterns["tag_end"].match(self._text, at, self._end)
            if close:
                return close.end(), False
            passed.append(at)
            attribute = patterns["attribute"].match(self._text, at, self._end)
            if attribute is None:
                waits = patterns["tag_begun"].match(self._text, at, self._end) is not None
                break
            at = attribute.end()
            quoted = attribute["quote"]
            if quoted:
                until = -1 if quoted in self._open else self._text.find(quoted, at, self._end)
                if until < 0:
                    self._open.add(quoted)
                    waits = True
                    break
                at = until + 1
        else:
            waits = self._dead[at]
        self._dead.update(dict.fromkeys(passed, waits))
        return 0, waits


def _address_end(text: str, first: int, end: int) -> int:
    """Return where an address ends: before white space, a quote, or a bracket that opened outside of it."""
    plain = _patterns()["address"]
    depth = {"(": 0, "[": 0}
    at = first
    while True:
        run = plain.match(text, at, end)
        at = run.end() if run else at
        sign = text[at] if at < end else ""
        if sign and sign in "([":
            if text[at - 1] in ".,;:!":  # a full stop or comma, then a bracket: the sentence goes on
                while text[at - 1] in ".,;:!":
                    at -= 1
                return at
            depth[sign] += 1
        elif sign and sign in ")]":
            depth["(" if sign == ")" else "["] -= 1
            if min(depth.values()) < 0:
                return at
        else:
            return at
        at += 1


_TARGET = (
    r"(?P<inside>\s*+(?:<[^<>\n]*+>|[^\s()<]++(?:\([^\s()]*+\)[^\s()]*+)*+)?+"
    r"(?:\s++(?:\"[^\"\n]*+\"|'[^'\n]*+'))?+\s*+)\)"
)


@lru_cache(maxsize=1)
def _patterns() -> dict[str, re.Pattern[str]]:
    letter = r"[A-Za-z][A-Za-z0-9+.-]"
    return {
        "start": re.compile(r"\\[\\`]|`+|<(?:[A-Za-z]|!--)|\]\(|[Hh][Tt][Tt][Pp][Ss]?://|ftp://|www\.(?=[A-Za-z0-9])"),
        "partial": re.compile(
            r"(?:\\|<(?:!-?)?|\]|[Hh](?:[Tt](?:[Tt](?:[Pp](?:[Ss]?(?::/?)?)?)?)?)?|f(?:t(?:p(?::/?)?)?)?|w(?:w(?:w\.?)?)?)\Z"
        ),
        "target": re.compile(_TARGET),
        "autolink": re.compile(rf"<{letter}{{1,31}}:[^\s<>]*+>"),
        "autolink_begun": re.compile(rf"<{letter}{{0,31}}(?::[^\s<>]*+)?\Z"),
        "tag": re.compile(r"<(?P<name>[A-Za-z][A-Za-z0-9:_-]*+)"),
        "tag_end": re.compile(r"\s*+/?>"),
        "tag_begun": re.compile(r"\s*+=?\s*+/?\Z"),
        "attribute": re.compile(
            r"\s++[A-Za-z_:@][\w:.-]*+(?:\s*+=\s*+(?:(?P<quote>[\"'])|[^\s\"'<>=`]++))?+"
        ),
        **{name: re.compile(rf"</{name}\s*+>", re.IGNORECASE) for name in _HIDDEN},
        "comment": re.compile("-->"),
        "address": re.compile(r"[^\s<>\"`()\[\]（）【】［］〖〗〔〕「」『』、。，；！？]++"),
    }


@lru_cache(maxsize=1)
def _partial_target() -> Any:
    import regex  # it alone can say that a text may be the beginning of a match; only streams need it

    return regex.compile(_TARGET)
