"""What a call of the reorderer did, as numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from promptpack.reorder.options import camel


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """What a call did: counts of chunks along the way, what was chosen, what the budget took.

    input_count: chunks that came in; validated_count: those that went on after the check, the reranker and the cap.
    coerced_scores and dropped_metadata_...: repairs. dedup_strategy_used: none, exact or fuzzy.
    packing_strategy_used: prefix or edgeAware. token_count_used, cached_token_count_used (the part that the chunks
    stated themselves), char_count_used, budget_unit (none, tokens, chars): of the output. budget_pruned: chunks that
    the budget and top_k took. reranker_latency_ms and the other fields that may be None are left out of `to_dict`
    where nothing is known.
    """

    input_count: int = 0
    validated_count: int = 0
    coerced_scores: int = 0
    dropped_metadata_fields: int = 0
    dropped_metadata_timestamp: int = 0
    dropped_metadata_section_index: int = 0
    dropped_metadata_source_id: int = 0
    dropped_metadata_source_reliability: int = 0
    dedup_strategy_used: str = "none"
    packing_strategy_used: str = "prefix"
    token_count_used: float = 0
    cached_token_count_used: float = 0
    char_count_used: float = 0
    budget_unit: str = "none"
    filtered_by_min_score: int = 0
    dedup_removed: int = 0
    reranker_applied: bool = False
    reranker_skipped: bool = False
    reranker_failed: bool | None = None
    reranker_latency_ms: float | None = None
    reranker_batches: int | None = None
    query_length: int | None = None
    input_truncated: bool = False
    strategy_chosen: str = "scoreSpread"
    budget_pruned: int = 0
    output_count: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the fields under the reference's names, for logs and dashboards that know them.

        >>> Diagnostics(input_count=2).to_dict()["inputCount"]
        2
        """
        pairs = ((camel(field.name), getattr(self, field.name)) for field in fields(self))
        return {name: value for name, value in pairs if value is not None}


_NUMBERS = ("inputCount", "validatedCount", "outputCount", "budgetPruned")


def is_reorder_diagnostics(value: object) -> bool:
    """Tell whether a value is diagnostics, as an object or as a mapping with the reference's names.

    >>> is_reorder_diagnostics(Diagnostics().to_dict()), is_reorder_diagnostics({"inputCount": 1})
    (True, False)
    """
    if isinstance(value, Diagnostics):
        return True
    if not isinstance(value, Mapping):
        return False
    numbers = [value.get(name) for name in _NUMBERS]
    return (
        all(isinstance(one, int | float) and not isinstance(one, bool) for one in numbers)
        and isinstance(value.get("rerankerApplied"), bool)
        and isinstance(value.get("strategyChosen"), str)
    )
