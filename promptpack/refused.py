"""What a service says when it refuses a request: how long to wait, and why."""

from __future__ import annotations

import json
from collections.abc import Mapping


def asked_wait(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that `Retry-After` asks for: a number, or a date as seen from the answer's own `Date`.

    headers: with names in lower case, or without regard to it. None where there is nothing to go by.

    >>> asked_wait({"retry-after": "2"}), asked_wait({})
    (2.0, None)
    """
    asked = headers.get("retry-after", "").strip()
    if asked.isascii() and asked.replace(".", "", 1).isdecimal():  # whole by the standard; some services send fractions
        return float(asked)
    from email.utils import parsedate_to_datetime

    try:
        wait = parsedate_to_datetime(asked) - parsedate_to_datetime(headers.get("date", ""))
    except (TypeError, ValueError):  # one of them is no date, or only one has a time zone
        return None
    return max(wait.total_seconds(), 0.0)


def said(text: str) -> str:
    """Return what the body of an error says: its `message`, `error`, `msg` or `detail`, else the whole of it.

    >>> said('{"error": {"message": "no such model"}}')
    'no such model'
    """
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if isinstance(body, str):
        return body
    for key in ("message", "error", "msg", "detail"):
        found = body.get(key) if isinstance(body, Mapping) else None
        if isinstance(found, Mapping):
            found = found.get("message")
        if isinstance(found, str):
            return found
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))
