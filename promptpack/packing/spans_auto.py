"""select="auto", the builder's default: "spans" where they were measured to pay, "top" everywhere else.

Spans pay where a question is given and what was found does not fit into little room (docs/spans.md has the figures). A
choice of the user's own stands: where a source says how it may be shortened, or a diversity orders the candidates, it
is "top" that does what they say. The candidates behind the first hundred by rank are not looked at, so that a long
list of hits costs no more time; nor are those behind the first 200,000 characters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from promptpack.packing.candidate import Candidate, DropReason

if TYPE_CHECKING:
    from promptpack.packing.choice import Choice

# Tokens for sources; with more, spans gain less than one question in 100 over "top", mostly nothing.
ROOM = 3072
# So many candidates are looked at, and so many characters of their texts: both bound the time, to some 80 ms, twice
# that where all sentences are very short, and 0.4 s where they are thousands in one text.
MOST = 100
CHARACTERS = 200_000

# A candidate in rank order, and the limit in number that keeps it out, or None.
Admitted = tuple[Candidate, tuple[DropReason, str] | None]


def resolve(candidates: Sequence[Candidate], choice: Choice, *, diverse: bool) -> tuple[str, Sequence[Candidate]]:
    """Return "top" or "spans", and the candidates that it chooses from; `choice.select` says which and why.

    candidates: in rank order, without what is required and taken already. diverse: whether a diversity ordered them.
    Where spans do not look at all of them, the others are refused. Nothing is priced unless the room is small.
    """
    left, question = choice.left, choice.question
    if question is None or not question.strip():
        choice.select = "top: no question is given"
    elif left is None:
        choice.select = "top: there is no limit"
    elif left > ROOM:
        choice.select = f"top: there is room for {left:,} tokens, more than {ROOM:,}"
    elif diverse:
        choice.select = "top: a diversity orders the sources"
    elif any(one.source.cut is not None for one in candidates):
        choice.select = "top: a source says how it may be shortened"
    else:
        seen = _read(admitted(candidates, choice, MOST))
        tokens = sum(choice.prices.all([one for one, limit in seen if limit is None]))
        if tokens > left:
            seen = seen[:MOST]  # limits in number admit few, and what does not fit leaves them to others
            choice.select = f"spans: a question is given, and {left:,} of {tokens:,} tokens fit"
            for one in candidates[len(seen):]:
                choice.refuse(one, DropReason.NOT_SELECTED, f"spans look at the best {len(seen)} sources")
            return "spans", candidates[:len(seen)]
        if len(seen) == len(candidates):
            choice.select = "top: everything fits"
        else:
            fits = f"the best {len(seen)} sources fit" if seen else "the text of the best source is too long"
            choice.select = f"top: {fits}"
    return "top", candidates


def _read(found: list[Admitted]) -> list[Admitted]:
    """Return the first candidates whose texts together are not too long to be taken apart."""
    length = 0
    for at, (one, limit) in enumerate(found):
        length += len(one.text) if limit is None else 0
        if length > CHARACTERS:
            return found[:at]
    return found


def admitted(candidates: Sequence[Candidate], choice: Choice, most: int | None = None) -> list[Admitted]:
    """Return candidates in rank order with the limit in number that keeps each out, or None; up to `most` without."""
    limits = choice.limits
    if limits.top_k is None and limits.max_per_document is None:
        return [(one, None) for one in candidates[:most]]
    found: list[Admitted] = []
    before, taken = choice.documents.copy(), 0
    for one in candidates:
        if taken == most:
            break
        limit = choice.limited(one, taken)
        found.append((one, limit))
        if limit is None:
            taken += 1
            if limits.max_per_document is not None and one.source.document is not None:
                choice.documents[one.source.document] += 1
    choice.documents = before
    return found
