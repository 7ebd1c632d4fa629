"""Hooks that hand what a reorderer does to OpenTelemetry or to a metrics client, by their shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from promptpack.reorder.checks import function
from promptpack.reorder.diagnostics import Diagnostics

SPAN_NAME = "rag-chunk-reorder"
NAMESPACE = "rag_chunk_reorder"
_INPUT = (
    "input_count", "validated_count", "coerced_scores", "dropped_metadata_fields", "dropped_metadata_timestamp",
    "dropped_metadata_section_index", "dropped_metadata_source_id", "dropped_metadata_source_reliability",
)
_BUDGET = ("token_count_used", "cached_token_count_used", "char_count_used", "filtered_by_min_score", "dedup_removed")
_OUTPUT = ("budget_pruned", "output_count")
_GAUGES = ("input_count", "output_count", "token_count_used", "char_count_used")


class Hooks(NamedTuple):
    """The two hooks, as options: `Reorderer(**hooks._asdict())`."""

    on_diagnostics: Callable[[Diagnostics], None]
    on_trace_step: Callable[[str, float, Mapping[str, Any] | None], None]


def create_otel_hooks(tracer: Any, *, span_name: str = SPAN_NAME) -> Hooks:
    """Return hooks that open a span for each step and one for the diagnostics of a call.

    tracer: an OpenTelemetry tracer, or anything with `start_span(name)` whose spans have `set_attribute`,
    `add_event` and `end`. Attributes are named `rag.` and the reference's name; `rag.step` and `rag.duration_ms`
    cannot be overwritten by a step's details. Raises OptionError for a tracer that cannot start a span.
    """
    function("tracer.start_span", getattr(tracer, "start_span", None))

    def on_diagnostics(diagnostics: Diagnostics) -> None:
        known = diagnostics.to_dict()
        attributes = {"strategy": diagnostics.strategy_chosen, "chunk_count": diagnostics.input_count}
        if diagnostics.query_length is not None:
            attributes["query_length"] = known.pop("queryLength")
        _span(tracer, f"{span_name}.diagnostics", {**known, **attributes}, "rag.diagnostics")

    def on_trace_step(step: str, ms: float, details: Mapping[str, Any] | None = None) -> None:
        attributes = {**(details or {}), "step": step, "duration_ms": ms}
        _span(tracer, f"{span_name}.{step}", attributes, "rag.step.completed")

    return Hooks(on_diagnostics, on_trace_step)


def _span(tracer: Any, name: str, attributes: Mapping[str, Any], event: str) -> None:
    span = tracer.start_span(name)
    try:
        for key, value in attributes.items():
            if value is not None:
                span.set_attribute(f"rag.{key}", value)
        span.add_event(event)
    finally:
        span.end()


class Labels(NamedTuple):
    """What the metrics of a call are labelled with."""

    strategy: str
    dedup_strategy: str
    budget_unit: str
    packing: str


def create_metrics_hooks(
    counter: Callable[[str, float, Mapping[str, str]], None],
    gauge: Callable[[str, float, Mapping[str, str]], None] | None = None,
    *,
    namespace: str = NAMESPACE,
) -> Callable[[Diagnostics], None]:
    """Return a diagnostics hook that counts what calls did.

    counter: called as counter(name, value, labels) for `<namespace>_calls_total` and a total of each count. gauge:
    called in the same way for the last input, output, tokens and characters. labels: strategy, dedup_strategy,
    budget_unit, packing.

    >>> seen = []
    >>> create_metrics_hooks(lambda name, value, labels: seen.append((name, value)))(Diagnostics(input_count=2))
    >>> seen[:2]
    [('rag_chunk_reorder_calls_total', 1), ('rag_chunk_reorder_input_count_total', 2)]
    """
    function("counter", counter)
    if gauge is not None:
        function("gauge", gauge)

    def on_diagnostics(diagnostics: Diagnostics) -> None:
        labels = Labels(
            diagnostics.strategy_chosen, diagnostics.dedup_strategy_used, diagnostics.budget_unit,
            diagnostics.packing_strategy_used,
        )._asdict()
        counter(f"{namespace}_calls_total", 1, labels)
        counts = {name: getattr(diagnostics, name) for name in _INPUT}
        if diagnostics.dedup_strategy_used != "none":
            counts[f"dedup_{diagnostics.dedup_strategy_used}"] = 1
        counts.update({name: getattr(diagnostics, name) for name in _BUDGET})
        if diagnostics.reranker_applied:
            counts["reranker_applied"] = 1
        counts.update({name: getattr(diagnostics, name) for name in _OUTPUT})
        for name, value in counts.items():
            counter(f"{namespace}_{name}_total", value, labels)
        for name in _GAUGES if gauge is not None else ():
            gauge(f"{namespace}_last_{name}", getattr(diagnostics, name), labels)  # type: ignore[misc]

    return on_diagnostics
