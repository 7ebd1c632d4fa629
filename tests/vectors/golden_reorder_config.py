"""rag-chunk-reorder's vectors of options, of checking and writing chunks, of counters and hooks."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from golden_calls import NUMBERS
from golden_reorder_notation import camel_keys, read
from vector_files import Vector

Result = dict[str, Any]


def validate_config(vector: Vector) -> Result:
    from promptpack.reorder import validate_config as validate

    validate(read(vector["input"]["config"]))
    return {"ok": True}


def merge_config(vector: Vector) -> Any:
    from promptpack.reorder import merge_config as merge

    return camel_keys(merge(read(vector["input"]["config"])))


def get_config(vector: Vector) -> Any:
    from promptpack import Reorderer

    return camel_keys(Reorderer(read(vector["input"]["config"])).config)


def get_config_is_copy(vector: Vector) -> Result:
    from promptpack import Reorderer
    from promptpack.reorder.options import snake

    reorderer = Reorderer(read(vector["input"]["config"]))
    before = json.dumps(camel_keys(reorderer.config))
    for path in vector["input"]["mutate"]:
        *parents, last = (int(name) if name.isdigit() else snake(name) for name in path.split("."))
        target = reorderer.config
        for name in parents:
            target = target[name]
        try:
            target[last] = "changed"
        except TypeError:
            assert isinstance(target, tuple)  # it cannot be changed
    return {"unchanged": json.dumps(camel_keys(reorderer.config)) == before}


def get_preset(vector: Vector) -> Any:
    from promptpack.reorder import get_preset as preset

    return camel_keys(preset(vector["input"]["name"]))


def reorderer_presets(vector: Vector) -> Any:
    from promptpack.reorder import reorderer_presets as presets

    return camel_keys(presets())


def validate_chunks(vector: Vector) -> Result:
    from promptpack.reorder import validate_chunks as validate

    validate(read(vector["input"]["chunks"]))
    return {"ok": True}


def prepare_chunks(vector: Vector) -> Result:
    from dataclasses import asdict

    from promptpack.reorder import prepare_chunks as prepare

    mode = vector.get("options", {}).get("mode", "strict")
    chunks, repairs = prepare(read(vector["input"]["chunks"]), mode)
    return {"chunks": tagged(chunks), "stats": camel_keys(asdict(repairs))}


def tagged(value: Any) -> Any:
    """Return a result with numbers that JSON lacks as tags, as they stand in `expected`."""
    if isinstance(value, dict):
        return {key: tagged(one) for key, one in value.items()}
    if isinstance(value, list):
        return [tagged(one) for one in value]
    return next(({"$num": name} for name, number in NUMBERS.items() if repr(value) == repr(number)), value)


def is_reorder_diagnostics(vector: Vector) -> bool:
    from promptpack.reorder import is_reorder_diagnostics as tell

    return tell(read(vector["input"]["value"]))


def serialize_chunks(vector: Vector) -> Result:
    from promptpack.reorder import serialize_chunks as serialize

    return {"json": json.loads(serialize(read(vector["input"]["chunks"])))}


def serialize_chunks_safe(vector: Vector) -> Result:
    from promptpack.reorder import serialize_chunks_safe as serialize

    return {"json": json.loads(serialize(read(vector["input"]["chunks"])))}


def deserialize_chunks(vector: Vector) -> Any:
    from promptpack.reorder import deserialize_chunks as deserialize

    options = vector.get("options") or {}
    return deserialize(vector["input"]["text"], normalize_metadata=options.get("normalizeMetadata", False))


def token_counter_factory(vector: Vector) -> Any:
    from promptpack.reorder import token_counter_factory as factory

    return factory(vector["input"]["name"])(vector["input"]["text"])


class Span:
    def __init__(self, name: str) -> None:
        self.record: Result = {"name": name, "attributes": {}, "events": [], "ended": False}

    def set_attribute(self, name: str, value: Any) -> None:
        self.record["attributes"][name] = value

    def add_event(self, name: str) -> None:
        self.record["events"].append(name)

    def end(self) -> None:
        self.record["ended"] = True


class Tracer:
    def __init__(self) -> None:
        self.spans: list[Span] = []

    def start_span(self, name: str) -> Span:
        self.spans.append(Span(name))
        return self.spans[-1]


def diagnostics(given: Vector) -> Any:
    from promptpack.reorder import Diagnostics
    from promptpack.reorder.options import snake

    return Diagnostics(**{snake(name): value for name, value in given.items()})


def create_otel_hooks(vector: Vector) -> Result:
    from promptpack.reorder import create_otel_hooks as create

    tracer, given = Tracer(), vector["input"]
    name = vector["options"].get("spanName")
    hooks = create(tracer, **({"span_name": name} if name else {}))
    if "diagnostics" in given:
        hooks.on_diagnostics(diagnostics(given["diagnostics"]))
    if "step" in given:
        step = given["step"]
        hooks.on_trace_step(step["name"], step["ms"], step.get("details"))
    return {"spans": [span.record for span in tracer.spans]}


def create_metrics_hooks(vector: Vector) -> Result:
    from promptpack.reorder import create_metrics_hooks as create

    calls: list[Any] = []
    labels: list[Any] = []

    def noting(kind: str) -> Callable[..., None]:
        def note(name: str, value: float, given: Any) -> None:
            calls.append({"kind": kind, "name": name, "value": value})
            labels.append(dict(given))

        return note

    namespace = vector["options"].get("namespace")
    hook = create(
        noting("counter"), noting("gauge") if vector["input"].get("gauges") else None,
        **({"namespace": namespace} if namespace else {}),
    )
    hook(diagnostics(vector["input"]["diagnostics"]))
    assert all(one == labels[0] for one in labels)
    return {"labels": labels[0], "calls": calls}


CALLS: dict[str, Callable[[Vector], Any]] = {
    "validate_config": validate_config, "merge_config": merge_config, "get_config": get_config,
    "get_config_is_copy": get_config_is_copy, "get_preset": get_preset, "reorderer_presets": reorderer_presets,
    "validate_chunks": validate_chunks, "prepare_chunks": prepare_chunks,
    "is_reorder_diagnostics": is_reorder_diagnostics, "serialize_chunks": serialize_chunks,
    "serialize_chunks_safe": serialize_chunks_safe, "deserialize_chunks": deserialize_chunks,
    "token_counter_factory": token_counter_factory, "create_otel_hooks": create_otel_hooks,
    "create_metrics_hooks": create_metrics_hooks,
}
