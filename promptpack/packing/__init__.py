"""Packing: which sources are sent, in which form and in which order, as pure functions.

The names are loaded on first use; nothing here needs a tokenizer, a template or numpy at import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptpack.lazy import lazily

if TYPE_CHECKING:
    from promptpack.packing.by_rank import Spread, fold
    from promptpack.packing.candidate import Candidate, Dropped, DropReason, Packed, Placed
    from promptpack.packing.curve import Curve, Use
    from promptpack.packing.dedup import Dedup
    from promptpack.packing.diversity import Diversity, mmr
    from promptpack.packing.pipeline import Packing, pack
    from promptpack.packing.place import ByKey, Chronological, DocumentOrder
    from promptpack.packing.route import Auto
    from promptpack.packing.scorers import overlap, recency, weighted
    from promptpack.packing.scoring import Scoring
    from promptpack.packing.spans import Spans
    from promptpack.packing.trim import shorten

_MODULES = {
    "Auto": "route", "ByKey": "place", "Candidate": "candidate", "Chronological": "place",
    "DocumentOrder": "place", "DropReason": "candidate", "Dropped": "candidate", "Packed": "candidate",
    "Packing": "pipeline", "Placed": "candidate", "Spread": "by_rank", "fold": "by_rank", "pack": "pipeline",
    "shorten": "trim", "Dedup": "dedup", "Diversity": "diversity", "mmr": "diversity", "Scoring": "scoring",
    "Spans": "spans", "overlap": "scorers", "recency": "scorers", "weighted": "scorers", "Curve": "curve",
    "Use": "curve",
}

__all__ = [
    "Auto",
    "ByKey",
    "Candidate",
    "Chronological",
    "Curve",
    "Dedup",
    "Diversity",
    "DocumentOrder",
    "DropReason",
    "Dropped",
    "Packed",
    "Packing",
    "Placed",
    "Scoring",
    "Spans",
    "Spread",
    "Use",
    "fold",
    "mmr",
    "overlap",
    "pack",
    "recency",
    "shorten",
    "weighted",
]

__getattr__, __dir__ = lazily(__name__, _MODULES, __all__)
