"""What the vectors ask for that a later issue builds: the one list, by number of the issue; empty in the end.

Entries are functions of golden vectors (by system), parts of the cases, whole kinds, and the few single
ids that an issue names. A vector of a function or part that is neither built nor listed here is an error.
"""

from __future__ import annotations

KINDS = {"injection": 4}

PARTS = {
    "escape": 4,
    "verify": 5,
    "adapters": 6,
}

IDS = {"count-02": 4, "tmpl-03": 4}

# system (without its version) -> issue -> functions; vectors without a system are those of rag-chunk-reorder.
_FUNCTIONS = {
    "": {
        6: "reorder_langchain_documents reorder_langchain_pairs reorder_llamaindex_nodes "
           "reorder_haystack_documents reorder_vercel_ai_results reorder_langgraph_state "
           "reorder_vector_store_results reorder_async reorder_sync_with_reranker reorder_stream cli "
           "validate_config merge_config get_preset reorderer_presets get_config get_config_is_copy "
           "span_recall key_point_recall key_point_precision position_effectiveness ndcg exact_match "
           "token_f1 answerability_match is_answerable faithfulness citation_coverage "
           "retrieval_recall_at_k evaluate_answer_set reorder_for_chat_history reorder_for_docs_qa "
           "reorder_for_logs bench_case reorder reorder_trace diagnostics_hook_calls "
           "input_not_mutated remote_reranker reranker_error create_otel_hooks create_metrics_hooks "
           "validate_chunks prepare_chunks is_reorder_diagnostics serialize_chunks "
           "serialize_chunks_safe deserialize_chunks token_counter_factory",
    },
}

FUNCTIONS = {
    (system, function): issue
    for system, issues in _FUNCTIONS.items()
    for issue, names in issues.items()
    for function in names.split()
}
