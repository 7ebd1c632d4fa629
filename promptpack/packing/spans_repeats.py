"""Units that occur again within one document: they count once, whichever chunks carry them.

Windows that overlap cut a document at different places, so that a unit at the edge of one may be the head or the tail
of a unit of another; where that says much more, it is the copy that counts.
"""

from __future__ import annotations

from collections.abc import Sequence

from promptpack.packing.similarity import folded
from promptpack.packing.spans_text import LEAST

# Values as whole numbers, so that sums are exact: half of a probability of 1.
HALF = 1 << 39
# The head and the tail by which parts of one unit find each other, in characters; shorter texts are compared whole.
_EDGE = 24

Place = tuple[int, int]


class Repeats:
    """The units of each document that were met, with the place of the copy that counts."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[str, dict[str, tuple[str, Place | None]]] = {}  # by document

    def add(self, document: str, text: str, place: Place | None) -> tuple[Place | None, Place | None] | None:
        """Note a unit. Return the places of the copy that counts and of the other where it repeats or extends one.

        The copy that counts is the one that was met, unless the other is longer by more than a short sentence. A
        place of None is sent already: it always counts.

        >>> repeats = Repeats()
        >>> repeats.add("d", "A fee of 5 euros is due for each day.", (0, 0))
        >>> repeats.add("d", "5 euros is due for each day.", (1, 0))
        ((0, 0), (1, 0))
        """
        text = folded(text)
        known = self._known.setdefault(document, {})
        keys = _keys(text)
        for key in keys:
            met = known.get(key)
            if met is None:
                continue
            other, at = met
            if _holds(other, text) or (_holds(text, other) and (at is None or len(text) < len(other) + LEAST)):
                return at, place
            if _holds(text, other):
                known.update(dict.fromkeys([*_keys(other), *keys], (text, place)))
                return place, at
        for key in keys:
            known[key] = (text, place)
        return None


def _keys(text: str) -> list[str]:
    """Return the whole text, its head and its tail, each marked for what it is."""
    return [f"={text}", f"<{text[:_EDGE]}", f">{text[-_EDGE:]}"] if len(text) >= _EDGE else [f"={text}"]


def _holds(longer: str, shorter: str) -> bool:
    return longer.startswith(shorter) or longer.endswith(shorter)


def counted(
    values: Sequence[Sequence[float]], texts: Sequence[Sequence[str]], documents: Sequence[str | None],
    repeats: Repeats,
) -> list[list[int]]:
    """Return the units' values as whole numbers, where what occurs again within a document counts once.

    A repeat adds its value to that of the copy that counts, mostly that in the candidate with the greatest sum, and is
    worth 0 itself; so is what `repeats` knows to be sent. Any other unit is worth 2 at the least,
    so that no room is left unused beside it.

    >>> counted([[0.5], [0.25, 0.25]], [["One."], ["One.", "Two."]], ["d", "d"], Repeats())[1]
    [0, 274877906944]
    """
    order = sorted(range(len(values)), key=lambda k: (-sum(values[k]), k))
    worth = [[2 * max(1, round(value * HALF)) for value in own] for own in values]
    for k in order:
        document = documents[k]
        if document is None:
            continue
        for i, text in enumerate(texts[k]):
            found = repeats.add(document, text, (k, i))
            if found is None:
                continue
            counts, other = found
            if other is not None:
                moved, worth[other[0]][other[1]] = worth[other[0]][other[1]], 0
                if counts is not None:
                    worth[counts[0]][counts[1]] += moved
    return worth
