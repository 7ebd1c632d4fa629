"""Ready-made options and pipelines: presets by name, and helpers for chats, documents and logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from promptpack.errors import OptionError
from promptpack.reorder.chunks import Chunk
from promptpack.reorder.options import Options, from_config, from_keywords
from promptpack.reorder.reorderer import Reorderer

_PRESETS: Mapping[str, Options] = {
    "standard": {"strategy": "scoreSpread", "packing": "edgeAware", "min_top_k": 4},
    "narrative": {"strategy": "preserveOrder", "preserve_order_source_field": "sourceId"},
    "temporal": {"strategy": "chronological", "chronological_order": "asc"},
    "diverse": {
        "strategy": "scoreSpread", "diversity": {"enabled": True, "lambda": 0.7, "source_diversity_weight": 0.2},
    },
    "auto": {"strategy": "auto"},
    # Those of the helpers below: they repair what they are given; chat and docs keep four chunks past a budget.
    "chat_history": {"strategy": "scoreSpread", "packing": "edgeAware", "min_top_k": 4, "validation_mode": "coerce"},
    "docs_qa": {
        "strategy": "auto", "packing": "edgeAware", "min_top_k": 4, "deduplicate": True, "deduplicate_threshold": 0.95,
        "validation_mode": "coerce",
    },
    "logs": {"strategy": "chronological", "chronological_order": "desc", "validation_mode": "coerce"},
}


def reorderer_presets() -> dict[str, Options]:
    """Return all presets by name, as options for `Reorderer(**options)`.

    >>> sorted(reorderer_presets())
    ['auto', 'chat_history', 'diverse', 'docs_qa', 'logs', 'narrative', 'standard', 'temporal']
    """
    return deepcopy(dict(_PRESETS))


def get_preset(name: str) -> Options:
    """Return a copy of a preset's options; OptionError names the valid ones for another name.

    >>> get_preset("temporal")
    {'strategy': 'chronological', 'chronological_order': 'asc'}
    """
    if not isinstance(name, str) or name not in _PRESETS:
        raise OptionError.unknown("preset", name, _PRESETS)
    return deepcopy(dict(_PRESETS[name]))


def reorder_for_chat_history(
    chunks: Sequence[Chunk], query: str | None = None, config: Mapping[str, Any] | None = None, **overrides: Any
) -> list[Chunk]:
    """Reorder for a chat: the best at both edges, what a budget takes from the middle, at least four.

    A top_k below four lowers the floor, unless min_top_k is given, too. config: options as a mapping, in either
    spelling; keywords go before it.

    >>> chunks = [{"id": name, "text": name, "score": score} for name, score in zip("abc", (0.9, 0.2, 0.7))]
    >>> [chunk["id"] for chunk in reorder_for_chat_history(chunks)]
    ['a', 'b', 'c']
    """
    return _reorderer("chat_history", config, overrides).reorder(chunks, query)


def reorder_for_docs_qa(
    chunks: Sequence[Chunk], query: str | None = None, config: Mapping[str, Any] | None = None, **overrides: Any
) -> list[Chunk]:
    """Reorder for questions about documents: near-duplicates go (0.95), the strategy follows question and metadata."""
    return _reorderer("docs_qa", config, overrides).reorder(chunks, query)


def reorder_for_logs(
    chunks: Sequence[Chunk], query: str | None = None, config: Mapping[str, Any] | None = None, **overrides: Any
) -> list[Chunk]:
    """Reorder logs and events: the latest first."""
    return _reorderer("logs", config, overrides).reorder(chunks, query)


def _reorderer(name: str, config: Mapping[str, Any] | None, overrides: Mapping[str, Any]) -> Reorderer:
    below, named = {} if config is None else from_config(config), from_keywords(overrides)
    given = {**below, **named}
    if given.get("reranker") is not None:
        raise OptionError(
            f"reranker: a reranker has to be awaited: Reorderer(**get_preset({name!r}), reranker=...).areorder(...)",
            name="reranker", given=given["reranker"],
        )
    preset = get_preset(name)
    options = {**preset, **given}
    top, floor = options.get("top_k"), options.get("min_top_k")
    if "min_top_k" not in given and isinstance(top, int) and isinstance(floor, int) and 0 < top < floor:
        preset["min_top_k"] = top
    return Reorderer({**preset, **below}, **named)


def bench_case(
    chunks: Sequence[Chunk], query: str | None = None, key_points: Sequence[str] = (), *, top_k: int = 4
) -> dict[str, Any]:
    """Compare the first `top_k` chunks as they came with the reordered top `top_k`.

    Returns {"baseline": metrics, "reordered": metrics, "reordered_ids": ids} with key_point_recall,
    position_effectiveness and ndcg of `promptpack.evaluation` for both; the reordered ones are chosen from both
    edges of scoreSpread.

    >>> chunks = [{"id": name, "text": name, "score": score} for name, score in zip("abc", (0.2, 0.9, 0.7))]
    >>> case = bench_case(chunks, key_points=["c"], top_k=2)
    >>> case["baseline"]["key_point_recall"], case["reordered"]["key_point_recall"], case["reordered_ids"]
    (0.0, 1.0, ['b', 'c'])
    """
    from promptpack.evaluation.metrics import key_point_recall, ndcg, position_effectiveness

    def metrics(found: Sequence[Chunk]) -> dict[str, float]:
        scores = [_get(chunk, "score") or 0.0 for chunk in found]
        return {
            "key_point_recall": key_point_recall(key_points, [_get(chunk, "text") for chunk in found]),
            "position_effectiveness": position_effectiveness(scores), "ndcg": ndcg(scores),
        }

    reordered = Reorderer(strategy="scoreSpread", packing="edgeAware", top_k=top_k).reorder(chunks, query)
    return {
        "baseline": metrics(chunks[:top_k]), "reordered": metrics(reordered),
        "reordered_ids": [_get(chunk, "id") for chunk in reordered],
    }


def _get(chunk: Chunk, name: str) -> Any:
    return chunk.get(name) if isinstance(chunk, Mapping) else getattr(chunk, name)
