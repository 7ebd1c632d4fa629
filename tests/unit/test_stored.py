"""A payload as plain data: it comes back equal, also elsewhere, and what is something else is refused."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from markupsafe import Markup

from promptpack.builder import PromptBuilder
from promptpack.errors import PromptpackError, SourceError
from promptpack.labels import Labels
from promptpack.payload import Payload
from promptpack.source import Cut, Source
from promptpack.window import Window

ROOT = Path(__file__).parents[2]


class Level(str, Enum):  # noqa: UP042 - the older kind, whose str() is not its value
    HIGH = "high"


def rich() -> Payload:
    """A payload with something in every part: merges, cuts, drops, turns, tool calls, labels of an earlier turn."""
    hits = [
        Source(
            "a",
            "Alpha text about returns.",
            0.9,
            document="d",
            position=1,
            updated=date(2026, 3, 1),
            reliability=0.5,
            metadata={"title": "T", "nested": {"x": [1, {"y": None}]}, "pair": (1, ("a",))},
        ),
        Source("b", "Beta text. " * 200, 0.8, updated=datetime(2026, 3, 1, 9, tzinfo=UTC)),
        Source("c", "Alpha text about returns.", 0.7),
        Source("e", " \n", 0.6),
        Source("x", "One.", 0.5),
        Source("x", "Two.", 0.4),
        Source(
            "f",
            "First sentence of it. Second sentence of it. Third sentence of it.",
            0.3,
            required=True,
            cut=Cut("end", 2, "word", "[...]"),
            priority=2.5,
            tokens=14,
            start=3,
            end=9,
            updated=1_772_323_200,
        ),
        Source("p", "Pinned.", 0.2, pinned=True, origin=object()),
    ]
    history = [
        ("assistant", "Hello."),
        ("user", "old " * 500),
        ("assistant", "old answer"),
        ("user", "Weather?"),
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "1", "type": "function", "function": {"name": "w", "arguments": '{"city": "Bonn"}'}}],
        },
        {"role": "tool", "tool_call_id": "1", "content": "12 degrees </source_1>"},
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "12 degrees [S1]."}],
            "refusal": None,
            "extra": {"k": [1]},
        },
    ]
    return (
        PromptBuilder(
            Window(700, answer=100, history=200),
            counter="words",
            labels=Labels(carried={"S1": ("a",), "S4": ("gone",)}),
        )
        .add_sources(hits)
        .add_history(history)
        .with_system("Be kind.")
        .with_question("Why </question>?")
        .render()
    )


def small(**metadata: Any) -> Payload:
    return PromptBuilder(2000, counter="words").add_sources([Source("a", "Text.", metadata=metadata)]).render()


def there_and_back(payload: Payload) -> Payload:
    return Payload.from_dict(json.loads(json.dumps(payload.to_dict())))


def test_everything_comes_back() -> None:
    payload = rich()
    assert payload.dropped
    assert payload.dropped_turns
    assert payload.labels.stale
    again = there_and_back(payload)
    assert again == payload
    assert hash(again) == hash(payload)
    assert again.to_dict() == payload.to_dict()
    assert again.to_openai() == payload.to_openai()
    assert again.explain() == payload.explain()
    assert again.text == payload.text
    assert again.verify("Yes [S1].") == payload.verify("Yes [S1].")
    assert again.carry_labels() == payload.carry_labels()


def test_everything_comes_back_in_another_process() -> None:
    """A queue between two services: nothing of this process may be needed to read it."""
    code = (
        "import json, sys\n"
        "from promptpack import Payload\n"
        "payload = Payload.from_dict(json.load(sys.stdin))\n"
        "print(json.dumps([payload.to_dict(), payload.to_openai(), payload.explain(), payload.tokens]))"
    )
    payload = rich()
    run = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(payload.to_dict()),
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "99"},
    )
    assert json.loads(run.stdout) == json.loads(
        json.dumps([payload.to_dict(), payload.to_openai(), payload.explain(), payload.tokens])
    )


def test_pickling_and_copying() -> None:
    payload = replace(
        rich(), sources=tuple(replace(one, source=replace(one.source, origin=None)) for one in rich().sources)
    )
    for same in (pickle.loads(pickle.dumps(payload)), copy.copy(payload), copy.deepcopy(payload)):
        assert same == payload
        assert hash(same) == hash(payload)


def test_what_was_written_shares_nothing_with_the_payload() -> None:
    payload = small(tags=["a"])
    payload.to_dict()["sources"][0]["source"]["metadata"]["tags"].append("b")
    assert payload == small(tags=["a"])


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0,
        -1,
        2.5,
        "",
        "text",
        "\x00",
        "\u2028",
        [],
        {},
        [1, [2]],
        {"a": {"b": []}},
        float("inf"),
        float("-inf"),
        (),
        (1, (2,)),
        [(1,)],
        date(2026, 1, 1),
        datetime(2026, 1, 1, 1, 2, 3, 4),
        datetime(2026, 1, 1, tzinfo=UTC),
        Decimal("1.50"),
        b"\x00\xff",
        10**30,
        pytest.param(10**5000, id="huge"),
        "\ud800",
        "\ud83d\ude00",
        "a\udfff",
        {"$date": "x"},
        {"$float": 1, "b": 2},
        {"$object": "x"},
        {"$": 1},
        {"$mapping": [1]},
        {1: "a"},
        {None: 1},
        {(1, 2): "t"},
        {"1": "a", 1: "b"},
        {"\ud800": 1},
        {True: 0},
        np.int64(3),
        np.float64(0.5),
        np.float32(0.1),
        Markup("<b>"),
        Level.HIGH,
        {"deep": [{"x": ({"$tuple": 1},)}]},
    ],
    ids=lambda v: type(v).__name__,
)
def test_metadata_of_every_kind(value: Any) -> None:
    """Metadata is what users put there; a list that was a tuple is another payload."""
    payload = small(value=value)
    again = there_and_back(payload)
    assert again == payload
    json.dumps(payload.to_dict(), ensure_ascii=False).encode("utf-8")


def test_not_a_number_comes_back_as_one() -> None:
    again = there_and_back(small(value=float("nan"), list=[float("nan")]))
    assert str(again.sources[0].source.metadata["value"]) == "nan"
    assert json.dumps(small(value=float("nan")).to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    "value",
    [object(), {1}, 1j, Fraction(1, 3), Fraction(10**400), lambda: None, range(3), np.array([1])],
    ids=lambda v: type(v).__name__,
)
def test_objects_are_named(value: Any) -> None:
    plain = small(value=value).to_dict()["sources"][0]["source"]["metadata"]["value"]
    assert list(plain) == ["$object"]
    assert type(value).__qualname__ in plain["$object"]
    again = there_and_back(small(value=value))
    assert again == there_and_back(again)  # from then on nothing changes


def test_nesting_has_an_end() -> None:
    deep: Any = "end"
    for _ in range(2000):
        deep = {"in": deep}
    around: list[Any] = []
    around += [around, around]
    plain = small(deep=deep, around=around).to_dict()
    text = json.dumps(plain)
    assert "$object" in text
    assert len(text) < 20_000
    Payload.from_dict(json.loads(text))
    shared = [1]
    assert there_and_back(small(a=shared, b=[shared, shared])) == small(a=shared, b=[shared, shared])  # no cycle


@pytest.mark.parametrize(
    "text", ["\ud800 lone", "pair \ud83d\ude80", "nul \x00", "\u2028\u2029\x85", "\ufeffx", "x" * 100_000]
)
def test_texts_of_every_kind(text: str) -> None:
    payload = (
        PromptBuilder(200_000, counter="chars/4")
        .add_sources([Source(text[:50], text, metadata={"title": text[:50]}), Source("b", "B.")])
        .with_question(text)
        .render()
    )
    assert there_and_back(payload) == payload
    json.dumps(payload.to_dict(), ensure_ascii=False).encode("utf-8")


def test_numbers_of_numpy_in_sources() -> None:
    source = Source(
        "a",
        "Text.",
        np.float32(0.5),
        position=np.int64(1),
        updated=np.int64(1_772_323_200),
        tokens=np.int64(4),
        start=np.int32(0),
    )
    payload = PromptBuilder(np.int64(2000)).add_sources([source]).render()
    assert there_and_back(payload) == payload


def paths(data: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    for key in data if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ():
        yield from paths(data[key], (*at, key))


def changed(data: Any, path: tuple[Any, ...], change: Callable[[Any], Any]) -> Any:
    if not path:
        return change(data)
    made = copy.copy(data)
    made[path[0]] = changed(data[path[0]], path[1:], change)
    return made


PLAIN = rich().to_dict()
PLAIN.update(
    {name: PLAIN[name][:3] for name in ("sources", "dropped", "dropped_turns")}
)  # of each kind a few are enough
WRONG = [None, 5, "x", [], {}, [5], {"$date": "never"}, {"$float": []}, {"$mapping": 5}]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_any_part_that_is_wrong_is_our_error_or_harmless(wrong: Any) -> None:
    """Stored data goes through queues and hands; reading it must not end in a KeyError of nowhere."""
    for path in paths(PLAIN):
        data = changed(PLAIN, path, lambda _: wrong)
        try:
            payload = Payload.from_dict(data)
        except PromptpackError as error:
            str(error).encode("utf-8")
            assert len(str(error)) < 600  # noqa: PT017
        else:
            assert isinstance(payload.tokens, int), path
            assert isinstance(payload.explain(), str), path
            assert payload == Payload.from_dict(payload.to_dict()), path


def test_any_part_that_is_missing_is_our_error_or_harmless() -> None:
    for path in paths(PLAIN):
        if path and isinstance(path[-1], str):
            data = changed(PLAIN, path[:-1], lambda part, key=path[-1]: {k: v for k, v in part.items() if k != key})
            try:
                Payload.from_dict(data)
            except PromptpackError as error:
                assert str(error)  # noqa: PT017


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        (("sources", 0, "label"), 5),
        (("sources", 0, "rank"), "1"),
        (("sources", 0, "region"), "top"),
        (("sources", 0, "tokens"), 1.5),
        (("sources", 0, "value"), "x"),
        (("sources", 0, "chunk_ids"), "ab"),
        (("sources", 0, "chunk_ids"), [5]),
        (("sources", 0, "attributes"), {"a": 5}),
        (("dropped", 0, "reason"), "mood"),
        (("dropped", 0, "cost"), "1"),
        (("dropped", 0, "rank"), True),
        (("dropped_turns", 0, "reason"), "mood"),
        (("dropped_turns", 0, "size"), None),
        (("report", "counter"), None),
        (("report", "exact"), 1),
        (("report", "notes"), "note"),
        (("report", "escaped"), [["a"]]),
        (("budget", "window"), "x"),
        (("budget", "room"), 5),
        (("labels", "sent"), "S1"),
        (("labels", "carried"), None),
        (("messages",), {}),
        (("messages", 0), "x"),
        (("messages", 0, "role"), "boss"),
        (("sources", 0, "source", "score"), "x"),
        (("sources", 0, "source", "colour"), "red"),
        (("sources", 0, "source"), None),
        (("report",), None),
    ],
)
def test_wrong_parts_are_refused(path: tuple[Any, ...], wrong: Any) -> None:
    with pytest.raises(PromptpackError):
        Payload.from_dict(
            changed(
                PLAIN,
                path[:-1],
                lambda part: {**part, path[-1]: wrong} if isinstance(part, dict) else [wrong, *part[1:]],
            )
        )


@pytest.mark.parametrize(
    "data",
    [None, 5, "x", [], {}, {"format": 0}, {"format": 2}, {"format": "1"}, {"format": 1}, {"messages": []}],
    ids=str,
)
def test_no_payload_at_all(data: Any) -> None:
    with pytest.raises(SourceError, match=r"^payload: ") as caught:
        Payload.from_dict(data)
    assert caught.value.field in ("payload", "format")


def test_deep_data_from_outside() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(SourceError, match="RecursionError"):
        Payload.from_dict({**PLAIN, "labels": deep})
    while deep:
        deep = deep[0]
