"""The extra `fast`: the counter of toktok-rs, several times as quick as tiktoken, with the same counts.

Imported only where a counter looks for the extra.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# Texts that tell a wrong vocabulary or a wrong split pattern from the right one, and their exact counts.
_PROBES = (
    ("The quick brown fox doesn't jump; it's 12345 km to go.\n\n\tdef f(x):\n        return x\n", 23, 25),
    ("\n /\n//\r\n\u3000\u00a0 \u2028x  \n", 10, 10),
    ("\u8fd4\u54c1\u306f\u0e44\u0e17 \U0001f680\u200d\U0001f469 \u0627\u0644 e\u0301<|endoftext|>", 19, 24),
)


def load(name: str) -> Callable[[str], int] | None:
    """Return toktok's counter for that encoding, or None where it is not installed or does not count alike.

    A few probes are counted first: a release with other counts is not used. It raises UnicodeEncodeError on lone
    surrogates.

    >>> load("no such encoding") is None
    True
    """
    try:
        import toktok
    except ImportError:
        return None
    index = ("o200k_base", "cl100k_base").index(name) + 1 if name in ("o200k_base", "cl100k_base") else 0
    if not index:
        return None

    def many(texts: list[str]) -> list[int]:
        counts: list[int] = toktok.batch_count(texts, name, 1)
        return counts

    # The public call sets up a pool of threads each time, which takes as long as 15 texts of 200 tokens; the object
    # behind it counts one text directly, as fast as the call does where there are hundreds.
    tokenizer: Any = getattr(toktok, "_encoding", lambda _: None)(name)
    one: Callable[[str], int] = getattr(tokenizer, "count", lambda text: many([text])[0])
    probes = [probe[0] for probe in _PROBES]
    right = [probe[index] for probe in _PROBES]
    return one if [one(probe) for probe in probes] == right else None
