"""Shortening a text to a limit: which part of it stays, and the visible mark of what does not.

A text that fits is left alone, so cutting twice changes nothing. Each way of cutting is a series of
pieces that grow from one to the next; the largest that fits is found with a bounded number of counts.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from promptpack.packing.edges import Level, edge_after, edge_before, spans
from promptpack.source import Cut

Count = Callable[[str], int]
Part = Callable[[str, int], str]

MARKERS = {"start": " …", "end": "… ", "ends": " … ", "relevant": " … "}

_LEVELS: dict[str, tuple[Level, ...]] = {
    "sentence": ("sentence", "word", "character"), "word": ("word", "character"),
    "token": ("character",), "character": ("character",),
}


@dataclass(frozen=True, slots=True)
class Pieces:
    """A series of pieces of one text: `make(k)` keeps k of its `size` units, from `least` on."""

    size: int
    make: Callable[[int], str]
    least: int = 1


def shorten(
    text: str,
    limit: int,
    cut: Cut,
    count: Count,
    *,
    prefix: Part | None = None,
    suffix: Part | None = None,
    question: str | None = None,
) -> str:
    """Return the text if it fits, else the most of it that does, with marks where something is missing.

    count: prices a text, enclosure and all; the result costs at most `limit`, marks included. It is the
    text, or parts of it in order with a mark at each gap, or "" where not even the smallest part fits.
    A cut never falls inside a grapheme cluster. It falls where `cut.at` says; where not even one
    sentence fits, after a word, and where no word fits, between characters.

    prefix, suffix: for `at="token"`, the longest start or end of a text that costs at most n tokens;
    without them such a cut falls between characters. question: for `keep="relevant"`, which keeps the
    sentences that share the rarest words with it, and their neighbours; without a question, or where
    no sentence has a word of it, that keeps the start.

    At most 2 log2(n) + 2 counts for each kind of edge that is tried, n being the number of edges.

    >>> words = lambda text: len(text.split())
    >>> shorten("one two three four five six", 4, Cut(at="word"), words)
    'one two three …'
    >>> shorten("one two three four five six", 4, Cut("ends", at="word"), words)
    'one … five six'
    """
    total = count(text)
    if total <= limit:
        return text
    if limit < 0:
        return ""
    keep, marker = cut.keep, cut.marker
    levels = _LEVELS[cut.at]
    if keep == "relevant":
        pieces = _relevant(text, marker, question)
        if pieces is not None:
            found = _largest(pieces[0], count, limit, total) or _largest(pieces[1], count, limit, total)
            return found or _largest(pieces[2], count, limit, total)
        keep = "start"
    mark = MARKERS[keep] if marker is None else marker
    if cut.at == "token":
        found = _by_tokens(text, limit, keep, mark, count, prefix, suffix)
        if found:
            return found
    for level in levels:
        found = _largest(_pieces(text, level, keep, mark), count, limit, total)
        if found:
            return found
    return ""


def _pieces(text: str, level: Level, keep: str, mark: str) -> Pieces:
    starts, ends = spans(text, level)
    n = len(ends)
    if keep == "start":
        return Pieces(n, lambda k: text[:ends[k - 1]] + mark)
    if keep == "end":
        return Pieces(n, lambda k: mark + text[starts[n - k]:])
    # Of an odd number the end gets the extra one; fewer than two would not be both ends.
    return Pieces(n, lambda k: text[:ends[k // 2 - 1]] + mark + text[starts[n - (k - k // 2)]:], least=2)


def _largest(pieces: Pieces, count: Count, limit: int, total: int) -> str:
    """Return the longest piece within the limit, by interpolation and bisection in turn, or ""."""
    best, low, low_cost = "", pieces.least - 1, 0
    high, high_cost = pieces.size, total  # all units are the whole text, which does not fit
    interpolate = True
    while high - low > 1:
        if interpolate and high_cost > low_cost:
            at = low + (limit - low_cost) * (high - low) // (high_cost - low_cost)
        else:
            at = (low + high) // 2
        at = min(max(at, low + 1), high - 1)
        piece = pieces.make(at)
        cost = count(piece)
        if cost <= limit:
            best, low, low_cost = piece, at, cost
        else:
            high, high_cost = at, cost
        interpolate = not interpolate
    return best


def _by_tokens(
    text: str, limit: int, keep: str, mark: str, count: Count, prefix: Part | None, suffix: Part | None
) -> str:
    room = limit - count(mark)
    # The parts may cost a little more together than alone; each round takes the excess off.
    for _ in range(8):
        if room <= 0:
            return ""
        head = {"start": room, "end": 0}.get(keep, room // 2)
        first, last = _part(text, head, prefix, True), _part(text, room - head, suffix, False)
        if first is None or last is None or len(first) + len(last) >= len(text):
            return ""
        piece = first + mark + last
        excess = count(piece) - limit
        if excess <= 0:
            return piece if first or last else ""
        room -= excess
    return ""


def _part(text: str, n: int, take: Part | None, first: bool) -> str | None:
    if n <= 0:
        return ""
    part = take(text, n) if take is not None else None
    if part is None or not (text.startswith(part) if first else text.endswith(part)):
        return None  # no such cut, or half a character was decoded: the caller cuts between characters
    if first:
        return text[:edge_before(text, len(part))]
    return text[edge_after(text, len(text) - len(part)):]


def _relevant(text: str, marker: str | None, question: str | None) -> tuple[Pieces, Pieces, Pieces] | None:
    """Return the pieces by sentences, and by words and characters from the best sentence on."""
    starts, ends = spans(text, "sentence")
    ranked = by_relevance([text[start:end] for start, end in zip(starts, ends, strict=True)], question)
    if ranked is None:
        return None
    gap = MARKERS["relevant"] if marker is None else marker
    lead, trail = (gap.lstrip(), gap.rstrip()) if marker is None else (gap, gap)
    n, best = len(ends), starts[ranked[0]]

    def sentences(k: int) -> str:
        chosen = sorted(ranked[:k])
        parts = [lead] if chosen[0] > 0 else []
        for before, i in zip([None, *chosen], chosen, strict=False):
            if before is None:
                parts.append(text[starts[i]:ends[i]])
            else:
                parts += (text[ends[before]:starts[i]] if i == before + 1 else gap, text[starts[i]:ends[i]])
        return "".join(parts) + (trail if chosen[-1] < n - 1 else "")

    def from_best(level: Level) -> Pieces:
        inner = [end for end in spans(text, level)[1] if end > best]
        return Pieces(len(inner), lambda k: (lead if best else "") + text[best:inner[k - 1]] + trail)

    return Pieces(n, sentences), from_best("word"), from_best("character")


def by_relevance(sentences: Sequence[str], question: str | None) -> list[int] | None:
    """Return the sentences by what they share with the question, best first; None where that is nothing.

    A sentence scores the sum of log(1 + n / df) over the words that it shares (n sentences, df of them
    have the word), and a quarter of the scores of its two neighbours. Ties keep the order of the text.

    >>> by_relevance(["Hens lay eggs.", "The fee is due in May.", "Cats sleep."], "When is the fee due?")
    [1, 0, 2]
    """
    wanted = _terms(question or "")
    shared = [wanted & _terms(sentence) for sentence in sentences]
    n = len(sentences)
    found: dict[str, int] = {}
    for words in shared:
        for word in words:
            found[word] = found.get(word, 0) + 1
    if not found:
        return None
    weight = {word: math.log(1 + n / df) for word, df in found.items()}
    scores = [sum(weight[word] for word in sorted(words)) for words in shared]
    around = [0.0, *scores, 0.0]
    total = [scores[i] + 0.25 * (around[i] + around[i + 2]) for i in range(n)]
    return sorted(range(n), key=lambda i: -total[i])


def _terms(text: str) -> set[str]:
    terms: set[str] = set()
    for run in re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", text).casefold()):
        # Scripts without spaces have no words to find: pairs of characters stand for them.
        spaced = run[0] < "\u0e00" or "\uac00" <= run[0] <= "\ud7a3"
        terms.update((run,) if spaced or len(run) < 2 else (run[i:i + 2] for i in range(len(run) - 1)))
    return terms
