"""What a template sees: plain views of the payload's parts, without methods and with nothing behind them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup


class View:
    """A read-only record: its fields are attributes (and items); others are undefined."""

    __slots__ = ("_fields",)

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = fields

    def __getattr__(self, name: str) -> Any:
        if name == "_fields":  # not set yet: a copy or an unpickled view asks for it first
            raise AttributeError(name)
        try:
            return self._fields[name]
        except KeyError:
            raise AttributeError(name) from None

    def __getitem__(self, name: str) -> Any:
        return self._fields[name]

    def __contains__(self, name: object) -> bool:
        return name in self._fields

    __iter__ = None  # a record is no list; without this Python would ask for item 0

    def __repr__(self) -> str:
        return f"<view of {', '.join(self._fields)}>"


def fields_of(view: View) -> Mapping[str, Any]:
    """Return the fields of a view; a function, so that a template cannot ask for them."""
    return view._fields


class SourceList:
    """The passages of a payload: prints as the joined blocks, iterates over views of them."""

    __slots__ = ("_blocks", "_views")

    def __init__(self, blocks: Sequence[str], views: Sequence[View]) -> None:
        self._blocks = blocks
        self._views = views

    def __html__(self) -> Markup:
        return Markup("\n".join(self._blocks))  # noqa: S704 - every block is rendered from escaped parts

    def __str__(self) -> str:
        return self.__html__()  # stays Markup, so that `{{ sources|trim }}` does not escape our own tags

    def __repr__(self) -> str:
        return f"<{len(self._blocks)} sources>"  # no address: it would differ from run to run

    def __iter__(self) -> Iterator[View]:
        return iter(self._views)

    def __getitem__(self, index: int) -> View:
        return self._views[index]

    def __len__(self) -> int:
        return len(self._blocks)
