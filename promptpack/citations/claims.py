"""The sentences of an answer: which of them are claims, and which citations belong to which.

The marks are taken out first, so that `days.[S1] It` and `days [S1]. It` both split where a reader would;
then the answer is cut into blocks (paragraphs, list items, headings, table rows, code), and the blocks into
sentences. No claims are: headings (also a line that is all bold), questions, refusals, code, the head of a
table, and a line that ends in a colon before a list, a table or code. A list marker is not part of its
sentence.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from promptpack.citations.refusals import Refusals
from promptpack.packing.sentences import spans
from promptpack.quick import maker

Span = tuple[int, int]
_CODE = "\x00"  # stands for a block of code
_CLOSING = ".,;:!?)]}。，、；：！？）】”’»\"'"
_SPECIAL = frozenset("#-*+•>|=_0123456789" + _CODE)


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence, by its offsets in the answer; what it is: claim, refusal, question, heading or lead."""

    start: int
    end: int
    kind: str

    @property
    def claim(self) -> bool:
        """Whether it states something, so that it should cite a source."""
        return self.kind == "claim"


_sentence = maker(Sentence)


class _Block(NamedTuple):  # made for every line, so it has to be cheap
    start: int
    end: int
    kind: str = "text"  # text, item (of a list), heading, row, code


def sentences_of(
    answer: str, marks: Sequence[Span], code: Iterable[Span]
) -> tuple[list[Sentence], list[int]]:
    """Return the sentences of an answer, and for each mark the index of its sentence (-1: there is none).

    marks: the spans of the citations, in order, not overlapping. code: the spans of fenced blocks. A mark
    belongs to the sentence that it stands in or right after; one that opens a line, to the one that follows.

    >>> found, owners = sentences_of("It is 30 days. [S1] Is it free?", [(15, 19)], [])
    >>> [one.kind for one in found], owners
    (['claim', 'question'], [0])
    """
    plain = _Plain(answer, marks, code)
    text = plain.text
    found: list[Sentence] = []
    places: list[Span] = []
    blocks = _blocks(text)
    refusals = Refusals.of(text)
    for block, inner in zip(blocks, _split(text, blocks), strict=True):
        for start, end in inner:
            places.append((start, end))
            found.append(_sentence(*plain.original(start, end), _kind(text[start:end], block.kind, refusals)))
    for index, following in _leads(blocks, places):
        if text[following - 1] in ":：" and found[index].claim:
            found[index] = Sentence(found[index].start, found[index].end, "lead")
    return found, _owners(text, places, plain.places)


class _Plain:
    """The answer without its marks and with a sign for each block of code; offsets lead back."""

    def __init__(self, answer: str, marks: Sequence[Span], code: Iterable[Span]) -> None:
        self.places: list[int] = []  # where each mark was
        self._here: list[int] = []
        self._there: list[int] = []
        pieces: list[str] = []
        length = at = 0
        blocks = set(code)
        for start, end in sorted([*marks, *blocks]) if blocks else marks:
            piece = answer[at:start]
            is_code = (start, end) in blocks
            if not is_code and piece[-1:] in " \t" and (end == len(answer) or _closes(answer[end])):
                piece = piece.rstrip(" \t")
            if piece or is_code:
                self._here.append(length)
                self._there.append(at)
                pieces.append(piece)
                length += len(piece)
            if is_code:
                self._here.append(length)
                self._there.append(start)
                pieces.append(_CODE)
                length += 1
            else:
                self.places.append(length)
            at = end
        self._here.append(length)
        self._there.append(at)
        pieces.append(answer[at:])
        self.text = "".join(pieces)

    def original(self, start: int, end: int) -> Span:
        """Return the span in the answer of a span (not empty) in the plain text."""
        return self._at(start), self._at(end - 1) + 1

    def _at(self, place: int) -> int:
        piece = bisect_right(self._here, place) - 1
        return self._there[piece] + place - self._here[piece]


def _closes(sign: str) -> bool:
    return sign.isspace() or sign in _CLOSING


def _blocks(text: str) -> list[_Block]:
    patterns = _patterns()
    blocks: list[_Block] = []
    joined = -1  # where the next line would have to start to continue the last block
    for line in patterns["line"].finditer(text):
        start, end = line.span()
        follows = start == joined
        joined = end + 1
        kind, at = ("text", start) if text[start + len(line[1])] not in _SPECIAL else _line(text, line)
        if kind == "ruler":
            if blocks and follows and _titled(text, blocks[-1]):
                blocks[-1] = _Block(blocks[-1].start, blocks[-1].end, "heading")
            joined = -1
        elif kind == "divider":
            if blocks and follows and blocks[-1].kind == "row":
                blocks[-1] = _Block(blocks[-1].start, blocks[-1].end, "heading")
        elif kind == "text" and follows and blocks and blocks[-1].kind in ("text", "item"):
            blocks[-1] = _Block(blocks[-1].start, end, blocks[-1].kind)
        elif at < end:
            blocks.append(_Block(at, end, kind))
    return [_Block(b.start, b.end, "heading") if _bold(text, b) else b for b in blocks]


def _line(text: str, line: re.Match[str]) -> tuple[str, int]:
    """Return the kind of a line that begins with a special sign, and where its text begins."""
    patterns = _patterns()
    if text[line.start():line.end()].strip() == _CODE:
        return "code", line.start()
    for kind in ("heading", "ruler", "divider", "row", "item"):
        match = patterns[kind].match(text, line.start(), line.end())
        if match:
            return kind, match.end() if kind in ("item", "heading") else line.start()
    return "text", line.start()


def _titled(text: str, block: _Block) -> bool:
    """Tell whether a block can be a heading that the line under it marks: one line, no end of a sentence."""
    piece = text[block.start:block.end]
    ended = piece.rstrip(" \t\r*_\"”")[-1:] in tuple(".!?。！？")
    return block.kind == "text" and "\n" not in piece and not ended


def _bold(text: str, block: _Block) -> bool:
    return (
        block.kind in ("text", "item")
        and text[block.start:block.start + 2] in ("**", "__")
        and _patterns()["bold"].fullmatch(text, block.start, block.end) is not None
    )


def _split(text: str, blocks: list[_Block]) -> list[list[Span]]:
    """Return the sentences of each block; all blocks that need splitting go through one call."""
    patterns = _patterns()
    whole: list[list[Span]] = []
    starts: list[int] = []
    chosen: list[int] = []
    pieces: list[str] = []
    length = 0
    for index, block in enumerate(blocks):
        if block.kind == "code":
            whole.append([])
        elif block.kind in ("heading", "row") or not patterns["ends"].search(text, block.start, block.end):
            whole.append(_trimmed(text, block))
        else:
            whole.append([])
            chosen.append(index)
            starts.append(length)
            # A line break inside a paragraph is a blank; a blank line always ends a sentence.
            pieces.append(text[block.start:block.end].replace("\n", " "))
            length += block.end - block.start + 2
    place = 0
    for start, end in spans("\n\n".join(pieces)) if pieces else ():
        while place + 1 < len(starts) and starts[place + 1] <= start:
            place += 1
        block = blocks[chosen[place]]
        shift = block.start - starts[place]
        if patterns["word"].search(text, start + shift, end + shift):
            whole[chosen[place]].append((start + shift, end + shift))
    return whole


def _trimmed(text: str, block: _Block) -> list[Span]:
    word = _patterns()["word"].search(text, block.start, block.end)
    if word is None:
        return []
    piece = text[block.start:block.end]
    edges = " \t\r\n|" if block.kind in ("row", "heading") else None
    start = block.start + len(piece) - len(piece.lstrip(edges))
    return [(start, block.start + len(piece.rstrip(edges)))]


def _kind(sentence: str, block: str, refusals: Refusals) -> str:
    if block == "heading":
        return "heading"
    if sentence.rstrip(" \t\r\n*_\"'”’»)）」』")[-1:] in ("?", "？", "؟", "⁇"):
        return "question"
    return "refusal" if refusals.holds(sentence) else "claim"


def _leads(blocks: list[_Block], places: list[Span]) -> Iterable[tuple[int, int]]:
    """Yield the last sentence of every block that a list, a table or code follows: its index and its end."""
    index = -1
    for block, following in pairwise(blocks):
        while index + 1 < len(places) and places[index + 1][0] < block.end:
            index += 1
        if following.kind in ("item", "row", "code") and index >= 0 and places[index][0] >= block.start:
            yield index, places[index][1]


def _owners(text: str, places: list[Span], marks: list[int]) -> list[int]:
    owners = []
    last, newline = -1, -1
    for mark in marks:
        while last + 1 < len(places) and places[last + 1][0] < mark:
            last += 1
        owner = last
        if last + 1 < len(places) and (last < 0 or mark > places[last][1]):
            if newline < mark:  # looked for once for all the marks before it
                newline = text.find("\n", mark)
                newline = len(text) if newline < 0 else newline
            if last < 0 or newline >= places[last + 1][0]:
                owner = last + 1
        owners.append(owner)
    return owners


@lru_cache(maxsize=1)
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        "line": re.compile(r"^([^\S\n]*+)[^\s][^\n]*+", re.MULTILINE),
        "heading": re.compile(r"[ \t>]*+#{1,6}(?=\s|$)[ \t]*+"),
        "ruler": re.compile(r"[ \t>]*+(?:=++|(?:-[ \t]*+){2,}|(?:\*[ \t]*+){3,}|(?:_[ \t]*+){3,})\s*$"),
        "divider": re.compile(r"[ \t>]*+(?=[^\n]*-)\|?[ \t:|-]++$"),
        "row": re.compile(r"[ \t>]*+\|(?=[^\n]*\|)"),
        "item": re.compile(
            r"[ \t>]*+(?:[-*+•]|[0-9]{1,9}[.)])[ \t]++(?:\[[ xX]\][ \t]++)?+|[ \t]*+>[ \t>]*+"
        ),
        "bold": re.compile(
            r"(?P<sign>\*\*|__)(?:(?!(?P=sign))[^\n])*+(?<![.!?。！？])(?P=sign)[ \t]*+[:：]?\s*+"
        ),
        "ends": re.compile(r"[.!?…．。！？｡؟۔।॥։።፧។៕\f\u2029\u0e00-\u0eff]"),
        "word": re.compile(r"\w"),
    }
