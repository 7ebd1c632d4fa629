"""Models without a system role: the system text opens the first user message instead.

The formats of Gemma up to version 3 know two roles, and refuse a third. Nothing is lost: the text stands before what
the user says first, with an empty line between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from promptpack.message import INSTRUCTIONS, Message
from promptpack.tokens import cuts_here

BREAK = "\n\n"


def fold_system(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Move the text of a leading system message to the start of the first user message.

    A message of content parts gets a text part before them. Messages without a system message, or without one of a
    user, stay as they are.

    >>> fold_system([Message("system", "Be brief."), Message("user", "Why?")])[0].content
    'Be brief.\\n\\nWhy?'
    """
    found = _place(messages)
    if found is None:
        return tuple(messages)
    system, first = messages[0].text, messages[found]
    opened = (
        system + BREAK + first.content if isinstance(first.content, str)
        else ({"type": "text", "text": system}, *(first.content or ()))
    )
    return (*messages[1:found], replace(first, content=opened), *messages[found + 1:])


def saved_tokens(messages: Sequence[Message], counter: Callable[[str], int], overhead: int) -> int:
    """Return how many tokens fewer the folded messages have; overhead: those of a message beyond its text.

    Exact. Where counts add up at the join (`tokens.cuts_here`), only the system text is counted again, not the message
    that it opens.

    >>> saved_tokens([Message("system", "Be brief."), Message("user", "Why?")], len, 3)
    1
    """
    found = _place(messages)
    if found is None:
        return 0
    system, first = messages[0].text, messages[found].content
    if not isinstance(first, str):
        return overhead
    if getattr(counter, "additive", False) and cuts_here(BREAK, first):
        return overhead + counter(system) - counter(system + BREAK)
    return overhead + counter(system) + counter(first) - counter(system + BREAK + first)


def _place(messages: Sequence[Message]) -> int | None:
    """Return the index of the first user message after a system message that opens; None where one is missing."""
    if not messages or messages[0].role not in INSTRUCTIONS:
        return None
    return next((index for index, one in enumerate(messages) if one.role == "user"), None)
