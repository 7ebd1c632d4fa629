"""An OpenAI-compatible endpoint: one request, tried again where that may help, with errors that say what came.

httpx (the extra `calibrate`) is imported with the first request.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from promptpack.calibration.errors import EndpointError
from promptpack.errors import OptionError, quote
from promptpack.packing.ranking import is_finite
from promptpack.refused import asked_wait, said

LONGEST_BODY = 200
LONGEST_WAIT = 60.0     # seconds between two tries, whatever is asked for
_AGAIN = (408, 409, 425, 429)

Post = Callable[[str, Mapping[str, Any]], Any]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model is: its address as OpenAI's clients take it (it ends in /v1), and its name there.

    api_key: sent as a bearer token, never shown. timeout: seconds for a request. retries: further tries after time
    limits, failed connections, 408, 409, 425, 429 and 500 or more; between two it waits as long as `Retry-After` asks,
    else 0.5, 1, 2, ... seconds, at most 60. wait: what does the waiting.

    Raises OptionError for a value that cannot be.

    >>> Endpoint("http://localhost:8000/v1/", "a-model").url("completions")
    'http://localhost:8000/v1/completions'
    """

    base_url: str
    model: str
    api_key: str | None = field(default=None, repr=False)
    timeout: float = 120.0
    retries: int = 5
    wait: Callable[[float], None] = field(default=time.sleep, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.base_url, str) or not self.base_url.startswith(("http://", "https://")):
            raise _wrong("base_url", "an address with http:// or https://", self.base_url)
        if not isinstance(self.model, str) or not self.model.strip():
            raise _wrong("model", "a name", self.model)
        key = self.api_key
        if key is not None and (not isinstance(key, str) or not key.isascii() or not key.isprintable() or not key):
            raise OptionError("api_key: expected a text of printable ASCII characters, or None", name="api_key")
        if not is_finite(self.timeout) or self.timeout <= 0:
            raise _wrong("timeout", "seconds, more than 0", self.timeout)
        if isinstance(self.retries, bool) or not isinstance(self.retries, int) or self.retries < 0:
            raise _wrong("retries", "a whole number of 0 or more", self.retries)

    def url(self, path: str) -> str:
        """Return the address of a method."""
        return f"{self.base_url.rstrip('/')}/{path}"

    @contextmanager
    def connected(self) -> Iterator[Post]:
        """Give `post(path, body)`, which returns the JSON of an answer; safe to be called from several threads.

        It raises EndpointError where no try succeeds, for an error status, and for an answer that is no JSON.
        """
        try:
            import httpx
        except ImportError as error:
            raise EndpointError('measuring needs httpx: pip install "promptpack-rag[calibrate]"') from error
        headers = {} if self.api_key is None else {"Authorization": f"Bearer {self.api_key}"}
        with httpx.Client(headers=headers, timeout=self.timeout) as client:

            def once(path: str, body: Mapping[str, Any]) -> Any:
                try:
                    answer = client.post(self.url(path), json=dict(body))
                except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
                    # A wrong address stays wrong; a connection may come back.
                    lasting = isinstance(error, httpx.InvalidURL | httpx.UnsupportedProtocol | UnicodeError)
                    raise EndpointError(
                        f"{self.url(path)}: no answer: {type(error).__name__}: {quote(str(error))}",
                        retryable=not lasting,
                    ) from error
                return _read(self.url(path), answer.status_code, answer.text, answer.headers)

            yield lambda path, body: self._tried(lambda: once(path, body))

    def _tried(self, once: Callable[[], Any]) -> Any:
        for attempt in range(self.retries + 1):
            try:
                return once()
            except EndpointError as error:
                if not error.retryable or attempt == self.retries:
                    if error.retryable and self.retries:
                        error.args = (f"{error} ({attempt + 1} tries)",)
                    raise
                asked = 0.5 * 2.0**attempt if error.retry_after is None else error.retry_after
                self.wait(min(asked, LONGEST_WAIT))
        raise AssertionError  # the loop returns or raises


def _read(url: str, status: int, text: str, headers: Mapping[str, str]) -> Any:
    if status >= 300:  # redirects included: a key must not follow them
        told = said(text)
        hint = "; addresses of such endpoints mostly end in /v1" if status == 404 and "/v1/" not in url else ""
        raise EndpointError(
            f"{url}: answered {status}: {quote(told)}{hint}", status=status, body=told[:LONGEST_BODY],
            retryable=status in _AGAIN or (status >= 500 and status != 501), retry_after=asked_wait(headers),
        )
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise EndpointError(
            f"{url}: expected JSON, got {quote(text)}", status=status, body=text[:LONGEST_BODY]
        ) from error


def _wrong(name: str, expected: str, given: object) -> OptionError:
    return OptionError(f"{name}: expected {expected}, got {quote(given)}", name=name, given=given)
