"""Rows of a store: whatever a driver returns becomes a mapping, and named keys become fields of a source."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from promptpack.errors import OptionError, SourceError, quote
from promptpack.foreign import METADATA_KEYS
from promptpack.source import Source

FIELDS = tuple(one.name for one in fields(Source) if one.name != "origin")
# Where stores put what the user stored, besides metadata, meta and payload.
CONTAINERS = ("fields", "entity", "_source", "cmetadata", "metadata_")
VECTORS = (
    "embedding", "embeddings", "vector", "vectors", "values", "sparse_values", "sparse_embedding", "sparse_vector",
)


def as_mapping(row: Any, columns: Sequence[str] | None = None) -> dict[str, Any]:
    """Return a row as a mapping: of dictionaries, SQLAlchemy, psycopg, asyncpg, sqlite3, named tuples, or objects.

    columns: the names of a plain tuple's values, in their order. SourceError where a row has others.

    >>> as_mapping((7, "Lamps."), ("id", "text"))
    {'id': 7, 'text': 'Lamps.'}
    """
    if isinstance(row, Mapping):
        return dict(row)
    for name in ("_mapping", "_asdict", "to_dict", "model_dump"):
        found = getattr(row, name, None)
        found = found() if callable(found) else found
        if isinstance(found, Mapping):
            return dict(found)
    if hasattr(row, "keys") and hasattr(row, "__getitem__"):
        return {key: row[key] for key in row.keys()}  # noqa: SIM118  # no mapping: iterating gives the values
    if isinstance(row, tuple | list):
        if columns is None:
            raise SourceError(
                "a row without names; say columns=[...], such as [column.name for column in cursor.description]",
                field="columns",
            )
        if len(row) != len(columns):
            raise SourceError(f"a row of {len(row)} values for {len(columns)} columns", field="columns")
        return dict(zip(columns, row, strict=True))
    held = {key: value for key, value in getattr(row, "__dict__", {}).items() if not key.startswith("_")}
    if not held:
        raise SourceError(f"expected a row with named values, got {quote(row)}", field="sources")
    return held


def keyed(row: Any, keys: Mapping[str, str] | None) -> Any:
    """Return a mapping with the values under `keys` (field of the source to key of the row) as those fields.

    A key is looked for in the row, then in its metadata; SourceError where it is in neither. What a field displaces
    goes to the metadata. Other things than mappings are returned as they are where no keys are named.

    >>> keyed({"pk": 7, "meta": {"body": "Lamps.", "page": 3}}, {"id": "pk", "text": "body"})
    {'metadata': {'page': 3}, 'id': 7, 'text': 'Lamps.'}
    """
    if not keys and not isinstance(row, Mapping):
        return row
    left = as_mapping(row)
    container = _container(left)
    found: dict[str, Any] = {}
    for field, key in checked(keys).items():
        if key in left:
            found[field] = left.pop(key)
        elif key in container:
            found[field] = container.pop(key)
        else:
            there = ", ".join(quote(one, 20) for one in [*left, *container][:8]) or "nothing"
            raise SourceError(f"{field}: there is no {quote(key)}; there is {there}", field=field)
    named = found.pop("metadata", None)
    if named is not None and not isinstance(named, Mapping):
        raise SourceError(f"metadata: expected a mapping, got {quote(named)}", field="metadata")
    for field in found:
        if field in left:
            container.setdefault(field, left.pop(field))
    container |= named or {}
    return {**left, **({"metadata": container} if container else {}), **found}


def checked(keys: Mapping[str, str] | None) -> Mapping[str, str]:
    """Return the keys; OptionError unless they map fields of a source to names."""
    if keys is None:
        return {}
    if not isinstance(keys, Mapping):
        raise OptionError(
            f"keys: expected a mapping of fields to keys, got {quote(keys)}", name="keys", given=keys, known=FIELDS
        )
    for field, key in keys.items():
        if field not in FIELDS:
            raise OptionError.unknown("keys", field, FIELDS)
        if not isinstance(key, str):
            raise OptionError(f"keys: {field}: expected the name of a key, got {quote(key)}", name="keys", given=key)
    return keys


def without_vectors(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mapping without its vectors: they are large, never shown, and would be stored with a payload."""
    return {
        key: value for key, value in row.items()
        if key not in VECTORS or value is None or isinstance(value, str | int | float)
    }


def _container(left: dict[str, Any]) -> dict[str, Any]:
    """Take the metadata out of a row, as a mapping of its own; a text is read as JSON, as some drivers give it."""
    for key in METADATA_KEYS + CONTAINERS:
        value = left.get(key)
        if key in CONTAINERS and not isinstance(value, Mapping | str):
            continue  # a column of that name and another meaning
        if value is None:
            left.pop(key, None)
            continue
        if isinstance(value, str):
            value = _json(value)
            if value is None and key in CONTAINERS:
                continue
        if not isinstance(value, Mapping):
            raise SourceError(f"{key}: expected a mapping, got {quote(left[key])}", field="metadata")
        del left[key]
        return dict(value)
    return {}


def _json(text: str) -> Any:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, Mapping) else None
