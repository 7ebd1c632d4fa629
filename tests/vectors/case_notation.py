"""Expands the notation of the cases: {"$repeat": ["ab", 3]} and the like stand for long texts and lists.

    {"$repeat": ["ab", 3]}                  the text "ababab"
    {"$words": ["a", 3]}                    the text "a1 a2 a3"
    {"$turns": {"n": 4, "words": 60}}       4 messages, user and assistant in turn; turn i has the text
                                            {"$words": ["t<i>x", 60]}
    {"$numbered": {"n": 3, "words": 9,      chunks c1..cn with the text {"$words": ["w<i>x", 9]} and falling
     "score_start": 1, "score_step": -.1}}  scores; every other key is copied into each chunk
    {"$nan": true}  {"$inf": 1 or -1}       the floats that JSON lacks
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any


def expand(value: Any) -> Any:
    """Return the value with every notation in it, at any depth, replaced by what it stands for."""
    if isinstance(value, list):
        return [expand(one) for one in value]
    if not isinstance(value, Mapping):
        return value
    names = [key for key in value if key.startswith("$")]
    if not names:
        return {key: expand(one) for key, one in value.items()}
    if len(value) != 1 or names[0] not in NOTATIONS:
        raise ValueError(f"unknown notation {sorted(value)}; known: {', '.join(sorted(NOTATIONS))}")
    return NOTATIONS[names[0]](expand(value[names[0]]))


def words(prefix: str, count: int) -> str:
    """Return "a1 a2 a3" for the prefix "a" and a count of 3."""
    return " ".join(f"{prefix}{number}" for number in range(1, count + 1))


def _turns(given: Mapping[str, Any]) -> list[dict[str, str]]:
    roles = ("user", "assistant")
    return [
        {"role": roles[number % 2], "content": words(f"t{number + 1}x", given["words"])}
        for number in range(given["n"])
    ]


def _numbered(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    own = ("n", "words", "score_start", "score_step")
    shared = {key: one for key, one in given.items() if key not in own}
    chunks = []
    for number in range(1, given["n"] + 1):
        score = given["score_start"] + (number - 1) * given["score_step"]
        text = words(f"w{number}x", given["words"])
        chunks.append({"id": f"c{number}", "text": text, "score": score, **shared})
    return chunks


NOTATIONS: dict[str, Callable[[Any], Any]] = {
    "$repeat": lambda given: given[0] * given[1],
    "$words": lambda given: words(*given),
    "$turns": _turns,
    "$numbered": _numbered,
    "$nan": lambda given: math.nan,
    "$inf": lambda given: math.copysign(math.inf, given),
}
