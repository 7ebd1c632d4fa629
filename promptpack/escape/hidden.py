r"""Text that hides: runs of invisible characters, controls, lone surrogates.

A run becomes one U+FFFD, so that nothing is hidden and nothing that stood apart joins up. Single
zero-width characters, joiners of scripts that need them, emoji sequences and the three flags that are
spelled with tag characters (England, Scotland, Wales) stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

REPLACEMENT = "\ufffd"
# Controls of C0 but tab, LF, VT, FF, CR. For `bytes.translate`: the quickest test of an ASCII text.
CONTROLS = bytes([*range(9), *range(14, 32)])

_SELECTORS = "\ufe00-\ufe0f"
_MORE_SELECTORS = "\U000e0100-\U000e01ef"
_NEVER = "\x00-\x08\x0e-\x1f\ud800-\udfff"
_TAGS = "\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
# Zero width or without a glyph; what bidirectional text needs is ordinary one or two at a time.
_THIN = (
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff"
    "\uffa0\ufff9-\ufffb"
)
_FLAG = (
    "\U0001f3f4\U000e0067\U000e0062"
    "(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074|\U000e0077\U000e006c\U000e0073)\U000e007f"
)

# Every character that may be part of a run that hides.
HIDDEN_BMP = f"{_NEVER}{_SELECTORS}{_THIN}"
HIDDEN_ASTRAL = f"{_MORE_SELECTORS}{_TAGS}"

_ASTRAL = re.compile("[\U000e0000-\U000e0fff]")


@lru_cache(maxsize=1)
def _suspect() -> re.Pattern[str]:
    # One class first, so that the search can skip; what came before it decides. Characters beyond the
    # BMP are searched for apart, because a class that holds both kinds is several times slower.
    return re.compile(
        f"[{_NEVER}{_SELECTORS}{_THIN}](?:(?<=[{_NEVER}])|(?<=[{_SELECTORS}])(?:(?=[{_SELECTORS}])"
        f"|(?<=[A-Za-z][{_SELECTORS}]))|(?<=[{_THIN}])(?=[{_THIN}]{{3}}))"
    )


@lru_cache(maxsize=1)
def _runs() -> re.Pattern[str]:
    selector = f"[{_SELECTORS}{_MORE_SELECTORS}]"
    bad = f"[{_NEVER}{_TAGS}]++|{selector}{{2,}}+|(?<=[A-Za-z]){selector}|[{_THIN}]{{4,}}+"
    return re.compile(f"(?P<flag>{_FLAG})|(?:{bad})++")


@lru_cache(maxsize=1)
def _strict_runs() -> re.Pattern[str]:
    # Joiners and selectors inside emoji and inside words of other scripts stay readable.
    other = r"[^\x00-\x7f\s]"
    joined = (
        f"(?<={other})[\u200c\u200d\ufe0e\ufe0f](?={other})"
        f"|(?:(?<={other})|(?<=[0-9#*]))[\ufe0e\ufe0f](?![{_SELECTORS}])"
    )
    every = f"[{_NEVER}{_TAGS}{_SELECTORS}{_MORE_SELECTORS}{_THIN}\x7f-\x84\x86-\x9f]"
    return re.compile(f"(?P<flag>{_FLAG}|{joined})|{every}(?:(?!{joined}){every})*+")


def hidden_runs(text: str, *, strict: bool = False) -> Iterator[tuple[int, int]]:
    """Yield the spans of `text` that one U+FFFD must replace, in order; linear.

    With strict=True every invisible or bidirectional character counts, unless it joins letters of a script
    or an emoji.

    >>> list(hidden_runs("a\\x00\\x01b"))
    [(1, 3)]
    """
    if text.isascii():
        if len(text.encode().translate(None, CONTROLS)) == len(text) and not (strict and "\x7f" in text):
            return
    elif not (strict or _suspect().search(text) or _ASTRAL.search(text)):
        return
    for match in (_strict_runs() if strict else _runs()).finditer(text):
        if match["flag"] is None:
            yield match.span()


def surrogates(text: str) -> Iterator[tuple[int, int]]:
    """Yield the runs of lone surrogates, which no payload can carry because they have no UTF-8."""
    if not text.isascii():
        for match in re.finditer("[\ud800-\udfff]+", text):
            yield match.span()
