"""A user's own counter: any callable from a text to a number, with its results checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from promptpack.errors import TokenizerError, quote
from promptpack.tokens.base import BaseCounter
from promptpack.tokens.cutting import check_text


class CallableCounter(BaseCounter):
    """Wraps a callable from str to int, so that a wrong result is an error at the place where it arises.

    What the callable carries is kept: `name`, `exact` (default True: it is taken at its word), `additive` and
    `uniform_digits` (default False), `floor`, `prefix`, `suffix`, `count_many`. Its counts are kept in a
    memo, so it must give the same text the same count. It pickles if the callable does.

    Raises TokenizerError where a result is no whole number of 0 or more, or a prefix is no start of its text
    or costs more than it may. What the callable raises itself passes through.

    >>> def halves(text):
    ...     return -(-len(text) // 2)
    >>> counter = CallableCounter(halves)
    >>> counter.name, counter("abc"), counter.prefix("abcdef", 2)
    ('halves', 2, 'abcd')
    """

    __slots__ = ("function",)

    def __init__(self, function: Callable[[str], int]) -> None:
        self.function = function
        name = getattr(function, "name", None) or getattr(function, "__name__", None)
        self.name = name if isinstance(name, str) else type(function).__name__
        super().__init__(
            self.name,
            exact=self._flag("exact", True),
            additive=self._flag("additive", False),
            uniform_digits=self._flag("uniform_digits", False),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return CallableCounter, (self.function,)

    def floor(self, text: str, limit: int) -> int:
        """Return the callable's own lower bound, where it has one, else 0.

        >>> CallableCounter(len).floor("abc", 1)
        0
        """
        check_text(text)
        own = getattr(self.function, "floor", None)
        return 0 if own is None else self._whole(own(text, limit), "floor of")

    def count_many(self, texts: Iterable[str]) -> list[int]:
        """Count several texts, by the callable's own `count_many(list of texts)` where it has one.

        >>> CallableCounter(len).count_many(["a", "bc"])
        [1, 2]
        """
        texts = list(texts)
        own = getattr(self.function, "count_many", None)
        if own is not None:
            for text in texts:
                check_text(text)
            new = [str.__str__(text) for text in dict.fromkeys(texts) if self._known(text) is None]
            counts = [self._whole(count, "count of") for count in (own(new) if new else ())]
            if len(counts) != len(new):
                raise self._error(f"its count_many gave {len(counts)} counts for {len(new)} texts")
            for text, count in zip(new, counts, strict=True):
                self._memo.put(text, count)
            found = dict(zip(new, counts, strict=True))
            return [found[text] if text in found else self(text) for text in texts]
        return [self(text) for text in texts]

    def _error(self, why: str) -> TokenizerError:
        return TokenizerError(f"counter {quote(self.name)}: {why}", name=self.name)

    def _flag(self, flag: str, default: bool) -> bool:
        value = getattr(self.function, flag, default)
        if not isinstance(value, bool):
            raise self._error(f"its attribute {flag} must be True or False, not {quote(value)}")
        return value

    def _whole(self, value: object, what: str) -> int:
        if type(value) is int and value >= 0:
            return value
        # numpy's integers are whole numbers too
        if not isinstance(value, bool | float | str) and hasattr(type(value), "__index__"):
            try:
                whole = int(value.__index__())  # type: ignore[attr-defined]
            except TypeError:  # an array has an index, too, and refuses to give it
                whole = -1
            if whole >= 0:
                return whole
        raise self._error(
            f"the {what} a text must be a whole number of 0 or more, but it gave {quote(value)}"
        )

    def _measure(self, text: str) -> int:
        return self._whole(self.function(text), "count of")

    def _start(self, text: str, limit: int) -> str:
        own = getattr(self.function, "prefix", None)
        if own is None:
            return super()._start(text, limit)
        return self._fits(own(text, limit), "prefix", text, limit)

    def _end(self, text: str, limit: int) -> str:
        own = getattr(self.function, "suffix", None)
        if own is None:
            return super()._end(text, limit)
        return self._fits(own(text, limit), "suffix", text, limit)

    def _fits(self, piece: object, what: str, text: str, limit: int) -> str:
        is_part = isinstance(piece, str) and (
            text.startswith(piece) if what == "prefix" else text.endswith(piece)
        )
        if not isinstance(piece, str) or not is_part:
            raise self._error(f"its {what} must return a part of the text, but it gave {quote(piece)}")
        cost = self._measure(piece)
        if cost > limit:
            raise self._error(f"its {what} to {limit} tokens costs {cost}: {quote(piece)}")
        return piece
