"""Texts that cannot be encoded: Python's strings may hold lone surrogates, and no transport takes them."""

from __future__ import annotations


def encodes(text: str) -> bool:
    r"""Tell whether a text can be written as UTF-8.

    >>> encodes("a🚀"), encodes("a\ud800")
    (True, False)
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def repaired(text: str) -> str:
    r"""Return the text as tiktoken reads it: surrogate pairs joined, lone surrogates become U+FFFD.

    >>> repaired("a\ud83d\ude80b\ud800")
    'a🚀b�'
    """
    return text if encodes(text) else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
