"""The label map: what it refuses, how it counts, and that it stays a map of the whole conversation."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from promptpack.errors import OptionError
from promptpack.labels import LAST, Labels, number


@pytest.mark.parametrize(
    "prefix",
    [
        "",
        " ",
        "S1",
        "S-",
        "ß",
        "Ｓ",
        "S\n",
        "S" * 13,
        None,
        5,
        b"S",
        ["S"],
        "\ud800",
        "S" * 10**6,
        "S\x00",
    ],
    ids=lambda one: f"{type(one).__name__}",
)
def test_prefixes_that_no_citation_could_have(prefix: object) -> None:
    with pytest.raises(OptionError, match="prefix has 1 to 12 ASCII letters") as caught:
        Labels(prefix)  # type: ignore[arg-type]
    assert caught.value.name == "prefix"
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    "carried",
    [
        None,
        5,
        "S1",
        ["S1"],
        {("S1",): "a"},
        {1: "a"},
        {None: "a"},
        {"S0": "a"},
        {"S01": "a"},
        {"S": "a"},
        {"s1": "a"},
        {"S10000": "a"},
        {"S-1": "a"},
        {"S1 ": "a"},
        {"T1": "a"},
        {"S١": "a"},
        {"S1": None},
        {"S1": 5},
        {"S1": b"a"},
        {"S1": ()},
        {"S1": []},
        {"S1": (None,)},
        {"S1": ("a", 5)},
        {"S1": {"a"}},
        {"S1": {"a": 1}},
        {"S1": (("a",),)},
        {"S1": "a", "S2": ("a",)},
        {"S1": object()},
        {"S1": iter("ab")},
        {"S" + "1" * 10**6: "a"},
    ],
    ids=lambda one: str(one).split(" at 0x")[0][:30],
)
def test_carried_maps_that_are_none(carried: object) -> None:
    with pytest.raises(OptionError, match=r"^labels: ") as caught:
        Labels(carried=carried)  # type: ignore[arg-type]
    assert caught.value.name in ("carried", "label")
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(
    "sent", [None, 5, "S1", {"S1"}, {"S1": 1}, ("S2",), (None,), ([1],), ("S1", "S1"), iter(["S1"])]
)
def test_sent_labels_that_are_none(sent: object) -> None:
    with pytest.raises(OptionError, match=r"^labels: ") as caught:
        Labels(carried={"S1": "a"}, sent=sent)  # type: ignore[arg-type]
    assert caught.value.name == "sent"


@pytest.mark.parametrize(
    "passages",
    [
        None,
        5,
        "ab",
        [None],
        [5],
        [[]],
        [()],
        [[5]],
        [{"a"}],
        [("a",), ("a",)],
        ["a", ("a",)],
        {"a": 1},
        iter(["a"]),
    ],
    ids=lambda one: str(one).split(" at 0x")[0][:30],
)
def test_passages_that_are_none(passages: object) -> None:
    """One passage under two labels, or one label for two, and the answer cannot be resolved."""
    with pytest.raises(OptionError, match=r"^labels: ") as caught:
        Labels().assign(passages)  # type: ignore[arg-type]
    assert caught.value.name in ("passages", "carried")


def test_a_text_is_one_id() -> None:
    assert dict(Labels().assign(["ab"])) == {"S1": ("ab",)} == dict(Labels(carried={"S1": "ab"}, sent=("S1",)))


@pytest.mark.parametrize("label", ["S0", "S", "S00001", "S1x", " S1", "S1\n", "S²", "", None, 5, b"S1", "S12345"])
def test_number_refuses(label: object) -> None:
    with pytest.raises(OptionError, match="expected S1 to S9999"):
        number(label, "S")  # type: ignore[arg-type]


@pytest.mark.parametrize(("label", "value"), [("S1", 1), ("S10", 10), ("S9999", 9999)])
def test_number(label: str, value: int) -> None:
    assert number(label, "S") == value


def test_carried_labels_stay_and_new_ones_go_on() -> None:
    first = Labels().assign([("a",), ("b",), ("c",)])
    second = first.carry().assign([("d",), ("b",)])
    third = second.carry().assign([("a",), ("e",), ("d",)])
    assert list(third.items()) == [("S1", ("a",)), ("S5", ("e",)), ("S4", ("d",))]
    assert dict(third.stale) == {"S2": ("b",), "S3": ("c",)}
    assert third.highest == 5
    assert third.known()[("c",)] == 3
    assert dict(first) == {"S1": ("a",), "S2": ("b",), "S3": ("c",)}  # untouched


def test_a_carried_map_with_gaps_goes_on_after_the_highest() -> None:
    labels = Labels("Doc", {"Doc7": ("a",), "Doc3": ("b",)}).assign([("c",), ("b",)])
    assert list(labels) == ["Doc8", "Doc3"]


def test_a_merged_passage_is_another_one_than_its_part() -> None:
    labels = Labels().assign([("a",)]).carry().assign([("a", "b"), ("a",)])
    assert dict(labels) == {"S2": ("a", "b"), "S1": ("a",)}


def test_labels_end_where_citations_do() -> None:
    full = Labels(carried={f"S{n}": f"id{n}" for n in range(1, LAST + 1)})
    assert list(full.assign([("id9999",), ("id1",)])) == ["S9999", "S1"]
    with pytest.raises(OptionError, match="labels end at S9999") as caught:
        full.assign([("new",)])
    assert caught.value.given == LAST + 1


def test_it_is_a_mapping() -> None:
    labels = Labels().assign([("a",), ("b", "c")])
    assert isinstance(labels, Mapping)
    assert labels["S2"] == ("b", "c")
    assert len(labels) == 2
    assert "S2" in labels
    assert "S3" not in labels
    assert labels.get("S3") is None
    assert labels.carry().get("S1") is None  # carried, and not sent in this turn
    with pytest.raises(KeyError):  # what a mapping does; `Payload[...]` names the choices
        labels["S3"]


@pytest.mark.parametrize(
    "labels",
    [
        Labels(),
        Labels("Doc"),
        Labels().assign([("a",), ("b", "c")]),
        Labels().assign([("a",)]).carry().assign([("b",)]),
        Labels().assign([("\ud800",), ("\x00",), ("",)]),
    ],
    ids=str,
)
def test_copies_are_equal_and_work(labels: Labels) -> None:
    stored = Labels.from_dict(json.loads(json.dumps(labels.to_dict())))
    for one in (pickle.loads(pickle.dumps(labels)), copy.copy(labels), copy.deepcopy(labels), replace(labels), stored):
        assert one == labels
        assert hash(one) == hash(labels)
        assert dict(one) == dict(labels)
        assert one.carry().assign([("new",)]) == labels.carry().assign([("new",)])


def test_what_went_in_can_change_later() -> None:
    """A map that its caller goes on writing to must not rename passages."""
    carried = {"S1": ["a"]}
    labels = Labels(carried=carried, sent=["S1"])  # type: ignore[arg-type]
    carried["S1"].append("b")
    carried["S2"] = ["c"]
    assert dict(labels) == {"S1": ("a",)}
    assert labels.highest == 1


@pytest.mark.parametrize(
    "data",
    [
        None,
        5,
        "x",
        [],
        {"prefix": None},
        {"carried": []},
        {"carried": {"S1": None}},
        {"sent": None},
        {"sent": "S1"},
        {"sent": ["S1"]},
        {"prefix": "T", "carried": {"S1": ["a"]}},
        {"sent": 5},
    ],
    ids=str,
)
def test_from_dict_refuses(data: object) -> None:
    with pytest.raises(OptionError, match=r"^labels: "):
        Labels.from_dict(data)  # type: ignore[arg-type]


def test_the_prefix_of_a_label_is_told_in_one_place() -> None:
    """If it fails, a label that is spelled otherwise one day is read in the old way somewhere."""
    package = Path(__file__).parents[2] / "promptpack"
    found = [path.name for path in package.rglob("*.py") if '.rstrip("0123456789")' in path.read_text(encoding="utf-8")]
    assert found == ["labels.py"]
