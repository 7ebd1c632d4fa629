"""A builder that reranks over HTTP, from the request to the payload, against a server on this machine."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from promptpack import OptionError, PromptBuilder, Rerank, Reranker, RerankError, Source
from promptpack.rerankers import Answer, Cohere, HttpReranker, Jina, Voyage, cross_encoder

pytest.importorskip("httpx", reason="the extra `rerank` is not installed")
HITS = [
    Source("a", "Bulbs cannot be returned.", 0.9), Source("b", "Lamps can be returned.", 0.5),
    Source("c", "Hello.", 0.1),
]
Handle = Callable[[dict[str, Any]], tuple[int, Any, dict[str, str]]]


class Service:
    """Answers each request with what `handle` makes of its body, and notes the bodies."""

    def __init__(self, handle: Handle) -> None:
        self.bodies: list[dict[str, Any]] = []
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                service.bodies.append(body)
                status, answer, headers = handle(body)
                data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response_only(status)
                for name, value in {**headers, "Content-Length": str(len(data))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, request: Any, client_address: Any) -> None:
                """Say nothing where a client that gave up has gone."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"


Serve = Callable[[Handle], Service]


@pytest.fixture
def serve() -> Iterator[Serve]:
    running: list[tuple[Service, threading.Thread]] = []

    def start(handle: Handle) -> Service:
        service = Service(handle)
        thread = threading.Thread(target=service.server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        running.append((service, thread))
        return service

    yield start
    for service, thread in running:
        service.server.shutdown()
        thread.join()
        service.server.server_close()


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Note what would be slept, and sleep not at all."""
    found: list[float] = []

    async def sleep(seconds: float) -> None:
        found.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    return found


def by_length(body: dict[str, Any]) -> tuple[int, Any, dict[str, str]]:
    """Rank short texts first, in the form of each of the services."""
    rows = [{"index": at, "relevance_score": 1 / len(text)} for at, text in enumerate(body["documents"])]
    rows.sort(key=lambda row: -row["relevance_score"])
    return 200, {"results": rows, "id": "x"} if "return_documents" not in body else {"object": "list", "data": rows}, {}


def builder(rerank: Rerank | HttpReranker) -> PromptBuilder:
    return PromptBuilder(2000, counter="words").add_sources(HITS).with_question("May I return it?").with_rerank(rerank)


@pytest.mark.parametrize("kind", [Cohere, Voyage, Jina])
def test_the_scores_of_a_service_rank_the_payload(serve: Serve, kind: type[HttpReranker]) -> None:
    """If it fails, reranking is paid for and not used."""
    service = serve(by_length)
    payload = asyncio.run(builder(kind("KEY", url=service.url)).arender())
    assert [one.source.id for one in sorted(payload.sources, key=lambda one: one.rank)] == ["c", "b", "a"]
    assert payload.report.notes == ("reranked: 3 of 3 sources rated",)
    assert service.bodies == [{
        "model": kind.MODEL, "query": "May I return it?", "documents": [one.text for one in HITS], **kind.FIXED,
    }]
    assert "KEY" not in json.dumps(payload.to_dict())


def test_batches_are_put_together_in_order(serve: Serve) -> None:
    service = serve(by_length)
    rerank = Rerank(Cohere("KEY", url=service.url), batch_size=1, concurrency=3)
    payload = asyncio.run(builder(rerank).arender())
    assert [one.source.score for one in sorted(payload.sources, key=lambda one: one.source.id)] == [
        1 / len(one.text) for one in HITS
    ]
    assert len(service.bodies) == 3


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"Retry-After": "7"}, 7.0), ({}, 0.5), ({"Retry-After": "soon"}, 0.5), ({"Retry-After": "9999"}, 60.0),
        ({"Retry-After": "1.5"}, 1.5),
        ({"Retry-After": "Mon, 30 Nov 2026 10:00:12 GMT", "Date": "Mon, 30 Nov 2026 10:00:00 GMT"}, 12.0),
        ({"Retry-After": "Mon, 30 Nov 2026 09:00:00 GMT", "Date": "Mon, 30 Nov 2026 10:00:00 GMT"}, 0.0),
        ({"Retry-After": "Mon, 30 Nov 2026 10:00:12 GMT"}, 0.5), ({"Retry-After": "-3"}, 0.5),
    ],
    ids=str,
)
def test_a_busy_service_is_asked_again_when_it_says(
    serve: Serve, waits: list[float], headers: dict[str, str], wait: float
) -> None:
    """If it fails, a service that is busy is asked at once, or never again."""
    answers = iter([(429, {"message": "slow down"}, headers)])
    service = serve(lambda body: next(answers, by_length(body)))
    payload = asyncio.run(builder(Rerank(Cohere("KEY", url=service.url), retries=1)).arender())
    assert payload.sources[0].source.id == "c"
    assert waits == [wait]


def test_a_service_that_stays_down_changes_nothing_and_says_so(serve: Serve, waits: list[float]) -> None:
    """If it fails, an outage of the reranker is one of the application, or no one notices it."""
    service = serve(lambda body: (503, {"detail": "down for the night"}, {}))
    down = Rerank(Voyage("KEY", url=service.url), retries=2, retry_delay=1)
    payload = asyncio.run(builder(down).arender())
    assert payload.messages == builder(down).with_rerank(None).render().messages
    (note,) = payload.report.notes
    assert "503" in note
    assert "down for the night" in note
    assert waits == [1.0, 2.0]
    raising = Rerank(Voyage("KEY", url=service.url), on_error="raise")
    with pytest.raises(RerankError) as caught:
        asyncio.run(builder(raising).arender())
    assert (caught.value.status, caught.value.retryable) == (503, True)


@pytest.mark.parametrize(
    "answer",
    [
        b"<html>504</html>", b"", b"\xff\xfe", {"results": None}, {"results": {"0": 1}}, {"data": "x"}, [1], "text",
        {"results": [{"index": 0, "relevance_score": "0.9"}]}, {"results": [{"index": 0, "relevance_score": [1]}]},
        {"results": [{"index": 0, "relevance_score": 1e400}]}, {"results": [{"index": 0}]},
        b'{"results": [{"index": 0, "relevance_score": NaN}]}', pytest.param(b"[" * 100_000, id="nested"),
    ],
    ids=repr,
)
def test_answers_that_make_no_sense_are_refused_and_not_paid_for_twice(
    serve: Serve, waits: list[float], answer: Any
) -> None:
    service = serve(lambda body: (200, answer, {}))
    rerank = Rerank(Jina("KEY", url=service.url), retries=3, on_error="raise")
    with pytest.raises(RerankError, match="Jina") as caught:
        asyncio.run(builder(rerank).arender())
    assert len(str(caught.value)) < 300
    assert len(service.bodies) == 1
    assert not waits


def test_a_service_that_hangs_is_given_up(serve: Serve) -> None:
    """If it fails, one slow call holds the user for good."""
    gate = threading.Event()

    def hang(body: dict[str, Any]) -> tuple[int, Any, dict[str, str]]:
        gate.wait(10)
        return by_length(body)

    service = serve(hang)
    try:
        payload = asyncio.run(builder(Rerank(Cohere("KEY", url=service.url), timeout=0.2, retries=2)).arender())
        assert "did not answer within 0.2 seconds" in payload.report.notes[0]
        assert len(service.bodies) == 1, "what timed out once is not tried again"

        async def cancelled() -> None:
            task = asyncio.ensure_future(builder(Rerank(Cohere("KEY", url=service.url))).arender())
            await asyncio.sleep(0.2)
            task.cancel()
            await task

        with pytest.raises(asyncio.CancelledError):
            asyncio.run(cancelled())
    finally:
        gate.set()


@pytest.mark.parametrize("url", ["foo://x", "nothing", "http://127.0.0.1:99999/", "http://[bad/", "http://\x00/"])
def test_an_address_that_is_none(url: str) -> None:
    """What httpx and the layers below raise is no error of the library, and goes past every handler of it."""
    with pytest.raises(RerankError, match="the request to the reranker"):
        asyncio.run(Cohere("KEY", url=url).rerank("q", HITS))


@pytest.mark.parametrize("key", ["SECRET\n", "SECRET\u00e9", "SEC RET", "SECRET\x00", " SECRET"])
def test_a_key_that_cannot_be_sent_is_refused_and_not_shown(key: str) -> None:
    """Keys come from files with a line end; the transport's message holds the whole header."""
    with pytest.raises(OptionError, match="api_key: expected printable") as caught:
        Cohere(key)
    assert "SEC" not in str(caught.value)


def test_without_httpx_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(RerankError, match=r"promptpack-rag\[rerank\]") as caught:
        asyncio.run(Cohere("KEY").rerank("q", HITS))
    assert not caught.value.retryable


def test_a_local_model_ranks_the_payload() -> None:
    rerank = cross_encoder(lambda pairs: [len(text) for _, text in pairs])
    payload = asyncio.run(builder(Rerank(rerank, batch_size=2)).arender())
    assert [one.source.id for one in sorted(payload.sources, key=lambda one: one.rank)] == ["a", "b", "c"]
    wrong = asyncio.run(builder(Rerank(cross_encoder(lambda pairs: [1.0]))).arender())
    assert "1 scores for 3 sources" in wrong.report.notes[0]


def test_all_of_them_are_rerankers() -> None:
    made: list[Reranker] = [Cohere("KEY"), Voyage("KEY"), Jina("KEY")]
    assert all(callable(one.rerank) for one in made)


def test_what_the_service_leaves_out_stands_behind_what_it_names() -> None:
    """If it fails, `top_n` turns the ranking round: the two best of the service are outranked by old scores."""
    async def send(*_: Any) -> Answer:
        rated = [{"index": 2, "relevance_score": 0.99}, {"index": 1, "relevance_score": 0.95}]
        return Answer(200, json.dumps({"results": rated}))

    sources = [Source(f"d{at}", "x", 12.0 - at) for at in range(4)]
    scores = asyncio.run(Cohere("key", top_n=2, send=send).rerank("q", sources))
    assert sorted(range(4), key=lambda at: -scores[at]) == [2, 1, 0, 3]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "not reranked: the answer rates none of 3 sources; the scores stay as they came"),
        ([(1, 0.8)], "reranked: 1 of 3 sources rated; 2 were left out and keep the score that they came with"),
        ([(9, 0.8), (-1, 0.7), (1, 0.5), (1, 0.6), (0, 0.1), (2, 0.2)],
         "reranked: 3 of 3 sources rated; 3 entries of the answer passed over: for no source, or for one again"),
        ([(7, 0.8)],
         ("not reranked: the answer rates none of 3 sources; the scores stay as they came; "
          "1 entry of the answer passed over: for no source, or for one again")),
    ],
    ids=["empty", "partial", "odd", "out of range"],
)
def test_the_report_says_what_a_service_rated(serve: Serve, rows: list[tuple[int, float]], said: str) -> None:
    """If it fails, a service that answers with nothing of use looks like one that works."""
    answer = {"results": [{"index": at, "relevance_score": score} for at, score in rows]}
    service = serve(lambda body: (200, answer, {}))
    payload = asyncio.run(builder(Cohere("KEY", url=service.url)).arender())
    assert payload.report.notes == (said,)
    limited = asyncio.run(builder(Cohere("KEY", url=service.url, top_n=1)).arender())
    assert limited.report.notes == (said.replace("keep the score that they came with", "stand behind the others"),)
