"""The options turned into the values of the stages: what each step of the reorderer reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, cast

from promptpack.packing.by_rank import Spread
from promptpack.packing.dedup import Dedup, Keep
from promptpack.packing.route import Auto
from promptpack.packing.scoring import Normalize, Scoring
from promptpack.reorder.options import Options
from promptpack.rerank import Rerank

if TYPE_CHECKING:
    from promptpack.packing.diversity import Diversity

Compare = Callable[[Any, Any], Any]
Count = Callable[[str], float]


@dataclass(frozen=True, slots=True)
class Intake:
    """What may come in: the mode of the check, the cap and what happens past it, the clamp, the least score."""

    mode: str
    cap: int | None
    truncate: bool
    clamp: tuple[float, float] | None
    min_score: float | None


@dataclass(frozen=True, slots=True)
class Ranking:
    """How chunks are deduplicated, scored and ranked."""

    dedup: Dedup | None
    scoring: Scoring
    diversity: Diversity | None


@dataclass(frozen=True, slots=True)
class Strategy:
    """In which order chunks stand: the strategy by name, and what the strategies need."""

    name: str
    auto: Auto
    spread: Spread
    newest_first: bool
    source_field: str
    compare: Compare | None
    group_by: str | None


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may be left: the budget, how it is counted and packed, the most and the least chunks."""

    max_tokens: float | None
    token_counter: Count | None
    max_chars: float | None
    char_counter: Count
    packing: Literal["auto", "prefix", "edgeAware"]
    top_k: int | None
    min_top_k: int | None


@dataclass(frozen=True, slots=True)
class Reranking:
    """The reranker and how it is called, in the reference's form or the library's; how its answers are checked.

    raises: whether a failure ends the call, as a `Rerank` with on_error="raise" asks for.
    """

    rerank: Rerank
    raises: bool
    signal: Any
    check_length: bool
    check_order: bool
    check_index: bool


@dataclass(frozen=True, slots=True)
class Settings:
    """The values of all stages, in the order of the steps."""

    intake: Intake
    reranking: Reranking | None
    ranking: Ranking
    strategy: Strategy
    limits: Limits
    explain: bool
    show_priority: bool
    window: int
    on_diagnostics: Callable[[Any], None] | None
    on_trace_step: Callable[..., None] | None
    on_reranker_error: Callable[[Exception], None] | None


_KEEP: Mapping[str, Keep] = {"highestScore": "best", "first": "first", "last": "last"}


def settings(options: Options) -> Settings:
    """Return the stage values for checked options."""
    get = options.get
    return Settings(
        Intake(
            options["validation_mode"], get("max_input_chunks"), get("max_input_chunks_behavior") == "truncate",
            get("score_clamp"), get("min_score"),
        ),
        _reranking(options), _ranking(options), _strategy(options),
        Limits(
            get("max_tokens"), get("token_counter"), get("max_chars"), get("char_counter", len), options["packing"],
            get("top_k"), get("min_top_k"),
        ),
        get("include_explain", False), get("include_priority_score", False), options["streaming_window_size"],
        get("on_diagnostics"), get("on_trace_step"), get("on_reranker_error") or _own_hook(get("reranker")),
    )


def _own_hook(reranker: Any) -> Callable[[Exception], None] | None:
    hook = reranker.on_error if isinstance(reranker, Rerank) else None
    return hook if callable(hook) else None


def _ranking(options: Options) -> Ranking:
    weights, mixed = options["weights"], options["diversity"]
    dedup = None
    if options.get("deduplicate"):
        dedup = Dedup(
            options.get("deduplicate_threshold", 1.0), _KEEP[options.get("deduplicate_keep", "highestScore")],
            guard_numbers=False, fold=False, length_bucket=options.get("deduplicate_length_bucket_size"),
            max_candidates=options.get("deduplicate_max_candidates"),
        )
    scoring = Scoring(
        weights["similarity"], weights["time"], weights["section"], weights["source_reliability"],
        normalize=cast(Normalize, options["score_normalization"].lower()),
        temperature=options["score_normalization_temperature"],
    )
    diversity = None
    if mixed["enabled"]:
        from promptpack.packing.diversity import Diversity

        diversity = Diversity(
            mixed["lambda"], mixed["source_diversity_weight"], mixed["source_field"], mixed.get("max_candidates")
        )
    return Ranking(dedup, scoring, diversity)


def auto_of(given: Mapping[str, Any], field: str = "sourceId") -> Auto:
    """Return the router for the options of `auto_strategy`; what is not given has its default."""
    names = {
        "temporal_timestamp_coverage_threshold": "temporal_coverage",
        "narrative_source_coverage_threshold": "document_coverage",
        "narrative_section_coverage_threshold": "position_coverage",
        "temporal_query_terms": "temporal_terms", "narrative_query_terms": "narrative_terms",
        "intent_detector": "intent",
    }
    return Auto(field=field, **{names[name]: value for name, value in given.items() if value is not None})


def _strategy(options: Options) -> Strategy:
    field = options["preserve_order_source_field"]
    return Strategy(
        options["strategy"], auto_of(options["auto_strategy"], field),
        Spread(options.get("start_count"), options.get("end_count")), options["chronological_order"] == "desc", field,
        options.get("custom_comparator"), options.get("group_by"),
    )


def _reranking(options: Options) -> Reranking | None:
    reranker = options.get("reranker")
    if reranker is None:
        return None
    wait = options.get("reranker_timeout_ms")
    given = {
        "batch_size": options.get("reranker_batch_size"), "concurrency": options.get("reranker_concurrency"),
        "timeout": wait / 1000 if wait else None,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    if isinstance(reranker, Rerank):  # its own settings stand where no option says otherwise
        rerank = replace(reranker, on_error="raise", **changes)
    else:
        rerank = Rerank(
            reranker, retries=options["reranker_retries"], retry_delay=options["reranker_retry_delay_ms"] / 1000,
            on_error="raise", **changes,
        )
    return Reranking(
        rerank, isinstance(reranker, Rerank) and reranker.on_error == "raise", options.get("reranker_abort_signal"),
        options.get("validate_reranker_output_length", True), options.get("validate_reranker_output_order", True),
        options.get("validate_reranker_output_order_by_index", False),
    )
