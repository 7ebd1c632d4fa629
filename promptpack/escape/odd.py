"""The quick look at a text's odd characters, controls and all beyond ASCII: none opens or hides anything."""

from __future__ import annotations

import re
from functools import lru_cache

from promptpack.escape.fold import ANGLES, BRACKETS, BRACKETS_CLOSE, WEAK_ANGLES
from promptpack.escape.hidden import CONTROLS, HIDDEN_ASTRAL, HIDDEN_BMP

_PLAIN = bytes(set(range(128)) - set(CONTROLS))
# Characters that only Unicode normalization turns into an ampersand, a bracket or an angle.
_NORMALIZED = "\uff06\ufe60\u2280\ufe3b\ufe3c\ufe3f"


def is_quiet(text: str) -> bool:
    """Tell whether all odd characters are harmless, so that only ASCII openers matter; linear.

    Dropping the plain ASCII bytes of UTF-8 leaves whole characters, mostly few and the same ones again.

    >>> is_quiet("It’s 20 °C – fine"), is_quiet("\\uff1csources>")
    (True, False)
    """
    return are_quiet(text.encode("utf-8", "surrogatepass"))


def are_quiet(texts: bytes) -> bool:
    """Tell what `is_quiet` does of a text in UTF-8.

    >>> are_quiet("It’s 20 °C".encode())
    True
    """
    rest = texts.translate(None, _PLAIN)
    if not rest:
        return True
    odd = rest.decode("utf-8", "surrogatepass")
    return not (_harmful().search(odd) or _harmful_astral().search(odd))


@lru_cache(maxsize=1)
def _harmful() -> re.Pattern[str]:
    openers = ANGLES[1:] + WEAK_ANGLES + BRACKETS[1:] + BRACKETS_CLOSE[1:] + _NORMALIZED
    return re.compile(f"[{HIDDEN_BMP}{re.escape(openers)}]")


@lru_cache(maxsize=1)
def _harmful_astral() -> re.Pattern[str]:
    # Apart, because a class that holds characters of both kinds is searched several times slower.
    return re.compile(f"[{HIDDEN_ASTRAL}]")
