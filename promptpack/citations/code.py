"""The parts of an answer that cite nothing: code, addresses and the attributes of HTML tags.

They are blanked out before citations are read, so that the reader of citations knows nothing of Markdown.
Fenced blocks come first, as in CommonMark; then code spans, tags, link targets and addresses, from left to
right. Everything is linear: where a part has no end, that is remembered and not searched for again.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import lru_cache

BLANK = "\x00"  # stands for every character that is blanked out

Span = tuple[int, int]
_HINTS = ("`", "<", "://", "www.", "](")


def fences(text: str) -> list[Span]:
    """Return the spans of fenced code blocks, whole lines; one that is never closed runs to the end.

    A fence is three or more backticks or tildes at the start of a line (after list and quote marks); it is
    closed by the same sign, at least as often. Indented code without a fence is taken for text, since models
    indent the paragraphs of lists in the same way.

    >>> fences("a\\n```\\n[S1]\\n```\\nb")
    [(2, 14)]
    """
    if "```" not in text and "~~~" not in text:
        return []
    found: list[Span] = []
    start, sign = -1, ""
    for match in _patterns()["fence"].finditer(text):
        marks, rest = match["marks"], match["rest"]
        if start < 0:
            if marks[0] == "~" or "`" not in rest:
                start, sign = match.start(), marks
        elif marks.startswith(sign) and not match["lead"] and not rest.strip():
            found.append((start, match.end()))
            start = -1
    if start >= 0:
        found.append((start, len(text)))
    return found


def blanked(text: str, blocks: list[Span], keep: Callable[[str], bool]) -> str:
    """Return the text, of the same length, with code, addresses, link targets and attributes blanked out.

    blocks: the fenced blocks, as `fences` gives them. keep: tells whether the target of a link has to stay,
    which is so where it is itself a list of labels.

    >>> blanked("`x[S1]` [S2](http://a.b/c)", [], lambda target: False).replace(BLANK, ".")
    '....... [S2](............)'
    """
    if not blocks and not any(hint in text for hint in _HINTS):
        return text
    pieces = []
    at = 0
    for start, end in _protected(text, blocks, keep):
        pieces.append(text[at:start])
        pieces.append(BLANK * (end - start))
        at = end
    pieces.append(text[at:])
    return "".join(pieces)


def _protected(text: str, blocks: list[Span], keep: Callable[[str], bool]) -> Iterator[Span]:
    """Yield the protected spans in order, without overlaps."""
    at = 0
    for block in [*blocks, (len(text), len(text))]:
        yield from _inline(text, at, block[0], keep)
        if block[0] < block[1]:
            yield block
        at = block[1]


def _inline(text: str, at: int, end: int, keep: Callable[[str], bool]) -> Iterator[Span]:
    patterns = _patterns()
    ticks = _Ticks(text, at, end)
    tags = _Tags(text, end)
    while (match := patterns["start"].search(text, at, end)) is not None:
        first, at = match.start(), match.end()
        kind = match.group()
        if kind[0] == "`":
            close = ticks.close(first, len(kind))
            if close:
                yield first, close
                at = close
        elif kind[0] == "<":
            span = tags.span(first)
            if span:
                yield span
                at = span[1]
        elif kind == "](":
            target = patterns["target"].match(text, at, end)
            if target and not keep(target["inside"]):
                yield target.span("inside")
                at = target.end("inside")
        elif kind[0] != "\\":
            at = _address_end(text, first, end)
            yield first, at


class _Ticks:
    """Finds the end of code spans: the next run of as many backticks, in the same paragraph."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self._runs: dict[int, list[int]] = {}
        self._breaks: list[int] = []
        if text.find("`", start, end) >= 0:
            for run in re.finditer("`+", text[start:end]):
                self._runs.setdefault(run.end() - run.start(), []).append(start + run.start())
            self._breaks = [start + gap.start() for gap in re.finditer(r"\n[ \t\r]*\n", text[start:end])]
        self._breaks.append(end)

    def close(self, first: int, length: int) -> int:
        """Return where the span that opens at `first` ends, or 0 where the backticks are plain text."""
        places = self._runs.get(length, [])
        index = bisect_right(places, first)
        limit = self._breaks[min(bisect_right(self._breaks, first), len(self._breaks) - 1)]
        return places[index] + length if index < len(places) and places[index] < limit else 0


class _Tags:
    """Finds what to blank at a `<`: an address, the attributes of a tag, or what a code element holds."""

    def __init__(self, text: str, end: int) -> None:
        self._text, self._end = text, end
        self._dead: set[int] = set()  # places between attributes from which no tag ends
        self._open: set[str] = set()  # quotes and elements that never close any more

    def span(self, first: int) -> Span | None:
        """Return the span to blank for the `<` at `first`, or None."""
        patterns = _patterns()
        address = patterns["autolink"].match(self._text, first, self._end)
        if address:
            return address.span()
        name = patterns["tag"].match(self._text, first, self._end)
        if name is None:
            return None
        end = self._tag_end(name.end())
        if not end:
            return None
        element = name["name"].lower()
        if element in ("code", "pre") and element not in self._open:
            close = patterns[element].search(self._text, end, self._end)
            if close:
                return name.end(), close.start()
            self._open.add(element)
        return (name.end(), end - 1) if end - 1 > name.end() else None

    def _tag_end(self, at: int) -> int:
        patterns = _patterns()
        passed = []
        while at not in self._dead:
            close = patterns["tag_end"].match(self._text, at, self._end)
            if close:
                return close.end()
            passed.append(at)
            attribute = patterns["attribute"].match(self._text, at, self._end)
            if attribute is None:
                break
            at = attribute.end()
            quoted = attribute["quote"]
            if quoted:
                until = -1 if quoted in self._open else self._text.find(quoted, at, self._end)
                if until < 0:
                    self._open.add(quoted)
                    break
                at = until + 1
        self._dead.update(passed)
        return 0


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


@lru_cache(maxsize=1)
def _patterns() -> dict[str, re.Pattern[str]]:
    lead = r"(?P<lead>(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]++)*+)"
    return {
        "fence": re.compile(
            rf"^[ \t>]*+{lead}[ \t>]*+(?P<marks>`{{3,}}+|~{{3,}}+)(?P<rest>[^\n]*+)", re.MULTILINE
        ),
        "start": re.compile(r"\\[\\`]|`+|<[A-Za-z]|\]\(|[Hh][Tt][Tt][Pp][Ss]?://|ftp://|www\.(?=[A-Za-z0-9])"),
        "target": re.compile(
            r"(?P<inside>\s*+(?:<[^<>\n]*+>|[^\s()<]++(?:\([^\s()]*+\)[^\s()]*+)*+)?+"
            r"(?:\s++(?:\"[^\"\n]*+\"|'[^'\n]*+'))?+\s*+)\)"
        ),
        "autolink": re.compile(r"<[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*+>"),
        "tag": re.compile(r"<(?P<name>[A-Za-z][A-Za-z0-9:_-]*+)"),
        "tag_end": re.compile(r"\s*+/?>"),
        "attribute": re.compile(
            r"\s++[A-Za-z_:@][\w:.-]*+(?:\s*+=\s*+(?:(?P<quote>[\"'])|[^\s\"'<>=`]++))?+"
        ),
        "code": re.compile(r"</code\s*+>", re.IGNORECASE),
        "pre": re.compile(r"</pre\s*+>", re.IGNORECASE),
        "address": re.compile(r"[^\s<>\"`()\[\]（）【】［］〖〗〔〕「」『』、。，；！？]++"),
    }
