"""Memory beside the pipes to the workers: a chunk and what became of it are megabytes, and a pipe takes 64 KiB at a
time, with a switch between processes for each.

It is one file in memory that has no name, so that nothing is left of it however the processes end, and that is written
and read as files are: where there is no room, that is an error, and what was to go there goes through the pipe.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import reduction
from typing import Any

SIZE = 8 << 20  # bytes of a slot; what is larger goes through the pipe
_WORTH = 1 << 14  # bytes that a pipe takes as well


@dataclass(frozen=True, slots=True)
class Stored:
    """Says that a slot holds a value: a pickle and its buffers, one after the other, in so many bytes each."""

    sizes: tuple[int, ...]


@dataclass(slots=True)
class Slots:
    """A slot for each chunk of a window. file: None where the system has no such files, and all goes through pipes."""

    file: int | None = field(default_factory=lambda: _file())

    def put(self, slot: int, value: Any) -> Any:
        """Store a value; return what goes through the pipe instead: word of it, or the value itself."""
        if self.file is None:
            return value
        buffers: list[pickle.PickleBuffer] = []
        pieces: list[Any] = [pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL, buffer_callback=buffers.append)]
        pieces += [one.raw() for one in buffers]
        sizes = tuple([len(one) for one in pieces])
        if not _WORTH <= sum(sizes) <= SIZE or not _written(self.file, pieces, slot * SIZE):
            return value
        return Stored(sizes)

    def get(self, slot: int, word: Any) -> Any:
        """Return the value that a word of `put` stands for."""
        if not isinstance(word, Stored) or self.file is None:
            return word
        pieces = []
        at = slot * SIZE
        for size in word.sizes:
            pieces.append(os.pread(self.file, size, at))
            at += size
        return pickle.loads(pieces[0], buffers=pieces[1:])  # noqa: S301  # our own process wrote it

    def close(self) -> None:
        """Give the memory free."""
        if self.file is not None:
            os.close(self.file)
            self.file = None

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return (Slots, (None,)) if self.file is None else (_taken, (reduction.DupFd(self.file),))


def _taken(given: Any) -> Slots:
    return Slots(given.detach())


def _file() -> int | None:
    with suppress(AttributeError, OSError):  # another system than Linux, or one that forbids it
        return os.memfd_create("promptpack")
    return None


def _written(file: int, pieces: list[Any], at: int) -> bool:
    for piece in pieces:
        left = memoryview(piece)
        while left:
            try:
                done = os.pwrite(file, left, at)
            except OSError:  # no room: there is the pipe
                return False
            left, at = left[done:], at + done
    return True
