"""A bounded memo from text to count, so that a text seen before costs one dictionary look-up."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import islice
from sys import getsizeof

MAX_BYTES = 32 * 2**20
MAX_ENTRIES = 2**14
# A text this long costs more memory than its count is worth.
MAX_TEXT = 64 * 2**10


class Memo:
    """Counts that are known: `table` maps a text to its count, and never holds more than its bounds.

    max_bytes: the memory of all texts together, by sys.getsizeof. max_entries: how many texts.
    max_text: longer texts (in bytes) are not kept. When a bound is passed, the older half goes.

    Readers use `table` directly, without the lock; only `put` takes it. What is in the memo never
    changes a result, so threads cannot see each other.

    >>> memo = Memo()
    >>> memo.put("a text", 2)
    >>> memo.table.get("a text")
    2
    """

    __slots__ = ("_bytes", "_lock", "max_bytes", "max_entries", "max_text", "table")

    def __init__(
        self, max_bytes: int = MAX_BYTES, max_entries: int = MAX_ENTRIES, max_text: int = MAX_TEXT
    ) -> None:
        self.table: dict[str, int] = {}
        self.max_bytes = max_bytes
        self.max_entries = max_entries
        self.max_text = max_text
        self._bytes = 0
        self._lock = threading.Lock()

    def put(self, text: str, count: int) -> None:
        """Keep the count of a text, if it is short enough to be kept.

        >>> memo = Memo(max_entries=4)
        >>> for letter in "abcde":
        ...     memo.put(letter, 1)
        >>> list(memo.table)
        ['c', 'd', 'e']
        """
        size = getsizeof(text)
        if size > self.max_text:
            return
        with self._lock:
            if text in self.table:
                return
            self.table[text] = count
            self._bytes += size
            if self._bytes > self.max_bytes or len(self.table) > self.max_entries:
                self._forget()

    def put_many(self, texts: Sequence[str], counts: Sequence[int]) -> None:
        """Keep several counts at once.

        >>> memo = Memo()
        >>> memo.put_many(["a", "b c"], [1, 2])
        >>> memo.table
        {'a': 1, 'b c': 2}
        """
        table = self.table
        new, sizes = dict(zip(texts, counts, strict=True)), list(map(getsizeof, texts))
        with self._lock:
            more = self._bytes + sum(sizes)
            if len(new) == len(texts) and max(sizes, default=0) <= self.max_text and more <= self.max_bytes and (
                len(table) + len(new) <= self.max_entries and table.keys().isdisjoint(new)
            ):  # the usual case, in one go
                table.update(new)
                self._bytes = more
                return
            for text, count in zip(texts, counts, strict=True):
                size = getsizeof(text)
                if size <= self.max_text and text not in table:
                    table[text] = count
                    self._bytes += size
                    if self._bytes > self.max_bytes or len(table) > self.max_entries:
                        self._forget()

    def clear(self) -> None:
        """Forget every count.

        >>> Memo().clear()
        """
        with self._lock:
            self.table.clear()
            self._bytes = 0

    def _forget(self) -> None:
        # dicts keep their insertion order, so the first half is the older one
        for text in list(islice(self.table, len(self.table) // 2)):
            self._bytes -= getsizeof(text)
            del self.table[text]
