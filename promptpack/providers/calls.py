"""Tool calls as the model made them, and the results that answer them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from promptpack.errors import SourceError, quote
from promptpack.plain_data import copied
from promptpack.wellformed import encodes, repaired

if TYPE_CHECKING:
    from promptpack.message import Message
    from promptpack.payload import Payload


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool. text: what the model wrote; free: whether that is the free text of a custom tool.

    arguments: as an object; where the model wrote none, its text under "arguments" ("input" for a custom tool).
    as_written: whether `text` is the JSON of that object.
    """

    id: str
    name: str
    arguments: Mapping[str, Any]
    text: str
    free: bool = False
    as_written: bool = True

    @property
    def object_text(self) -> str:
        """The arguments as JSON text of an object: as it was written, where that is one."""
        return self.text if self.text.strip() and self.as_written else json.dumps(self.arguments, ensure_ascii=False)


def calls_of(payload: Payload) -> dict[int, list[Call]]:
    """Return the calls that each assistant message makes, and the one that each tool message answers, by index."""
    found: dict[int, list[Call]] = {}
    waiting: list[tuple[str | None, Call]] = []  # with the ids that came in
    count = 0
    for index, message in enumerate(payload.messages):
        if message.role == "tool":
            found[index] = [_answered(waiting, message, index)]
            continue
        waiting = [(one.get("id"), _call(one, count + at + 1)) for at, one in enumerate(message.tool_calls)]
        if waiting:
            found[index] = [call for _, call in waiting]
            count += len(waiting)
    return found


def _call(call: Mapping[str, Any], place: int) -> Call:
    body = call.get("custom", call.get("function"))
    assert isinstance(body, Mapping)  # noqa: S101 - `Message` has checked it
    free = "custom" in call
    given = body.get("input" if free else "arguments", "")
    text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    found = None if free else copied(given, "arguments") if isinstance(given, Mapping) else _object(text)
    arguments = {"input" if free else "arguments": text} if found is None else found
    return Call(call.get("id") or f"promptpack_call_{place}", body["name"], arguments, text, free, found is not None)


def _object(text: str) -> dict[str, Any] | None:
    """Return the object that a model wrote as arguments, an empty one for no text; None where it wrote something else.

    Something else is also what would not come through whole: a name that occurs twice, NaN, a number beyond the range
    of a float. Lone surrogates become U+FFFD, since no transport takes them.

    >>> _object('{"q": 1}'), _object(""), _object("[1]"), _object('{"q":'), _object('{"q": 1, "q": 2}')
    ({'q': 1}, {}, None, None, None)
    """
    if not text.strip():
        return {}
    try:
        value = copied(
            json.loads(text, parse_constant=_finite, parse_float=_finite, object_pairs_hook=_distinct), "arguments"
        )
    except (ValueError, RecursionError):  # a SourceError of `copied` is a ValueError
        return None
    if not isinstance(value, dict):
        return None
    written = json.dumps(value, ensure_ascii=False)
    return value if encodes(written) else _object(repaired(written))


def _finite(number: str) -> float:
    found = float(number)
    if not math.isfinite(found):
        raise ValueError(f"{number} is no number of JSON's")
    return found


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _answered(calls: list[tuple[str | None, Call]], message: Message, index: int) -> Call:
    """Take the call that a tool message answers out of the list; one without an id answers the first without."""
    for at, (given, call) in enumerate(calls):
        if given == message.tool_call_id:
            del calls[at]
            return call
    raise SourceError(
        f"messages: message {index} (tool): tool_call_id: {quote(message.tool_call_id)} answers no call before it",
        index=index, field="tool_call_id",
    )
