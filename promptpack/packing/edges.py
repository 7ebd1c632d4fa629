"""Where a text may be cut: between grapheme clusters, after words, after sentences.

`regex` is loaded on first use; it knows the clusters of Unicode (UAX 29).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any, Literal

Level = Literal["sentence", "word", "character"]

# Scripts that are written without spaces: a word may end after each of their clusters.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_WORD = rf"(?:(?=[{_UNSPACED}])\X|(?:(?![\s{_UNSPACED}])\X)+)[\p{{Po}}\p{{Pe}}\p{{Pf}}]*"


@cache
def _pattern(name: str) -> Any:
    import regex

    return regex.compile(
        {
            "cluster": r"\X",
            "other": r"\p{GCB=Other}",
            # White space is matched too, so that each match starts where a cluster does.
            "word": rf"((?:(?=\s)\X)+)|{_WORD}",
        }[name]
    )


def spans(text: str, level: Level) -> tuple[Sequence[int], Sequence[int]]:
    """Return the starts and the ends of the sentences, words or characters of a text, ascending.

    White space around sentences and words belongs to none of them. A character is a grapheme cluster,
    and no edge is inside one. Linear in the length of the text.

    >>> spans("One two.", "word")
    ([0, 4], [3, 8])
    """
    if level == "character":
        if text.isascii() and "\r" not in text:
            return range(len(text)), range(1, len(text) + 1)
        ends = [match.end() for match in _pattern("cluster").finditer(text)]
        return [0, *ends[:-1]], ends
    if level == "word":
        if text.isascii():
            found = [match.span() for match in re.finditer(r"\S+", text)]
        else:
            found = [match.span() for match in _pattern("word").finditer(text) if match[1] is None]
    else:
        from promptpack.packing import sentences

        found = _around_clusters(text, sentences.spans(text))
    return [start for start, _ in found], [end for _, end in found]


def _around_clusters(text: str, found: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    whole: list[tuple[int, int]] = []
    for start, end in found:
        start, end = edge_before(text, start), edge_after(text, end)
        if whole and start < whole[-1][1]:
            start = whole.pop()[0]
        whole.append((start, end))
    return whole


def edge_before(text: str, at: int) -> int:
    """Return the last edge between grapheme clusters that is at `at` or before it.

    >>> edge_before("ae\\u0301", 2)
    1
    """
    return _edges_around(text, at)[0]


def edge_after(text: str, at: int) -> int:
    """Return the first edge between grapheme clusters that is at `at` or behind it.

    >>> edge_after("ae\\u0301", 2)
    3
    """
    return _edges_around(text, at)[1]


def _edges_around(text: str, at: int) -> tuple[int, int]:
    if at <= 0 or at >= len(text):
        return at, at
    # Between two characters of the class Other there is always an edge (UAX 29, GB999): the text need
    # only be read from the last such pair on, which is close in every script.
    other = _pattern("other")
    restart = at
    while restart > 0 and not (other.match(text, restart - 1) and other.match(text, restart)):
        restart -= 1
    if restart == at:
        return at, at
    for match in _pattern("cluster").finditer(text, restart):
        if match.end() >= at:
            return (at, at) if match.end() == at else match.span()
    return at, at
