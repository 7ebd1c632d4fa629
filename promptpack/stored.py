"""A payload as plain data and back: what `to_dict` writes, JSON can hold, and `from_dict` reads in another process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any, get_args

from promptpack.curves import PositionCurve
from promptpack.errors import OptionError, PromptpackError, SourceError, quote
from promptpack.history import DroppedTurn, TurnReason
from promptpack.labels import Labels
from promptpack.layout import Layout
from promptpack.messages import Message, Turn
from promptpack.native_form import Native
from promptpack.packing.candidate import Dropped, DropReason, Region
from promptpack.packing.curve import Use
from promptpack.payload import PackedSource, Payload, Report
from promptpack.source import Cut, Source
from promptpack.stored_values import as_plain, flat, listed, restored, texts, typed, wrong
from promptpack.window import Budget

FORMAT = 1


def payload_to_dict(payload: Payload) -> dict[str, Any]:
    """Return a payload as plain data: texts, numbers, lists and mappings.

    What JSON has no form for is written as a mapping with one key: `{"$date": ...}`, `{"$float": "nan"}`,
    `{"$tuple": [...]}`, `{"$text": ...}` for a text with lone surrogates. What is left (an object in the metadata,
    which nothing sends, or what lies deeper than 64 levels) becomes `{"$object": its type}`. `Source.origin` is not
    written.
    """
    return {
        "format": FORMAT,
        "messages": [_message(one) for one in payload.messages],
        "sources": [_packed(one) for one in payload.sources],
        "labels": as_plain(payload.labels.to_dict()),
        "dropped": [_dropped(one) for one in payload.dropped],
        "dropped_turns": [_dropped_turn(one) for one in payload.dropped_turns],
        "budget": flat(payload.budget),
        "report": _report(payload.report),
        **({"tools": as_plain(list(payload.tools))} if payload.tools else {}),
        **({} if payload.question is None else {"question": as_plain(payload.question)}),
        **({"layout": flat(payload.layout)} if payload.layout else {}),
    }


def payload_from_dict(data: Mapping[str, Any]) -> Payload:
    """Read what `payload_to_dict` wrote; SourceError where it is something else."""
    if not isinstance(data, Mapping):
        raise SourceError(f"payload: expected a mapping, got {quote(data)}", field="payload")
    if type(data.get("format")) is not int or data["format"] != FORMAT:
        raise SourceError(
            f"payload: format {quote(data.get('format'))} is not known; this version reads format {FORMAT}",
            field="format",
        )
    try:
        return Payload(
            messages=tuple(_read_message(one) for one in listed(data, "messages")),
            sources=tuple(_read_packed(one) for one in listed(data, "sources")),
            labels=Labels.from_dict(restored(data["labels"])),
            dropped=tuple(_read_dropped(one) for one in listed(data, "dropped")),
            dropped_turns=tuple(_read_dropped_turn(one) for one in listed(data, "dropped_turns")),
            budget=Budget(**data["budget"]),
            report=_read_report(restored(data["report"])),
            tools=tuple(restored(one) for one in listed(data, "tools")) if "tools" in data else (),
            question=typed(data, "question", str | None) if "question" in data else None,
            layout=Layout(**restored(data["layout"])) if data.get("layout") is not None else None,
        )
    except PromptpackError:
        raise
    except Exception as error:  # data from outside can be wrong in any way
        raise SourceError(
            f"payload: not what to_dict wrote ({type(error).__name__}: {quote(str(error))})", field="payload"
        ) from error


def _source(source: Source) -> dict[str, Any]:
    """Write the fields that differ from their defaults, and id and text always."""
    raw: dict[str, Any] = {}
    for name, default in _defaults():
        value = getattr(source, name)
        if value is default or (name not in ("id", "text") and value == default):
            continue
        if name == "cut":
            raw["cut"] = flat(value)
        elif name != "metadata" or value:
            raw[name] = as_plain(value)
    return raw


@cache
def _defaults() -> tuple[tuple[str, Any], ...]:
    return tuple((one.name, one.default) for one in fields(Source) if one.name != "origin")


def _read_source(data: Mapping[str, Any]) -> Source:
    values = restored({"fields": data})["fields"]  # one level down, so that no field is taken for a tag
    if values.get("cut") is not None:
        values["cut"] = Cut(**values["cut"])
    return Source(**values)


def _packed(one: PackedSource) -> dict[str, Any]:
    raw = flat(one, ("source", "text", "chunk_ids", "ranges")) | {
        "source": _source(one.source), "chunk_ids": as_plain(list(one.chunk_ids)),
    }
    if one.text == one.source.text:
        del raw["text"]  # nearly always, and the largest part
    else:
        raw["text"] = as_plain(one.text)
    del raw["ranges"]
    if one.ranges:
        raw["ranges"] = [list(pair) for pair in one.ranges]
    return raw


def _read_packed(data: Mapping[str, Any]) -> PackedSource:
    source = _read_source(data["source"])
    attributes = typed(data, "attributes", dict)
    if not all(isinstance(part, str) for pair in attributes.items() for part in pair):
        raise wrong("attributes", "a mapping of texts", attributes)
    return PackedSource(
        label=typed(data, "label", str), source=source,
        text=typed(data, "text", str) if "text" in data else source.text,
        chunk_ids=texts(data, "chunk_ids"), attributes=attributes, rank=typed(data, "rank", int),
        position=typed(data, "position", int), region=typed(data, "region", str, known=get_args(Region)),
        tokens=typed(data, "tokens", int), value=typed(data, "value", float),
        ranges=_read_ranges(data["ranges"]) if "ranges" in data else (),
    )


def _read_ranges(data: object) -> tuple[tuple[int, int], ...]:
    if not isinstance(data, list) or any(
        not isinstance(one, list) or len(one) != 2 or any(type(at) is not int for at in one) for one in data
    ):
        raise wrong("ranges", "a list of pairs of offsets", data)
    return tuple((start, end) for start, end in data)


def _dropped(one: Dropped) -> dict[str, Any]:
    raw = flat(one, ("source", "reason")) | {"source": _source(one.source), "reason": str(one.reason)}
    if one.of is None:
        del raw["of"]
    return raw


def _read_dropped(data: Mapping[str, Any]) -> Dropped:
    return Dropped(
        source=_read_source(data["source"]), rank=typed(data, "rank", int), cost=typed(data, "cost", int | None),
        reason=DropReason(data["reason"]), stage=typed(data, "stage", str), detail=typed(data, "detail", str),
        of=typed(data, "of", str) if "of" in data else None,
    )


def _message(message: Message) -> dict[str, Any]:
    content = message.content
    raw = {"role": message.role, "content": as_plain(list(content) if isinstance(content, tuple) else content)}
    if message.tool_calls:
        raw["tool_calls"] = as_plain(list(message.tool_calls))
    if message.extra:
        raw["extra"] = as_plain(message.extra)
    if message.keys:
        raw["keys"] = as_plain(list(message.keys))
    if message.native is not None:
        native = message.native
        raw["native"] = {"shape": native.shape, "items": as_plain(list(native.items)), "joined": native.joined}
    if message.attached is not None:
        raw["attached"] = message.attached
    for name in ("name", "tool_call_id"):
        if getattr(message, name) is not None:
            raw[name] = as_plain(getattr(message, name))
    return raw


def _read_message(data: Mapping[str, Any]) -> Message:
    content = restored(data["content"])
    return Message(
        typed(data, "role", str), tuple(content) if isinstance(content, list) else content,
        name=restored(data.get("name")), tool_call_id=restored(data.get("tool_call_id")),
        tool_calls=tuple(typed(data, "tool_calls", list)) if "tool_calls" in data else (),
        extra=typed(data, "extra", dict) if "extra" in data else {},
        keys=texts(data, "keys") if "keys" in data else (),
        native=_read_native(data["native"]) if "native" in data else None, attached=data.get("attached"),
    )


def _read_native(data: Mapping[str, Any]) -> Native:
    items = typed(data, "items", list)
    if not all(isinstance(one, Mapping) for one in items):
        raise wrong("native", "a list of mappings", items)
    return Native(typed(data, "shape", str), tuple(items), joined=typed(data, "joined", bool))


def _dropped_turn(one: DroppedTurn) -> dict[str, Any]:
    return {
        "messages": [_message(message) for message in one.turn.messages], "index": one.turn.index,
        "size": as_plain(one.size), "reason": one.reason, "detail": one.detail,
    }


def _read_dropped_turn(data: Mapping[str, Any]) -> DroppedTurn:
    messages = tuple(_read_message(one) for one in listed(data, "messages"))
    return DroppedTurn(
        Turn(messages, typed(data, "index", int)), typed(data, "size", int),
        typed(data, "reason", str, known=get_args(TurnReason)), typed(data, "detail", str),
    )


def _report(report: Report) -> dict[str, Any]:
    raw = flat(report, ("escaped", "notes", "use")) | {
        "escaped": [as_plain(list(one)) for one in report.escaped], "notes": as_plain(list(report.notes)),
    }
    del raw["use"]
    if report.use is not None:
        use = report.use
        raw["use"] = {"curve": as_plain(use.curve.to_dict()), "expected": use.expected, "bound": use.bound}
    return raw


def _read_use(data: Mapping[str, Any]) -> Use:
    try:
        curve = PositionCurve.from_dict(typed(data, "curve", dict))
    except OptionError as error:
        raise SourceError(f"payload: use: {error}", field="use") from error
    return Use(curve, typed(data, "expected", float), typed(data, "bound", float))


def _read_report(data: Mapping[str, Any]) -> Report:
    return Report(
        counter=typed(data, "counter", str), exact=typed(data, "exact", bool), template=typed(data, "template", str),
        model=typed(data, "model", str | None), notes=texts(data, "notes"),
        escaped=tuple((str(place), str(kind), int(count)) for place, kind, count in typed(data, "escaped", list)),
        select=typed(data, "select", str) if "select" in data else "",
        use=_read_use(typed(data, "use", dict)) if "use" in data else None,
    )
