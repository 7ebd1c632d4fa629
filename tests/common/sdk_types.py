"""Checks requests against the types of the providers' SDKs."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any


def plain(value: Any) -> Any:
    """Read lazy iterators, which is when pydantic checks what is in them."""
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        return value
    return [plain(one) for one in value]


def accepts(kind: Any, request: Any) -> None:
    """The request is of the type: a key that it does not know, at any depth, would be missing in what it gives back."""
    assert plain(adapter(kind).validate_python(request)) == request


@functools.cache
def adapter(kind: Any) -> Any:
    """Return pydantic's check of a type; that package comes with the SDKs."""
    from pydantic import TypeAdapter

    return TypeAdapter(kind)
