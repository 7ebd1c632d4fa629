"""How alike two texts are: the folded form for equality, trigram sets for likeness, cosine for vectors.

Nothing here knows a candidate or a policy. numpy and regex are imported inside the functions that
need them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from promptpack.errors import OptionError, quote

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# A run of marks longer than this is put in order here before `unicodedata` sees it: CPython sorts
# such runs by insertion, which takes quadratic time (40,000 marks on one letter: 1.7 s).
_LONG_MARK_RUN = 64

# What `str.split` takes for white space in ASCII, without the blank.
_ASCII_SPACES = "\n\t\r\v\f\x1c\x1d\x1e\x1f"


def folded(text: str) -> str:
    """Return the form in which texts are compared: NFC, each run of white space as one blank, no ends.

    Case, punctuation and every script stay. Linear in the length of the text.

    >>> folded("  Refunds:\\r\\n 30  days. ")
    'Refunds: 30 days.'
    >>> folded("cafe\\u0301") == "caf\\u00e9"
    True
    """
    if text.isascii():
        # One search for each kind of white space is far cheaper than splitting, and mostly finds nothing.
        for space in _ASCII_SPACES:
            if space in text:
                text = text.replace(space, " ")
        return " ".join(text.split()) if "  " in text else text.strip(" ")
    if not unicodedata.is_normalized("NFC", text):
        text = unicodedata.normalize("NFC", _with_ordered_marks(text))
    return " ".join(text.split())


def _with_ordered_marks(text: str) -> str:
    """Return a canonically equivalent text whose long runs of marks are already in canonical order."""
    import regex

    return str(regex.sub(rf"\p{{M}}{{{_LONG_MARK_RUN},}}", lambda m: _ordered(m.group()), text))


def _ordered(run: str) -> str:
    # Marks may themselves decompose into marks, so they are taken apart first. A mark of class 0
    # stops the reordering; sorting is stable, as the canonical order demands.
    marks = "".join(unicodedata.normalize("NFD", mark) for mark in run)
    groups = groupby(marks, key=lambda mark: unicodedata.combining(mark) != 0)
    return "".join("".join(sorted(group, key=unicodedata.combining)) for _, group in groups)


def trigrams(text: str) -> frozenset[str]:
    """Return the set of all runs of three characters (code points); empty below three.

    >>> sorted(trigrams("abcd"))
    ['abc', 'bcd']
    """
    return frozenset(map("".join, zip(text, text[1:], text[2:], strict=False)))


def trigram_similarity(a: str, b: str) -> float:
    """Return the Jaccard similarity of the trigram sets of two texts, from 0 to 1.

    |A and B| / |A or B|; equal texts have 1, and a text of fewer than three characters is like no
    other text. Texts are compared as they are: fold them first where white space should not count.

    >>> trigram_similarity("abcdef", "abcxef")
    0.14285714285714285
    >>> trigram_similarity("ab", "abc")
    0.0
    """
    if a == b:
        return 1.0
    left, right = trigrams(a), trigrams(b)
    if not left or not right:
        return 0.0
    shared = len(left & right)
    return shared / (len(left) + len(right) - shared)


def trigram_codes(text: str) -> NDArray[np.uint64]:
    """Return the trigram set of a text as sorted distinct numbers, 21 bits a character."""
    import numpy as np

    # surrogatepass: a lone surrogate is a character like any other here
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.uint64)
    if len(points) < 3:
        return np.empty(0, np.uint64)
    codes = (points[:-2] << np.uint64(42)) | (points[1:-1] << np.uint64(21)) | points[2:]
    codes.sort()
    return codes[np.concatenate(([True], codes[1:] != codes[:-1]))]


def shared_codes(a: NDArray[np.uint64], b: NDArray[np.uint64]) -> int:
    """Return how many numbers two sorted distinct arrays have in common."""
    import numpy as np

    both = np.concatenate((a, b))
    both.sort(kind="stable")  # two sorted runs: merged in linear time
    return int(np.count_nonzero(both[1:] == both[:-1]))


def cosine(query: Sequence[float], vectors: Sequence[Sequence[float]]) -> list[float]:
    """Return the cosine of each vector with the query, in -1..1; a zero vector has similarity 0.

    All vectors have the length of the query. Raises OptionError for other lengths and for numbers
    that are not finite.

    >>> cosine([1.0, 0.0], [[2.0, 0.0], [0.0, 0.0], [0.0, 3.0]])
    [1.0, 0.0, 0.0]
    """
    import numpy as np

    if not len(vectors):
        return []
    table = _unit_rows("vectors", vectors)
    row = _unit_rows("query", [query])[0]
    if table.shape[1] != row.shape[0]:
        raise OptionError(
            f"vectors: each has {table.shape[1]} numbers, the query has {row.shape[0]}",
            name="vectors", given=table.shape[1], known=(str(row.shape[0]),),
        )
    return [float(value) for value in np.clip(table @ row, -1.0, 1.0)]


def cosine_matrix(vectors: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return the cosine of every vector with every other: n rows of n numbers, quadratic by nature.

    >>> cosine_matrix([[1.0, 0.0], [0.0, 0.0]])
    [[1.0, 0.0], [0.0, 0.0]]
    """
    import numpy as np

    if not len(vectors):
        return []
    table = _unit_rows("vectors", vectors)
    matrix: list[list[float]] = np.clip(table @ table.T, -1.0, 1.0).tolist()
    return matrix


def _unit_rows(name: str, vectors: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    import numpy as np

    try:
        table: NDArray[np.float64] = np.array(vectors, dtype=np.float64)
    except (TypeError, ValueError) as error:
        message = f"{name}: expected numbers, all vectors of one length ({error})"
        raise OptionError(message, name=name) from error
    if table.ndim != 2 or not np.isfinite(table).all():
        raise OptionError(f"{name}: expected vectors of finite numbers, all of one length", name=name)
    # Scaled by the largest number first, so that squares neither overflow nor vanish.
    largest = np.abs(table).max(axis=1, keepdims=True, initial=0.0)
    table = np.divide(table, largest, out=np.zeros_like(table), where=largest > 0)
    norm = np.sqrt((table * table).sum(axis=1, keepdims=True))
    unit: NDArray[np.float64] = np.divide(table, norm, out=np.zeros_like(table), where=norm > 0)
    return unit


def check_share(name: str, value: Any) -> None:
    """Raise OptionError unless `value` is a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        message = f"{name}: expected a number from 0 to 1, got {quote(value)}"
        raise OptionError(message, name=name, given=value)
