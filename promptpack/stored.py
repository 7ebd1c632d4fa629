"""A payload as plain data and back: what `to_dict` writes, JSON can hold, and `from_dict` reads in another process."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import date, datetime
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, get_args

from promptpack.errors import PromptpackError, SourceError, quote
from promptpack.history import DroppedTurn, TurnReason
from promptpack.labels import Labels
from promptpack.layout import Layout
from promptpack.messages import Message, Turn
from promptpack.native_form import Native
from promptpack.packing.candidate import Dropped, DropReason, Region
from promptpack.payload import PackedSource, Payload, Report
from promptpack.source import Cut, Source
from promptpack.wellformed import encodes
from promptpack.window import Budget

FORMAT = 1
_DEEPEST = 64
_LONGEST = 10**4000  # a whole number that Python's JSON still reads and writes as digits


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
        "labels": _plain(payload.labels.to_dict()),
        "dropped": [_dropped(one) for one in payload.dropped],
        "dropped_turns": [_dropped_turn(one) for one in payload.dropped_turns],
        "budget": _flat(payload.budget),
        "report": {
            **_flat(payload.report), "escaped": [_plain(list(one)) for one in payload.report.escaped],
            "notes": _plain(list(payload.report.notes)),
        },
        **({"tools": _plain(list(payload.tools))} if payload.tools else {}),
        **({} if payload.question is None else {"question": _plain(payload.question)}),
        **({"layout": _flat(payload.layout)} if payload.layout else {}),
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
            messages=tuple(_read_message(one) for one in _list(data, "messages")),
            sources=tuple(_read_packed(one) for one in _list(data, "sources")),
            labels=Labels.from_dict(_value(data["labels"])),
            dropped=tuple(_read_dropped(one) for one in _list(data, "dropped")),
            dropped_turns=tuple(_read_dropped_turn(one) for one in _list(data, "dropped_turns")),
            budget=Budget(**data["budget"]),
            report=_read_report(_value(data["report"])),
            tools=tuple(_value(one) for one in _list(data, "tools")) if "tools" in data else (),
            question=_typed(data, "question", str | None) if "question" in data else None,
            layout=Layout(**_value(data["layout"])) if data.get("layout") is not None else None,
        )
    except PromptpackError:
        raise
    except Exception as error:  # data from outside can be wrong in any way
        raise SourceError(
            f"payload: not what to_dict wrote ({type(error).__name__}: {quote(str(error))})", field="payload"
        ) from error


def _flat(value: Any) -> dict[str, Any]:
    return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}


def _plain(value: Any, around: tuple[int, ...] = ()) -> Any:
    """Return a value as JSON can hold it; what it cannot hold is tagged. `around`: the ids of what encloses it."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        text = str.__str__(value)
        return text if encodes(text) else {"$text": text.encode("utf-8", "surrogatepass").hex()}
    if isinstance(value, datetime):
        return {"$datetime": value.isoformat()}
    if isinstance(value, date):
        return {"$date": value.isoformat()}
    if isinstance(value, Integral):
        number = int(value)
        return number if abs(number) < _LONGEST else {"$int": hex(number)}
    if isinstance(value, Real) and _is_float(value):
        return float(value) if math.isfinite(value) else {"$float": str(float(value))}
    if isinstance(value, Decimal):
        return {"$decimal": str(value)}
    if isinstance(value, bytes):
        return {"$bytes": value.hex()}
    if len(around) < _DEEPEST and id(value) not in around:  # what holds itself has no end
        inside = (*around, id(value))
        if isinstance(value, Mapping):
            return _plain_mapping(value, inside)
        if isinstance(value, list | tuple):
            plain = [_plain(one, inside) for one in value]
            return plain if isinstance(value, list) else {"$tuple": plain}
    return {"$object": f"{type(value).__module__}.{type(value).__qualname__}"}


def _plain_mapping(value: Mapping[Any, Any], around: tuple[int, ...]) -> dict[str, Any]:
    """Return a mapping as it is, or as pairs where a key is no text, has a lone surrogate or looks like a tag."""
    if len(value) == 1 and isinstance(value.get("$object"), str):
        return {"$object": _plain(value["$object"])}  # read back from such a tag: it is written as it was
    pairs = [(_plain(key, around), _plain(one, around)) for key, one in value.items()]
    if all(isinstance(key, str) and not key.startswith("$") for key, _ in pairs):
        return dict(pairs)
    return {"$mapping": [list(pair) for pair in pairs]}


def _is_float(value: Real) -> bool:
    try:
        return bool(float(value) == value) or value != value
    except OverflowError:  # a fraction beyond the range of a float
        return False


_TAGS: Mapping[str, Callable[[Any], Any]] = {
    "$float": float,
    "$int": lambda digits: int(digits, 16),
    "$decimal": Decimal,
    "$bytes": bytes.fromhex,
    "$text": lambda digits: bytes.fromhex(digits).decode("utf-8", "surrogatepass"),
    "$datetime": datetime.fromisoformat,
    "$date": date.fromisoformat,
    "$object": lambda name: {"$object": name},
    "$tuple": lambda inner: tuple(_value(one) for one in inner),
    "$mapping": lambda pairs: {_value(key): _value(one) for key, one in pairs},
}


def _value(data: Any) -> Any:
    """Return the value that plain data stands for."""
    if isinstance(data, Mapping):
        if len(data) == 1:
            ((key, inner),) = data.items()
            if key in _TAGS:
                return _TAGS[key](inner)
        return {key: _value(one) for key, one in data.items()}
    if isinstance(data, list | tuple):
        return [_value(one) for one in data]
    return data


def _list(data: Mapping[str, Any], name: str) -> list[Any]:
    """Return a list of mappings, which is what every part with several members is."""
    found = data[name]
    if not isinstance(found, list | tuple) or not all(isinstance(one, Mapping) for one in found):
        raise _wrong(name, "a list of mappings", found)
    return list(found)


def _typed(data: Mapping[str, Any], name: str, kind: Any, *, known: tuple[str, ...] = ()) -> Any:
    """Return a field, checked; an integer is also a float, a truth value is neither."""
    found = _value(data[name])
    right = isinstance(found, kind | int if kind is float else kind) and (kind is bool or not isinstance(found, bool))
    if not right or (known and found not in known):
        raise _wrong(name, f"one of {', '.join(known)}" if known else getattr(kind, "__name__", str(kind)), found)
    return found


def _wrong(name: str, expected: str, got: object) -> SourceError:
    return SourceError(f"payload: {name}: expected {expected}, got {quote(got)}", field=name)


def _texts(data: Mapping[str, Any], name: str) -> tuple[str, ...]:
    found = _typed(data, name, list)
    if not all(isinstance(one, str) for one in found):
        raise _wrong(name, "a list of texts", found)
    return tuple(found)


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
    values = _value({"fields": data})["fields"]  # one level down, so that no field is taken for a tag
    if values.get("cut") is not None:
        values["cut"] = Cut(**values["cut"])
    return Source(**values)


def _packed(one: PackedSource) -> dict[str, Any]:
    plain = _flat(one) | {"source": _source(one.source), "chunk_ids": _plain(list(one.chunk_ids))}
    if one.text == one.source.text:
        del plain["text"]  # nearly always, and the largest part
    return plain


def _read_packed(data: Mapping[str, Any]) -> PackedSource:
    source = _read_source(data["source"])
    attributes = _typed(data, "attributes", dict)
    if not all(isinstance(part, str) for pair in attributes.items() for part in pair):
        raise _wrong("attributes", "a mapping of texts", attributes)
    return PackedSource(
        label=_typed(data, "label", str), source=source,
        text=_typed(data, "text", str) if "text" in data else source.text,
        chunk_ids=_texts(data, "chunk_ids"), attributes=attributes, rank=_typed(data, "rank", int),
        position=_typed(data, "position", int), region=_typed(data, "region", str, known=get_args(Region)),
        tokens=_typed(data, "tokens", int), value=_typed(data, "value", float),
    )


def _dropped(one: Dropped) -> dict[str, Any]:
    plain = _flat(one) | {"source": _source(one.source), "reason": str(one.reason)}
    if one.of is None:
        del plain["of"]
    return plain


def _read_dropped(data: Mapping[str, Any]) -> Dropped:
    return Dropped(
        source=_read_source(data["source"]), rank=_typed(data, "rank", int), cost=_typed(data, "cost", int | None),
        reason=DropReason(data["reason"]), stage=_typed(data, "stage", str), detail=_typed(data, "detail", str),
        of=_typed(data, "of", str) if "of" in data else None,
    )


def _message(message: Message) -> dict[str, Any]:
    content = message.content
    plain = {"role": message.role, "content": _plain(list(content) if isinstance(content, tuple) else content)}
    if message.tool_calls:
        plain["tool_calls"] = _plain(list(message.tool_calls))
    if message.extra:
        plain["extra"] = _plain(message.extra)
    if message.keys:
        plain["keys"] = _plain(list(message.keys))
    if message.native is not None:
        native = message.native
        plain["native"] = {"shape": native.shape, "items": _plain(list(native.items)), "joined": native.joined}
    if message.attached is not None:
        plain["attached"] = message.attached
    for name in ("name", "tool_call_id"):
        if getattr(message, name) is not None:
            plain[name] = _plain(getattr(message, name))
    return plain


def _read_message(data: Mapping[str, Any]) -> Message:
    content = _value(data["content"])
    return Message(
        _typed(data, "role", str), tuple(content) if isinstance(content, list) else content,
        name=_value(data.get("name")), tool_call_id=_value(data.get("tool_call_id")),
        tool_calls=tuple(_typed(data, "tool_calls", list)) if "tool_calls" in data else (),
        extra=_typed(data, "extra", dict) if "extra" in data else {},
        keys=_texts(data, "keys") if "keys" in data else (),
        native=_read_native(data["native"]) if "native" in data else None, attached=data.get("attached"),
    )


def _read_native(data: Mapping[str, Any]) -> Native:
    items = _typed(data, "items", list)
    if not all(isinstance(one, Mapping) for one in items):
        raise _wrong("native", "a list of mappings", items)
    return Native(_typed(data, "shape", str), tuple(items), joined=_typed(data, "joined", bool))


def _dropped_turn(one: DroppedTurn) -> dict[str, Any]:
    return {
        "messages": [_message(message) for message in one.turn.messages], "index": one.turn.index,
        "size": _plain(one.size), "reason": one.reason, "detail": one.detail,
    }


def _read_dropped_turn(data: Mapping[str, Any]) -> DroppedTurn:
    messages = tuple(_read_message(one) for one in _list(data, "messages"))
    return DroppedTurn(
        Turn(messages, _typed(data, "index", int)), _typed(data, "size", int),
        _typed(data, "reason", str, known=get_args(TurnReason)), _typed(data, "detail", str),
    )


def _read_report(data: Mapping[str, Any]) -> Report:
    return Report(
        counter=_typed(data, "counter", str), exact=_typed(data, "exact", bool), template=_typed(data, "template", str),
        model=_typed(data, "model", str | None), notes=_texts(data, "notes"),
        escaped=tuple((str(place), str(kind), int(count)) for place, kind, count in _typed(data, "escaped", list)),
    )
