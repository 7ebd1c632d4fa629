"""Every golden runner by system and function, and how a result is compared where not by `same`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import golden_calls
import golden_chapter
import golden_claims
import golden_ctxpack
import golden_reorder
import golden_upack
from vector_files import Vector

# Vectors without a system are those of rag-chunk-reorder.
_BY_SYSTEM: dict[str, tuple[Any, ...]] = {
    "u-pack": (golden_upack, golden_claims), "llm-ctxpack": (golden_ctxpack,),
    "packing-chapter": (golden_chapter,), "": (golden_reorder,),
}

CALLS: dict[tuple[str, str], Callable[[Vector], Any]] = golden_calls.CALLS | {
    (system, function): call
    for system, modules in _BY_SYSTEM.items()
    for module in modules
    for function, call in module.CALLS.items()
}
COMPARE: dict[tuple[str, str], Callable[[Any, Any], bool]] = {
    (system, function): compare
    for system, modules in _BY_SYSTEM.items()
    for module in modules
    for function, compare in getattr(module, "COMPARE", {}).items()
}
