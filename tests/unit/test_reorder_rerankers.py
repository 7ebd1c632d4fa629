"""The ready-made rerankers against a local server that answers as the services document."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from promptpack import OptionError, Rerank, RerankError, Source
from promptpack.rerankers import Answer, Cohere, HttpReranker, Jina, Voyage, cross_encoder

httpx = pytest.importorskip("httpx", reason="the extra `rerank` is not installed")
SOURCES = [Source("a", "one", 0.1), Source("b", "two", 0.2), Source("c", "three")]


class Service:
    """A server on this machine that gives the answers that it was told to, and notes what it was sent."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, Any, dict[str, str]]] = []
        self.requests: list[dict[str, Any]] = []
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                service.requests.append({"path": self.path, "body": body, "key": self.headers["Authorization"]})
                status, answer, headers = service.answers.pop(0)
                data = (answer if isinstance(answer, str) else json.dumps(answer)).encode()
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(data))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args: Any) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/rerank"

    def answer(self, status: int, body: Any, **headers: str) -> None:
        self.answers.append((status, body, {name.replace("_", "-"): value for name, value in headers.items()}))


@pytest.fixture
def service() -> Iterator[Service]:
    found = Service()
    thread = threading.Thread(target=found.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield found
    found.server.shutdown()
    thread.join()
    found.server.server_close()


DOCUMENTED = {
    Cohere: {"id": "1", "results": [{"index": 2, "relevance_score": 0.99}, {"index": 0, "relevance_score": 0.3}],
             "meta": {"billed_units": {"search_units": 1}}},
    Voyage: {"object": "list", "data": [{"relevance_score": 0.99, "index": 2}, {"relevance_score": 0.3, "index": 0}],
             "model": "rerank-2.5", "usage": {"total_tokens": 26}},
    Jina: {"model": "m", "usage": {"total_tokens": 5},
           "results": [{"index": 2, "relevance_score": 0.99}, {"index": 0, "relevance_score": 0.3}]},
}


@pytest.mark.parametrize("kind", [Cohere, Voyage, Jina])
def test_a_documented_answer_gives_scores(service: Service, kind: type[HttpReranker]) -> None:
    service.answer(200, DOCUMENTED[kind])
    scores = asyncio.run(Rerank(kind("KEY", top_n=2, url=service.url)).scores("which", SOURCES))
    assert scores == [0.3, 0.2, 0.99], "what got no answer keeps its score"
    (request,) = service.requests
    assert request["key"] == "Bearer KEY"
    assert request["body"]["documents"] == ["one", "two", "three"]
    assert request["body"][kind.LIMIT] == 2


def test_a_service_that_is_busy_is_asked_again(service: Service) -> None:
    service.answer(429, {"message": "slow down"}, Retry_After="0")
    service.answer(503, "oops")
    service.answer(200, {"results": [{"index": 0, "relevance_score": 0.7}]})
    scores = asyncio.run(Rerank(Cohere("KEY", url=service.url), retries=2, retry_delay=0).scores("q", SOURCES))
    assert scores == [0.7, 0.2, 0.0]
    assert len(service.requests) == 3


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (401, {"message": "invalid api token"}, "invalid api token"), (400, "not json", "not json"),
        (500, {"error": {"message": "inner"}}, "inner"), (422, {"detail": [{"loc": "x"}]}, '{"detail":[{"loc":"x"}]}'),
        (400, "", ""), (400, ["x"], '["x"]'), (400, {"detail": "no such model"}, "no such model"),
    ],
)
def test_an_error_says_what_the_service_said(service: Service, status: int, body: Any, said: str) -> None:
    service.answer(status, body)
    with pytest.raises(RerankError) as caught:
        asyncio.run(Jina("KEY", url=service.url).rerank("q", SOURCES))
    assert (caught.value.status, caught.value.body) == (status, said)
    assert "KEY" not in str(caught.value)


@pytest.mark.parametrize(
    "body",
    [
        "<html>", {"results": "x"}, {}, [], {"results": [{"index": 0, "relevance_score": "high"}]}, 7, None,
        {"data": [{"index": 1, "relevance_score": None}]},
    ],
)
def test_a_malformed_answer_is_an_error_and_not_tried_again(service: Service, body: Any) -> None:
    """Unchanged scores would look like a success."""
    service.answer(200, body)
    with pytest.raises(RerankError):
        asyncio.run(Rerank(Voyage("KEY", url=service.url), retries=3, retry_delay=0).scores("q", SOURCES))
    assert len(service.requests) == 1


def test_an_entry_for_no_document_is_passed_over(service: Service) -> None:
    rows: list[Any] = [{"index": index, "relevance_score": 1} for index in (9, -1, True, "0", None)]
    rows.append(7)
    service.answer(200, {"results": [*rows, {"index": 1, "relevance_score": 0.5}]})
    assert asyncio.run(Cohere("KEY", url=service.url).rerank("q", SOURCES)) == [0.1, 0.5, 0.0]


def test_a_failed_request_may_be_tried_again() -> None:
    with pytest.raises(RerankError, match="request to the reranker failed") as caught:
        asyncio.run(Cohere("KEY", url="http://127.0.0.1:1/").rerank("q", SOURCES))
    assert caught.value.retryable


def test_the_key_is_not_shown() -> None:
    """Settings end up in logs."""
    assert "KEY" not in repr(Rerank(Cohere("KEY")))
    for wrong in ("", None):
        with pytest.raises(OptionError):
            Cohere(wrong)  # type: ignore[arg-type]
    with pytest.raises(OptionError):
        Cohere("KEY", top_n=0)


def test_another_transport() -> None:
    async def send(url: str, headers: Any, body: Any) -> Answer:
        return Answer(200, json.dumps({"results": [{"index": 0, "relevance_score": len(body["documents"])}]}))

    assert asyncio.run(Jina("KEY", send=send).rerank("q", SOURCES))[0] == 3.0
    assert asyncio.run(Jina("KEY", send=send).rerank("", SOURCES))[0] == 0.1, "nothing is sent without a query"


def test_a_local_model_scores_pairs() -> None:
    seen: list[Any] = []

    def predict(pairs: list[tuple[str, str]]) -> list[int]:
        seen.extend(pairs)
        return [3, 1, 2]

    assert asyncio.run(Rerank(cross_encoder(predict)).scores("q", SOURCES)) == [3.0, 1.0, 2.0]
    assert seen[0] == ("q", "one")


@pytest.mark.parametrize("status", [301, 302, 307, 404])
def test_an_address_that_is_another_one_is_named_by_its_status(service: Service, status: int) -> None:
    """A redirect was reported as broken JSON, without the number that says what is wrong."""
    service.answer(status, "", Location=service.url)
    with pytest.raises(RerankError, match=f"answered {status}") as caught:
        asyncio.run(Cohere("KEY", url=service.url).rerank("q", SOURCES))
    assert (caught.value.status, caught.value.retryable, len(service.requests)) == (status, False, 1)


def test_a_key_that_the_service_repeats_is_not_passed_on(service: Service) -> None:
    """Errors end up in logs, and in the report of a payload."""
    service.answer(401, {"message": "invalid key: s3cret-key"})
    with pytest.raises(RerankError, match="invalid key") as caught:
        asyncio.run(Jina("s3cret-key", url=service.url).rerank("q", SOURCES))
    assert "s3cret" not in f"{caught.value} {caught.value.body}"


def test_scores_in_rows_of_one_are_taken():
    """The logits of a model with one output are rows of one number each."""
    import numpy as np

    sources = [Source("a", "xyz"), Source("b", "x")]
    for scores in ([[0.5], [0.25]], np.array([[0.5], [0.25]]), np.array([0.5, 0.25]), [0.5, 0.25]):
        assert cross_encoder(lambda pairs, scores=scores: scores)("why", sources) == [0.5, 0.25]
