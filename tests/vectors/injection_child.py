"""Renders a template from outside in a process of its own, and tells what it took: JSON on both ends.

The memory is what the process came to hold at most beyond what it held before the template was read.
"""

from __future__ import annotations

import json
import resource
import sys
import time

from injection_build import PLACEHOLDER, build, request, whole

import promptpack


def peak() -> int:
    """Return the most that this process has held, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


vector = json.load(sys.stdin)
# Imports and caches are not the template's.
build(request({"id": "warm", "text": PLACEHOLDER, "where": "body"}))
before, begin = peak(), time.perf_counter()
result: dict[str, object] = {}
try:
    result["text"] = whole(build(request(vector)))
except promptpack.PromptpackError as error:
    result["refused"] = f"{type(error).__name__}: {error}"
result |= {"seconds": time.perf_counter() - begin, "bytes": peak() - before}
sys.stdout.write(json.dumps(result))
