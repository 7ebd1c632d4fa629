"""The endpoint of the small model answers as the measurement reads it, whichever engine stands behind it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from scripts import script

from promptpack.calibration import ChatForm, Endpoint, EndpointError
from promptpack.calibration.measures import ExactMatch, LogLikelihood

BENCHMARKS = Path(__file__).parent.parent.parent / "benchmarks"
END = 0
ASKED: list[dict[str, Any]] = [{"role": "user", "content": "Who was it? " * 40}]


class Letters:
    """A tokenizer with a token for each letter."""

    def encode(self, text: str, **_: Any) -> list[int]:
        return [ord(letter) for letter in text]

    def decode(self, tokens: list[int]) -> str:
        return "".join(map(chr, tokens))

    def decode_bytes(self, tokens: list[int]) -> bytes:
        return self.decode(tokens).encode()


class Known:
    """An engine that says of each token how far its letter is from a, and goes on with `Ada.`"""

    def __init__(self) -> None:
        self.read: list[int] = []

    def shared(self, tokens: list[int]) -> int:
        return 0

    def weigh(self, tokens: list[int], first: int) -> tuple[list[float], int, float]:
        self.read = tokens
        text = "".join(map(chr, tokens))
        said = text[text.rfind("\n") + 1:]
        following = "Ada."[len(said):len(said) + 1]
        found = [-abs(one - ord("a")) / 10 for one in tokens[first:]]
        return found, ord(following) if following else END, -0.5


@pytest.fixture(scope="module")
def smollm() -> Iterator[ModuleType]:
    with script("smollm") as module:
        yield module


@pytest.fixture
def pool(smollm: ModuleType) -> Any:
    made = object.__new__(smollm.Pool)
    made.encoding, made.free, made.eos, made.ready = Letters(), [Known()], END, threading.Condition()
    return made


def test_the_measurement_reads_the_tokens_of_the_answer(pool: Any) -> None:
    """If this fails, the endpoint and the command disagree on which tokens are the answer's, or on their values."""
    ask = LogLikelihood(Endpoint("http://localhost/v1", "m"), ChatForm.of("chatml"))
    found = ask(lambda _, body: pool.complete(body["prompt"], dict(body)), ASKED, ["bad"])
    assert found.tokens == 3
    assert found.value == pytest.approx(-0.4 / 3)


def test_an_answer_longer_than_the_tail_is_an_error_and_no_guess(pool: Any, smollm: ModuleType) -> None:
    ask = LogLikelihood(Endpoint("http://localhost/v1", "m"), ChatForm.of("chatml"))
    with pytest.raises(EndpointError, match="no finite number: None"):
        ask(lambda _, body: pool.complete(body["prompt"], dict(body)), ASKED, ["a" * (smollm.TAIL + 1)])


def test_the_model_answers_until_its_end(pool: Any) -> None:
    ask = ExactMatch(Endpoint("http://localhost/v1", "m"), 16)
    found = ask(lambda _, body: pool.chat(dict(body)), ASKED, ["Ada"])
    assert (found.value, found.said) == (1.0, "Ada.")


def test_a_prompt_that_is_too_long_is_refused(pool: Any, smollm: ModuleType) -> None:
    with pytest.raises(ValueError, match="at most 2048 fit"):
        pool.complete("a" * smollm.CONTEXT, {"max_tokens": 1})
    assert len(pool.free) == 1
