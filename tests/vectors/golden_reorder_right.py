"""rag-chunk-reorder's deviations beyond the single stages: what is right instead of `expected`.

As in `golden_right`: the call raises, or the answer differs in the stated way, or it equals a value worked out here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime
from typing import Any

from golden_must import Answer
from golden_reorder_notation import read
from golden_reorder_right_texts import RIGHT as TEXTS
from vector_files import Vector, same

LIMITS = ("topK", "maxTokens", "maxChars", "minTopK", "tokenCounter")


def rerun(vector: Vector, **changes: Any) -> Any:
    """Return what the same call gives with another input or other options."""
    from golden_table import CALLS

    return CALLS["", vector["function"]]({**vector, **changes})


def inside_the_group(vector: Vector, answer: Answer) -> None:
    """D07: front, back, start and end are those of the group; all else is as expected."""
    config, expected = vector["options"]["config"], vector["expected"]
    assert answer.value["ids"] == expected["ids"]
    groups: dict[str, list[str]] = {}
    whole = rerun(vector, options={"config": {k: v for k, v in config.items() if k not in LIMITS}})
    for chunk in whole["chunks"]:  # before the budget
        groups.setdefault(chunk["metadata"]["reorderExplain"]["groupKey"], []).append(chunk["id"])
    start, end = config.get("startCount"), config.get("endCount")
    for chunk, wanted in zip(answer.value["chunks"], expected["chunks"], strict=True):
        found = chunk["metadata"]["reorderExplain"]
        group = groups[found["groupKey"]]
        at, n = group.index(chunk["id"]), len(group)
        if start is None or start + end >= n:
            part = "front" if at < math.ceil(n / 2) else "back"
        else:
            part = "start" if at < start else "end" if at >= n - end else "middle"
        right = {**wanted["metadata"]["reorderExplain"], "placement": f"scoreSpread:{part}"}
        assert same(found, right), (found, right)


def well_written(vector: Vector, answer: Answer) -> None:
    """D11: all fields are kept, dates are ISO texts, whole numbers numbers; what is not finite is refused."""
    from golden_right import refused

    chunks = read(vector["input"]["chunks"])
    if any(not_finite(chunk) for chunk in chunks):
        refused(vector, answer)
        return
    right = [plain(chunk) for chunk in chunks]
    for chunk in right:  # the safe writer leaves out metadata that are null
        if vector["function"] == "serialize_chunks_safe" and chunk.get("metadata", {}) is None:
            del chunk["metadata"]
    assert same(answer.value["json"], right), answer.value
    assert [set(chunk) for chunk in answer.value["json"]] == [set(chunk) for chunk in right]


def not_finite(value: Any) -> bool:
    if isinstance(value, dict):
        return any(value is inner or not_finite(inner) for inner in value.values())
    if isinstance(value, list):
        return any(map(not_finite, value))
    return isinstance(value, float) and not math.isfinite(value)


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items() if not callable(one)}
    if isinstance(value, list):
        return [None if callable(one) else plain(one) for one in value]
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%S.000Z")
    return value


def absent_weight(vector: Vector, answer: Answer) -> None:
    """D16: an undefined weight is the default one."""
    expected = vector["expected"]
    assert same(answer.value, {**expected, "weights": {"similarity": 1, **expected["weights"]}})


def mode_passed_on(vector: Vector, answer: Answer) -> None:
    """D17: the mode of the call repairs the fields, too, as if it stood in the settings."""
    options = {key: value for key, value in vector["options"].items() if key != "validationMode"}
    mode = {"validationMode": vector["options"]["validationMode"]}
    options["config"] = {**options.get("config", {}), **mode}
    assert answer.value == rerun(vector, options=options)
    assert len(answer.value["order"]) == len(vector["input"]["items"])


def none_is_absent(vector: Vector, answer: Answer) -> None:
    """D18: a score of None is one that is not there."""
    from golden_right import absent_is_zero

    if "chunks" in vector["input"]:
        absent_is_zero(vector, answer)
        return
    items = [without_null_score(item) for item in vector["input"]["items"]]
    assert items != vector["input"]["items"], "no score is null"
    assert answer.value == rerun(vector, input={**vector["input"], "items": items})


def without_null_score(item: Any) -> Any:
    if isinstance(item, list):
        return [item[0], {"$undefined": True}] if item[1] is None else item
    metadata = item.get("metadata")
    found = {key: value for key, value in item.items() if key != "score" or value is not None}
    if isinstance(metadata, dict) and metadata.get("score", 0) is None:
        found["metadata"] = {key: value for key, value in metadata.items() if key != "score"}
    return found


def both_repairs(vector: Vector, answer: Answer) -> None:
    """D19: the repairs of the input count beside those of the reranker's answer."""
    expected = vector["expected"]["diagnostics"]
    without = {**vector["options"], "reranker": None}
    own = rerun(vector, options={k: v for k, v in without.items() if v is not None})["diagnostics"]
    repairs = {name: own[name] + expected[name] for name in own if name.startswith(("coerced", "dropped"))}
    assert sum(repairs.values()), "nothing was repaired"
    assert same(answer.value["diagnostics"], {**expected, **repairs})
    assert answer.value["ids"] == vector["expected"]["ids"]


def capped_first(vector: Vector, answer: Answer) -> None:
    """D20: the reranker is sent what is within the cap."""
    cap = vector["options"]["config"]["maxInputChunks"]
    ids = [chunk["id"] for chunk in vector["input"]["chunks"][:cap]]
    assert [call["ids"] for call in answer.value["calls"]] == [ids]
    assert same(answer.value["ids"], vector["expected"]["ids"])
    assert answer.value["diagnostics"]["inputTruncated"] is True


def blank_is_none(vector: Vector, answer: Answer) -> None:
    """D21: a blank query is no query for the reranker."""
    assert not vector["input"]["query"].strip()
    assert answer.value["calls"] == []
    assert answer.value["diagnostics"]["rerankerSkipped"] is True
    plain_call = {key: value for key, value in vector["options"].items() if key != "reranker"}
    assert answer.value["ids"] == rerun(vector, options=plain_call)["ids"]


def results_or_data(vector: Vector, answer: Answer) -> None:
    """D24: scores are read from results or data; without such a list the reranker fails."""
    from promptpack import RerankError

    body = vector["options"]["response"]["body"]
    rows = next((body[key] for key in ("results", "data") if isinstance(body.get(key), list)), None)
    if rows is None:
        assert isinstance(answer.error, RerankError), answer
        return
    right = [chunk["score"] for chunk in vector["input"]["chunks"]]
    for row in rows:
        right[row["index"]] = row["relevance_score"]
    assert same(answer.value["scores"], right)
    assert same(answer.value["request"], vector["expected"]["request"])


def retryable(vector: Vector, answer: Answer) -> None:
    """D25: 408 and 429 are worth another try."""
    assert vector["options"]["statusCode"] in (408, 429)
    assert answer.value == {**vector["expected"], "retryable": True}


def reserved_names(vector: Vector, answer: Answer) -> None:
    """D26: the step's own name and duration win over its details."""
    step = vector["input"]["step"]
    (span,) = answer.value["spans"]
    assert span["attributes"]["rag.step"] == step["name"]
    assert span["attributes"]["rag.duration_ms"] == step["ms"]
    assert span["ended"]


def user_fields_stay(vector: Vector, answer: Answer) -> None:
    """D27: a chunk keeps fields that the reference uses for itself."""
    assert answer.value["ids"] == vector["expected"]["ids"]
    own = {chunk["id"]: chunk for chunk in vector["input"]["chunks"]}
    for chunk in answer.value["chunks"]:
        for name in ("priorityScore", "originalIndex"):
            assert chunk.get(name) == own[chunk["id"]].get(name)


def lowered_floor(vector: Vector, answer: Answer) -> None:
    """D28: the built-in floor gives way to a smaller top k."""
    overrides = vector["options"]["overrides"]
    assert "minTopK" not in overrides
    right = rerun(vector, options={"overrides": {**overrides, "minTopK": overrides["topK"]}})
    assert answer.value["ids"] == right["ids"]
    assert len(right["ids"]) == overrides["topK"]


def lifted_cap(vector: Vector, answer: Answer) -> None:
    """D30: without the cap all chunks are reordered."""
    lifted = {
        name: {key: value for key, value in vector["options"].get(name, {}).items() if not key.startswith("maxInput")}
        for name in ("config", "overrides")
    }
    right = rerun(vector, options=lifted)
    assert answer.value["ids"] == right["ids"]
    assert right["diagnostics"]["inputTruncated"] is False


def instance_hook_too(vector: Vector, answer: Answer) -> None:
    """D31: the hook of the instance is called, whatever else is."""
    assert answer.value == {**vector["expected"], "instance": 1}


def true_copy(vector: Vector, answer: Answer) -> None:
    """D32: changing the copy does not reach the instance."""
    assert answer.value == {"unchanged": True}


def weakest_first(vector: Vector, answer: Answer) -> None:
    """D34: with both counts the lowest priorities are dropped first, whatever stands where."""
    config = vector["options"]["config"]
    shown = {**config, "includePriorityScore": True}
    whole = rerun(vector, options={"config": {k: v for k, v in shown.items() if k not in LIMITS}})["chunks"]
    order = [chunk["id"] for chunk in whole]
    strength = {chunk["id"]: chunk["metadata"]["priorityScore"] for chunk in whole}
    places = {chunk["id"]: place for place, chunk in enumerate(vector["input"]["chunks"])}
    ranked = sorted(order, key=lambda id_: (-strength[id_], places[id_]))
    kept = within(config, ranked, {chunk["id"]: chunk for chunk in whole})
    if len(kept) < config.get("minTopK", 0):
        kept = ranked[: config["minTopK"]]
    kept = kept[: config.get("topK", len(kept))]
    assert answer.value["ids"] == [id_ for id_ in order if id_ in kept], (answer.value["ids"], kept)


def within(config: Vector, ranked: list[str], chunks: dict[str, Any]) -> list[str]:
    """Return what a budget leaves, taken by priority: what does not fit is passed over."""
    if "maxTokens" in config and "tokenCounter" in config:
        count, left = read(config["tokenCounter"]), config["maxTokens"]
    elif "maxChars" in config:
        count, left = len, config["maxChars"]
    else:
        return ranked
    kept = []
    for id_ in ranked:
        chunk = chunks[id_]
        stated = chunk.get("tokenCount", (chunk.get("metadata") or {}).get("tokenCount"))
        cost = count(chunk["text"]) if stated is None or count is len else stated
        if cost <= left:
            left -= cost
            kept.append(id_)
    return kept


RIGHT: dict[str, Callable[[Vector, Answer], None]] = {
    **TEXTS, "D07": inside_the_group, "D11": well_written, "D16": absent_weight, "D17": mode_passed_on,
    "D18": none_is_absent, "D19": both_repairs, "D20": capped_first, "D21": blank_is_none, "D24": results_or_data,
    "D25": retryable, "D26": reserved_names, "D27": user_fields_stay, "D28": lowered_floor, "D30": lifted_cap,
    "D31": instance_hook_too, "D32": true_copy, "D34": weakest_first,
}
