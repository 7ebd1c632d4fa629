"""What a chunk is: checked or repaired on the way in, a Source in between, the caller's own kind on the way out.

A chunk is a mapping with `id`, `text`, `score` and perhaps `tokenCount` and `metadata`, or a `Source`. Metadata
keep the names of the reference: timestamp, sectionIndex, sourceId, sourceReliability, chunkId, tokenCount.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from sys import float_info
from typing import Any

from promptpack.errors import OptionError, SourceError, quote
from promptpack.packing.ranking import is_finite
from promptpack.quick import maker
from promptpack.source import Source

Chunk = Mapping[str, Any] | Source
_LARGEST = float_info.max
MODES = ("strict", "coerce")


def _number(value: object) -> float | None:
    """Return a finite number as Python's own (numpy's too), None for everything else."""
    if type(value) is float or type(value) is int:  # the usual ones, without asking an abstract class
        return value if -_LARGEST <= value <= _LARGEST else None
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    plain = int(value) if isinstance(value, Integral) else float(value)
    return plain if is_finite(plain) else None


def _is_number(value: object) -> bool:
    return _number(value) is not None


def _is_count(value: object) -> bool:
    number = _number(value)
    return number is not None and number >= 0


def _is_name(value: object) -> bool:
    return value is None or isinstance(value, str | bool | Real)


# What a field of the metadata may hold, what is said of it, and how its repairs are counted.
_FIELDS: dict[str, tuple[Callable[[object], bool], str, str | None]] = {
    "timestamp": (_is_number, "a finite number", "timestamp"),
    "sectionIndex": (_is_number, "a finite number", "section_index"),
    "chunkId": (lambda value: isinstance(value, str), "a text", None),
    "sourceId": (_is_name, "a text, a number, True or False", "source_id"),
    "sourceReliability": (_is_number, "a finite number", "source_reliability"),
    "tokenCount": (_is_count, "a number of 0 or more", None),
}
METADATA_FIELDS = frozenset(_FIELDS)


@dataclass(frozen=True, slots=True)
class Repairs:
    """How often something was repaired: scores that became 0, metadata fields that were dropped, and which."""

    coerced_scores: int = 0
    dropped_metadata_fields: int = 0
    dropped_metadata_timestamp: int = 0
    dropped_metadata_section_index: int = 0
    dropped_metadata_source_id: int = 0
    dropped_metadata_source_reliability: int = 0

    def __add__(self, other: Repairs) -> Repairs:
        return Repairs(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))


def listed(chunks: object) -> Sequence[Any]:
    """Return the chunks if they are a list; SourceError for everything else, also for iterators."""
    if isinstance(chunks, str | bytes | Mapping) or not isinstance(chunks, Sequence):
        raise SourceError(
            f"chunks: expected a list of chunks, got {quote(chunks)} (iterables go to reorder_stream)", field="chunks"
        )
    return chunks


def prepare_chunks(
    chunks: Sequence[Chunk], mode: str = "strict", *, first: int = 0
) -> tuple[list[Chunk], Repairs]:
    """Check chunks, or repair them, and return copies with what was repaired.

    mode: "strict" raises SourceError with the index (counted from `first`) and the field at fault. "coerce" turns a
    score that is no finite number into 0, drops a bad tokenCount, and drops and counts bad metadata fields. A bad id
    or text raises in both. A missing score of a `Source`
    counts as 0; a required one is refused, since limits could drop it.

    >>> chunks, repairs = prepare_chunks([{"id": "a", "text": "x", "score": None}], "coerce")
    >>> chunks[0]["score"], repairs.coerced_scores
    (0, 1)
    """
    if not isinstance(mode, str) or mode not in MODES:
        raise OptionError.unknown("validation_mode", mode, MODES)
    found: list[Chunk] = []
    total = Repairs()
    for index, chunk in enumerate(listed(chunks), first):
        fixed: Chunk
        if isinstance(chunk, Source):
            fixed, repairs = _source(chunk, index, mode)
        elif isinstance(chunk, dict | Mapping):
            fixed, repairs = _mapping(chunk, index, mode)
        else:
            raise SourceError(
                f"chunks[{index}]: expected a mapping with id, text and score, or a Source, got {quote(chunk)}",
                index=index, field="chunk",
            )
        found.append(fixed)
        if repairs is not None:
            total = total + repairs
    return found, total


def validate_chunks(chunks: Sequence[Chunk]) -> None:
    """Check chunks; SourceError names the first that is wrong by index and field.

    >>> validate_chunks([{"id": "a", "text": "x", "score": 0.5}])
    """
    prepare_chunks(chunks)


def _wrong(index: int, id_: object, field: str, expected: str, given: object) -> SourceError:
    named = f" ({quote(id_)})" if isinstance(id_, str) else ""
    return SourceError(
        f"chunks[{index}]{named}: {field}: expected {expected}, got {quote(given)}",
        id=id_ if isinstance(id_, str) else None, index=index, field=field,
    )


def _source(source: Source, index: int, mode: str) -> tuple[Source, Repairs | None]:
    if source.required or source.pinned:
        raise SourceError(
            f"chunks[{index}] ({quote(source.id)}): required: the reorderer drops what its limits leave no room for; "
            "pack() and PromptBuilder keep required sources",
            id=source.id, index=index, field="required",
        )
    if source.score is None or is_finite(source.score):
        return source, None
    if mode == "strict":
        raise _wrong(index, source.id, "score", "a finite number", source.score)
    return replace(source, score=0.0), Repairs(coerced_scores=1)


def _mapping(chunk: Mapping[str, Any], index: int, mode: str) -> tuple[dict[str, Any], Repairs | None]:
    found = dict(chunk)
    id_ = found.get("id")
    if not isinstance(id_, str) or not id_:
        raise _wrong(index, None, "id", "a text that is not empty", id_)
    if not isinstance(found.get("text"), str):
        raise _wrong(index, id_, "text", "a text", found.get("text"))
    counts: dict[str, int] = {}
    if type(found.get("score")) is not float and _is_number(found.get("score")):
        found["score"] = _number(found["score"])
    elif not is_finite(found.get("score")):
        if mode == "strict":
            raise _wrong(index, id_, "score", "a finite number", found.get("score"))
        found["score"] = 0
        counts["coerced_scores"] = 1
    if "tokenCount" in found and not _is_count(found["tokenCount"]):
        if mode == "strict":
            raise _wrong(index, id_, "tokenCount", "a number of 0 or more", found["tokenCount"])
        del found["tokenCount"]
    if "metadata" in found:
        _metadata(found, index, mode, counts)
    return found, Repairs(**counts) if counts else None


def _metadata(found: dict[str, Any], index: int, mode: str, counts: dict[str, int]) -> None:
    metadata = found["metadata"]
    if not isinstance(metadata, Mapping):
        if mode == "strict":
            raise _wrong(index, found["id"], "metadata", "a mapping", metadata)
        del found["metadata"]
        counts["dropped_metadata_fields"] = 1
        return
    kept = found["metadata"] = dict(metadata)
    for field, value in kept.items():
        if field in _FIELDS and not _FIELDS[field][0](value):
            break
    else:
        return  # as nearly all are
    for field, (fits, expected, counted) in _FIELDS.items():
        if field not in kept or fits(kept[field]):
            continue
        if mode == "strict":
            raise _wrong(index, found["id"], f"metadata.{field}", expected, kept[field])
        del kept[field]
        counts["dropped_metadata_fields"] = counts.get("dropped_metadata_fields", 0) + 1
        if counted:
            counts[f"dropped_metadata_{counted}"] = 1


def as_source(chunk: Chunk) -> Source:
    """Return the source that the stages work on, for a chunk that `prepare_chunks` gave; its `origin` is the chunk.

    Fields that Source has under another name are filled from the metadata where they hold a number, and metadata
    from the fields of a Source, so that a group, a document or a time can be named in either way.
    """
    if isinstance(chunk, Source):
        named = {
            "sourceId": chunk.document, "sectionIndex": chunk.position, "sourceReliability": chunk.reliability,
        }
        known = {key: value for key, value in named.items() if value is not None}
        return replace(chunk, score=chunk.score or 0.0, metadata={**known, **chunk.metadata}, origin=chunk)
    metadata = chunk.get("metadata")
    document = position = updated = reliability = None
    if metadata:
        named = metadata.get("document")
        document = named if isinstance(named, str) else None
        position, updated = _number(metadata.get("sectionIndex")), _number(metadata.get("timestamp"))
        reliability = _number(metadata.get("sourceReliability"))
    # `prepare_chunks` has looked at all of it: nothing is left for a Source to check.
    return _made(
        chunk["id"], chunk["text"], chunk["score"], document, position, updated, reliability, 0, False, False, None,
        None, None, None, metadata or {}, chunk,
    )


_made = maker(Source, checked=True)


def token_count(source: Source) -> float | None:
    """Return the known number of tokens of a source's text: its own count, else that of its metadata."""
    chunk = source.origin
    own = chunk.tokens if isinstance(chunk, Source) else chunk.get("tokenCount")  # type: ignore[attr-defined]
    return _number(own) if own is not None else _number(source.metadata.get("tokenCount"))


def as_chunk(source: Source, notes: Mapping[str, Any] | None = None) -> Chunk:
    """Return the chunk of a source as a copy, of the kind that came in: with its score, and `notes` in its metadata."""
    chunk = source.origin
    if isinstance(chunk, Source):
        score = chunk.score if (chunk.score or 0.0) == source.score else source.score
        if not notes and score == chunk.score:
            return chunk
        return replace(chunk, score=score, metadata={**chunk.metadata, **(notes or {})})
    found = dict(chunk)  # type: ignore[call-overload]  # `as_source` put a mapping there
    found["score"] = source.score
    if notes or "metadata" in found:
        found["metadata"] = {**(found.get("metadata") or {}), **(notes or {})}
    return found  # type: ignore[no-any-return]

