"""Messages of a framework given back as its own objects; the framework is imported here, when it is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from promptpack.errors import OptionError
from promptpack.message import Message
from promptpack.native_form import native_items

_PLACES = {
    "langchain": "langchain_core.messages",
    "llamaindex": "llama_index.core.base.llms.types",
    "haystack": "haystack.dataclasses",
}


def framework_messages(messages: Iterable[Message], shape: str) -> list[Any]:
    """Return consecutive messages that came from a framework as objects of it again, their texts escaped.

    shape: langchain, llamaindex or haystack. Raises OptionError for another one, where the framework is not installed,
    and where a message came in another shape.

    >>> framework_messages((), "langchain")
    []
    """
    if shape not in _PLACES:
        raise OptionError.unknown("shape", shape, _PLACES)
    items = native_items(messages, shape)
    if not items:
        return []
    try:
        module: Any = importlib.import_module(_PLACES[shape])
    except ImportError as error:
        raise OptionError(
            f"shape: {shape} is not installed, so that its messages cannot be made", name="shape", given=shape
        ) from error
    return list(_MAKERS[shape](module, items))


_MAKERS: Mapping[str, Callable[[Any, list[dict[str, Any]]], Iterable[Any]]] = {
    "langchain": lambda module, items: module.messages_from_dict(items),
    "llamaindex": lambda module, items: [module.ChatMessage.model_validate(item) for item in items],
    "haystack": lambda module, items: [module.ChatMessage.from_dict(item) for item in items],
}
