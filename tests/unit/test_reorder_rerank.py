"""Reranking: calls in batches with limits and retries, checks of answers, cancellation; in builder and reorderer."""

from __future__ import annotations

import asyncio
import pickle
import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest

from promptpack import OptionError, PromptBuilder, Reorderer, Rerank, RerankError, Source

SOURCES = [Source(name, f"text {name}", 0.5) for name in "abcde"]
SCORES = {"a": 0.9, "b": 0.2, "c": 0.7}
CHUNKS = [{"id": name, "text": f"text {name}", "score": score} for name, score in SCORES.items()]


def lengths(query: str, sources: Sequence[Source]) -> list[float]:
    return [float(ord(source.id)) for source in sources]


class Model:
    """A reranker that notes its calls and fails as often as it is told to."""

    def __init__(self, *errors: Exception | None, delay: float = 0.0) -> None:
        self.errors = list(errors)
        self.calls: list[list[str]] = []
        self.running = self.most = 0
        self.cancelled = 0
        self.delay = delay

    async def rerank(self, query: str, sources: Sequence[Source]) -> list[float]:
        self.calls.append([source.id for source in sources])
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await asyncio.sleep(self.delay)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.running -= 1
        error = self.errors.pop(0) if self.errors else None
        if error is not None:
            raise error
        return lengths(query, sources)


@pytest.mark.parametrize("concurrency", [1, 2, 5])
def test_batches_are_called_a_few_at_a_time(concurrency: int) -> None:
    """Scores come back in the order of the sources, and no more calls run than were allowed."""
    model = Model(delay=0.005)
    scores = asyncio.run(Rerank(model, batch_size=1, concurrency=concurrency).scores("q", SOURCES))
    assert scores == [97.0, 98.0, 99.0, 100.0, 101.0]
    assert model.most == concurrency
    assert sorted(model.calls) == [["a"], ["b"], ["c"], ["d"], ["e"]]


def test_the_last_batch_may_be_smaller() -> None:
    model = Model()
    asyncio.run(Rerank(model, batch_size=2).scores("q", SOURCES))
    assert model.calls == [["a", "b"], ["c", "d"], ["e"]]
    assert Rerank(model, batch_size=2).batches(5) == 3


def test_a_failure_that_may_pass_is_tried_again() -> None:
    model = Model(ConnectionError("reset"), RerankError("busy", status=503))
    assert asyncio.run(Rerank(model, retries=2, retry_delay=0).scores("q", SOURCES))[0] == 97.0
    assert len(model.calls) == 3


def test_what_the_service_asks_for_is_how_long_is_waited(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    busy = RerankError("busy", status=429)
    busy.retry_after = 7.0  # type: ignore[attr-defined]
    model = Model(ConnectionError(), ConnectionError(), busy)
    rerank = Rerank(model, retries=4, retry_delay=0.5)
    assert rerank._delay(busy, 0) == 7.0
    assert [rerank._delay(ConnectionError(), at) for at in (0, 1, 2, 30)] == [0.5, 1.0, 2.0, 60.0]

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async def run() -> None:
        await Rerank(Instant(*model.errors), retries=4, retry_delay=0.5).scores("q", SOURCES)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    asyncio.run(run())
    assert waits == [0.5, 1.0, 7.0]


class Instant(Model):
    async def rerank(self, query: str, sources: Sequence[Source]) -> list[float]:
        if self.errors:
            raise self.errors.pop(0) or RuntimeError
        return lengths(query, sources)


@pytest.mark.parametrize(
    "error", [RerankError("bad key", status=401), RerankError("odd", retryable=False)],
)
def test_a_failure_that_stays_is_not_tried_again(error: RerankError) -> None:
    model = Model(error)
    with pytest.raises(RerankError):
        asyncio.run(Rerank(model, retries=3, retry_delay=0).scores("q", SOURCES))
    assert len(model.calls) == 1


@pytest.mark.parametrize(
    "answer",
    [None, "12345", {"a": 1}, 7, [1, 2], [1] * 6, [1, 2, 3, 4, float("nan")], [1, 2, 3, 4, "x"], [1, 2, 3, 4, None]],
)
def test_an_answer_that_cannot_be_used(answer: Any) -> None:
    """Scores that are not aligned with the sources would rank the wrong ones."""
    asked: list[int] = []

    def rerank(query: str, sources: Sequence[Source]) -> Any:
        asked.append(1)
        return answer

    with pytest.raises(RerankError) as caught:
        asyncio.run(Rerank(rerank, retries=3, retry_delay=0).scores("q", SOURCES))
    assert len(asked) == 1, "a malformed answer is not tried again"
    assert not caught.value.retryable


def test_the_policy_for_failures() -> None:
    told: list[Exception] = []
    for on_error in ("keep", told.append):
        found = asyncio.run(Rerank(Model(ValueError("broken")), on_error=on_error).apply("q", SOURCES))
        assert found.sources == tuple(SOURCES)
        assert not found.applied
        assert isinstance(found.error, RerankError)
        assert isinstance(found.error.__cause__, ValueError)
    assert [type(error) for error in told] == [RerankError]
    with pytest.raises(RerankError, match="broken"):
        asyncio.run(Rerank(Model(ValueError("broken")), on_error="raise").apply("q", SOURCES))


@pytest.mark.parametrize("query", [None, "", "  \n"])
def test_nothing_is_asked_without_a_question(query: str | None) -> None:
    model = Model()
    found = asyncio.run(Rerank(model).apply(query, SOURCES))
    assert (found.applied, found.sources, model.calls) == (False, tuple(SOURCES), [])


def test_a_time_limit_cancels_the_call() -> None:
    model = Model(delay=30)
    with pytest.raises(RerankError, match=r"within 0\.01 seconds"):
        asyncio.run(Rerank(model, timeout=0.01, retries=2).scores("q", SOURCES))
    assert (model.cancelled, len(model.calls)) == (1, 1)


def test_a_time_limit_of_the_reranker_itself_may_be_tried_again() -> None:
    model = Model(TimeoutError("its own"))
    assert asyncio.run(Rerank(model, timeout=5, retries=1, retry_delay=0).scores("q", SOURCES))


def test_cancelling_the_task_cancels_the_calls() -> None:
    """A request that was given up must not leave calls behind."""
    model = Model(delay=30)

    async def run() -> None:
        task = asyncio.ensure_future(Rerank(model, batch_size=1, concurrency=3).apply("q", SOURCES))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert (model.cancelled, len(model.calls), model.running) == (3, 3, 0)


def test_the_first_failure_stops_the_others() -> None:
    model = Model(ValueError("broken"))
    with pytest.raises(RerankError):
        asyncio.run(Rerank(model, batch_size=1).scores("q", SOURCES))
    assert model.calls == [["a"]]


def test_a_plain_function_leaves_the_loop_free() -> None:
    """A model that computes for seconds must not stop the server."""
    threads: list[str] = []

    def rerank(query: str, sources: Sequence[Source]) -> list[float]:
        threads.append(threading.current_thread().name)
        return lengths(query, sources)

    asyncio.run(Rerank(rerank).scores("q", SOURCES))
    assert threads != [threading.main_thread().name]


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"reranker": 7}, "reranker"), ({"batch_size": 0}, "batch_size"), ({"concurrency": None}, "concurrency"),
        ({"timeout": 0}, "timeout"), ({"timeout": "1"}, "timeout"), ({"retries": -1}, "retries"),
        ({"retries": True}, "retries"),
        ({"retry_delay": float("inf")}, "retry_delay"), ({"on_error": "ignore"}, "on_error"),
    ],
)
def test_wrong_settings_are_named(options: dict[str, Any], name: str) -> None:
    with pytest.raises(OptionError) as caught:
        Rerank(**{"reranker": lengths, **options})
    assert caught.value.name == name


def test_errors_survive_pickling() -> None:
    error = pickle.loads(pickle.dumps(RerankError("busy", status=429, body="slow down")))
    assert (error.status, error.body, error.retryable) == (429, "slow down", True)


# The builder


def builder(**options: Any) -> PromptBuilder:
    return PromptBuilder(2000, counter="words", **options).add_sources(SOURCES).with_question("Which?")


def test_the_builder_packs_by_the_new_scores() -> None:
    payload = asyncio.run(builder().with_rerank(lengths).arender())
    assert [one.rank for one in payload.sources] == [1, 3, 5, 4, 2]
    assert payload.sources[0].source.id == "e"
    assert payload.report.notes == ()
    by_hand = builder()._with(sources=tuple(Source(s.id, s.text, float(ord(s.id))) for s in SOURCES)).render()
    assert payload.to_dict() == by_hand.to_dict(), "reranking is nothing but other scores"


def test_a_reranker_has_to_be_awaited() -> None:
    """A payload with the old scores would look like one with the new."""
    with pytest.raises(OptionError, match="arender"):
        builder().with_rerank(Rerank(lengths)).render()
    assert builder().with_rerank(lengths).with_rerank(None).render() == builder().render()
    assert asyncio.run(builder().arender()) == builder().render()
    with pytest.raises(OptionError):
        builder(rerank=lengths)


def test_the_report_says_why_nothing_was_reranked() -> None:
    failed = asyncio.run(builder().with_rerank(Rerank(Model(ValueError("broken")))).arender())
    why = "the reranker failed: ValueError: 'broken'; the scores stay as they came"
    assert f"not reranked: {why}" in failed.report.notes
    no_question = asyncio.run(builder().with_question(None).with_rerank(lengths).arender())
    assert "not reranked: there is no question" in no_question.report.notes
    with pytest.raises(RerankError):
        asyncio.run(builder().with_rerank(Rerank(Model(ValueError()), on_error="raise")).arender())


def test_steps_are_told_of_the_reranker() -> None:
    steps: list[str] = []
    asyncio.run(builder(on_step=lambda step, details: steps.append(step)).with_rerank(lengths).arender())
    assert steps[0] == "rerank"


# The reorderer


class Reference:
    """The reference's form: chunks first, chunks back."""

    async def rerank(self, chunks: Any, query: str) -> Any:
        return [{**chunk, "score": 1 - chunk["score"]} for chunk in chunks]


class Library:
    """The library's form: query first, numbers back."""

    async def rerank(self, query: str, sources: Sequence[Source]) -> list[float]:
        assert all(isinstance(source, Source) for source in sources)
        return [1 - (source.score or 0) for source in sources]


class Scores:
    def rerank(self, chunks: Any, query: str) -> list[float]:
        return [1 - chunk["score"] for chunk in chunks]


@pytest.mark.parametrize(
    "reranker", [Reference(), Library(), Scores(), Rerank(Library()), Rerank(Scores(), batch_size=1)]
)
def test_both_forms_of_reranker_work(reranker: Any) -> None:
    """A reranker called with its arguments swapped would fail, and a failure only keeps the old scores."""
    errors: list[Exception] = []
    reorderer = Reorderer(reranker=reranker, on_reranker_error=errors.append)
    found, told = asyncio.run(reorderer.areorder_with_diagnostics(CHUNKS, "which"))
    assert errors == []
    assert [(one["id"], round(one["score"], 6)) for one in found] == [("b", 0.8), ("a", 0.1), ("c", 0.3)]  # type: ignore[index]
    assert told.reranker_applied
    assert [one["id"] for one in reorderer.reorder(CHUNKS, "which")] == ["a", "b", "c"], "plain calls do not rerank"


def test_sources_are_reranked_as_sources() -> None:
    found = asyncio.run(Reorderer(reranker=Library()).areorder([Source("a", "x", 0.9), Source("b", "y", 0.2)], "q"))
    assert [(one.id, round(one.score or 0, 6)) for one in found] == [("b", 0.8), ("a", 0.1)]  # type: ignore[union-attr]


def test_options_stand_beside_those_of_a_rerank() -> None:
    model = Model(delay=0)
    asyncio.run(Reorderer(reranker=Rerank(model, batch_size=1), reranker_batch_size=2).areorder(CHUNKS, "q"))
    assert model.calls == [["a", "b"], ["c"]]


def test_the_policy_of_a_rerank_holds() -> None:
    """Who asks for an error must not get the old scores instead."""
    told: list[Exception] = []
    reorderer = Reorderer(reranker=Rerank(Model(ValueError("broken")), on_error="raise"), on_reranker_error=told.append)
    with pytest.raises(ValueError, match="broken"):
        asyncio.run(reorderer.areorder(CHUNKS, "q"))
    asyncio.run(Reorderer(reranker=Rerank(Model(ValueError("broken")), on_error=told.append)).areorder(CHUNKS, "q"))
    assert len(told) == 2


@pytest.mark.parametrize("signal", [True, False])
def test_a_signal_stops_the_reranker(signal: bool) -> None:
    event, errors, model = threading.Event(), [], Model()
    if signal:
        event.set()
    reorderer = Reorderer(reranker=model, reranker_abort_signal=event, on_reranker_error=errors.append)
    _, told = asyncio.run(reorderer.areorder_with_diagnostics(CHUNKS, "q"))
    assert (told.reranker_failed is True, len(errors), len(model.calls)) == (signal, int(signal), int(not signal))


def test_a_reranker_in_a_thread_is_told_to_stop() -> None:
    """Nothing can stop a thread: it has to look."""
    stopped, errors = [], []

    class Slow:
        def rerank(self, chunks: Any, query: str, *, signal: Any) -> Any:
            until = time.monotonic() + 5
            while not signal.is_set() and time.monotonic() < until:
                time.sleep(0.001)
            stopped.append(signal.is_set())
            raise ValueError("too late")

    async def run() -> Any:
        reorderer = Reorderer(reranker=Slow(), reranker_timeout_ms=10, on_reranker_error=errors.append)
        result = await reorderer.areorder_with_diagnostics(CHUNKS, "q")
        for _ in range(200):
            if len(errors) == 2:
                break
            await asyncio.sleep(0.005)
        return result

    _, told = asyncio.run(run())
    assert told.reranker_failed
    assert stopped == [True]
    assert [str(error).split(":")[0] for error in errors] == [
        "the reranker did not answer within 0.01 seconds", "the reranker failed behind its time limit",
    ]


def test_cancelling_a_reordering_is_no_failure_of_the_reranker() -> None:
    model, errors = Model(delay=30), []

    async def run() -> None:
        task = asyncio.ensure_future(Reorderer(reranker=model, on_reranker_error=errors.append).areorder(CHUNKS, "q"))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert (model.cancelled, errors) == (1, [])
