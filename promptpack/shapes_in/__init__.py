"""Messages in the shapes of providers and frameworks, read by their shape alone: no framework is imported.

A new shape is one more module with `fits` and `read`, and one more line in the table of `Reader`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from promptpack.errors import PromptpackError, SourceError, quote
from promptpack.message import Message
from promptpack.plain_data import fault
from promptpack.shapes_in import anthropic, gemini, haystack, langchain, llamaindex, openai_chat, responses
from promptpack.shapes_in.responses import join, joins

__all__ = ["Reader", "join", "joins"]


class Reader:
    """Reads the items of one conversation, in order; `read` returns the messages that an item holds."""

    def __init__(self) -> None:
        self._rows: tuple[tuple[Callable[[Any], bool], Callable[[Any], Iterable[Message]]], ...] = (
            (lambda item: isinstance(item, Message), lambda item: (item,)),
            (_is_pair, lambda item: (openai_chat.read_pair(item),)),
            (langchain.fits, langchain.read),
            (llamaindex.fits, llamaindex.read),
            (haystack.fits, haystack.read),
            (gemini.fits, gemini.Reader().read),
            (anthropic.fits, anthropic.read),
            (responses.fits, responses.read),
            (lambda item: isinstance(item, Mapping), lambda item: (openai_chat.read_mapping(item),)),
            (lambda item: hasattr(item, "role") and hasattr(item, "content"),
             lambda item: (openai_chat.read_object(item),)),
        )

    def read(self, item: object) -> tuple[Message, ...]:
        """Return the messages that an item holds, at least one; SourceError where it has no shape that is known."""
        try:
            for fits, read in self._rows:
                if fits(item):
                    return tuple(read(item))
        except PromptpackError:
            raise
        except Exception as error:  # a foreign object may raise anything when it is looked at
            raise SourceError(
                f"message: {quote(item)} cannot be read: {type(error).__name__}: {quote(str(error))}", field="message"
            ) from error
        raise fault("message", "expected a mapping with role and content, an object with these attributes, a message "
                               "of LangChain, LlamaIndex, Haystack or Gemini, or a (role, text) pair, got "
                               f"{quote(item)}")


def _is_pair(item: object) -> bool:
    return isinstance(item, tuple | list) and len(item) == 2 and isinstance(item[0], str)
