"""Character references: which of them stand for an opener, and what a text says once they are decoded.

Only structural characters are decoded (brackets, slash, bar, blanks), at any depth of `&amp;`. Letters and
digits are not, so that a reference can add to what a shape matches but never take a match away.
"""

from __future__ import annotations

import re
from functools import lru_cache

from promptpack.escape.fold import ANGLES, BRACKETS, BRACKETS_CLOSE, WEAK_ANGLES, fold

# One "&" encoded once more: amp;lt; reads as &lt; after one decoding.
DEEPER = r"(?:(?:amp|AMP);?|#0*+38(?![0-9]);?|#[xX]0*+26(?![0-9a-fA-F]);?)*+"
OPENERS = ANGLES + WEAK_ANGLES + BRACKETS + BRACKETS_CLOSE
# What HTML decodes even without the semicolon, of the names that matter here.
_BARE = frozenset({"lt", "LT", "gt", "GT", "nbsp"})


def _named(wanted: str) -> list[str]:
    from html.entities import html5

    names = [n for n, char in html5.items() if n.endswith(";") and len(char) == 1 and char in wanted]
    return sorted(n + "?" if n[:-1] in _BARE else n for n in names)


def reference_to(chars: str) -> str:
    """Return a pattern for what follows the "&" of any reference, of any depth, to one of `chars`."""
    points = sorted({ord(c) for c in chars})
    decimal = "|".join(str(p) for p in points)
    hexadecimal = "|".join(f"{p:x}" for p in points)
    named = "|".join([*_named(chars), rf"#0*+(?:{decimal})(?![0-9]);?"])
    return rf"{DEEPER}(?:{named}|#[xX]0*+(?i:{hexadecimal})(?![0-9a-fA-F]);?)"


@lru_cache(maxsize=1)
def _structural() -> re.Pattern[str]:
    names = "|".join(_named("<>\uff1e\ufe65/\\|\u00a0\t\n "))
    return re.compile(
        rf"&{DEEPER}(?:(?P<name>{names})|#0*+(?P<dec>[0-9]{{1,7}})(?![0-9]);?"
        r"|#[xX]0*+(?P<hex>[0-9a-fA-F]{1,6})(?![0-9a-fA-F]);?)"
    )


@lru_cache(maxsize=4096)  # few are written in more than one way, and a hostile text has one a hundred thousand times
def _decoded(reference: str) -> str:
    match = _structural().match(reference)
    assert match is not None  # noqa: S101 - it was found by the same pattern
    if match["name"]:
        from html.entities import html5

        char = html5.get(match["name"]) or html5.get(match["name"] + ";", "")
    else:
        point = int(match["dec"] or "0") if match["dec"] else int(match["hex"], 16)
        char = chr(point) if point <= 0x10FFFF else ""
    folded = fold(char)
    return folded if folded and folded in "<>/\\| \t\n\r" else reference


def decode_structure(text: str) -> str:
    """Return `text` with the references to structural characters decoded, at any depth.

    >>> decode_structure("question&gt; R&amp;D &amp;#47; &#97;")
    'question> R&amp;D / &#97;'
    """
    return _structural().sub(lambda match: _decoded(match[0]), text) if "&" in text else text


@lru_cache(maxsize=1024)
def opener_of(reference: str) -> str:
    """Return the character that a reference to an opener stands for, all depths decoded."""
    import html

    while True:
        decoded = html.unescape(reference)
        if decoded == reference or len(decoded) == 1:
            return decoded[:1]
        # A missing semicolon after "amp" leaves "&lt;"-like text, which the next round decodes.
        reference = decoded
