"""Ready-made rerankers: Cohere, Voyage and Jina over HTTP (the extra `rerank`), and a local cross-encoder.

httpx is imported with the first request. They go into `Rerank`, which batches, limits and retries.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from promptpack.errors import OptionError, RerankError, quote
from promptpack.packing.ranking import is_finite
from promptpack.ratings import Scores, put_behind
from promptpack.refused import asked_wait, said
from promptpack.source import Source

LONGEST_BODY = 200


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: the status, the text of the body, and what a `Retry-After` header asked for (seconds)."""

    status: int
    text: str
    retry_after: float | None = None


Send = Callable[[str, Mapping[str, str], Mapping[str, Any]], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class HttpReranker:
    """A reranker behind an HTTP interface that takes `query` and `documents` and answers with scores by index.

    api_key: sent as a bearer token, never shown. model, url: None takes those of the service. top_n: ask only for
    so many. A source that gets no answer keeps its score (0 without one); where that would put it before those that
    did, with top_n, all of these stand behind the answered ones, in the order of their own scores. Which sources were
    rated is in the `Scores` that come back, and in the report of a payload.
    send: the transport, send(url, headers, body) -> Answer; by default httpx.

    `rerank` raises RerankError for a status other than 200 to 299 (with `status`, `body` and `retryable`; a redirect is
    not followed, as it would hand the key on), a failed request, and an answer without a list under `results` or
    `data`.
    """

    api_key: str = field(repr=False)
    model: str | None = None
    top_n: int | None = None
    url: str | None = None
    send: Send | None = field(default=None, repr=False)

    URL: ClassVar[str] = ""
    MODEL: ClassVar[str] = ""
    LIMIT: ClassVar[str] = "top_n"
    FIXED: ClassVar[Mapping[str, Any]] = {}

    def __post_init__(self) -> None:
        if not isinstance(self.api_key, str) or not self.api_key:
            raise OptionError("api_key: expected a text", name="api_key")
        # Anything else cannot stand in a header; the errors of the transport would show the key.
        if not (self.api_key.isascii() and self.api_key.isprintable()) or " " in self.api_key:
            message = "api_key: expected printable ASCII characters without blanks; is there a line end in it?"
            raise OptionError(message, name="api_key")
        whole = isinstance(self.top_n, int) and not isinstance(self.top_n, bool)
        if self.top_n is not None and (not whole or self.top_n < 1):
            message = f"top_n: expected a whole number of 1 or more, or None, got {quote(self.top_n)}"
            raise OptionError(message, name="top_n", given=self.top_n)

    async def rerank(self, query: str, sources: Sequence[Source]) -> Scores:
        """Return one score for each source; nothing is sent without a query or sources."""
        own = [source.score for source in sources]
        scores = Scores((score or 0.0 for score in own), [False] * len(own), behind=self.top_n is not None)
        if not sources or not query:
            return scores
        body = {
            "model": self.model or self.MODEL, "query": query, "documents": [source.text for source in sources],
            **self.FIXED, **({self.LIMIT: self.top_n} if self.top_n is not None else {}),
        }
        headers = {"Authorization": f"Bearer {self.api_key}", "Content-Type": "application/json"}
        answer = await (self.send or send_with_httpx)(self.url or self.URL, headers, body)
        # Some services repeat the key in what they say of it, and errors end up in logs and reports.
        answer = answer if _is_good(answer) else replace(answer, text=answer.text.replace(self.api_key, "(api_key)"))
        told, scores.ignored = _read(answer, type(self).__name__, len(sources))
        for index, score in told.items():
            scores[index] = score
        scores.rated = tuple(at in told for at in range(len(sources)))
        if scores.behind:
            put_behind(scores, own)
        return scores


@dataclass(frozen=True, slots=True)
class Cohere(HttpReranker):
    """Cohere's rerank service.

    >>> Cohere("KEY", top_n=3)
    Cohere(model=None, top_n=3, url=None)
    """

    URL: ClassVar[str] = "https://api.cohere.com/v2/rerank"
    MODEL: ClassVar[str] = "rerank-v3.5"


@dataclass(frozen=True, slots=True)
class Voyage(HttpReranker):
    """Voyage's rerank service."""

    URL: ClassVar[str] = "https://api.voyageai.com/v1/rerank"
    MODEL: ClassVar[str] = "rerank-2.5"
    LIMIT: ClassVar[str] = "top_k"
    FIXED: ClassVar[Mapping[str, Any]] = {"return_documents": False}


@dataclass(frozen=True, slots=True)
class Jina(HttpReranker):
    """Jina's rerank service."""

    URL: ClassVar[str] = "https://api.jina.ai/v1/rerank"
    MODEL: ClassVar[str] = "jina-reranker-v3"


def cross_encoder(predict: Callable[[list[tuple[str, str]]], Any]) -> Callable[[str, Sequence[Source]], list[float]]:
    """Return a reranker of a local model that scores (question, text) pairs, such as `CrossEncoder(...).predict`.

    A score may come in a list or row of its own, as the logits of a model with one output do.

    >>> rerank = cross_encoder(lambda pairs: [len(text) for _, text in pairs])
    >>> rerank("why", [Source("a", "xyz")])
    [3.0]
    """

    def rerank(query: str, sources: Sequence[Source]) -> list[float]:
        return [float(_alone(score)) for score in predict([(query, source.text) for source in sources])]

    return rerank


def _alone(score: Any) -> Any:
    row = getattr(score, "shape", None) == (1,) or (isinstance(score, list | tuple) and len(score) == 1)
    return score[0] if row else score


async def send_with_httpx(url: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> Answer:
    """Send a request with httpx; RerankError where it fails or httpx is not installed."""
    try:
        import httpx
    except ImportError as error:
        raise RerankError(
            'rerankers over HTTP need httpx: pip install "promptpack-rag[rerank]"', retryable=False
        ) from error
    try:
        # No time limit of its own: `Rerank.timeout` is the one that counts.
        async with httpx.AsyncClient(timeout=None) as client:  # noqa: S113
            answer = await client.post(url, headers=dict(headers), json=dict(body))
    except httpx.HTTPError as error:
        raise RerankError(f"the request to the reranker failed: {type(error).__name__}: {quote(str(error))}") from error
    except Exception as error:  # for an address that is none, the layers below raise what they like
        raise RerankError(
            f"the request to the reranker cannot be made: {type(error).__name__}: {quote(str(error))}", retryable=False
        ) from error
    return Answer(answer.status_code, answer.text, asked_wait(answer.headers))


def _is_good(answer: Answer) -> bool:
    return 200 <= answer.status < 300


def _read(answer: Answer, name: str, count: int) -> tuple[dict[int, float], int]:
    """Return the scores by index, and how many entries are for no document, or for one again (the last counts)."""
    if not _is_good(answer):
        told = said(answer.text)[:LONGEST_BODY]
        error = RerankError(
            f"{name}: the service answered {answer.status}: {quote(told)}", status=answer.status, body=told
        )
        if answer.retry_after is not None:
            error.retry_after = answer.retry_after  # type: ignore[attr-defined]  # `Rerank` asks for it
        raise error
    try:
        body = json.loads(answer.text)
    except (ValueError, RecursionError) as error:
        raise RerankError(
            f"{name}: the answer is no JSON: {quote(answer.text)}", status=answer.status, retryable=False
        ) from error
    rows = None
    if isinstance(body, Mapping):
        rows = next((body[key] for key in ("results", "data") if isinstance(body.get(key), list)), None)
    if rows is None:
        raise RerankError(
            f"{name}: the answer has no list under results or data: {quote(answer.text)}",
            status=answer.status, retryable=False,
        )
    found: dict[int, float] = {}
    for row in rows:
        index, score = (row.get("index"), row.get("relevance_score")) if isinstance(row, Mapping) else (None, None)
        if isinstance(index, int) and not isinstance(index, bool) and 0 <= index < count:
            if score is None or not is_finite(score):
                raise RerankError(
                    f"{name}: the score of document {index} is no finite number: {quote(score)}",
                    status=answer.status, retryable=False,
                )
            found[index] = float(score)
    return found, len(rows) - len(found)
