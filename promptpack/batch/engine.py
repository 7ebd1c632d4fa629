"""The local engine: a pool of processes, a bounded window of chunks, results in the order of the input.

A worker that dies takes its chunk with it, never more: the pool is rebuilt, chunks that no worker had begun go to the
new one, and a chunk that was begun is done again in a process of its own, in halves where that dies, too, down to the
one row that does it. What the pool costs beside the work is sending rows and results (`promptpack.batch.slots`): about
a fiftieth of the work.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from promptpack.batch import worker
from promptpack.batch.chunks import Chunk
from promptpack.batch.rows import Failure
from promptpack.batch.slots import Slots
from promptpack.errors import OptionError, PromptpackError, quote

TRIES = 3  # times that a single row may end its worker before it is taken for the cause
_STARTS = 3  # times that a pool may fail to start
_MOST = 512
# A dead worker; or the process that workers are forked from is dead, and the pipe to it broken.
_BROKEN = (BrokenProcessPool, OSError, EOFError)


class Work(Protocol):
    """What is done with each chunk; plain data that pickles."""

    def __call__(self, chunk: Chunk, /) -> Any:
        """Return what became of a chunk."""
        ...

    def lost(self, chunk: Chunk, failure: Failure, /) -> Any:
        """Return what becomes of a chunk of one row that ends its worker."""
        ...

    def joined(self, parts: Sequence[Any], /) -> Any:
        """Return the results of parts of a chunk as one."""
        ...


def worker_count(workers: int | None) -> int:
    """Return how many workers: as many as there are processors for this process, or the number given; 0 is none.

    >>> worker_count(3)
    3
    """
    if workers is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(workers, bool) or not isinstance(workers, int) or not 0 <= workers <= _MOST:
        raise OptionError(
            f"workers: expected a whole number from 0 to {_MOST}, got {quote(workers)}", name="workers", given=workers
        )
    return workers


def ordered(
    chunks: Iterable[Chunk], work: Work, workers: int, *, vocabularies: Sequence[str] = ()
) -> Generator[tuple[Chunk, Any], None, None]:
    """Yield each chunk with what the work made of it, in order; at most 2 * workers + 2 chunks are held.

    workers: 0 does the work in this process, without protection from what ends a process. vocabularies: loaded once,
    for all workers. Whoever takes the results slowly slows the work down; closing the iterator ends the workers.
    Raises OptionError where the work cannot be sent to other processes, PromptpackError where no worker starts.
    """
    if not workers:
        for each in chunks:
            yield each, work(each)
        return
    try:
        packed = pickle.dumps(work, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # a foreign object raises what it likes
        raise OptionError(
            f"builder: cannot be sent to other processes ({type(error).__name__}: {quote(str(error))}); use "
            "functions that a module defines, or workers=0", name="builder", given=None,
        ) from error
    source = iter(chunks)
    window: deque[_Held] = deque()
    most = 2 * workers + 2
    pool = _Pool(packed, workers, most, vocabularies)
    number = 0
    try:
        while True:
            while len(window) < most and (chunk := next(source, None)) is not None:
                window.append(_Held(chunk, number % most))
                number += 1
                pool.submit(window[-1])
            if not window:
                return
            try:
                done = pool.result(window[0])
            except BrokenProcessPool:
                _recover(pool, window, work)
                continue
            yield window.popleft().chunk, done
    finally:
        pool.end()


@dataclass(slots=True, eq=False)
class _Held:
    """A chunk of the window: its place among the marks, and its result as soon as there is one."""

    chunk: Chunk
    slot: int
    future: Future[Any] | None = None
    done: list[Any] = field(default_factory=list)

    def finished(self) -> bool:
        """Tell whether a result or an error of the work is there."""
        if self.done:
            return True
        future = self.future
        return future is not None and future.done() and not isinstance(future.exception(), BrokenProcessPool)


class _Pool:
    """An executor that can be started again, and what its workers have begun."""

    def __init__(self, packed: bytes, workers: int, slots: int, vocabularies: Sequence[str]) -> None:
        self.packed = packed
        self.workers = workers
        self.vocabularies = vocabularies
        self.context = _context(vocabularies)
        self.begun: Any = self.context.RawArray("b", slots)
        self.slots = Slots()
        self.executor: ProcessPoolExecutor | None = None

    def start(self) -> ProcessPoolExecutor:
        """Return the running executor, started where it is not; PromptpackError where that fails again and again."""
        for _ in range(_STARTS):
            if self.executor is not None:
                return self.executor
            self.executor = ProcessPoolExecutor(
                self.workers, mp_context=self.context, initializer=worker.start,
                initargs=(self.packed, self.begun, self.slots),
            )
            try:
                self.executor.submit(worker.alive).result()
            except _BROKEN:
                self.close()
        if self.executor is not None:
            return self.executor
        raise PromptpackError(
            "batch: worker processes end as soon as they start. A script that starts workers needs "
            '`if __name__ == "__main__":` around what it does; workers=0 does without them'
        )

    def submit(self, held: _Held) -> None:
        """Hand a chunk to the workers."""
        self.begun[held.slot] = 0
        try:
            held.future = self.start().submit(worker.run, self.slots.put(held.slot, held.chunk), held.slot)
        except _BROKEN as error:  # found out here first: the window is looked at in its turn
            held.future = Future()
            held.future.set_exception(BrokenProcessPool(str(error)))

    def result(self, held: _Held) -> Any:
        """Wait for the result of a chunk."""
        if not held.done and held.future is not None:
            held.done.append(self.slots.get(held.slot, held.future.result()))
        return held.done[0]

    def end(self) -> None:
        """End the workers, and give the slots free."""
        self.close()
        self.slots.close()

    def close(self) -> None:
        """End the workers, whatever they are at."""
        if self.executor is None:
            return
        processes = list((getattr(self.executor, "_processes", None) or {}).values())
        self.executor.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            with suppress(OSError, ValueError, AttributeError):  # it has ended by itself
                process.kill()
        for process in processes:
            with suppress(OSError, ValueError, AssertionError):
                process.join(5)
        self.executor = None


def _recover(pool: _Pool, window: deque[_Held], work: Work) -> None:
    """Rebuild the pool; what was begun is done again by itself, what was not is handed out again."""
    open_ones = [held for held in window if not held.finished()]
    for held in window:
        if held not in open_ones and not held.done and held.future is not None and held.future.exception() is None:
            pool.result(held)
    pool.close()
    suspects = [held for held in open_ones if pool.begun[held.slot]]
    if suspects:
        alone = _Pool(pool.packed, 1, 1, pool.vocabularies)
        try:
            for held in suspects:
                held.done.append(_alone(alone, held.chunk, work))
        finally:
            alone.end()
    for held in open_ones:
        if not held.done:
            pool.submit(held)


def _alone(pool: _Pool, chunk: Chunk, work: Work) -> Any:
    """Do a chunk in a process of its own, in halves where that dies."""
    for _ in range(TRIES if chunk.count == 1 else 1):
        held = _Held(chunk, 0)
        pool.submit(held)
        try:
            return pool.result(held)
        except BrokenProcessPool:
            pool.close()
    if chunk.count == 1:
        return work.lost(chunk, Failure(
            "WorkerDied", f"row: the process that rendered it was ended, {TRIES} times in a row: out of memory, or a "
            "crash in native code",
        ))
    return work.joined([_alone(pool, half, work) for half in chunk.halves()])


def _context(vocabularies: Sequence[str]) -> Any:
    """Return how processes are started: forked from a clean one that has loaded what all need, where that is known."""
    methods = multiprocessing.get_all_start_methods()
    if "forkserver" not in methods:
        return multiprocessing.get_context("spawn")
    context: Any = multiprocessing.get_context("forkserver")
    from multiprocessing import forkserver

    before = os.environ.get(worker.PRELOAD)
    os.environ[worker.PRELOAD] = ",".join(vocabularies)
    try:
        context.set_forkserver_preload(["promptpack.batch.preload"])
        forkserver.ensure_running()
    finally:
        if before is None:
            del os.environ[worker.PRELOAD]
        else:
            os.environ[worker.PRELOAD] = before
    return context


def vocabularies_of(builder: Any) -> tuple[str, ...]:
    """Return the vocabularies that a builder counts with."""
    from promptpack.profiles import profile
    from promptpack.tokens import counter

    named: Callable[..., Any] = counter
    found = profile(builder.model)
    return (str(named(builder.counter if builder.counter is not None else found.counter).name),)
