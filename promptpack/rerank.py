"""Reranking: scores from a model that reads question and text together; the only asynchronous code.

A reranker is called in batches, a few at a time, each with a time limit and retries; what it answers is checked.
Cancelling the task that awaits it cancels its calls. asyncio is loaded with the first call.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from promptpack.errors import OptionError, RerankError, SourceError, quote
from promptpack.ratings import Scores as Scores
from promptpack.ratings import joined
from promptpack.ratings import read_scores as read_scores
from promptpack.source import Source

Item = TypeVar("Item")
Answer = TypeVar("Answer")
OnError = Literal["keep", "raise"] | Callable[[Exception], Any]
LONGEST_DELAY = 60.0


@dataclass(frozen=True, slots=True)
class Reranked:
    """What reranking gave: the sources with their new scores, or as they were with the `error`.

    applied: whether there are new scores. batches: how many calls there were, retries not counted. rated: how many
    sources the reranker rated; `unrated`: how many it left out, which keep the score that they came with, or stand
    behind the rated ones (`behind`). ignored: entries of its answers that were of no use.
    """

    sources: tuple[Source, ...]
    applied: bool
    batches: int = 0
    error: Exception | None = None
    rated: int = 0
    behind: bool = False
    ignored: int = 0

    @property
    def unrated(self) -> int:
        """How many sources have no score of the reranker."""
        return len(self.sources) - self.rated


@dataclass(frozen=True, slots=True)
class Rerank:
    """How a reranker is called: in batches, with a time limit, retries and a policy for failures.

    reranker: an object with `rerank(query, sources)`, or such a function, that gives one finite number for each
        source, in their order; it may be asynchronous. Others run in a thread.
    batch_size: sources for each call (None: all at once). concurrency: calls at a time. timeout: seconds for each
        call. retries: further tries for a batch that failed. retry_delay: seconds before the first, doubled for
        each further one (an error's `retry_after` counts instead), at most a minute.
    on_error: "keep" keeps the scores that there were, "raise" raises RerankError, a function (which may be
        asynchronous) is given the error and the scores are kept.

    A time limit that passed and an answer that cannot be used are not tried again, nor is an error whose
    `retryable` is False. A call in a thread cannot be stopped: it goes on behind its time limit, unheard.

    >>> import asyncio
    >>> rerank = Rerank(lambda query, sources: [len(source.text) for source in sources])
    >>> asyncio.run(rerank.scores("why", [Source("a", "xy"), Source("b", "xyz")]))
    [2.0, 3.0]
    """

    reranker: Any
    batch_size: int | None = None
    concurrency: int = 1
    timeout: float | None = None
    retries: int = 0
    retry_delay: float = 0.5
    on_error: OnError = "keep"

    def __post_init__(self) -> None:
        if not callable(getattr(self.reranker, "rerank", self.reranker)):
            raise _wrong("reranker", "an object with a method rerank(query, sources), or a function", self.reranker)
        for name, least in (("batch_size", 1), ("concurrency", 1), ("retries", 0)):
            value = getattr(self, name)
            if value is None and name == "batch_size":
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise _wrong(name, f"a whole number of {least} or more", value)
        if self.timeout is not None and not (_is_seconds(self.timeout) and self.timeout > 0):
            raise _wrong("timeout", "seconds above 0, or None", self.timeout)
        if not _is_seconds(self.retry_delay):
            raise _wrong("retry_delay", "seconds of 0 or more", self.retry_delay)
        if self.on_error not in ("keep", "raise") and not callable(self.on_error):
            raise OptionError.unknown("on_error", self.on_error, ("keep", "raise", "a function"))

    async def apply(self, query: str | None, sources: Sequence[Source]) -> Reranked:
        """Return the sources with the reranker's scores; without a query or sources it is not called.

        Raises RerankError for a failure with on_error="raise".
        """
        if query is not None and not isinstance(query, str):
            raise _wrong("query", "a text or None", query)
        given = _checked(sources)
        if not given or query is None or not query.strip():
            return Reranked(given, applied=False)
        batches = self.batches(len(given))
        try:
            scores = await self.scores(query, given)
        except RerankError as error:
            if self.on_error == "raise":
                raise
            if callable(self.on_error):
                said = self.on_error(error)
                if inspect.isawaitable(said):
                    await said
            return Reranked(given, False, batches, error)
        rated = sum(scores.rated)
        if not rated:
            return Reranked(given, False, batches, ignored=scores.ignored)
        new = tuple(
            replace(source, score=score) if own or scores.behind else source
            for source, score, own in zip(given, scores, scores.rated, strict=True)
        )
        return Reranked(new, True, batches, rated=rated, behind=scores.behind, ignored=scores.ignored)

    async def scores(self, query: str, sources: Sequence[Source]) -> Scores:
        """Return one finite score for each source; RerankError where the reranker fails or answers otherwise."""
        call = getattr(self.reranker, "rerank", self.reranker)
        given = _checked(sources)
        try:
            parts = await self.run(lambda batch: awaited(call, query, batch), given, read_scores)
        except RerankError:
            raise
        except Exception as error:  # a foreign model raises what it likes
            raise RerankError(f"the reranker failed: {type(error).__name__}: {quote(str(error))}") from error
        return joined(parts, [source.score for source in given])

    def batches(self, count: int) -> int:
        """Return how many calls so many sources take."""
        return -(-count // (self.batch_size or max(count, 1)))

    async def run(
        self,
        call: Callable[[Sequence[Item]], Awaitable[Any]],
        items: Sequence[Item],
        read: Callable[[Any, Sequence[Item]], Answer],
    ) -> list[Answer]:
        """Call for each batch of the items, and return what `read` makes of the answers, in order.

        The first failure cancels the calls that are under way.
        """
        size = self.batch_size or max(len(items), 1)
        batches = [items[at:at + size] for at in range(0, len(items), size)]
        answers: dict[int, Answer] = {}
        waiting = iter(enumerate(batches))

        async def work() -> None:
            for at, batch in waiting:  # shared: each worker takes the next one
                answers[at] = read(await self._tried(call, batch), batch)

        await _all_of([work() for _ in range(min(self.concurrency, len(batches)))])
        return [answers[at] for at in range(len(batches))]

    async def _tried(self, call: Callable[[Sequence[Item]], Awaitable[Any]], batch: Sequence[Item]) -> Any:
        import asyncio

        for attempt in range(self.retries + 1):
            try:
                async with asyncio.timeout(self.timeout) as limit:
                    return await call(batch)
            except Exception as error:
                if isinstance(error, TimeoutError) and limit.expired():
                    raise RerankError(
                        f"the reranker did not answer within {self.timeout:g} seconds", retryable=False
                    ) from None
                if attempt == self.retries or not getattr(error, "retryable", True):
                    raise
                await asyncio.sleep(self._delay(error, attempt))
        raise AssertionError("there is a first try")

    def _delay(self, error: Exception, attempt: int) -> float:
        asked = getattr(error, "retry_after", None)
        own = self.retry_delay * 2.0 ** min(attempt, 16)
        return min(float(asked) if asked is not None and _is_seconds(asked) else own, LONGEST_DELAY)


async def awaited(
    function: Callable[..., Any], *args: Any, late: Callable[[Exception], None] | None = None, **named: Any
) -> Any:
    """Await a function that may be asynchronous; one that is not runs in a thread, so that the loop goes on.

    late: is given, in the loop, the error of a thread that nobody waits for any more.
    """
    if inspect.iscoroutinefunction(function):
        return await function(*args, **named)
    import asyncio

    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Any] = loop.create_future()
    context = copy_context()

    def settle(found: Any, error: BaseException | None) -> None:
        if not answer.done():
            answer.set_result(found) if error is None else answer.set_exception(error)
        elif isinstance(error, Exception) and late is not None:  # given up before
            late(error)

    def work() -> None:
        found: Any = None
        error: BaseException | None = None
        try:
            found = context.run(function, *args, **named)
        except StopIteration as caught:  # no future takes that
            error = RuntimeError(f"StopIteration: {quote(str(caught))}")
        except BaseException as caught:  # it belongs to who waits
            error = caught
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, found, error)

    # A thread of its own: those of the loop's pool are waited for when the loop ends, time limit or not.
    threading.Thread(target=work, name="promptpack-rerank", daemon=True).start()
    found = await answer
    return await found if inspect.isawaitable(found) else found


async def _all_of(jobs: Sequence[Coroutine[Any, Any, None]]) -> None:
    import asyncio

    tasks = [asyncio.ensure_future(job) for job in jobs]
    try:
        await asyncio.gather(*tasks)
    except BaseException:  # also when cancelled: nothing may go on behind the caller's back
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


def _checked(sources: Sequence[Source]) -> tuple[Source, ...]:
    given = tuple(sources)
    for index, one in enumerate(given):
        if not isinstance(one, Source):
            raise SourceError(
                f"sources[{index}]: expected a Source, got {quote(one)}; PromptBuilder.add_sources takes other kinds",
                index=index, field="sources",
            )
    return given


def _is_seconds(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")


def _wrong(name: str, expected: str, given: object) -> OptionError:
    return OptionError(f"{name}: expected {expected}, got {quote(given)}", name=name, given=given)
