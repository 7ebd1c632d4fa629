"""Sentences that a better source has already sent are taken out of the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from promptpack.errors import quote
from promptpack.packing.candidate import Candidate, Dropped, DropReason
from promptpack.packing.sentences import spans
from promptpack.packing.similarity import folded


def count_sentences(text: str) -> int:
    """Return the number of sentences of a text.

    >>> count_sentences("One. Two! And a tail")
    3
    """
    return len(spans(text))


def without_repeats(
    candidates: Sequence[Candidate], notes: list[str]
) -> tuple[list[Candidate], list[Dropped], int, int]:
    """Return the candidates freed of repeated sentences, those with nothing new, and the counts (distinct
    sent, all).

    Sentences are compared in NFC with white space folded. Required sources are read first, then by rank; a
    repeat inside one source stays. What is kept of a text are its own sentences, joined as they were parted:
    by the line break that stood between them, else by one blank, or by nothing where there was none.

    >>> from promptpack.source import Source
    >>> pair = [Source("a", "Plug it in. It blinks."), Source("b", "It blinks. Open the app.")]
    >>> candidates = [Candidate.of(source, at, at + 1) for at, source in enumerate(pair)]
    >>> kept, dropped, sent, total = without_repeats(candidates, [])
    >>> [candidate.text for candidate in kept], sent, total
    (['Plug it in. It blinks.', 'Open the app.'], 3, 4)
    """
    sender: dict[str, str] = {}
    texts: list[str | None] = [None] * len(candidates)
    dropped: list[Dropped] = []
    total = 0
    order = sorted(range(len(candidates)), key=lambda at: (not _stays(candidates[at]), candidates[at].rank))
    for at in order:
        candidate = candidates[at]
        found = spans(candidate.text)
        keys = [folded(candidate.text[start:end]) for start, end in found]
        total += len(keys)
        new = [k for k, key in enumerate(keys) if key not in sender]
        if new:
            texts[at] = _joined(candidate.text, found, new)
            for key in keys:
                sender.setdefault(key, candidate.source.id)
        elif not keys or _stays(candidate):
            texts[at] = candidate.text
            if keys:
                name = quote(candidate.source.id)
                notes.append(f"source {name} is required and stays, though others send all of it")
        else:
            dropped.append(_nothing_new(candidate, [sender[key] for key in keys]))
    kept = [
        candidate if text == candidate.text else replace(candidate, text=text)
        for candidate, text in zip(candidates, texts, strict=True)
        if text is not None
    ]
    return kept, dropped, len(sender), total


def _stays(candidate: Candidate) -> bool:
    return candidate.source.required or candidate.source.pinned


def _joined(text: str, found: list[tuple[int, int]], new: list[int]) -> str:
    parts = [text[slice(*found[new[0]])]]
    for before, after in pairwise(new):
        # Between two kept sentences lie one gap or, around removed sentences, several.
        gaps = [text[found[k][1] : found[k + 1][0]] for k in range(before, after)]
        lines = max(gaps, key=lambda gap: gap.count("\n"))
        parts.append(lines if "\n" in lines else " " if any(gaps) else "")
        parts.append(text[slice(*found[after])])
    return "".join(parts)


def _nothing_new(candidate: Candidate, senders: list[str]) -> Dropped:
    names = list(dict.fromkeys(senders))
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    shown = ", ".join(quote(name) for name in names[:3]) + more
    what = "its one sentence is" if len(senders) == 1 else f"all {len(senders)} sentences are"
    return Dropped(
        candidate.source, candidate.rank, None, DropReason.REPEATED_SENTENCES, "dedup",
        f"{what} in better sources: {shown}", names[0] if len(names) == 1 else None,
    )
