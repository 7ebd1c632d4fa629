"""rag-chunk-reorder's vectors of metrics as calls of `promptpack.evaluation`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from golden_reorder_notation import camel_keys, read
from vector_files import Vector

CASE = {"caseInsensitive": "case_insensitive"}
SUPPORT = {
    "ignoreStopWords": "ignore_stop_words", "minTokenLength": "min_token_length",
    "caseInsensitive": "case_insensitive",
}


def named(options: Any, names: dict[str, str]) -> dict[str, Any]:
    return {names[key]: value for key, value in read(options or {}).items()}


def _points(name: str, key: str) -> Callable[[Vector], float]:
    def call(vector: Vector) -> float:
        from promptpack.evaluation import metrics

        given = read(vector["input"])
        found: float = getattr(metrics, name)(given[key], given["texts"], **named(vector.get("options"), CASE))
        return found

    return call


def _answers(name: str) -> Callable[[Vector], float]:
    def call(vector: Vector) -> float:
        from promptpack.evaluation import answers

        found: float = getattr(answers, name)(vector["input"]["prediction"], vector["input"]["references"])
        return found

    return call


def _support(name: str) -> Callable[[Vector], float]:
    def call(vector: Vector) -> float:
        from promptpack.evaluation import answers

        given = vector["input"]
        found: float = getattr(answers, name)(
            given["prediction"], given["contexts"], **named(vector.get("options"), SUPPORT)
        )
        return found

    return call


def position_effectiveness(vector: Vector) -> float:
    from promptpack.evaluation.metrics import position_effectiveness as effectiveness

    return effectiveness(read(vector["input"]["chunks"]))


def ndcg(vector: Vector) -> float:
    from promptpack.evaluation.metrics import ndcg as gain

    return gain(read(vector["input"]["scores"]))


def is_answerable(vector: Vector) -> bool:
    from promptpack.evaluation.answers import is_answerable as tell

    return tell(vector["input"]["text"])


def retrieval_recall_at_k(vector: Vector) -> float:
    from promptpack.evaluation.metrics import retrieval_recall_at_k as recall

    given, options = vector["input"], read(vector.get("options") or {})
    return recall(given["retrieved"], given["relevantIds"], options.get("k"))


def evaluate_answer_set(vector: Vector) -> Any:
    from promptpack.evaluation.answers import evaluate_answer_set as evaluate

    options = vector.get("options") or {}
    found = asdict(evaluate(
        read(vector["input"]["cases"]), faithfulness=named(options.get("faithfulness"), SUPPORT),
        citation_coverage=named(options.get("citationCoverage"), SUPPORT),
    ))
    return camel_keys(found)


CALLS: dict[str, Callable[[Vector], Any]] = {
    "key_point_recall": _points("key_point_recall", "keyPoints"),
    "key_point_precision": _points("key_point_precision", "keyPoints"), "span_recall": _points("span_recall", "spans"),
    "position_effectiveness": position_effectiveness, "ndcg": ndcg, "is_answerable": is_answerable,
    "retrieval_recall_at_k": retrieval_recall_at_k, "evaluate_answer_set": evaluate_answer_set,
    **{name: _answers(name) for name in ("exact_match", "token_f1", "answerability_match")},
    **{name: _support(name) for name in ("faithfulness", "citation_coverage")},
}
