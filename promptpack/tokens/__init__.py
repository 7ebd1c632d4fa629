"""Counting tokens, exactly and offline. Vocabularies and tokenizers load on the first count."""

from __future__ import annotations

from promptpack.tokens.base import BaseCounter
from promptpack.tokens.boundary import cuts_here
from promptpack.tokens.calibration import CalibratedCounter, calibrate
from promptpack.tokens.cutting import grapheme_ceil, grapheme_floor
from promptpack.tokens.huggingface import COUNTER_FILE, hf_counter, is_tokenizer
from promptpack.tokens.registry import DEFAULT_COUNTER, counter, counter_names

__all__ = [
    "COUNTER_FILE",
    "DEFAULT_COUNTER",
    "BaseCounter",
    "CalibratedCounter",
    "calibrate",
    "counter",
    "counter_names",
    "cuts_here",
    "grapheme_ceil",
    "grapheme_floor",
    "hf_counter",
    "is_tokenizer",
]
