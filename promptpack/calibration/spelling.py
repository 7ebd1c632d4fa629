"""Which tokens of an echoed text are those of the answer at its end.

Offsets are of no use: endpoints count special tokens, blanks and broken characters in different ways. The end of the
text is known, so the tokens are read from there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

BROKEN = "\ufffd"


def answer_tokens(tokens: Sequence[Any], answer: str, made: int | None = None) -> tuple[int, int] | None:
    """Return the range of the tokens that spell `answer`, which is followed by at most one token of the model's own.

    tokens: the texts of all tokens, in order. made: how many of them are the model's own, where that is known. A token
    that begins before the answer and ends within it counts as one of the answer. A token that holds U+FFFD, or is
    "bytes:" and escapes, is a part of a character, and stands for any outside ASCII. None where the tokens spell
    something else.

    >>> answer_tokens(["Who", "?", " A", "da", "."], " Ada")
    (2, 4)
    """
    if not all(isinstance(one, str) for one in tokens):
        return None
    guesses = [made] if isinstance(made, int) and not isinstance(made, bool) and 0 <= made < len(tokens) else []
    for own in dict.fromkeys([*guesses, 1, 0]):
        end = len(tokens) - own
        start = _start(tokens, answer, end)
        if start is not None:
            return start, end
    return None


def _start(tokens: Sequence[str], answer: str, end: int) -> int | None:
    """Go back from `end` until the tokens spell the answer: whole characters must be equal."""
    left = len(answer)      # characters of the answer that are not spelled yet
    index = end
    while index > 0 and left > 0:
        index -= 1
        if BROKEN in _shown(tokens[index]):
            last = index
            while index > 0 and BROKEN in _shown(tokens[index - 1]):
                index -= 1
            parts = "".join(map(_shown, tokens[index:last + 1]))
            before = _before(parts, tokens[index - 1] if index else None, answer[:left])
            if before is None:
                return None
            left = before
            continue
        shown = tokens[index]
        overlap = min(len(shown), left)
        if shown[len(shown) - overlap:] != answer[left - overlap:left]:
            return None
        left -= overlap
    return index if left == 0 else None


def _before(parts: str, whole: str | None, answer: str) -> int | None:
    """Return how much of the answer stands before the tokens `parts`, which hold broken characters and end it.

    whole: the token before them, which tells where they can begin.
    """
    pattern = re.compile("[^\\x00-\\x7f]+".join(map(re.escape, re.split(f"{BROKEN}+", parts))))
    for end in range(len(answer) - 1, -1, -1):
        if pattern.fullmatch(answer, end):
            piece = answer[max(0, end - len(whole or "")):end]
            if end == 0 or (piece and (whole or "").endswith(piece)):
                return end
    return None


def _shown(token: str) -> str:
    """Return the text of a token, with U+FFFD for what is no whole character; OpenAI writes such tokens as escapes."""
    if not token.startswith("bytes:"):
        return token
    codes = re.findall(r"\\x([0-9a-fA-F]{2})|([^\\])", token.removeprefix("bytes:"))
    return b"".join(bytes.fromhex(code) if code else sign.encode() for code, sign in codes).decode("utf-8", "replace")
