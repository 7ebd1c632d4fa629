"""What a model makes of a question: the log-likelihood of the right answer, or whether its own answer is right.

Log-likelihoods come from the endpoint for completions: the prompt with the answer is sent, `echo` brings it back with
the log-probability of each token, and those of the answer are averaged. Where an endpoint does not do that, the model
answers by itself (the endpoint for chats), and the answer counts as right if it holds a right one, word for word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum
from typing import Any

from promptpack.calibration.endpoint import Endpoint, Post
from promptpack.calibration.errors import EndpointError
from promptpack.calibration.forms import ChatForm
from promptpack.calibration.questions import holds
from promptpack.calibration.spelling import answer_tokens
from promptpack.curves import Measure
from promptpack.errors import quote
from promptpack.packing.ranking import is_finite

_REFUSALS = (400, 404, 405, 415, 422, 500, 501)  # for a request that an endpoint does not know; 401 and 403 are others
_STEERED = ("temperature", "max_tokens")


@dataclass(frozen=True, slots=True)
class Measured:
    """What came of one probe: the value (nats per token of the answer, or 1.0 and 0.0), tokens, and what was said."""

    value: float
    tokens: int | None = None
    said: str | None = None


@dataclass(frozen=True, slots=True)
class LogLikelihood:
    """The mean log-probability of the tokens of the right answer, in nats; `form` writes the messages out."""

    endpoint: Endpoint
    form: ChatForm
    name: Measure = "loglik"

    def __call__(self, post: Post, messages: Sequence[Mapping[str, Any]], answers: Sequence[str]) -> Measured:
        """Ask for one probe.

        Raises EndpointError, `unsupported` where the endpoint does not give log-probabilities of a given text.
        """
        before, answer = self.form.with_answer(messages, answers[0])
        # One token is asked for, since several endpoints refuse none; it is told apart below.
        body = {
            "model": self.endpoint.model, "prompt": before + answer, "max_tokens": 1, "temperature": 0, "echo": True,
            "logprobs": 1,
        }
        try:
            reply = post("completions", body)
        except EndpointError as error:
            error.unsupported = error.status in _REFUSALS
            raise
        url = self.endpoint.url("completions")
        choice = first_choice(reply, url)
        given = choice.get("logprobs")
        held = given if isinstance(given, Mapping) else {}
        tokens, values = held.get("tokens"), held.get("token_logprobs")
        if not isinstance(tokens, list) or not isinstance(values, list) or not tokens or len(tokens) != len(values):
            raise EndpointError(
                f"{url}: the answer has no log-probabilities of the prompt (choices[0].logprobs: {quote(given)})",
                unsupported=True,
            )
        usage = reply.get("usage")
        made = usage.get("completion_tokens") if isinstance(usage, Mapping) else None
        span = answer_tokens(tokens, answer, made)
        if span is None:
            raise EndpointError(
                f"{url}: the tokens that came back do not spell the prompt's end {quote(answer)}: "
                f"{quote(''.join(map(str, tokens[-8:])))}", unsupported=True,
            )
        found = values[span[0]:span[1]]
        if not all(is_finite(one) for one in found):
            wrong = next(one for one in found if not is_finite(one))
            raise EndpointError(f"{url}: a log-probability of the answer is no finite number: {quote(wrong)}")
        return Measured(fsum(found) / len(found), len(found))


@dataclass(frozen=True, slots=True)
class ExactMatch:
    """Whether the model's own answer, at temperature 0, holds a right one, word for word: 1.0 or 0.0.

    limit: the most tokens of an answer. Newer models refuse `max_tokens`, which goes by another name then, or a
    temperature, which is left out; `changed` says so.
    """

    endpoint: Endpoint
    limit: int = 64
    name: Measure = "exact"
    changed: list[str] = field(default_factory=list, compare=False)

    def __call__(self, post: Post, messages: Sequence[Mapping[str, Any]], answers: Sequence[str]) -> Measured:
        """Ask for one probe; EndpointError where no text comes back."""
        reply = self._ask(post, [dict(one) for one in messages])
        url = self.endpoint.url("chat/completions")
        choice = first_choice(reply, url)
        told = choice.get("message")
        said = told.get("content") if isinstance(told, Mapping) else None
        if said is None and choice.get("finish_reason") == "length":
            raise EndpointError(f"{url}: {self.limit} tokens were not enough for an answer; allow more")
        if not isinstance(said, str):
            raise EndpointError(f"{url}: expected a text as choices[0].message.content, got {quote(said)}")
        return Measured(float(holds(said, answers)), None, said)

    def _ask(self, post: Post, messages: list[dict[str, Any]]) -> Any:
        while True:
            body: dict[str, Any] = {"model": self.endpoint.model, "messages": messages}
            body["max_completion_tokens" if "max_tokens" in self.changed else "max_tokens"] = self.limit
            if "temperature" not in self.changed:
                body["temperature"] = 0
            try:
                return post("chat/completions", body)
            except EndpointError as error:
                refused = [one for one in _STEERED if one in (error.body or "") and one in body]
                if error.status not in (400, 422) or not refused:
                    raise
                if refused[0] not in self.changed:  # another thread may have found out meanwhile
                    self.changed.append(refused[0])


def first_choice(reply: Any, url: str) -> Mapping[str, Any]:
    """Return `choices[0]` of an answer; EndpointError that says what came instead."""
    choices = reply.get("choices") if isinstance(reply, Mapping) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        shown = choices if isinstance(reply, Mapping) else reply
        raise EndpointError(f"{url}: the answer has no choices: {quote(shown)}")
    return choices[0]
