"""The exact counters of the packaged vocabularies: tiktoken, or toktok where the extra `fast` is there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from promptpack.errors import TokenizerError
from promptpack.tokens.base import BaseCounter
from promptpack.tokens.boundary import WHITE_SPACE, parts
from promptpack.tokens.cutting import check_text, origin
from promptpack.tokens.fast import load
from promptpack.tokens.slicing import Codec, first_tokens, last_tokens
from promptpack.tokens.vocabulary import VOCABULARIES, encoding
from promptpack.wellformed import repaired

# tiktoken's pattern gives up (with a panic) in a run of about a million white-space characters. Texts of this
# many characters are counted in parts, and such runs split by another engine.
LONG = 250_000
_SHORT = 4_000  # characters of a text whose words are kept in mind, and how many such texts
_FEW = 32  # words that are counted again as quickly as they are looked up
_STOPS = re.compile(r"[,.;:!?](?<=[^\W_].)(?=\s)")
# Bytes of UTF-8 in which white space beyond ASCII may end, so that they may be no part of a word.
_UNSURE = frozenset(one.encode()[-1] for one in WHITE_SPACE if one > "\x7f")
_KINDS = bytes([
    ord(" " if chr(one).isspace() and one < 128 else "a" if chr(one).isalnum() and one < 128
        else "." if chr(one) in ",.;:!?" else "u" if one in _UNSURE else "x")
    for one in range(256)
])
_ENDS = bytes([one if one in b" u" else ord("a") for one in _KINDS])
_NO_SPECIAL: set[str] = set()
_LONG_S = "\u017f"  # where toktok reads o200k's contractions otherwise


class BpeCounter(BaseCounter):
    """Counts with o200k_base or cl100k_base as tiktoken's `encode_ordinary` does, offline.

    Text that spells a special token is plain text. Lone surrogates count as U+FFFD, as in tiktoken.

    name: the encoding. fast: None takes toktok where it is installed, True insists on it, False does without.
    Vocabularies load on the first count, which raises TokenizerError where that fails.

    >>> BpeCounter("o200k_base")("hello world <|endoftext|>")
    9
    """

    floors_words = True

    __slots__ = ("_engine", "_fast", "_many", "_words")

    def __init__(self, name: str, *, fast: bool | None = None) -> None:
        super().__init__(name, exact=True, additive=True, uniform_digits=True)
        self._fast = fast
        self._engine: Callable[[str], int] | None = None
        self._many: Callable[[list[str], str], list[int]] | None = None
        self._words: dict[str, tuple[int, int, int]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.name, self._fast)

    def floor(self, text: str, limit: int) -> int:
        r"""Return the number of words, counted until it passes `limit`; where it does not, with the stops behind them.

        No token of cl100k_base reaches over white space into another word; those of o200k_base that do
        all hold "\n/" or "\r/", so that these are taken off (both checked token by token in the tests). A comma or
        stop between a letter or digit and white space is a piece of its own for both.

        >>> known = BpeCounter("cl100k_base")
        >>> known.floor("one, two three four", 1), known.floor("one, two three four", 9)
        (3, 5)
        """
        most = max(limit, 0) + 2
        known = self._words.get(text) if most > _FEW and type(text) is str else None
        if known is None or (known[0] < most and known[1] < 0):
            known = self._look(text, most)
        words, stops, joined = known
        return max((min(words, most) if words > limit else words + stops) - joined, 0)

    def _look(self, text: str, most: int) -> tuple[int, int, int]:
        """Return the words of a text, counted up to `most`; its stops, -1 where not all of it was looked at; and in how
        many places a token may reach over white space."""
        check_text(text)
        words, stops = (_words_and_stops(text, most) if most > 2 * _FEW else None) or (
            len(text.split(None, most - 1)), -1)
        if stops < 0 and words < most:
            stops = len(_STOPS.findall(text))
        joined = 0
        if "/" in text and ("\n" in text or "\r" in text) and self.name == "o200k_base":
            joined = text.count("\n/") + text.count("\r/")
        found = words, stops, joined
        if type(text) is str and most > _FEW and len(text) <= _SHORT:
            if len(self._words) >= _SHORT:
                self._words.clear()
            self._words[text] = found
        return found

    def count_many(self, texts: Iterable[str]) -> list[int]:
        """Count several texts: the same counts as one by one.

        >>> BpeCounter("o200k_base").count_many(["one", "one two"])
        [1, 2]
        """
        texts = list(texts)
        for text in texts:
            check_text(text)
        new = [text for text in dict.fromkeys(texts) if self._known(text) is None and type(text) is str]
        counts = self.count_fresh(new)
        self._memo.put_many(new, counts)
        found = dict(zip(new, counts, strict=True))
        return [found[text] if text in found else self(text) for text in texts]

    def count_fresh(self, texts: list[str], end: str = "") -> list[int]:
        """Count texts, each with `end` behind it, without the memo; nothing runs in between: the tokenizer likes that.

        >>> BpeCounter("o200k_base").count_fresh(["one", "one two"])
        [1, 2]
        """
        engine, many = self._ready(), self._many
        try:
            if many is not None:
                return many(texts, end)
        except UnicodeEncodeError:  # one of them has lone surrogates: each is counted by itself
            pass
        return [engine(text + end) for text in texts]

    def _measure(self, text: str) -> int:
        engine = self._engine or self._ready()
        return engine(text)

    def _ready(self) -> Callable[[str], int]:
        with self._lock:
            if self._engine is None:
                self._engine = self._load()
            return self._engine

    def _load(self) -> Callable[[str], int]:
        fast = None if self._fast is False else load(self.name)
        if fast is not None:
            return self._guarded(fast)
        if self._fast:
            raise TokenizerError(
                f"counter {self.name!r}: the extra 'fast' is not installed, or its counts differ. "
                'Remedies: pip install "promptpack-rag[fast]", or leave fast=None.',
                name=self.name,
            )
        self._many = counting_many(self.name)
        return counting(self.name)

    def _guarded(self, one: Callable[[str], int]) -> Callable[[str], int]:
        name = self.name
        avoid = _LONG_S if name == "o200k_base" else None

        def count(text: str) -> int:
            if avoid is None or avoid not in text:
                try:
                    return one(text)
                except UnicodeEncodeError:
                    pass  # lone surrogates: tiktoken's repair decides
            return len(tokens(name, text))

        return count

    def _start(self, text: str, limit: int) -> str:
        clean = repaired(text)
        kept = len(first_tokens(clean, limit, codec(self.name)))
        return text[: origin(text, clean, kept)]

    def _end(self, text: str, limit: int) -> str:
        clean = repaired(text)
        kept = len(last_tokens(clean, limit, codec(self.name)))
        return text[origin(text, clean, len(clean) - kept) :]


def _words_and_stops(text: str, most: int) -> tuple[int, int] | None:
    """Return the words of a text, and its stops where there are fewer words than `most`, else -1; None where the text
    is not mostly ASCII.

    Counted in its bytes, which is several times faster than splitting. Beside other signs it may be fewer of both.
    """
    data = text.encode("utf-8", "surrogatepass")
    if len(data) - len(text) > len(text) >> 3:
        return None
    ends = data.translate(_ENDS)
    words = ends.count(b"a ") + ends.endswith(b"a")
    return words, data.translate(_KINDS).count(b"a. ") if words < most else -1


def _rebuild(name: str, fast: bool | None) -> BaseCounter:
    from promptpack.tokens.registry import counter

    return counter(name, fast=fast)


@cache
def codec(name: str) -> Codec:
    """Return the vocabulary of that name as a `Codec`, which takes texts of any length.

    >>> codec("cl100k_base").encode("hello world")
    [15339, 1917]
    """
    known = encoding(name)
    return Codec(lambda text: tokens(name, text), known.decode_bytes, known.decode_single_token_bytes)


def counting(name: str) -> Callable[[str], int]:
    """Return a function that counts a text of any length as `encode_ordinary` does.

    tiktoken can hand over its tokens as one buffer, whose size tells their number without a list of them;
    where a release does not, the list is counted.

    >>> counting("o200k_base")("hello world <|endoftext|>")
    9
    """
    encode, into_buffer = encoding(name).encode_ordinary, _into_buffer(name)

    def count(text: str) -> int:
        if len(text) >= LONG:
            return len(tokens(name, text))
        if into_buffer is not None:
            try:
                return memoryview(into_buffer(text, _NO_SPECIAL)).nbytes >> 2  # four bytes a token
            except UnicodeEncodeError:  # lone surrogates, which `encode_ordinary` repairs
                pass
        return len(encode(text))

    return count


def counting_many(name: str) -> Callable[[list[str], str], list[int]] | None:
    """Return a function that counts many texts, each with the same end; None where the release of tiktoken has none.

    It raises UnicodeEncodeError where one of them has lone surrogates.
    """
    into_buffer, one = _into_buffer(name), counting(name)
    if into_buffer is None:
        return None
    into = into_buffer

    def count(texts: list[str], end: str) -> list[int]:
        if max(map(len, texts), default=0) + len(end) >= LONG:
            return [one(text + end) for text in texts]
        # Joined here, one by one: a list of the joined texts would not stay in the nearest cache of the machine.
        return [memoryview(into(text + end, _NO_SPECIAL)).nbytes >> 2 for text in texts]

    return count


def _into_buffer(name: str) -> Callable[[str, set[str]], Any] | None:
    return getattr(getattr(encoding(name), "_core_bpe", None), "encode_to_tiktoken_buffer", None)


def tokens(name: str, text: str) -> list[int]:
    """Return the token ids of a text of any length, as `encode_ordinary` gives them.

    Texts of 250,000 characters or more are taken in parts that meet where counts add up. A part with a run of
    white space that long, where tiktoken's pattern would panic, is split with the same pattern by the package
    regex, and its pieces are encoded one by one.

    >>> len(tokens("o200k_base", " " * 1_200_000))
    9375
    """
    known = encoding(name)
    if len(text) < LONG:
        return known.encode_ordinary(text)
    ids: list[int] = []
    for part in parts(repaired(text), LONG // 4):
        if len(part) < LONG or not _long_space(LONG // 2).search(part):
            ids += known.encode_ordinary(part)
        else:
            for piece in _splitter(name).findall(part):
                ids += known._encode_single_piece(piece)
    return ids


@cache
def _long_space(size: int) -> re.Pattern[str]:
    return re.compile(f"[{re.escape(WHITE_SPACE)}]{{{size}}}")


@cache
def _splitter(name: str) -> Any:
    import regex

    # the same pattern, with white space and the end of the text spelled as this engine means them
    pattern = VOCABULARIES[name].pattern
    pattern = pattern.replace(r"\s", r"\p{White_Space}").replace(r"\S", r"\P{White_Space}")
    return regex.compile(pattern.replace("$", r"\Z"))
