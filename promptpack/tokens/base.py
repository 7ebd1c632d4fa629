"""What every counter has: a name, what its counts are good for, a memo, and cuts to a number of tokens."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from promptpack.tokens.cutting import check_limit, check_text, longest_end, longest_start
from promptpack.tokens.memo import Memo


class BaseCounter(ABC):
    """A counter: called with a text it returns the number of tokens, a whole number of 0 or more.

    name: how the report calls it. exact: whether the counts are those of the tokenizer it is named after.
    additive: whether counts add up where `boundary.cuts_here` is true. uniform_digits: whether two texts that
    differ only in the digits of one run of ASCII digits of the same length, beside no other numeral, count
    the same.

    Counts are kept in a bounded memo. Counters may be shared between threads and survive pickling, without
    their memo.
    Raises SourceError where the text is no text.
    """

    # Whether `floor` goes by words and the stops behind them alone: pieces that stay as many where a text is escaped,
    # or written as the inside of a JSON string (there a break is no white space any more, but begins a piece).
    floors_words = False

    __slots__ = ("__weakref__", "_known", "_lock", "_memo", "additive", "exact", "name", "uniform_digits")

    def __init__(self, name: str, *, exact: bool, additive: bool, uniform_digits: bool) -> None:
        self.name = name
        self.exact = exact
        self.additive = additive
        self.uniform_digits = uniform_digits
        self._lock = threading.RLock()
        self._memo = Memo()
        # bound once, so that a count already known costs one call and one look-up
        self._known: Callable[[str], int | None] = self._memo.table.get

    def __call__(self, text: str, /) -> int:
        """Return the number of tokens of the text.

        >>> from promptpack.tokens import counter
        >>> counter("cl100k_base")("hello world")
        2
        """
        try:
            count = self._known(text)
        except TypeError:  # not hashable, hence no text
            count = None
        return self._count_new(text) if count is None else count

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        # a counter is rebuilt by its name: locks, memos and vocabularies stay behind
        from promptpack.tokens.registry import counter

        return counter, (self.name,)

    def count_many(self, texts: Iterable[str]) -> list[int]:
        """Count several texts: the same counts as one by one, in their order.

        >>> from promptpack.tokens import counter
        >>> counter("words").count_many(["one", "one two"])
        [1, 2]
        """
        return [self(text) for text in texts]

    def count_fresh(self, texts: list[str], end: str = "") -> list[int]:
        """Count texts, each with `end` behind it, without looking into the memo or writing to it: for who keeps them.

        >>> from promptpack.tokens import counter
        >>> counter("o200k_base").count_fresh(["one", "one two"])
        [1, 2]
        """
        return [self._measure(text + end) for text in texts]

    def floor(self, text: str, limit: int) -> int:
        """Return a lower bound of the count, cheaply; it may stop looking once the bound passes `limit`.

        It follows from the text alone: what was counted before must not show in a payload's account.

        >>> from promptpack.tokens import counter
        >>> counter("words").floor("one two three four", 2) > 2
        True
        """
        check_text(text)
        return 0

    def prefix(self, text: str, limit: int) -> str:
        """Return the longest start of the text that costs at most `limit` tokens, never half a character.

        A character is a grapheme cluster. A limit of 0 or less leaves nothing of a text that costs anything.
        Raises OptionError where `limit` is no whole number.

        >>> from promptpack.tokens import counter
        >>> counter("o200k_base").prefix("one two three", 2)
        'one two'
        """
        check_text(text)
        limit = check_limit(limit)
        known = self._known(text)
        return text if known is not None and known <= limit else self._start(text, limit)

    def suffix(self, text: str, limit: int) -> str:
        """Return the longest end of the text that costs at most `limit` tokens, never half a character.

        >>> from promptpack.tokens import counter
        >>> counter("o200k_base").suffix("one two three", 2)
        ' two three'
        """
        check_text(text)
        limit = check_limit(limit)
        known = self._known(text)
        return text if known is not None and known <= limit else self._end(text, limit)

    def _count_new(self, text: str) -> int:
        # str subclasses may compare or hash as they like; the memo holds plain texts only
        if type(text) is not str:
            check_text(text)
            text = str.__str__(text)
        count = self._measure(text)
        self._memo.put(text, count)
        return count

    @abstractmethod
    def _measure(self, text: str) -> int:
        """Count a text anew."""

    def _start(self, text: str, limit: int) -> str:
        return longest_start(text, limit, self._measure)

    def _end(self, text: str, limit: int) -> str:
        return longest_end(text, limit, self._measure)
