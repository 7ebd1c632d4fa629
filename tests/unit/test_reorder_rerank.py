"""Reranking: calls in batches with limits and retries, checks of answers, cancellation; in builder and reorderer."""

from __future__ import annotations

import asyncio
import pickle
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from promptpack import OptionError, PromptBuilder, Reorderer, Rerank, RerankError, Source, SourceError
from promptpack.ratings import Scores, put_behind

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


def test_a_function_that_hangs_holds_nobody() -> None:
    """The threads of a loop's own pool are joined when it ends: then the time limit would be worth nothing."""
    gate, ended = threading.Event(), threading.Event()

    def hang(query: str, sources: Sequence[Source]) -> list[float]:
        gate.wait(30)
        ended.set()
        return lengths(query, sources)

    try:
        found = asyncio.run(Rerank(hang, timeout=0.05).apply("q", SOURCES))
        assert not found.applied
        assert not ended.is_set()
    finally:
        gate.set()


@pytest.mark.parametrize("error", [StopIteration("empty"), KeyError("x"), ZeroDivisionError()], ids=repr)
def test_whatever_a_function_raises_arrives(error: Exception) -> None:
    """An asyncio future takes no StopIteration: the caller would wait for ever."""
    def fail(query: str, sources: Sequence[Source]) -> list[float]:
        raise error

    with pytest.raises(RerankError, match=type(error).__name__):
        asyncio.run(Rerank(fail, timeout=10).scores("q", SOURCES))


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
    assert payload.report.notes == ("reranked: 5 of 5 sources rated",)
    by_hand = builder()._with(sources=tuple(Source(s.id, s.text, float(ord(s.id))) for s in SOURCES)).render()
    same = replace(payload, report=by_hand.report)
    assert same.to_dict() == by_hand.to_dict(), "reranking is nothing but other scores"


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
    steps: list[tuple[str, Any]] = []
    asyncio.run(builder(on_step=lambda *step: steps.append(step)).with_rerank(lengths).arender())
    assert steps[0] == ("rerank", {"sources": 5, "applied": True, "calls": 1, "rated": 5})


@pytest.mark.parametrize(
    ("answer", "said", "order"),
    [
        (Scores([0, 9, 8, 7, 0], [False, True, True, True, False]),
         "reranked: 3 of 5 sources rated; 2 were left out and keep the score that they came with", "bcdae"),
        (Scores([1, 2, 3, 4, 0.5], [True] * 4 + [False], ignored=1),
         ("reranked: 4 of 5 sources rated; 1 was left out and keeps the score that it came with; "
          "1 entry of the answer passed over: for no source, or for one again"), "dcbae"),
        (Scores([-1, 9, -2, -3, -4], [False, True, False, False, False], behind=True),
         "reranked: 1 of 5 sources rated; 4 were left out and stand behind the others", "bacde"),
        (Scores([0.0] * 5, [False] * 5, ignored=2),
         ("not reranked: the answer rates none of 5 sources; the scores stay as they came; "
          "2 entries of the answer passed over: for no source, or for one again"), "abcde"),
    ],
)
def test_the_report_says_how_many_were_rated(answer: Scores, said: str, order: str) -> None:
    """A partial answer mixes two scales, and looked like a full one."""
    payload = asyncio.run(builder().with_rerank(lambda query, sources: answer).arender())
    assert payload.report.notes == (said,)
    assert [one.source.id for one in sorted(payload.sources, key=lambda one: one.rank)] == list(order)


def test_what_is_left_out_stays_without_a_score() -> None:
    """A score of 0 would rank it before what came with a negative one."""
    sources = [Source("a", "x"), Source("b", "y", -1.0), Source("c", "z", -2.0)]
    answer = Scores([0.0, 5.0, 0.0], [False, True, False])
    found = asyncio.run(Rerank(lambda query, given: answer).apply("q", sources))
    assert [source.score for source in found.sources] == [None, 5.0, -2.0]
    assert (found.rated, found.unrated) == (1, 2)


def test_over_several_batches_all_that_was_left_out_stands_behind() -> None:
    """Each batch sees its own best only: what one leaves out must not outrank what another one rates."""
    def rerank(query: str, sources: Sequence[Source]) -> Scores:
        rated = [source.id in "bd" for source in sources]
        found = Scores([{"b": 20.0, "d": 0.1}.get(s.id, s.score or 0.0) for s in sources], rated, behind=True)
        put_behind(found, [source.score for source in sources])
        return found

    sources = [Source(name, "x", 5.0 + at) for at, name in enumerate("abcd")]
    found = asyncio.run(Rerank(rerank, batch_size=2).apply("q", sources))
    assert [source.id for source in sorted(found.sources, key=lambda one: -(one.score or 0))] == ["b", "d", "c", "a"]


def test_scores_that_contradict_themselves() -> None:
    answer = Scores([1.0] * 5, [True])
    with pytest.raises(RerankError, match="says of 1 sources"):
        asyncio.run(Rerank(lambda query, sources: answer).scores("q", SOURCES))
    again = pickle.loads(pickle.dumps(Scores([1.0, 2.0], [True, False], behind=True, ignored=3)))
    assert (again, again.rated, again.behind, again.ignored) == ([1.0, 2.0], (True, False), True, 3)


def test_who_is_told_of_a_failure_may_be_asynchronous() -> None:
    """A coroutine that nobody awaits would never hear of it."""
    told: list[Exception] = []

    async def tell(error: Exception) -> None:
        told.append(error)

    asyncio.run(Rerank(Model(ValueError("broken")), on_error=tell).apply("q", SOURCES))
    assert [type(error) for error in told] == [RerankError]


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


class Numbers:
    def rerank(self, chunks: Any, query: str) -> list[float]:
        return [1 - chunk["score"] for chunk in chunks]


@pytest.mark.parametrize(
    "reranker", [Reference(), Library(), Numbers(), Rerank(Library()), Rerank(Numbers(), batch_size=1)]
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


class Service:
    """Rates one chunk of each call and leaves the others out, as a service does that is asked for its best only."""

    def __init__(self, *best: float | None) -> None:
        self.best = list(best)

    async def rerank(self, query: str, sources: Sequence[Source]) -> Scores:
        best = self.best.pop(0)
        found = Scores([source.score or 0.0 for source in sources], [False] * len(sources), behind=True)
        if best is not None:
            found[0], found.rated = best, (True, *found.rated[1:])
            put_behind(found, [source.score for source in sources])
        return found


def test_in_a_reorderer_what_batches_leave_out_stands_behind_too() -> None:
    """What one batch left out outranked what another one rated, and stood at an edge of the prompt."""
    scores = {"a": 0.5, "b": 0.8, "c": 0.5, "d": 0.7}
    chunks = [{"id": name, "text": name, "score": score} for name, score in scores.items()]
    reorderer = Reorderer(reranker=Service(0.9, 0.3), reranker_batch_size=2)
    found = asyncio.run(reorderer.areorder(chunks, "q"))
    assert sorted("abcd", key={chunk["id"]: -chunk["score"] for chunk in found}.__getitem__) == list("acbd")


def test_an_answer_that_rates_nothing_is_no_success() -> None:
    """The diagnostics said that the reranker was applied, though all scores were as they came."""
    errors: list[Exception] = []
    reorderer = Reorderer(reranker=Service(None), on_reranker_error=errors.append)
    found = asyncio.run(reorderer.areorder_with_diagnostics(CHUNKS, "q"))
    assert (found.diagnostics.reranker_failed, found.diagnostics.reranker_applied) == (True, False)
    assert "rates none of 3 chunks" in str(errors[0])


@pytest.mark.parametrize("call", ["apply", "scores"])
def test_what_is_to_be_rated_has_to_be_sources(call: str) -> None:
    """A bare AttributeError came out of the middle of the call."""
    with pytest.raises(SourceError, match=r"sources\[1\]: expected a Source") as caught:
        asyncio.run(getattr(Rerank(lengths), call)("q", [SOURCES[0], CHUNKS[0]]))
    assert caught.value.index == 1
    with pytest.raises(OptionError, match="query: expected a text or None, got 5"):
        asyncio.run(Rerank(lengths).apply(5, SOURCES))  # type: ignore[arg-type]


def test_a_plain_loop_over_a_stream_does_not_pass_over_its_reranker() -> None:
    """The old scores came out, as if they were those of the reranker that was given for this very call."""
    stream = Reorderer().reorder_stream(iter(CHUNKS), "q", reranker=Model())
    with pytest.raises(OptionError, match="`async for`"):
        list(stream)
