"""Counters by name, file or object: `counter(name)`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from promptpack.errors import OptionError, quote
from promptpack.tokens.base import BaseCounter
from promptpack.tokens.bpe import BpeCounter
from promptpack.tokens.custom import CallableCounter
from promptpack.tokens.estimate import Estimate
from promptpack.tokens.families import ALIASES, FAMILIES, FamilyCounter
from promptpack.tokens.huggingface import COUNTER_FILE, file_counter, hf_counter, is_tokenizer
from promptpack.tokens.plain import Chars, Quarters, Words
from promptpack.tokens.vocabulary import NOT_SHIPPED, VOCABULARIES, not_shipped

DEFAULT_COUNTER = "o200k_base"

_PLAIN: dict[str, Callable[[], BaseCounter]] = {
    "estimate": Estimate, "words": Words, "chars": Chars, "chars/4": Quarters,
}
_counters: dict[tuple[str, bool | None], BaseCounter] = {}
_lock = threading.Lock()


def counter_names() -> tuple[str, ...]:
    """Return the names that `counter` knows, those of extras that are not installed included.

    >>> counter_names()[:2]
    ('o200k_base', 'cl100k_base')
    """
    return (*VOCABULARIES, *_PLAIN, *FAMILIES, *ALIASES)


def counter(
    name: str | Path | Callable[[str], int] = DEFAULT_COUNTER, *, fast: bool | None = None
) -> BaseCounter:
    """Return the counter of that name, or a callable wrapped so that its results are checked.

    name: o200k_base, cl100k_base (exact, offline); estimate (by script, errs high); words, chars, chars/4;
    llama3, qwen3, qwen2, mistral_v3, deepseek_v3, gemma3 (with the extra `models`); the path of a `tokenizer.json`,
    or a tokenizer of the packages tokenizers or transformers (with the extra `hf`, see `hf_counter`); or any callable
    from str to int. A counter that this function returned is returned as it is.
    fast: for o200k_base and cl100k_base: None takes the extra `fast` where it is installed, True insists on
    it, False does without. The counts are the same.

    One name gives one object, so that all users of a counter share what it has counted. Nothing is loaded
    before the first count. Raises OptionError for an unknown name, TokenizerError for a vocabulary of tiktoken that the
    package does not carry.

    >>> counter("words")("one two three")
    3
    >>> counter("o200k_base").exact, counter("estimate").exact
    (True, False)
    """
    if isinstance(name, BaseCounter):
        return name
    if isinstance(name, Path) or (isinstance(name, str) and name.endswith(COUNTER_FILE)):
        return file_counter(str(name))
    if not isinstance(name, str):
        if is_tokenizer(name):
            return hf_counter(name)
        if callable(name) and not isinstance(name, type):
            return CallableCounter(name)
        raise OptionError.unknown("counter", name, counter_names())
    if fast is not None and not isinstance(fast, bool):
        raise OptionError(f"fast: expected True, False or None, got {quote(fast)}", name="fast", given=fast)
    key = (ALIASES.get(name, name), fast if name in VOCABULARIES else None)
    found = _counters.get(key)
    if found is not None:
        return found
    if name.lower() in NOT_SHIPPED:
        raise not_shipped(name.lower())
    if name not in counter_names():
        raise OptionError.unknown("counter", name, counter_names())
    with _lock:
        return _counters.setdefault(key, _make(*key))


def _make(name: str, fast: bool | None) -> BaseCounter:
    if name in VOCABULARIES:
        return BpeCounter(name, fast=fast)
    return _PLAIN[name]() if name in _PLAIN else FamilyCounter(name)
