"""Cutting a text to a number of tokens with a byte-level vocabulary, by one tokenisation and a short recount.

The cut falls where the text's own tokens end, moved to a grapheme boundary. A cut inside a word can make
its rest tokenise differently, so the stretch between the cut and the nearest place where counts add up
(`boundary.cuts_here`) is counted again; should it cost more, the cut moves until the result fits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from promptpack.tokens.boundary import last_cut, next_cut
from promptpack.tokens.cutting import grapheme_ceil, grapheme_floor


class Codec(NamedTuple):
    """A byte-level vocabulary: text to tokens, tokens to bytes, one token to its bytes."""

    encode: Callable[[str], list[int]]
    decode: Callable[[list[int]], bytes]
    token: Callable[[int], bytes]


def first_tokens(text: str, limit: int, codec: Codec) -> str:
    """Return the start of the text that its first `limit` tokens spell, or a little less, so that it fits.

    The text must encode to UTF-8. Only as much of it is tokenised as the limit calls for.

    >>> from promptpack.tokens.bpe import codec
    >>> first_tokens("one two three", 2, codec("o200k_base"))
    'one two'
    """
    reach, end, ids = 8 * limit + 64, 0, list[int]()
    while end < len(text) and len(ids) <= limit:
        end = next_cut(text, reach)
        ids = codec.encode(text[:end])
        reach *= 4
    if len(ids) <= limit:
        return text
    spelled = codec.decode(ids[:limit])
    cut = grapheme_floor(text, len(spelled.decode("utf-8", "ignore")))
    safe = last_cut(text, cut)
    # how many tokens the text has before `safe`: walk back over those that spell what lies between
    before, size = limit, len(spelled) - len(text[:safe].encode())
    while size > 0:
        before -= 1
        size -= len(codec.token(ids[before]))
    while cut > safe:
        rest = codec.encode(text[safe:cut])
        if before + len(rest) <= limit:
            break
        kept = codec.decode(rest[: limit - before]).decode("utf-8", "ignore")
        cut = max(safe, grapheme_floor(text, safe + len(kept)))
    return text[:cut]


def last_tokens(text: str, limit: int, codec: Codec) -> str:
    """Return the end of the text that its last `limit` tokens spell, or a little less, so that it fits.

    The text must encode to UTF-8. Only as much of it is tokenised as the limit calls for.

    >>> from promptpack.tokens.bpe import codec
    >>> last_tokens("one two three", 2, codec("o200k_base"))
    ' two three'
    """
    if limit <= 0:
        return ""
    reach, start, ids = 8 * limit + 64, len(text), list[int]()
    while start > 0 and len(ids) <= limit:
        start = last_cut(text, len(text) - reach) if reach < len(text) else 0
        ids = codec.encode(text[start:])
        reach *= 4
    if len(ids) <= limit:
        return text
    skipped = codec.decode(ids[:-limit])
    whole = skipped.decode("utf-8", "ignore")
    split = len(whole.encode()) < len(skipped)  # the cut is inside a character, which goes as well
    cut = grapheme_ceil(text, start + len(whole) + split)
    safe = next_cut(text, cut)
    # how many tokens the text has after `safe`: walk on over those that spell what lies between
    after, size = limit, len(text[start:safe].encode()) - len(skipped)
    while size > 0:
        size -= len(codec.token(ids[len(ids) - after]))
        after -= 1
    while cut < safe:
        rest = codec.encode(text[cut:safe])
        if after + len(rest) <= limit:
            break
        dropped = codec.decode(rest[: len(rest) - (limit - after)])
        whole = dropped.decode("utf-8", "ignore")
        split = len(whole.encode()) < len(dropped)
        cut = min(safe, grapheme_ceil(text, cut + len(whole) + split))
    return text[cut:]
