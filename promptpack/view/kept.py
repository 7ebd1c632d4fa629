"""What of a source's text was sent, and what was not: for pages that show both."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from promptpack.packing.trim import MARKERS
from promptpack.shown import visible
from promptpack.view.account import count

if TYPE_CHECKING:
    from promptpack.payload import PackedSource


_PIECES = 64  # of a cut text that are looked for
_QUOTED = 6   # stretches of one source whose words are shown
_LENGTH = 60  # characters of each


class Stretch(NamedTuple):
    """A stretch of a source's text: whether it was sent, and where it stands, in characters."""

    sent: bool
    text: str
    start: int
    end: int


def ranges(one: PackedSource) -> tuple[tuple[int, int], ...]:
    """Return where what was sent stands in the source's text; empty where all was sent, or where it cannot be told.

    A selection of spans says it itself; the pieces of a text that was cut are found between its marks. Ranges that are
    not in order, or out of the text, are not believed: a stored payload may have been edited.
    """
    whole = one.source.text
    found = one.ranges or _found(one)
    edges = [edge for pair in found for edge in pair]
    fits = all(0 <= edge <= len(whole) for edge in edges) and all(one <= other for one, other in pairwise(edges))
    return found if fits and found != ((0, len(whole)),) else ()


def _found(one: PackedSource) -> tuple[tuple[int, int], ...]:
    """Return where the pieces of a cut text stand; empty where one is nowhere, or in several places."""
    whole, text, cut = one.source.text, one.text, one.source.cut
    if cut is None or text == whole:
        return ()
    mark = (MARKERS[cut.keep] if cut.marker is None else cut.marker).strip()
    parts = text.split(mark) if mark else [text]
    if len(parts) > _PIECES:
        return ()
    found: list[tuple[int, int]] = []
    at, between = 0, ""  # what was sent since the last piece
    for number, part in enumerate(parts):
        piece = part.strip()
        between += (mark if number else "") + part[:len(part) - len(part.lstrip())]
        if not piece:
            continue
        if number == 0 and whole.startswith(part.rstrip()):  # no mark before it: the start
            start = len(part) - len(part.lstrip())
        elif number == len(parts) - 1 and whole.endswith(part.lstrip()):  # no mark behind it: the end
            start = len(whole) - len(part.lstrip())
        else:
            start = whole.find(piece, at)
            if start < 0 or whole.find(piece, start + 1) >= 0:
                return ()
        end = start + len(piece)
        if found and whole[found[-1][1]:start] == between:  # a sign of the text itself
            start = found.pop()[0]
        found.append((start, end))
        at, between = end, part[len(part.rstrip()):]
    return tuple(found)


def stretches(one: PackedSource) -> list[Stretch]:
    """Return the source's text in stretches that were sent or not, in order; empty where all of it was sent.

    >>> from promptpack import PromptBuilder, Source, Cut
    >>> long = Source("a", "One is here. Two is there. " * 40, cut=Cut(keep="start"))
    >>> sent = PromptBuilder(200, counter="words").add_sources([long]).with_question("Why?").render().sources[0]
    >>> [(piece.sent, piece.start == 0) for piece in stretches(sent)]
    [(True, True), (False, False)]
    """
    whole = one.source.text
    found: list[Stretch] = []
    at = 0
    for start, end in ranges(one):
        found += [Stretch(False, whole[at:start], at, start)] if start > at else []
        found += [Stretch(True, whole[start:end], start, end)] if end > start else []
        at = end
    return [*found, Stretch(False, whole[at:], at, len(whole))] if found and at < len(whole) else found


def sent_part(one: PackedSource) -> str:
    """Say which part of a source was sent, "120-340 of 812"; empty for the whole."""
    if one.text == one.source.text:
        return ""
    found = ranges(one)
    if not found:
        return "not its whole text"
    told = ", ".join(f"{count(start)}-{count(end)}" for start, end in found)
    return f"{told} of {count(len(one.source.text))}"


def quoted(one: PackedSource) -> list[tuple[str, str]]:
    """Return the stretches that were sent, each as where it stands and its first words in quotes, for one line each.

    Empty where the whole was sent. Of more than six the last says how many are left out, with no place.

    >>> from promptpack import PromptBuilder, Source, Cut
    >>> long = Source("a", "One is here. Two is there. " * 40, cut=Cut(keep="start"))
    >>> sent = PromptBuilder(200, counter="words").add_sources([long]).with_question("Why?").render().sources[0]
    >>> [words for _, words in quoted(sent)]
    ['"One is here. Two is there. One is here. Two is there. One…"']
    """
    sent = [piece for piece in stretches(one) if piece.sent]
    told = [(f"{count(piece.start)}-{count(piece.end)}", f'"{first_words(piece.text)}"') for piece in sent[:_QUOTED]]
    return told + ([("", f"and {count(len(sent) - _QUOTED)} more")] if len(sent) > _QUOTED else [])


def first_words(text: str, limit: int = _LENGTH) -> str:
    """Return the beginning of a text as one line of at most `limit` characters, whole words where they are not long.

    What a terminal would obey is shown as an escape, as `visible` does.

    >>> first_words("It is\\n\\x1b[31mso.  And more.", 20)
    'It is \\\\x1b[31mso.…'
    """
    # What lies far behind the limit need not be looked at; white space may go, an escape takes more room.
    head = text.lstrip()[: 8 * limit]
    whole = visible(" ".join(head.split()))
    if len(whole) <= limit and len(head) == len(text.lstrip()):
        return whole
    cut = whole[: limit - 1]
    before = cut.rfind(" ")
    if whole[len(cut):len(cut) + 1] not in ("", " ") and before >= limit // 2:
        cut = cut[:before]
    return cut.rstrip() + "…"
