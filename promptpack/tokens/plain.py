"""Counters that need no vocabulary and are exact by definition: words, characters, quarters of characters."""

from __future__ import annotations

from promptpack.tokens.base import BaseCounter
from promptpack.tokens.cutting import check_text, grapheme_ceil, grapheme_floor


class Words(BaseCounter):
    """Counts the words parted by white space: `len(text.split())`.

    >>> Words()("one two  three")
    3
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("words", exact=True, additive=True, uniform_digits=True)

    def floor(self, text: str, limit: int) -> int:
        """Return the number of words, or a number over `limit` as soon as it is passed.

        >>> Words().floor("one two three four", 1)
        3
        """
        check_text(text)
        return len(text.split(None, max(limit, 0) + 1))

    def _measure(self, text: str) -> int:
        return len(text.split())

    def _start(self, text: str, limit: int) -> str:
        found = text.split(None, limit)
        if len(found) <= limit:
            return text
        return text[: len(text) - len(found[limit])].rstrip()

    def _end(self, text: str, limit: int) -> str:
        found = text.rsplit(None, limit)
        if len(found) <= limit:
            return text
        start = len(found[0])
        start += len(text[start:]) - len(text[start:].lstrip())
        return text[grapheme_ceil(text, start) :]


class Chars(BaseCounter):
    r"""Counts code points: `len(text)`. Cuts still fall between grapheme clusters.

    >>> Chars()("cafe\u0301")
    5
    """

    __slots__ = ()

    def __init__(self, name: str = "chars", *, exact: bool = True, additive: bool = True) -> None:
        super().__init__(name, exact=exact, additive=additive, uniform_digits=True)

    def __call__(self, text: str, /) -> int:
        """Return the count, which needs no memo.

        >>> Chars()("abc")
        3
        """
        if not isinstance(text, str):
            check_text(text)
        return self._measure(text)

    def floor(self, text: str, limit: int) -> int:
        """Return the count itself, which costs nothing.

        >>> Chars().floor("abc", 1)
        3
        """
        return self(text)

    def _measure(self, text: str) -> int:
        return len(text)

    def _start(self, text: str, limit: int) -> str:
        return text[: grapheme_floor(text, limit)]

    def _end(self, text: str, limit: int) -> str:
        return text[grapheme_ceil(text, len(text) - limit) :] if limit else ""


class Quarters(Chars):
    """Counts a token for every four code points: len / 4, half to even, at least 1; 0 for the empty text.

    The rule of thumb of many tools. It undercounts Chinese, emoji and ids by two to eight times, so it is
    marked as not exact. A cut takes exactly 4 characters a token (less where that would split a cluster).

    >>> counter = Quarters()
    >>> counter("ab"), counter("abcdefghij"), counter("")
    (1, 2, 0)
    >>> counter.prefix("abcdefghij", 1)
    'abcd'
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("chars/4", exact=False, additive=False)

    def _measure(self, text: str) -> int:
        return max(1, round(len(text) / 4)) if text else 0

    def _start(self, text: str, limit: int) -> str:
        return super()._start(text, 4 * limit)

    def _end(self, text: str, limit: int) -> str:
        return super()._end(text, 4 * limit)
