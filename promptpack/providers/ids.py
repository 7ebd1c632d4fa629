"""Names that a provider restricts: an id or a name that does not fit is replaced by one that does, always the same."""

from __future__ import annotations

import hashlib
import re


def fitting(value: str, allowed: str, longest: int) -> str:
    """Return the value where it has only allowed characters (a regex class) and is short enough, else a stand-in.

    The stand-in is made of the value's SHA-256, so that a call and its result keep the same id.

    >>> fitting("call_1", "[A-Za-z0-9_-]", 64), fitting("call 1", "[A-Za-z0-9_-]", 64)
    ('call_1', 'call_21c5c2a600ce3c16f8a2e523')
    """
    if value and len(value) <= longest and re.fullmatch(f"(?:{allowed})+", value):
        return value
    return "call_" + hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:24]
