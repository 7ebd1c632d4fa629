"""What is said of a chunk in its metadata: its priority, and why it stands where it does."""

from __future__ import annotations

from typing import Any

from promptpack.reorder.ordering import Placed
from promptpack.reorder.settings import Settings, Strategy

_NAMES = {"minmax": "minMax", "zscore": "zScore"}


def notes(one: Placed, position: int, settings: Settings, strategy: Strategy) -> dict[str, Any]:
    """Return what is added to the metadata of a chunk: `priorityScore` and `reorderExplain`, as asked for.

    position: its place among those that are sent. The rank, and the placement inside the group, are those before
    the budget.
    """
    found: dict[str, Any] = {}
    if settings.show_priority:
        found["priorityScore"] = one.priority
    if settings.explain:
        normalize = settings.ranking.scoring.normalize
        found["reorderExplain"] = {
            "strategy": strategy.name, "placement": placement(one, strategy), "position": position,
            "priorityRank": one.rank, "priorityScore": one.priority,
            "scoreNormalization": _NAMES.get(normalize, normalize),
            "diversityApplied": settings.ranking.diversity is not None,
            **({"groupBy": strategy.group_by} if strategy.group_by is not None else {}),
            **({"groupKey": one.group} if one.group is not None else {}),
            **({"preserveOrderSourceField": strategy.source_field} if strategy.name == "preserveOrder" else {}),
        }
    return found


def placement(one: Placed, strategy: Strategy) -> str:
    """Return where in its group a chunk stands: scoreSpread:front, back, start, middle or end; else the strategy."""
    if strategy.name != "scoreSpread":
        return strategy.name
    start, end = strategy.spread.start, strategy.spread.end
    if start is None or end is None or start + end >= one.of:
        return "scoreSpread:front" if one.at < (one.of + 1) // 2 else "scoreSpread:back"
    part = "start" if one.at < start else "end" if one.at >= one.of - end else "middle"
    return f"scoreSpread:{part}"
