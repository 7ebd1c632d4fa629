"""What can go wrong between a measurement and the model that it measures."""

from __future__ import annotations

from promptpack.errors import PromptpackError


class EndpointError(PromptpackError, RuntimeError):
    """An endpoint could not be reached, refused a request, or answered something that cannot be used.

    `status` is that of its HTTP answer where there was one, `body` the start of what it said, `retryable` whether it is
    worth another try, `retry_after` the seconds that it asked to wait. `unsupported`: it does not do what was asked
    (log-probabilities of a given text), but may well do something else.
    """

    def __init__(
        self, message: str, *, status: int | None = None, body: str | None = None, retryable: bool = False,
        retry_after: float | None = None, unsupported: bool = False,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.body = body
        self.retryable = retryable
        self.retry_after = retry_after
        self.unsupported = unsupported


class CalibrationError(PromptpackError, ValueError):
    """What was measured makes no curve: no answers, or answers that the passage does not help."""
