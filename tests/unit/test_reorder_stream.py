"""Streams: windows, laziness, and both ways of going through one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from promptpack import Reorderer, SourceError


def chunks(n: int, seen: list[int] | None = None) -> Iterator[dict[str, Any]]:
    for at in range(n):
        if seen is not None:
            seen.append(at)
        yield {"id": str(at), "text": f"t{at}", "score": at}


async def later(n: int) -> AsyncIterator[dict[str, Any]]:
    for chunk in chunks(n):
        yield chunk


def test_an_iterable_is_read_window_by_window() -> None:
    """Memory is bounded only if no more than a window is read ahead."""
    seen: list[int] = []
    stream = iter(Reorderer(streaming_window_size=3).reorder_stream(chunks(9, seen)))
    assert next(stream)["id"] == "2"  # type: ignore[index]
    assert len(seen) == 3
    assert [chunk["id"] for chunk in stream] == ["0", "1", "5", "3", "4", "8", "6", "7"]  # type: ignore[index]


def test_both_ways_give_the_same() -> None:
    reorderer = Reorderer(streaming_window_size=4, top_k=3)

    async def collect(given: Any) -> list[Any]:
        return [chunk async for chunk in reorderer.reorder_stream(given)]

    now = list(reorderer.reorder_stream(chunks(10)))
    assert now == asyncio.run(collect(chunks(10))) == asyncio.run(collect(later(10)))
    assert len(now) == 3 + 3 + 2


def test_the_index_of_a_fault_is_that_in_the_stream() -> None:
    given = [*chunks(5), {"id": "x", "text": "y", "score": None}]
    with pytest.raises(SourceError) as caught:
        list(Reorderer(streaming_window_size=2).reorder_stream(iter(given)))
    assert caught.value.index == 5


@pytest.mark.parametrize("given", [7, None, "text", {"id": "a"}])
def test_what_cannot_be_a_stream_is_refused_at_once(given: Any) -> None:
    with pytest.raises(SourceError, match="iterable"):
        Reorderer().reorder_stream(given)


def test_an_asynchronous_stream_cannot_be_gone_through_at_once() -> None:
    with pytest.raises(SourceError, match="async for"):
        iter(Reorderer().reorder_stream(later(2)))


def test_hooks_are_told_of_each_window() -> None:
    told: list[Any] = []
    list(Reorderer(streaming_window_size=2, on_diagnostics=told.append).reorder_stream(chunks(5)))
    assert [one.input_count for one in told] == [2, 2, 1]
