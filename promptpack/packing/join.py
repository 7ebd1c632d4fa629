"""Groups of nearly equal texts: an exact set-similarity join over trigram sets.

The rule: texts are taken in order; each joins the group of the earliest first text that it is like,
or else opens a group. Only first texts are ever compared with, so a chain of small changes does not
swallow everything.

How it stays exact without comparing sets pair by pair:

1. With the guard, only texts with the same numbers and negations can be one; they are parted by that first.
2. The trigram set of a text is hashed into a parity sketch of W bits: bit b is the parity of the number of
trigrams
   with hash b. The Hamming distance of two sketches never exceeds the symmetric difference of the sets (each
   trigram in one set only flips one bit), and |A or B| - |A and B| <= (|A| + |B|) (1 - t) / (1 + t) is what
   a Jaccard similarity of t or more means. So a greater distance rules a pair out, and never wrongly.
3. Distances of many texts to many are one product of bit matrices, taken block by block: memory grows with
the number of
   texts, not its square. W is chosen by trying widths on a sample; it changes the time, never the result.
4. What is left is compared exactly.

The products still are n squared / 2 bit rows (about 10 ns a pair); `max_candidates` bounds that to n times
the bound. This module imports numpy only when it has something to compare.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptpack.packing.facts import facts, negate
from promptpack.packing.similarity import shared_codes, trigram_codes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_WIDTHS = (128, 256, 512, 1024, 2048, 4096, 8192)
# Up to so many texts, sketches cost more than they save.
_FEW = 48
# Up to so many, the choice of a width costs more than it saves: the usual one suits chunks of 200 tokens.
_MANY, _USUAL = 2000, 1024
_SAMPLE = 96
_ROWS = 1024       # texts compared with all later ones in one product
_COLUMNS = 4096
_PAIRS = 32768     # pairs refined at a time
# Rough costs that choose the width: seconds for a pair and bit of the product, for refining a pair, for
# comparing one.
_PRODUCT, _REFINE, _COMPARE = 2.5e-11, 1e-6, 5e-5


def near_groups(
    texts: Sequence[str],
    threshold: float,
    *,
    guard: bool = True,
    length_bucket: int | None = None,
    max_candidates: int | None = None,
) -> tuple[list[list[int]], int]:
    """Return the groups of nearly equal texts, and how many comparisons `max_candidates` left undone.

    texts: compared as they are, in order. threshold: Jaccard similarity of trigram sets, 0 to 1. guard:
    texts that differ in a number or negation never join. length_bucket: only texts whose len //
    length_bucket differs by at most one are compared.
    max_candidates: comparisons for each first text, counted over the texts that are still free and in its
    buckets. Groups hold ascending indices, the first text first, and are in the order of their first texts.

    >>> near_groups(["the lantern is lit", "a kettle", "the lantern is lit."], 0.9)
    ([[0, 2], [1]], 0)
    """
    parts: list[list[int]]
    if guard:
        alike: dict[tuple[tuple[str, ...], tuple[str, ...]], list[int]] = defaultdict(list)
        for at, text in enumerate(texts):
            known = facts(text)
            alike[known.numbers, known.negations].append(at)
        parts = list(alike.values())
    else:
        parts = [list(range(len(texts)))] if texts else []
    groups: list[list[int]] = []
    unseen = 0
    for part in parts:
        if len(part) == 1:
            groups.append(part)
            continue
        join = _Join.of([texts[at] for at in part], threshold, guard, length_bucket)
        found, missed = join.groups(max_candidates)
        groups.extend([part[at] for at in group] for group in found)
        unseen += missed
    groups.sort()
    return groups, unseen


@dataclass(frozen=True, slots=True)
class _Join:
    """The texts of one part, with what is known of each: sizes of trigram sets, buckets, packed sketches."""

    texts: list[str]
    threshold: float
    guard: bool
    sizes: NDArray[np.int64]
    buckets: NDArray[np.int64] | None
    sketches: NDArray[np.uint8] | None
    codes: list[NDArray[np.uint64]] | None

    @classmethod
    def of(cls, texts: list[str], threshold: float, guard: bool, length_bucket: int | None) -> _Join:
        import numpy as np

        buckets = np.array([len(text) // length_bucket for text in texts]) if length_bucket else None
        if len(texts) <= _FEW:
            codes = [trigram_codes(text) for text in texts]
            sizes = np.array([len(code) for code in codes])
            return cls(texts, threshold, guard, sizes, buckets, None, codes)
        sizes = np.zeros(len(texts), np.int64)
        sketches = np.zeros((len(texts), _WIDTHS[-1] // 8), np.uint8)
        for at, text in enumerate(texts):
            code = trigram_codes(text)
            sizes[at] = len(code)
            sketches[at] = _sketch(code)
        return cls(texts, threshold, guard, sizes, buckets, sketches, None)

    def groups(self, most: int | None) -> tuple[list[list[int]], int]:
        import numpy as np

        free = np.ones(len(self.texts), bool)
        groups, unseen = [], 0
        for first, reach in self._reaches(free, most):
            free[first] = False
            later, missed = self._within(first, free, most) if reach is None else (reach[free[reach]], 0)
            unseen += missed
            group = [first]
            own = self._codes(first)
            for other in self._possible(first, later).tolist():
                if self._alike(first, own, other):
                    free[other] = False
                    group.append(other)
            groups.append(group)
        return groups, unseen

    def _reaches(
        self, free: NDArray[np.bool_], most: int | None
    ) -> Iterator[tuple[int, NDArray[np.intp] | None]]:
        """Yield each text that is still free, in order, with the later texts in reach (None: all of them)."""
        if most is not None or self.sketches is None:
            for first in range(len(self.texts)):
                if free[first]:
                    yield first, None
            return
        import numpy as np

        width = self._width(self.sketches)
        for start in range(0, len(self.texts), _ROWS):
            rows = start + np.flatnonzero(free[start : start + _ROWS])
            reach = self._product(rows, start + np.flatnonzero(free[start:]), width)
            for at, first in enumerate(rows.tolist()):
                if free[first]:
                    yield first, reach[at]

    def _within(self, first: int, free: NDArray[np.bool_], most: int | None) -> tuple[NDArray[np.intp], int]:
        """Return the later free texts to compare with `first`, and how many the bound leaves out."""
        import numpy as np

        mask = free[first + 1 :]
        if self.buckets is not None:
            mask = mask & (np.abs(self.buckets[first + 1 :] - self.buckets[first]) <= 1)
        later = first + 1 + np.flatnonzero(mask)
        return later[:most], len(later) - len(later[:most])

    def _possible(self, first: int, later: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return those of `later` that sizes, buckets and sketches do not rule out."""
        import numpy as np

        if self.buckets is not None:
            later = later[np.abs(self.buckets[later] - self.buckets[first]) <= 1]
        small = np.minimum(self.sizes[later], self.sizes[first])
        large = np.maximum(self.sizes[later], self.sizes[first])
        later = later[small >= self.threshold * large - 0.5]
        if self.sketches is None:
            return later
        parts = [later[:0]]
        for at in range(0, len(later), _PAIRS):
            some = later[at : at + _PAIRS]
            distance = _ones(self.sketches[some] ^ self.sketches[first])
            reach = _slope(self.threshold) * (self.sizes[some] + self.sizes[first])
            parts.append(some[distance <= reach + 0.5])
        return np.concatenate(parts)

    def _alike(self, first: int, own: NDArray[np.uint64], other: int) -> bool:
        a, b = self.texts[first], self.texts[other]
        if a != b:
            sizes = int(self.sizes[first]), int(self.sizes[other])
            shared = shared_codes(own, self._codes(other)) if all(sizes) else 0
            likeness = shared / (sum(sizes) - shared) if all(sizes) else 0.0
            if likeness < self.threshold:
                return False
        return not (self.guard and negate(a, b))

    def _codes(self, at: int) -> NDArray[np.uint64]:
        # Kept for few texts only: the sets of 50,000 chunks would take 300 MB.
        return self.codes[at] if self.codes is not None else trigram_codes(self.texts[at])

    def _width(self, sketches: NDArray[np.uint8]) -> int:
        """Return the width at which a strided sample of pairs says the join is cheapest."""
        import numpy as np

        if len(self.texts) <= _MANY:
            return _USUAL
        sample = np.arange(0, len(self.texts), max(1, len(self.texts) // _SAMPLE))
        bound = _slope(self.threshold) * (self.sizes[sample][:, None] + self.sizes[sample]) + 0.5
        pairs = np.triu_indices(len(sample), 1)
        share = {}
        for width in _WIDTHS:
            bits = _bits(_folded(sketches[sample], width))
            ones = bits.sum(axis=1)
            share[width] = float((ones[:, None] + ones - 2 * (bits @ bits.T) <= bound)[pairs].mean())
        always = share[_WIDTHS[-1]] * _COMPARE
        return min(_WIDTHS, key=lambda w: w * _PRODUCT + share[w] * _REFINE + always)

    def _product(
        self, rows: NDArray[np.intp], columns: NDArray[np.intp], width: int
    ) -> list[NDArray[np.intp]]:
        """Return for each row the columns behind it whose narrowed sketches are near enough."""
        import numpy as np

        assert self.sketches is not None  # noqa: S101 - the caller has them
        left = self._weighted(rows, width, own=0)
        found: list[list[NDArray[np.intp]]] = [[] for _ in rows]
        for at in range(0, len(columns), _COLUMNS):
            some = columns[at : at + _COLUMNS]
            near = left @ self._weighted(some, width, own=1).T >= -1.0
            near &= some > rows[:, None]
            which, where = np.nonzero(near)
            starts = np.searchsorted(which, np.arange(1, len(rows)))
            for row, part in enumerate(np.split(some[where], starts)):
                if len(part):
                    found[row].append(part)
        empty = columns[:0]
        return [np.concatenate(parts) if parts else empty for parts in found]

    def _weighted(self, some: NDArray[np.intp], width: int, own: int) -> NDArray[np.float32]:
        """Return the bits as numbers, with two columns more: a product of rows is (reach - distance) / 2."""
        import numpy as np

        assert self.sketches is not None  # noqa: S101 - the caller has them
        bits = _bits(_folded(self.sketches[some], width))
        table = np.ones((len(some), width + 2), np.float32)
        table[:, :width] = bits
        table[:, width + own] = (_slope(self.threshold) * self.sizes[some] - bits.sum(axis=1)) / 2
        return table


def _slope(threshold: float) -> float:
    return (1 - threshold) / (1 + threshold)


def _sketch(codes: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Return the parity sketch of a trigram set at the greatest width, packed eight bits to a byte."""
    import numpy as np

    # The top bits of a product with an odd constant (the golden ratio times 2**64) spread neighbouring
    # numbers well.
    hashes = ((codes * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - 13)).astype(np.intp)
    return np.packbits(np.bincount(hashes, minlength=_WIDTHS[-1]).astype(np.uint8) & 1)


def _folded(sketches: NDArray[np.uint8], width: int) -> NDArray[np.uint8]:
    """Return sketches narrowed to a width: the parity of parts is the parity of their sum."""
    import numpy as np

    narrow: NDArray[np.uint8] = np.bitwise_xor.reduce(sketches.reshape(len(sketches), -1, width // 8), axis=1)
    return narrow


def _bits(packed: NDArray[np.uint8]) -> NDArray[np.float32]:
    import numpy as np

    return np.unpackbits(packed, axis=1).astype(np.float32)


def _ones(packed: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the number of set bits in each row."""
    import numpy as np

    # numpy before 2.0 has no bitwise_count; sums over halves, quarters and bytes of 64-bit words do the same.
    words = packed.view(np.uint64)
    one, two = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
    four = np.uint64(0x0F0F0F0F0F0F0F0F)
    words = words - ((words >> np.uint64(1)) & one)
    words = (words & two) + ((words >> np.uint64(2)) & two)
    words = (words + (words >> np.uint64(4))) & four
    words = (words * np.uint64(0x0101010101010101)) >> np.uint64(56)
    ones: NDArray[np.int64] = words.sum(axis=1).astype(np.int64)
    return ones
