"""Measuring what a packing does: where the evidence stands, whether it is there at all, and what answers make of it.

The names are loaded on first use; the comparison of policies is in `promptpack.evaluation.harness`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptpack.lazy import lazily

if TYPE_CHECKING:
    from promptpack.evaluation.answers import AnswerScores as AnswerScores
    from promptpack.evaluation.answers import AnswerSummary as AnswerSummary
    from promptpack.evaluation.answers import answerability_match as answerability_match
    from promptpack.evaluation.answers import citation_coverage as citation_coverage
    from promptpack.evaluation.answers import evaluate_answer_set as evaluate_answer_set
    from promptpack.evaluation.answers import exact_match as exact_match
    from promptpack.evaluation.answers import faithfulness as faithfulness
    from promptpack.evaluation.answers import is_answerable as is_answerable
    from promptpack.evaluation.answers import token_f1 as token_f1
    from promptpack.evaluation.citations import CitationScores as CitationScores
    from promptpack.evaluation.citations import citation_scores as citation_scores
    from promptpack.evaluation.citations import cited_sentences as cited_sentences
    from promptpack.evaluation.citations import overlap_entails as overlap_entails
    from promptpack.evaluation.citations import plain_answer as plain_answer
    from promptpack.evaluation.metrics import key_point_precision as key_point_precision
    from promptpack.evaluation.metrics import key_point_recall as key_point_recall
    from promptpack.evaluation.metrics import ndcg as ndcg
    from promptpack.evaluation.metrics import position_effectiveness as position_effectiveness
    from promptpack.evaluation.metrics import retrieval_ndcg as retrieval_ndcg
    from promptpack.evaluation.metrics import retrieval_precision_at_k as retrieval_precision_at_k
    from promptpack.evaluation.metrics import retrieval_recall_at_k as retrieval_recall_at_k
    from promptpack.evaluation.metrics import span_recall as span_recall
    from promptpack.evaluation.position import answer_in_window as answer_in_window
    from promptpack.evaluation.position import chunk_positions as chunk_positions
    from promptpack.evaluation.position import edge_distance as edge_distance
    from promptpack.evaluation.position import expected_use as expected_use
    from promptpack.evaluation.position import mean_edge_distance as mean_edge_distance
    from promptpack.evaluation.position import use_probability as use_probability

_MODULES = {
    "answers": (
        "AnswerScores", "AnswerSummary", "answerability_match", "citation_coverage", "evaluate_answer_set",
        "exact_match", "faithfulness", "is_answerable", "token_f1",
    ),
    "citations": ("CitationScores", "citation_scores", "cited_sentences", "overlap_entails", "plain_answer"),
    "metrics": (
        "key_point_precision", "key_point_recall", "ndcg", "position_effectiveness", "retrieval_ndcg",
        "retrieval_precision_at_k", "retrieval_recall_at_k", "span_recall",
    ),
    "position": (
        "answer_in_window", "chunk_positions", "edge_distance", "expected_use", "mean_edge_distance", "use_probability",
    ),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}

__all__ = sorted(_HOMES)

__getattr__, __dir__ = lazily(__name__, _HOMES, __all__)
