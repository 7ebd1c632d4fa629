"""The one ranking: every stage that needs "better" asks here."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2
from typing import Any, Literal, get_args

from promptpack.errors import OptionError, quote
from promptpack.finite import is_finite as is_finite  # where most look for it

Tie = Literal["id", "input"]


def rank_order(scores: Sequence[float | None], ids: Sequence[str], tie: Tie = "id") -> list[int]:
    """Return the positions of the items from best to worst, a total order.

    Score descending; None ranks last. Equal scores are ordered by id, compared as text (`tie="id"`:
    the order of the input does not matter), or by place in the input (`tie="input"`). Where no item
    has a score, the input is taken to be ranked already.

    scores: finite numbers or None; ids: of the same length. n log n. Raises OptionError for an
    unknown `tie`.

    >>> rank_order([0.5, None, 0.9, 0.5], ["b", "c", "d", "a"])
    [2, 3, 0, 1]
    >>> rank_order([0.5, None, 0.9, 0.5], ["b", "c", "d", "a"], tie="input")
    [2, 0, 3, 1]
    >>> rank_order([None, None], ["b", "a"])
    [0, 1]
    """
    if tie not in get_args(Tie):
        raise OptionError.unknown("tie", tie, get_args(Tie))
    scored = [index for index, score in enumerate(scores) if score is not None]
    if not scored:
        return list(range(len(scores)))
    unscored = [index for index, score in enumerate(scores) if score is None] if len(scored) < len(scores) else []
    if tie == "id" and (unscored or len(set(scores)) < len(scored)):
        scored.sort(key=ids.__getitem__)
        unscored.sort(key=ids.__getitem__)
    # `reverse` keeps the order of equal items, so that the ties stay as they are.
    known: Any = scores
    scored.sort(key=known.__getitem__, reverse=True)
    return scored + unscored


def rank_gain(rank: int) -> float:
    """Return what a source of this rank is worth by default: `1 / log2(rank + 1)`.

    That is the discount of nDCG (Jarvelin and Kekalainen, 2002): 1 for rank 1, 0.63 for rank 2.
    Raises OptionError for a rank below 1.

    >>> [round(rank_gain(rank), 3) for rank in (1, 2, 3)]
    [1.0, 0.631, 0.5]
    """
    if isinstance(rank, bool) or not isinstance(rank, int) or rank < 1:
        message = f"rank: expected a whole number of 1 or more, got {quote(rank)}"
        raise OptionError(message, name="rank", given=rank)
    return 1.0 / log2(rank + 1)
