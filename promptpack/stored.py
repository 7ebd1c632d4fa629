"""A payload as plain data and back: what `to_dict` writes, JSON can hold, and `from_dict` reads in another process."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from datetime import date, datetime
from typing import Any

from promptpack.errors import PromptpackError, SourceError, quote
from promptpack.history import DroppedTurn
from promptpack.labels import Labels
from promptpack.messages import Message, Turn
from promptpack.packing.candidate import Dropped, DropReason
from promptpack.payload import PackedSource, Payload, Report
from promptpack.source import Cut, Source
from promptpack.window import Budget

FORMAT = 1
_DEEPEST = 64


def payload_to_dict(payload: Payload) -> dict[str, Any]:
    """Return a payload as plain data: texts, numbers, lists and mappings.

    Dates and numbers that JSON has no form for are written as `{"$date": ...}`, `{"$float": "nan"}`; an object in the
    metadata, which nothing sends, as `{"$object": its type}`. `Source.origin` is not written.
    """
    return {
        "format": FORMAT,
        "messages": [_message(one) for one in payload.messages],
        "sources": [_packed(one) for one in payload.sources],
        "labels": payload.labels.to_dict(),
        "dropped": [_dropped(one) for one in payload.dropped],
        "dropped_turns": [_dropped_turn(one) for one in payload.dropped_turns],
        "budget": _flat(payload.budget),
        "report": _flat(payload.report),
    }


def payload_from_dict(data: Mapping[str, Any]) -> Payload:
    """Read what `payload_to_dict` wrote; SourceError where it is something else."""
    if not isinstance(data, Mapping):
        raise SourceError(f"payload: expected a mapping, got {quote(data)}", field="payload")
    if data.get("format") != FORMAT:
        raise SourceError(
            f"payload: format {quote(data.get('format'))} is not known; this version reads format {FORMAT}",
            field="format",
        )
    try:
        report = data["report"]
        return Payload(
            messages=tuple(_read_message(one) for one in data["messages"]),
            sources=tuple(_read_packed(one) for one in data["sources"]),
            labels=Labels.from_dict(data["labels"]),
            dropped=tuple(_read_dropped(one) for one in data["dropped"]),
            dropped_turns=tuple(_read_dropped_turn(one) for one in data["dropped_turns"]),
            budget=Budget(**data["budget"]),
            report=Report(**{
                **report, "escaped": tuple((str(a), str(b), int(c)) for a, b, c in report["escaped"]),
                "notes": tuple(report["notes"]),
            }),
        )
    except PromptpackError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise SourceError(
            f"payload: not what to_dict wrote ({type(error).__name__}: {quote(str(error))})", field="payload"
        ) from error


def _flat(value: Any) -> dict[str, Any]:
    return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}


def _plain(value: Any, depth: int = 0) -> Any:
    """Return a value as JSON can hold it; what it cannot hold is tagged."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"$float": str(value)}
    if isinstance(value, datetime):
        return {"$datetime": value.isoformat()}
    if isinstance(value, date):
        return {"$date": value.isoformat()}
    if depth < _DEEPEST:
        if isinstance(value, Mapping):
            plain = {str(key): _plain(one, depth + 1) for key, one in value.items()}
            return {"$mapping": plain} if any(key.startswith("$") for key in plain) else plain
        if isinstance(value, list | tuple):
            return [_plain(one, depth + 1) for one in value]
    return {"$object": f"{type(value).__module__}.{type(value).__qualname__}"}


_TAGS: Mapping[str, Callable[[Any], Any]] = {
    "$float": float,
    "$datetime": datetime.fromisoformat,
    "$date": date.fromisoformat,
    "$object": lambda name: {"$object": name},
    "$mapping": lambda inner: {key: _value(one) for key, one in inner.items()},
}


def _value(data: Any) -> Any:
    if isinstance(data, Mapping):
        if len(data) == 1:
            ((key, inner),) = data.items()
            if key in _TAGS:
                return _TAGS[key](inner)
        return {key: _value(one) for key, one in data.items()}
    if isinstance(data, Sequence) and not isinstance(data, str):
        return [_value(one) for one in data]
    return data


def _source(source: Source) -> dict[str, Any]:
    """Write the fields that differ from their defaults, and id and text always."""
    plain: dict[str, Any] = {}
    for one in fields(source):
        value = getattr(source, one.name)
        if one.name == "origin" or (one.name not in ("id", "text") and value == one.default):
            continue
        if one.name == "cut":
            plain["cut"] = _flat(value)
        elif one.name != "metadata" or value:
            plain[one.name] = _plain(value)
    return plain


def _read_source(data: Mapping[str, Any]) -> Source:
    values = {key: _value(one) for key, one in data.items()}
    if values.get("cut") is not None:
        values["cut"] = Cut(**values["cut"])
    return Source(**values)


def _packed(one: PackedSource) -> dict[str, Any]:
    plain = {
        "label": one.label, "source": _source(one.source), "chunk_ids": list(one.chunk_ids),
        "attributes": dict(one.attributes), "rank": one.rank, "position": one.position, "region": one.region,
        "tokens": one.tokens, "value": one.value,
    }
    if one.text != one.source.text:
        plain["text"] = one.text
    return plain


def _read_packed(data: Mapping[str, Any]) -> PackedSource:
    source = _read_source(data["source"])
    return PackedSource(
        data["label"], source, data.get("text", source.text), tuple(data["chunk_ids"]), dict(data["attributes"]),
        data["rank"], data["position"], data["region"], data["tokens"], data["value"],
    )


def _dropped(one: Dropped) -> dict[str, Any]:
    plain = {
        "source": _source(one.source), "rank": one.rank, "cost": one.cost, "reason": str(one.reason),
        "stage": one.stage, "detail": one.detail,
    }
    return plain if one.of is None else {**plain, "of": one.of}


def _read_dropped(data: Mapping[str, Any]) -> Dropped:
    return Dropped(
        _read_source(data["source"]), data["rank"], data["cost"], DropReason(data["reason"]), data["stage"],
        data["detail"], data.get("of"),
    )


def _message(message: Message) -> dict[str, Any]:
    content = message.content
    plain: dict[str, Any] = {"role": message.role, "content": _plain(content)}
    if message.name is not None:
        plain["name"] = message.name
    if message.tool_calls:
        plain["tool_calls"] = _plain(message.tool_calls)
    if message.tool_call_id is not None:
        plain["tool_call_id"] = message.tool_call_id
    if message.extra:
        plain["extra"] = _plain(message.extra)
    if message.keys:
        plain["keys"] = list(message.keys)
    return plain


def _read_message(data: Mapping[str, Any]) -> Message:
    content = _value(data["content"])
    return Message(
        data["role"], tuple(content) if isinstance(content, list) else content, name=data.get("name"),
        tool_calls=tuple(_value(data.get("tool_calls", []))), tool_call_id=data.get("tool_call_id"),
        extra=_value(data.get("extra", {})), keys=tuple(data.get("keys", ())),
    )


def _dropped_turn(one: DroppedTurn) -> dict[str, Any]:
    return {
        "messages": [_message(message) for message in one.turn.messages], "index": one.turn.index, "size": one.size,
        "reason": one.reason, "detail": one.detail,
    }


def _read_dropped_turn(data: Mapping[str, Any]) -> DroppedTurn:
    messages = tuple(_read_message(one) for one in data["messages"])
    return DroppedTurn(Turn(messages, data["index"]), data["size"], data["reason"], data["detail"])
