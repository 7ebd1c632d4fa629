"""The form in which a message came in, kept beside what the library reads from it, and given back unchanged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from promptpack.errors import OptionError
from promptpack.plain_data import as_json, copied
from promptpack.text_sites import Kind, changed, sites

SHAPES = ("openai-responses", "anthropic", "gemini", "langchain", "llamaindex", "haystack")
# Where one message of these shapes keeps its parts: one of theirs may be several messages here.
_PARTS = {"anthropic": "content", "gemini": "parts", "haystack": "content"}


@dataclass(frozen=True, slots=True)
class Native:
    """What one message was read from: plain data in the shape of a provider or framework.

    shape: openai-responses, anthropic, gemini, langchain, llamaindex or haystack. items: the mappings, as they came;
    several where several items of the Responses API make up one message. joined: whether the (only) item is the
    rest of the message before, as where Anthropic keeps two tool results and a text in one user message.

    Raises OptionError for an unknown shape, SourceError for data nested deeper than 64 levels.
    """

    shape: str
    items: tuple[Mapping[str, Any], ...] = field(hash=False)
    joined: bool = False

    def __post_init__(self) -> None:
        if self.shape not in SHAPES:
            raise OptionError.unknown("shape", self.shape, SHAPES)
        object.__setattr__(self, "items", tuple(copied(one, "content") for one in self.items))

    def changed(self, change: Callable[[str], str]) -> Native:
        """Return it with `change` applied to the texts; what a provider signs stays as it is."""
        return replace(self, items=tuple(changed(one, change) for one in self.items))

    def pieces(self) -> list[str]:
        """Return the texts that a counter has to count; data as JSON."""
        return [as_json(value) for kind, value in self._sites() if kind not in ("image", "file")]

    def changeable(self) -> list[str]:
        """Return the texts that `changed` changes, each once; data as JSON."""
        return [as_json(value) for kind, value in self._sites() if kind in ("text", "data", "json")]

    def attachments(self) -> list[tuple[Kind, Mapping[str, Any]]]:
        """Return the images and files."""
        return [(kind, value) for kind, value in self._sites() if kind in ("image", "file")]

    def _sites(self) -> list[tuple[Kind, Any]]:
        return [site for one in self.items for site in sites(one)]


class Carrier(Protocol):
    """Whatever has a native form, such as a Message."""

    @property
    def native(self) -> Native | None:
        """The form that it came in."""


def native_items(messages: Iterable[Carrier], shape: str) -> list[dict[str, Any]]:
    """Return consecutive messages in the shape that they came in, as plain data.

    Messages that were one message there are put together again. Raises OptionError for an unknown shape, or where a
    message came in another one (`message.native.shape`; None for those that came in OpenAI's chat shape).

    >>> native_items([], "anthropic")
    []
    """
    if shape not in SHAPES:
        raise OptionError.unknown("shape", shape, SHAPES)
    out: list[dict[str, Any]] = []
    for message in messages:
        native = message.native
        if native is None or native.shape != shape:
            came = native.shape if native else "openai"
            raise OptionError(f"shape: a message came in the shape {came}, not {shape}", name="shape", given=shape)
        items = [copied(one, "content") for one in native.items]
        key = _PARTS.get(shape)
        if native.joined and out and key and items:
            out[-1][key] = [*out[-1][key], *items[0][key]]
            items = items[1:]
        out += items
    return out
