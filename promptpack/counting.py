"""Counting by any name: that of a counter, of a model, or of nothing that is known."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from promptpack.errors import OptionError, quote
from promptpack.profiles import LONGEST_NAME, Profile, profile
from promptpack.tokens import COUNTER_FILE, DEFAULT_COUNTER, BaseCounter, counter, counter_names
from promptpack.tokens.vocabulary import NOT_SHIPPED

_CLOSE = 0.85  # so alike is a name that was meant to be a counter's


def count_tokens(text: str, name: str | Path | Profile | Callable[[str], int] = DEFAULT_COUNTER) -> int:
    """Return the number of tokens of a text, by a counter's name or as a model of that name counts.

    name: what `counter` takes; or a model's name or `Profile`, counted by the counter of its profile. A name that is
    neither is taken for a model that is not known, and counted by the estimate: a warning goes to the log "promptpack",
    once a name, and `counter_for(name).exact` is False. A name that is nearly a counter's is taken for a misspelling.

    Raises SourceError where the text is no text, OptionError for a misspelled counter and for what is no name,
    TokenizerError for a vocabulary of tiktoken that the package does not carry.

    >>> count_tokens("hello world"), count_tokens("hello world", "chars"), count_tokens("hello world", "gpt-4o")
    (2, 11, 2)
    """
    return counter_for(name)(text)


def counter_for(name: str | Path | Profile | Callable[[str], int] = DEFAULT_COUNTER) -> BaseCounter:
    """Return the counter that `count_tokens` counts with.

    >>> counter_for("gpt-4o").name, counter_for("claude-sonnet-4-5").exact
    ('o200k_base', False)
    """
    if isinstance(name, Profile):
        return counter(name.counter)
    if not isinstance(name, str) or name in counter_names() or name.endswith(COUNTER_FILE):
        return counter(name)
    if name.lower() in NOT_SHIPPED:  # a vocabulary, not a model that is not known, though "gpt2" was one as well
        return counter(name)
    found = profile(name)
    if not found.known:
        if difflib.get_close_matches(name[:LONGEST_NAME].lower(), counter_names(), n=1, cutoff=_CLOSE):
            raise OptionError.unknown("counter", name, counter_names())
        _warn(name)
    return counter(found.counter)


@lru_cache(maxsize=256)  # once a name
def _warn(name: str) -> None:
    logging.getLogger("promptpack").warning("the model %s is not known: its tokens are estimated", quote(name))
