"""Counting tokens, exactly and offline. Vocabularies and tokenizers load on the first count."""

from __future__ import annotations

from promptpack.tokens.base import BaseCounter
from promptpack.tokens.boundary import cuts_here
from promptpack.tokens.cutting import grapheme_ceil, grapheme_floor
from promptpack.tokens.registry import DEFAULT_COUNTER, count_tokens, counter, counter_names

__all__ = [
    "DEFAULT_COUNTER",
    "BaseCounter",
    "count_tokens",
    "counter",
    "counter_names",
    "cuts_here",
    "grapheme_ceil",
    "grapheme_floor",
]
