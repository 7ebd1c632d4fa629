"""Dead letters: the lines that tell of bad rows."""

from __future__ import annotations

import base64
import json
import math
from typing import Any

from promptpack.batch.chunks import Raw
from promptpack.batch.rows import Failure


def dead_line(raw: Raw, failure: Failure) -> bytes:
    """Return the line that tells of a bad row: where it is, what is wrong, and the row itself as it came.

    `row` is the line; `row_base64` where it is not UTF-8; `row_start` of a line that is too long to be kept. A row of
    Parquet is an object; a number in it that JSON does not have is a text, "nan" or "inf".
    """
    said: dict[str, Any] = {
        "line": raw.number, "offset": raw.offset, "id": failure.id,
        "error": {"type": failure.type, "message": failure.message},
    }
    if raw.fault is not None:
        said |= {"bytes": raw.size, "row_start": bytes(raw.data or b"").decode("utf-8", "backslashreplace")}
    elif isinstance(raw.data, bytes):
        try:
            said["row"] = raw.data.decode("utf-8")
        except UnicodeDecodeError:
            said["row_base64"] = base64.b64encode(raw.data).decode()
    else:
        said["row"] = _plain(raw.data)
    return json.dumps(said, ensure_ascii=True, default=str).encode() + b"\n"


def _plain(value: Any) -> Any:
    """Return values with texts for the numbers that JSON does not have; Arrow's data nest no deeper than their type."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value
