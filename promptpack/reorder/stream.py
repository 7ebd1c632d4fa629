"""Reordering a stream: window by window, so that memory is bounded."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice

from promptpack.errors import SourceError, quote
from promptpack.reorder.chunks import Chunk
from promptpack.source import Source

Now = Callable[[Sequence[Chunk], int], list[Chunk]]
Later = Callable[[Sequence[Chunk], int], Awaitable[list[Chunk]]]


class Stream:
    """The reordered chunks one by one, for `async for` or, where the input is no asynchronous one, for `for`.

    chunks: a list, which is handled whole, or any iterable. window: how many chunks of an iterable are reordered
    together. Can be gone through once. Raises SourceError at once for what cannot be iterated.
    """

    def __init__(self, chunks: Iterable[Chunk] | AsyncIterable[Chunk], window: int, now: Now, later: Later) -> None:
        single = isinstance(chunks, str | bytes | Mapping | Source)
        if single or not isinstance(chunks, Iterable | AsyncIterable):
            raise SourceError(f"chunks: expected an iterable of chunks, got {quote(chunks)}", field="chunks")
        self._chunks = chunks
        self._window = window
        self._now = now
        self._later = later

    def __iter__(self) -> Iterator[Chunk]:
        if not isinstance(self._chunks, Iterable):
            raise SourceError(
                f"chunks: {quote(self._chunks)} is asynchronous; go through the stream with `async for`",
                field="chunks",
            )
        return self._all_now(self._chunks)

    def __aiter__(self) -> AsyncIterator[Chunk]:
        return self._all_later()

    def _all_now(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        for first, window in _windows(chunks, self._window):
            yield from self._now(window, first)

    async def _all_later(self) -> AsyncIterator[Chunk]:
        if isinstance(self._chunks, AsyncIterable):
            async for first, window in _windows_later(self._chunks, self._window):
                for chunk in await self._later(window, first):
                    yield chunk
        else:
            for first, window in _windows(self._chunks, self._window):
                for chunk in await self._later(window, first):
                    yield chunk


def _windows(chunks: Iterable[Chunk], size: int) -> Iterator[tuple[int, Sequence[Chunk]]]:
    if isinstance(chunks, Sequence):
        yield 0, chunks
        return
    rest, first = iter(chunks), 0
    while window := list(islice(rest, size)):
        yield first, window
        first += len(window)


async def _windows_later(chunks: AsyncIterable[Chunk], size: int) -> AsyncIterator[tuple[int, Sequence[Chunk]]]:
    window: list[Chunk] = []
    first = 0
    async for chunk in chunks:
        window.append(chunk)
        if len(window) == size:
            yield first, window
            first, window = first + size, []
    if window:
        yield first, window
