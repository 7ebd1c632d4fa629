"""The tagged values of rag-chunk-reorder's vectors: numbers that JSON lacks, absent values, named functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from golden_calls import NUMBERS

ABSENT = object()


def plain(value: Any) -> Any:
    """Return the value with the tags in it, at any depth, replaced; functions stay, as {"$fn": name}.

    What is undefined is left out of its mapping; in a list it is None. An unknown tag is an error.
    """
    if isinstance(value, list):
        return [None if one is ABSENT else one for one in map(_plain, value)]
    found = _plain(value)
    return None if found is ABSENT else found


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return plain(value)
    if not isinstance(value, Mapping):
        return value
    tags = [key for key in value if key.startswith("$")]
    if not tags:
        pairs = ((key, _plain(one)) for key, one in value.items())
        return {key: one for key, one in pairs if one is not ABSENT}
    if tags[0] not in TAGS:
        raise ValueError(f"unknown tag {tags[0]!r}; known: {', '.join(sorted(TAGS))}")
    return TAGS[tags[0]](value)


TAGS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "$num": lambda value: NUMBERS[value["$num"]],
    "$undefined": lambda value: ABSENT,
    "$fn": dict,
    "$date": lambda value: datetime.fromisoformat(value["$date"]),
    "$bigint": lambda value: int(value["$bigint"]),
}


def _by(key: Callable[[Any], Any], sign: int = 1) -> Callable[[Any, Any], int]:
    def compare(one: Any, other: Any) -> int:
        left, right = key(one), key(other)
        return sign * (int(left > right) - int(left < right))

    return compare


def _priority(chunk: Mapping[str, Any]) -> Any:
    return (chunk.get("metadata") or {}).get("priority", 0)


COMPARATORS: dict[str, Callable[[Any, Any], int]] = {
    "score_asc": _by(lambda chunk: chunk["score"]), "score_desc": _by(lambda chunk: chunk["score"], -1),
    "id_asc": _by(lambda chunk: chunk["id"]), "id_desc": _by(lambda chunk: chunk["id"], -1),
    "text_length_asc": _by(lambda chunk: len(chunk["text"])), "meta_priority_desc": _by(_priority, -1),
    "equal": lambda one, other: 0,
}
DETECTORS: dict[str, Callable[[str], str | None]] = {
    "intent_if_contains_roadmap": lambda query: "temporal" if "roadmap" in query else None,
    "intent_always_narrative": lambda query: "narrative",
    "intent_always_factoid": lambda query: "factoid",
    "intent_garbage": lambda query: "garbage",
}
