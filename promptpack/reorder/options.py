"""The options of the reorderer: their names, checks and defaults, in both spellings.

Options come in two ways. Keywords (`top_k=8`) have Python's spelling, and None means "not given". A mapping is a
configuration of rag-chunk-reorder, as it stands in a JSON file; None is a wrong value in it. The `Reorderer` takes
names and values of both in snake_case and camelCase; `validate_config` wants values spelt as in the reference.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from promptpack.errors import OptionError, quote
from promptpack.packing.route import NARRATIVE_TERMS, TEMPORAL_TERMS
from promptpack.reorder import checks
from promptpack.reorder.checks import Check, flag, function, number, one_of, text, whole, wrong

Options = dict[str, Any]

# In the order in which they are checked: of several faults the first is reported.
CHECKS: dict[str, Check] = {
    "strategy": one_of("scoreSpread", "preserveOrder", "chronological", "custom", "auto"),
    "start_count": whole(0), "end_count": whole(0),
    "max_tokens": whole(0), "max_chars": whole(0), "char_counter": checks.counter,
    "score_clamp": checks.pair, "min_score": number(), "min_top_k": whole(1), "top_k": whole(1),
    "reranker_timeout_ms": number(0), "reranker_concurrency": whole(1), "reranker_batch_size": whole(1),
    "reranker_abort_signal": checks.signal,
    "deduplicate_threshold": number(0, 1), "deduplicate_keep": one_of("highestScore", "first", "last"),
    "deduplicate_length_bucket_size": whole(1), "deduplicate_max_candidates": whole(1),
    "packing": one_of("auto", "prefix", "edgeAware"),
    "score_normalization": one_of("none", "minMax", "zScore", "softmax"),
    "score_normalization_temperature": number(above=0),
    "chronological_order": one_of("asc", "desc"), "preserve_order_source_field": text,
    "include_explain": flag, "streaming_window_size": whole(1),
    "reranker_retries": whole(0), "reranker_retry_delay_ms": number(0),
    "validation_mode": one_of("strict", "coerce"), "max_input_chunks": whole(1),
    "max_input_chunks_behavior": one_of("throw", "truncate"),
}
NESTED: dict[str, dict[str, Check]] = {
    "weights": dict.fromkeys(("similarity", "time", "section", "source_reliability"), number(0)),
    "auto_strategy": {
        "temporal_timestamp_coverage_threshold": number(0, 1),
        "narrative_source_coverage_threshold": number(0, 1),
        "narrative_section_coverage_threshold": number(0, 1),
        "temporal_query_terms": checks.terms, "narrative_query_terms": checks.terms,
        "intent_detector": function,
    },
    "diversity": {
        "enabled": flag, "lambda": number(0, 1), "source_diversity_weight": number(0), "source_field": text,
        "max_candidates": whole(2),
    },
}
# What the reference does not check, so it comes last.
LATE: dict[str, Check] = {
    "custom_comparator": function, "token_counter": checks.counter, "deduplicate": flag, "group_by": text,
    "include_priority_score": flag, "reranker": checks.reranker, "on_reranker_error": function,
    "on_diagnostics": function, "on_trace_step": function, "validate_reranker_output_length": flag,
    "validate_reranker_output_order": flag, "validate_reranker_output_order_by_index": flag,
}
DEFAULTS: Options = {
    "strategy": "scoreSpread", "chronological_order": "asc", "preserve_order_source_field": "sourceId",
    "weights": {"similarity": 1.0, "time": 0.0, "section": 0.0, "source_reliability": 0.0},
    "score_normalization": "none", "score_normalization_temperature": 1.0,
    "auto_strategy": {
        "temporal_timestamp_coverage_threshold": 0.4, "narrative_source_coverage_threshold": 0.4,
        "narrative_section_coverage_threshold": 0.3, "temporal_query_terms": TEMPORAL_TERMS,
        "narrative_query_terms": NARRATIVE_TERMS,
    },
    "diversity": {
        "enabled": False, "lambda": 0.7, "source_diversity_weight": 0.15, "source_field": "sourceId",
    },
    "packing": "auto", "validation_mode": "strict", "streaming_window_size": 128, "reranker_retries": 0,
    "reranker_retry_delay_ms": 500.0,
}
NAMES = (*CHECKS, *NESTED, *LATE)


def snake(name: str) -> str:
    """Return a camelCase name in snake_case.

    >>> snake("rerankerTimeoutMs"), snake("minTopK")
    ('reranker_timeout_ms', 'min_top_k')
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def camel(name: str) -> str:
    """Return a snake_case name in camelCase.

    >>> camel("min_top_k")
    'minTopK'
    """
    return re.sub(r"_([a-z0-9])", lambda match: match[1].upper(), name)


# The values that have a second spelling, and in which option.
_SPELT = {
    "strategy": ("scoreSpread", "preserveOrder"), "packing": ("edgeAware",),
    "deduplicate_keep": ("highestScore",), "score_normalization": ("minMax", "zScore"),
}
_VALUES = {name: {snake(value): value for value in values} for name, values in _SPELT.items()}


def from_keywords(given: Mapping[str, Any]) -> Options:
    """Return keyword options under their own names; None stays, and means that an option is not given.

    >>> from_keywords({"topK": 3, "strategy": "score_spread", "min_score": None})
    {'top_k': 3, 'strategy': 'scoreSpread', 'min_score': None}
    """
    found = {name: respelt(name, value) for name, value in _named(given).items()}
    for name in NESTED:
        if isinstance(found.get(name), Mapping):
            found[name] = {key: value for key, value in found[name].items() if value is not None}
    return found


def from_config(config: Mapping[str, Any]) -> Options:
    """Return a configuration under the names used here, its values in either spelling, as keywords have them.

    >>> from_config({"topK": 3, "strategy": "preserve_order"})
    {'top_k': 3, 'strategy': 'preserveOrder'}
    """
    return {name: respelt(name, value) for name, value in from_mapping(config).items()}


def from_mapping(config: Mapping[str, Any]) -> Options:
    """Return a configuration of rag-chunk-reorder under the names used here; nothing is checked but names.

    >>> from_mapping({"topK": 3, "weights": {"sourceReliability": 0.5}})
    {'top_k': 3, 'weights': {'source_reliability': 0.5}}
    """
    if not isinstance(config, Mapping):
        raise wrong("config", "a mapping of options", config)
    return _named(config)


def respelt(name: str, value: Any) -> Any:
    """Return a value of an option as it is kept: in the reference's spelling, a counter for its name.

    >>> respelt("packing", "edge_aware"), respelt("group_by", "edge_aware")
    ('edgeAware', 'edge_aware')
    """
    if not isinstance(value, str):
        return value
    if name == "token_counter":
        from promptpack.reorder.counting import token_counter_factory

        return token_counter_factory(value)
    return _VALUES.get(name, {}).get(value, value)


def _named(given: Mapping[str, Any]) -> Options:
    found = renamed(given)
    for name in NESTED:
        if isinstance(found.get(name), Mapping):
            found[name] = renamed(found[name], f"{name}.")
    return found


def renamed(given: Mapping[str, Any], prefix: str = "") -> Options:
    """Return options under their names in snake_case; OptionError where one is given in both spellings.

    >>> renamed({"maxCandidates": 9})
    {'max_candidates': 9}
    """
    found: Options = {}
    for key, value in given.items():
        name = snake(key) if isinstance(key, str) else quote(key)
        if name in found:
            message = f"{prefix}{name}: given twice, in both spellings"
            raise OptionError(message, name=f"{prefix}{name}", given=value)
        found[name] = value
    return found


def merge(options: Mapping[str, Any], over: Mapping[str, Any] | None = None, *, lift: bool = True) -> Options:
    """Return the options over others (the defaults if none are given); nothing is checked.

    None gives the default back; without `lift` (in a mapping) only where there is a default, and is kept
    elsewhere. The nested options merge field by field. A strategy other than custom drops the comparator that
    it replaces; a limit of the input that is lifted takes its behaviour along.
    """
    merged = dict(DEFAULTS if over is None else over)
    for name, value in options.items():
        if name in NESTED and isinstance(value, Mapping):
            below = merged.get(name)
            defaults = {**DEFAULTS[name], **(below if isinstance(below, Mapping) else {})}
            merged[name] = {**defaults, **{key: one for key, one in value.items() if not _defaulted(key, one)}}
        elif value is None and (lift or name in DEFAULTS):
            merged.pop(name, None)
            merged.update({name: DEFAULTS[name]} if name in DEFAULTS else {})
        else:
            merged[name] = value
    if options.get("strategy", "custom") != "custom" and "custom_comparator" not in options:
        merged.pop("custom_comparator", None)
    if "max_input_chunks" in options and options["max_input_chunks"] is None:
        merged.pop("max_input_chunks_behavior", None)
    return merged


def _defaulted(key: str, value: Any) -> bool:
    return value is None and key in ("temporal_query_terms", "narrative_query_terms")


def checked(options: Mapping[str, Any]) -> Options:
    """Return the options as they are kept; OptionError names the first that is wrong, or two that do not go together.

    >>> checked({"top_k": 3.0, "score_clamp": [0, 1]})
    {'top_k': 3, 'score_clamp': (0, 1)}
    """
    found = dict(options)
    for name, check in CHECKS.items():
        if name in found:
            found[name] = check(name, found[name])
    for name, parts in NESTED.items():
        if name in found:
            found[name] = _checked_parts(name, found[name], parts)
    _check_together(found)
    for name, check in LATE.items():
        if name in found:
            found[name] = check(name, found[name])
    unknown = [name for name in found if name not in NAMES]
    if unknown:
        raise OptionError.unknown("option", unknown[0], NAMES)
    return found


def _checked_parts(name: str, given: Any, parts: Mapping[str, Check]) -> Options:
    if not isinstance(given, Mapping):
        raise wrong(name, f"a mapping with {', '.join(parts)}", given)
    found = dict(given)
    for part, check in parts.items():
        if part in found and not _defaulted(part, found[part]):
            found[part] = check(f"{name}.{part}", found[part])
    unknown = [part for part in found if part not in parts]
    if unknown:
        raise OptionError.unknown(name, unknown[0], list(parts))
    return found


def _check_together(found: Options) -> None:
    strategy, comparator = found.get("strategy"), found.get("custom_comparator")
    if strategy == "custom" and not callable(comparator):
        raise wrong("custom_comparator", 'a function of two chunks for strategy="custom"', comparator)
    if strategy == "auto" and comparator is not None:
        raise wrong("custom_comparator", 'none with strategy="auto"', comparator)
    if found.get("max_tokens") is not None and "max_chars" not in found and not callable(found.get("token_counter")):
        raise OptionError(
            "max_tokens: needs a token_counter (or max_chars to fall back to); token_counter_factory makes one",
            name="max_tokens", given=found["max_tokens"],
        )
    field = found.get("preserve_order_source_field", DEFAULTS["preserve_order_source_field"])
    if strategy == "preserveOrder" and found.get("group_by") == field:
        raise OptionError(
            f"group_by: {quote(field)} is what preserve_order groups by already", name="group_by", given=field
        )
    if found.get("top_k", found.get("min_top_k", 0)) < found.get("min_top_k", 0):
        raise OptionError(
            f"min_top_k: {found['min_top_k']} is more than top_k={found['top_k']}",
            name="min_top_k", given=found["min_top_k"],
        )
    if "max_input_chunks_behavior" in found and "max_input_chunks" not in found:
        raise OptionError(
            "max_input_chunks_behavior: says what happens past max_input_chunks, which is not given",
            name="max_input_chunks_behavior", given=found["max_input_chunks_behavior"],
        )


def copied(options: Mapping[str, Any]) -> Options:
    """Return a copy that shares no container with the options; functions and rerankers are the same objects."""
    return {name: dict(value) if name in NESTED else value for name, value in options.items()}


def validate_config(config: Mapping[str, Any]) -> None:
    """Check a configuration as rag-chunk-reorder does; OptionError names the first option that is wrong.

    Values have its spelling, "scoreSpread", and a tokenCounter is a function; `Reorderer` takes more.

    >>> validate_config({"strategy": "auto", "topK": 8})
    """
    checked(from_mapping(config))


def merge_config(config: Mapping[str, Any] | None = None) -> Options:
    """Return a configuration over the defaults, without checking it; names are in snake_case.

    >>> merge_config({"weights": {"time": 0.5}})["weights"]["similarity"]
    1.0
    """
    return copied(merge(from_mapping({} if config is None else config), lift=False))
