"""Model profiles: what a model's name says about window, counter, message overhead and template set.

The facts are in `templates/models.toml`. An OpenAI message costs 3 tokens beyond its text and one for its role;
without a model the overhead is 3 a message and 3 for the start of the reply.
"""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from promptpack.errors import OptionError, quote
from promptpack.templates import root


@dataclass(frozen=True, slots=True)
class Profile:
    """What is known of a model: `window` is None and `known` False where its name says nothing.

    message, reply: tokens that a message and the start of the reply cost beyond their text. margin: the share of
    the window to keep free because the counter estimates.
    """

    model: str | None = None
    window: int | None = None
    counter: str = "o200k_base"
    template: str | None = None
    message: int = 3
    reply: int = 3
    margin: float = 0.0
    known: bool = True


def profile(model: str | None) -> Profile:
    """Return the profile of a model name; an unknown one counts with the estimate and is marked so.

    >>> profile("openai/gpt-4o-mini").counter, profile("our-own-model-v3").known
    ('o200k_base', False)
    """
    if model is None:
        return Profile()
    if not isinstance(model, str) or not model.strip():
        raise OptionError(f"model: expected a name, got {quote(model)}", name="model", given=model)
    name = bare_name(model)
    for row in _rows():
        if any(fnmatchcase(name, pattern) for pattern in row["match"]):
            return Profile(
                model, row["window"], row["counter"], row.get("template"), row.get("message", 3),
                row.get("reply", 3), row.get("margin", 0.0),
            )
    return Profile(model, None, "estimate", known=False)


def required_profile(model: str) -> Profile:
    """Return the profile of a model whose window is known; OptionError with suggestions for others."""
    found = profile(model)
    if model is None:
        raise OptionError("model: expected a name, got None", name="model", given=None)
    if not found.known:
        raise OptionError.unknown("model", model, model_patterns())
    return found


def model_patterns() -> tuple[str, ...]:
    """Return the name patterns that are known, in the order in which they are tried."""
    return tuple(pattern for row in _rows() for pattern in row["match"])


def bare_name(model: str) -> str:
    """Return the base model's name: lower case, without provider prefix and fine-tune frame.

    >>> bare_name("ft:gpt-4.1:org::id"), bare_name("OpenAI/GPT-4o")
    ('gpt-4.1', 'gpt-4o')
    """
    name = model.strip().lower().rsplit("/", 1)[-1]
    if name.startswith("ft:"):
        name = name[3:]
    return name.split(":", 1)[0]


@functools.cache
def _rows() -> list[dict[str, Any]]:
    with (root() / "models.toml").open("rb") as file:
        rows: list[dict[str, Any]] = tomllib.load(file)["model"]
    return rows
