"""Every golden runner by system and function, and how a result is compared where not by `same`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import golden_calls
import golden_chapter
import golden_claims
import golden_ctxpack
import golden_reorder
import golden_reorder_async
import golden_reorder_cli
import golden_reorder_config
import golden_reorder_metrics
import golden_reorder_outside
import golden_reorder_pipeline
import golden_upack
from vector_files import Vector

# Vectors without a system are those of rag-chunk-reorder.
_BY_SYSTEM: dict[str, tuple[Any, ...]] = {
    "u-pack": (golden_upack, golden_claims), "llm-ctxpack": (golden_ctxpack,),
    "packing-chapter": (golden_chapter,),
    "": (
        golden_reorder, golden_reorder_async, golden_reorder_cli, golden_reorder_config, golden_reorder_metrics,
        golden_reorder_outside, golden_reorder_pipeline,
    ),
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
