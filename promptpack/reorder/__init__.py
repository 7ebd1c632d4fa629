"""Reordering retrieved chunks: what rag-chunk-reorder does, on the stages of the packing.

The metrics of rag-chunk-reorder are in `promptpack.evaluation`, its remote rerankers in `promptpack.rerankers`. The
names are loaded on first use; importing this loads nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptpack.lazy import lazily

if TYPE_CHECKING:
    from promptpack.reorder.adapters import reorder_haystack_documents as reorder_haystack_documents
    from promptpack.reorder.adapters import reorder_langchain_documents as reorder_langchain_documents
    from promptpack.reorder.adapters import reorder_langchain_pairs as reorder_langchain_pairs
    from promptpack.reorder.adapters import reorder_langgraph_state as reorder_langgraph_state
    from promptpack.reorder.adapters import reorder_llamaindex_nodes as reorder_llamaindex_nodes
    from promptpack.reorder.adapters import reorder_vector_store_results as reorder_vector_store_results
    from promptpack.reorder.adapters import reorder_vercel_ai_results as reorder_vercel_ai_results
    from promptpack.reorder.chunks import prepare_chunks as prepare_chunks
    from promptpack.reorder.chunks import validate_chunks as validate_chunks
    from promptpack.reorder.counting import create_tiktoken_counter as create_tiktoken_counter
    from promptpack.reorder.counting import token_counter_factory as token_counter_factory
    from promptpack.reorder.diagnostics import Diagnostics as Diagnostics
    from promptpack.reorder.diagnostics import is_reorder_diagnostics as is_reorder_diagnostics
    from promptpack.reorder.hooks import create_metrics_hooks as create_metrics_hooks
    from promptpack.reorder.hooks import create_otel_hooks as create_otel_hooks
    from promptpack.reorder.options import merge_config as merge_config
    from promptpack.reorder.options import validate_config as validate_config
    from promptpack.reorder.presets import bench_case as bench_case
    from promptpack.reorder.presets import get_preset as get_preset
    from promptpack.reorder.presets import reorder_for_chat_history as reorder_for_chat_history
    from promptpack.reorder.presets import reorder_for_docs_qa as reorder_for_docs_qa
    from promptpack.reorder.presets import reorder_for_logs as reorder_for_logs
    from promptpack.reorder.presets import reorderer_presets as reorderer_presets
    from promptpack.reorder.reorderer import Reordered as Reordered
    from promptpack.reorder.reorderer import Reorderer as Reorderer
    from promptpack.reorder.routing import detect_query_intent as detect_query_intent
    from promptpack.reorder.routing import metadata_coverage as metadata_coverage
    from promptpack.reorder.routing import resolve_auto_strategy as resolve_auto_strategy
    from promptpack.reorder.serial import deserialize_chunks as deserialize_chunks
    from promptpack.reorder.serial import serialize_chunks as serialize_chunks
    from promptpack.reorder.serial import serialize_chunks_safe as serialize_chunks_safe
    from promptpack.reorder.stages import deduplicate_chunks as deduplicate_chunks
    from promptpack.reorder.stages import deduplicate_chunks_unsafe as deduplicate_chunks_unsafe
    from promptpack.reorder.stages import rerank_with_diversity as rerank_with_diversity
    from promptpack.reorder.stages import score_chunks as score_chunks
    from promptpack.reorder.stages import score_chunks_with_options as score_chunks_with_options
    from promptpack.reorder.stages import trigram_similarity as trigram_similarity

_MODULES = {
    "adapters": (
        "reorder_haystack_documents", "reorder_langchain_documents", "reorder_langchain_pairs",
        "reorder_langgraph_state", "reorder_llamaindex_nodes", "reorder_vector_store_results",
        "reorder_vercel_ai_results",
    ),
    "chunks": ("prepare_chunks", "validate_chunks"),
    "counting": ("create_tiktoken_counter", "token_counter_factory"),
    "diagnostics": ("Diagnostics", "is_reorder_diagnostics"),
    "hooks": ("create_metrics_hooks", "create_otel_hooks"),
    "options": ("merge_config", "validate_config"),
    "presets": (
        "bench_case", "get_preset", "reorder_for_chat_history", "reorder_for_docs_qa", "reorder_for_logs",
        "reorderer_presets",
    ),
    "reorderer": ("Reordered", "Reorderer"),
    "routing": ("detect_query_intent", "metadata_coverage", "resolve_auto_strategy"),
    "serial": ("deserialize_chunks", "serialize_chunks", "serialize_chunks_safe"),
    "stages": (
        "deduplicate_chunks", "deduplicate_chunks_unsafe", "rerank_with_diversity", "score_chunks",
        "score_chunks_with_options", "trigram_similarity",
    ),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}

__all__ = sorted(_HOMES)

__getattr__, __dir__ = lazily(__name__, _HOMES, __all__)
