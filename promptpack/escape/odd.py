"""The quick look at a text's odd characters, controls and all beyond ASCII: none opens or hides anything."""

from __future__ import annotations

import re
from functools import lru_cache

from promptpack.escape.fold import fold
from promptpack.escape.hidden import CONTROLS, HIDDEN

_PLAIN = bytes(set(range(128)) - set(CONTROLS))
_OPENERS = frozenset("<[]&\ue000")  # what the pattern for odd openers looks for, folded
_LIMIT = 1 << 15

# Characters that were looked at and found harmless; bounded, and the same whatever the order of the texts.
_harmless: set[str] = set()


def is_quiet(text: str) -> bool:
    """Tell whether all odd characters are harmless, so that only ASCII openers matter; linear.

    Dropping the plain ASCII bytes of UTF-8 leaves whole characters, mostly few and the same ones again.

    >>> is_quiet("It’s 20 °C – fine"), is_quiet("\\uff1csources>")
    (True, False)
    """
    rest = text.encode("utf-8", "surrogatepass").translate(None, _PLAIN)
    if not rest:
        return True
    odd = rest.decode("utf-8", "surrogatepass")
    if _harmless.issuperset(odd):
        return True
    for char in set(odd) - _harmless:
        if not _is_harmless(char):
            return False
        if len(_harmless) < _LIMIT:
            _harmless.add(char)
    return True


def _is_harmless(char: str) -> bool:
    return not _hidden().match(char) and _OPENERS.isdisjoint(fold(char))


@lru_cache(maxsize=1)
def _hidden() -> re.Pattern[str]:
    return re.compile(f"[{HIDDEN}]")
