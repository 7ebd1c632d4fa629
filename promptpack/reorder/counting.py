"""Counters for the budget of the reorderer: by the reference's names, by the library's, or by a model's."""

from __future__ import annotations

from collections.abc import Callable

from promptpack.errors import OptionError
from promptpack.tokens import DEFAULT_COUNTER, counter, counter_names

Count = Callable[[str], float]
ENCODINGS = ("o200k_base", "cl100k_base")


def _quarters(text: str) -> int:
    return -(-len(text) // 4)


def _words(text: str) -> int:
    return len(text.split())


APPROXIMATIONS: dict[str, Count] = {
    "whitespace": _words, "char4": _quarters, "openai-approx": _quarters, "gemini-approx": _quarters,
}


def token_counter_factory(name: str) -> Count:
    """Return a counter by name: one of the reference's approximations, any of `promptpack.counter`, or a model's.

    whitespace: words between blanks. char4, openai-approx, gemini-approx: a token for every four code points, rounded
    up. A model counts as its profile says (`promptpack models NAME`). Raises OptionError for a name that is none of
    these; a model that is not known is not estimated here.

    >>> token_counter_factory("char4")("abcde"), token_counter_factory("gpt-4o")("hello world")
    (2, 2)
    """
    if not isinstance(name, str):
        raise OptionError.unknown("token_counter", name, (*APPROXIMATIONS, *counter_names()))
    if name in APPROXIMATIONS:
        return APPROXIMATIONS[name]
    if name in counter_names():
        return counter(name)
    from promptpack.profiles import profile

    found = profile(name) if name.strip() else None
    if found is None or not found.known:
        raise OptionError.unknown(
            "token_counter", name, (*APPROXIMATIONS, *counter_names(), "the name of a known model")
        )
    return counter(found.counter)


def create_tiktoken_counter(model: str | None = None, encoding: str | None = None) -> Count:
    """Return an exact counter for an OpenAI model or encoding, offline; o200k_base where neither is given.

    Raises OptionError for an encoding that is not one of the shipped ones, and for a model whose tokens no shipped
    vocabulary counts exactly.

    >>> create_tiktoken_counter(model="gpt-4o")("hello world")
    2
    """
    if encoding is not None and encoding not in ENCODINGS:
        raise OptionError.unknown("encoding", encoding, ENCODINGS)
    if encoding is not None or model is None:
        return counter(encoding or DEFAULT_COUNTER)
    from promptpack.profiles import required_profile

    found = counter(required_profile(model).counter)
    if not found.exact:
        raise OptionError(
            f"model: there is no exact counter for {model!r}, only {found.name!r}; name an encoding",
            name="model", given=model, known=ENCODINGS,
        )
    return found
