"""Reading what retrievers return: mappings, pairs and framework objects become `Source`s, by their shape alone.

No framework is imported: `promptpack.foreign` turns each kind of object into a mapping, and one function here makes the
source.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import fields, replace
from datetime import date
from numbers import Integral, Real
from typing import Any
from uuid import UUID

from promptpack.errors import PromptpackError, SourceError, quote
from promptpack.finite import is_number_of_any_size
from promptpack.foreign import ID_KEYS, METADATA_KEYS, READERS, SCORE_KEYS, TEXT_KEYS, taken
from promptpack.source import Cut, Source

DISTANCE_KEYS = ("distance", "_distance")  # lower is better; has to be declared
PLACES = ("source", "file_path")  # where loaders write what a document was read from; a text
# Metadata fills these fields of a source where they are still empty.
FILLS = {
    "updated": ("updated", "date", "timestamp", "updated_at"),
    "document": ("document", "doc", "source_id", "sourceId", "ref_doc_id", *PLACES),
    "position": ("position", "index", "sectionIndex"),
    "score": ("relevance_score", "score"),  # the first is what a reranker writes beside the retriever's
}
_FIELDS = tuple(one.name for one in fields(Source) if one.name not in ("id", "text", "score", "metadata", "origin"))
HASH_MARK = "text:"


def read_sources(items: Iterable[Any], *, first: int = 0) -> Iterator[Source]:
    """Yield a source for each item; SourceError names the item by its position (counted from `first`).

    A set is refused: its order is not the same in every run.

    >>> [source.id for source in read_sources([{"id": 7, "text": "Seven."}, ("Plain text.", 0.5)])]
    ['7', 'text:92e0a996bcb7']
    """
    if isinstance(items, str | bytes | Mapping | Set | Source) or not isinstance(items, Iterable):
        raise SourceError(
            f"sources: expected an iterable of sources, got {kind_of(items)}; one source goes into a list, "
            "and the whole answer of a store through promptpack.adapters",
            field="sources",
        )
    for index, item in enumerate(items, first):
        yield item if type(item) is Source else read_source(item, index)


@contextmanager
def telling(item: object, index: int) -> Iterator[None]:
    """Turn every exception of a look at an item into a SourceError that names it by its index."""
    try:
        yield
    except SourceError as error:
        if error.index is None:
            error.index = index
            error.args = (f"sources[{index}]: {error.args[0]}",)
        raise
    except PromptpackError:
        raise
    except Exception as error:  # a foreign object may raise anything when it is looked at
        raise SourceError(
            f"sources[{index}]: {kind_of(item)} cannot be read: {type(error).__name__}: {quote(str(error))}",
            index=index, field="sources",
        ) from error


def read_source(item: Any, index: int = 0) -> Source:
    """Return the source that one item means; SourceError where it has no shape that is known."""
    return _read(item, index)


def _read(item: Any, index: int, *, ranked: bool = False) -> Source:
    """Return the source of an item; ranked: a number beside it is its score."""
    if isinstance(item, Source):
        return item
    if isinstance(item, str):
        return Source(content_id(item), item)
    with telling(item, index):
        if isinstance(item, tuple | list):
            return _pair(item, index)
        for fits, read in READERS:
            if fits(item):
                return _made(read(item), index, item, ranked)
    raise SourceError(
        f"sources[{index}]: cannot read {kind_of(item)}; expected a Source, a text, a mapping with one of "
        f"{', '.join(TEXT_KEYS)}, an (item, score) pair, or a LangChain, LlamaIndex, Haystack or Qdrant object",
        index=index, field="sources",
    )


def content_id(text: str) -> str:
    """Return the id of a text that has none: a digest, so that it is the same in every run.

    >>> content_id("Same text.") == content_id("Same text.")
    True
    """
    return HASH_MARK + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _pair(item: tuple[Any, ...] | list[Any], index: int) -> Source:
    if len(item) != 2 or isinstance(item[1], bool) or not isinstance(item[1], Real):
        got = quote(item[1]) + " as score" if len(item) == 2 else f"{len(item)} parts"
        raise SourceError(
            f"sources[{index}]: expected a pair (item, score) with a number as score, got {got}",
            index=index, field="score",
        )
    return replace(_read(item[0], index, ranked=True), score=_plain(item[1]), origin=item[0])


def _made(found: Mapping[str, Any], index: int, origin: object, ranked: bool) -> Source:
    where = f"sources[{index}]"
    left = dict(found)
    text = taken(left, TEXT_KEYS)
    if text is None:  # some stores keep the text among the metadata
        for key in METADATA_KEYS:
            if text is None and isinstance(left.get(key), Mapping):
                inner = dict(left[key])
                text = taken(inner, TEXT_KEYS)
                left[key] = inner if text is not None else left[key]
    if text is None:
        there = [quote(key, 20) for key, value in found.items() if value is not None][:8]
        raise SourceError(
            f"{where}: there is no text; expected one of the keys {', '.join(TEXT_KEYS)}, "
            f"got {', '.join(there) or 'none'}",
            index=index, field="text",
        )
    if not isinstance(text, str):
        raise SourceError(f"{where}: text: expected a text, got {kind_of(text)}", index=index, field="text")
    id_ = _name("id", taken(left, ID_KEYS), where, index)
    container = taken(left, METADATA_KEYS)
    if container is not None and not isinstance(container, Mapping):
        raise SourceError(
            f"{where}: metadata: expected a mapping, got {kind_of(container)}", index=index, field="metadata", id=id_
        )
    values: dict[str, Any] = {"score": taken(left, SCORE_KEYS)}
    values.update({name: left.pop(name) for name in _FIELDS if left.get(name) is not None})
    loose = {key: value for key, value in left.items() if key not in _FIELDS}
    metadata = _named({**loose, **(container or {})}, where, index, id_)
    _fill(values, metadata)
    if values.get("score") is None and not ranked:
        _refuse_distance(loose, where, index, id_)
    if isinstance(values.get("cut"), Mapping):
        try:
            values["cut"] = Cut(**values["cut"])
        except TypeError:  # a name that Cut does not have
            raise SourceError(
                f"{where}: cut: expected keep, min_tokens, at, marker, got "
                f"{', '.join(quote(key, 20) for key in list(values['cut'])[:8])}",
                index=index, field="cut", id=id_,
            ) from None
    values["document"] = _name("document", values.get("document"), where, index)
    if isinstance(values.get("updated"), Real):
        values["updated"] = _plain(values["updated"])
    return Source(
        id_ or content_id(text), text, metadata=metadata,
        origin=None if origin is found else origin, **values,
    )


def _refuse_distance(loose: Mapping[str, Any], where: str, index: int, id_: str | None) -> None:
    """Raise SourceError for a distance beside a text without a score: it would be ranked by nothing."""
    for key in DISTANCE_KEYS:
        if is_number_of_any_size(loose.get(key)):
            raise SourceError(
                f"{where}: {key}: a distance (lower is better) and no score; declare it with "
                f"promptpack.adapters.from_mappings(..., distance={True if key == 'distance' else key!r}) or the from_ "
                "function of your store, or give a score, or put the number under metadata if it is not what ranks",
                index=index, field="distance", id=id_,
            )


def _name(field: str, value: Any, where: str, index: int) -> str | None:
    """Return an id as text; a number or UUID becomes its text, of at most 40 characters."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, UUID):
        return str(value)
    if is_number_of_any_size(value) and not (isinstance(value, Integral) and abs(int(value)) >= 10**40):
        return str(value)
    raise SourceError(
        f"{where}: {field}: expected a text or a finite number, got {quote(value)}", index=index, field=field
    )


def _named(metadata: Mapping[Any, Any], where: str, index: int, id_: str | None) -> dict[str, Any]:
    """Return metadata with names as keys; a key that is a number becomes its text."""
    named: dict[str, Any] = {}
    for key, value in metadata.items():
        short = is_number_of_any_size(key) and abs(_plain(key)) < 10**15
        name = key if isinstance(key, str) else str(key) if short else None
        if name is None or name in named:
            why = "a key has to be a text" if name is None else "a key occurs twice, as a text and as a number"
            raise SourceError(
                f"{where}: metadata: {why}, got {quote(key)}", index=index, field="metadata", id=id_
            )
        named[name] = value
    return named


def _plain(value: Any) -> Any:
    """Return a number of numpy or the like as Python's own."""
    return value if isinstance(value, bool) else int(value) if isinstance(value, Integral) else float(value)


def _fill(values: dict[str, Any], metadata: Mapping[str, Any]) -> None:
    for name, keys in FILLS.items():
        if values.get(name) is not None:
            continue
        for key in keys:
            value = metadata.get(key)
            if _usable(name, value) and (key not in PLACES or isinstance(value, str)):
                values[name] = value
                break


def _usable(name: str, value: Any) -> bool:
    number = is_number_of_any_size(value)
    if name in ("score", "position"):
        return number
    if name == "document":
        return (isinstance(value, str) and value != "") or number
    if isinstance(value, date):
        return bool(value == value)  # pandas' "not a time" is a date, too, and like NaN equals nothing
    return number or (isinstance(value, str) and value != "")


def kind_of(value: object) -> str:
    """Say of which type a value is, for errors.

    >>> kind_of(3)
    'a value of type int'
    """
    return f"a value of type {type(value).__name__}"
