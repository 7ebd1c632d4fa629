"""What goes along with a run from further down a text, so that it can be understood: its heading, or the opening.

A heading (`spans_headings`) governs what stands below it, up to the next heading; the first row of a table governs its
rows. Where the title or the section of the source has the same words, it is not needed.

The opening is the first unit of the text, which mostly names what the others speak of. It goes along with a run whose
own first sentence leans on what stood before it: one that opens with a pronoun or a connective. These words are in
spans_openers.json. They count where the text is in their language, which its commonest words tell; in Chinese and
Japanese, which do not part words, the first characters do. In a language that the table lacks, no sentence leans.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from promptpack.packing.spans_headings import governing
from promptpack.packing.spans_parts import BELOW, GAP
from promptpack.packing.spans_text import titled

# So many characters of a text tell its language, and so many of its commonest words have to be among them.
_READ, _TOLD = 400, 2

_WORD = re.compile(r"[^\W\d_]+")
# The first word: what stands before white space, an ASCII sign or digit, or a stop of another script.
_FIRST = re.compile("[\\W_]*+([^\\s\x00-@[-`{-\x7f«»‘-‟…،؛؟।۔。，、；：！？]+)")


class Lead(NamedTuple):
    """What may go along with a run: its place in the text, the mark behind it, and whether it is the first unit."""

    start: int
    end: int
    mark: str
    opening: bool


class Context(NamedTuple):
    """What the runs of a text rest on: the numbers of the units that lean on the one before, and what may go along with
    the runs that start at a unit.
    """

    leaning: frozenset[int]
    leads: Mapping[int, tuple[Lead, ...]]


def context(text: str, units: Sequence[tuple[int, int]], metadata: Mapping[str, Any]) -> Context:
    """Return what the runs of a text rest on. What touches a run does not go along: it is one run with it. Linear.

    >>> text = "Fees\\n\\nA fee is due for each day of delay. Nobody likes to pay any fee of this kind."
    >>> from promptpack.packing.spans_text import units
    >>> {first: [text[one.start:one.end] for one in own] for first, own in context(text, units(text), {}).leads.items()}
    {1: ['Fees']}
    """
    if len(units) < 2:
        return Context(frozenset(), {})
    above = governing(text) if "\n" in text else []
    told = frozenset(_words(titled(metadata))) if above else frozenset()
    needed = [start < end and not told.issuperset(_words(text[start:end])) for _, start, end in above]
    leans = leaning(text, units)
    found: dict[int, tuple[Lead, ...]] = {}
    at = 0  # so many headings stand at or above the start of the unit
    for first in range(1, len(units)):
        start = units[first][0]
        while at < len(above) and above[at][0] <= start:
            at += 1
        own: list[Lead] = []
        if at and needed[at - 1] and above[at - 1][2] < units[first - 1][1]:
            own.append(Lead(*above[at - 1][1:], BELOW, opening=False))
        if first in leans and first > 1:
            own.append(Lead(*units[0], GAP, opening=True))
        if own:
            found[first] = tuple(own)
    return Context(leans, found)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


class Language(NamedTuple):
    """The commonest words of a language, which tell it, and those that open a sentence which leans on others."""

    common: frozenset[str]
    openers: frozenset[str]


class Openers(NamedTuple):
    """The table of languages; all their openers; and how sentences start where words are not parted."""

    languages: tuple[Language, ...]
    all: frozenset[str]
    starts: tuple[str, ...]


@functools.cache
def openers() -> Openers:
    """Return the words that are shipped; read on first use.

    >>> "however" in openers().all
    True
    """
    from importlib.resources import files

    path = files("promptpack.packing").joinpath("spans_openers.json")
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8").casefold())
    rows = [one for one in data.values() if isinstance(one, dict)]
    languages = tuple(
        Language(frozenset(one["common"].split()), frozenset(one["openers"].split())) for one in rows if "common" in one
    )
    starts = tuple(start for one in rows for start in one.get("starts", "").split())
    return Openers(languages, frozenset[str]().union(*(one.openers for one in languages)), starts)


def leaning(text: str, units: Sequence[tuple[int, int]]) -> frozenset[int]:
    """Return the numbers of the units whose first word says that they rest on what stands before them.

    >>> text = "The fee is due at the end of May. It is paid in cash. Die Gebühr. Die Frist."
    >>> leaning(text, [(0, 33), (34, 53), (54, 65), (66, 76)])
    frozenset({1})
    """
    known = openers()
    found: set[int] = set()
    spoken: Language | None = None
    for number, (start, end) in enumerate(units):
        match = _FIRST.match(text, start, end)
        if match is None or not number:
            continue
        word = match[1]
        if word >= "\u3040" and not "\uac00" <= word < "\ud7b0":  # Chinese and Japanese
            if word.startswith(known.starts):
                found.add(number)
        elif (word := word.casefold()) in known.all:
            if spoken is None:
                spoken = _spoken(text, known.languages)
            if word in spoken.openers:
                found.add(number)
    return frozenset(found)


def _spoken(text: str, languages: Sequence[Language]) -> Language:
    """Return the language of a text by the commonest words in its beginning; an empty one where two come as close."""
    words = set(text[:_READ].casefold().split())
    counts = sorted(((len(words & one.common), at) for at, one in enumerate(languages)), reverse=True)
    if counts[0][0] < _TOLD or counts[0][0] == counts[1][0]:
        return Language(frozenset(), frozenset())
    return languages[counts[0][1]]
