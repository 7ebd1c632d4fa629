"""The runners themselves: a failure means that a vector file could be misread, or a check could not fail."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import case_calls
import golden_table
import injection_checks
import later
import pytest
import vector_files
from case_build import Outcome, Run
from case_checks import CHECKS, apply
from case_notation import expand
from golden_must import MUST
from golden_right import RIGHT, codes
from vector_files import HERE, same


def test_notation() -> None:
    assert expand({"a": [{"$repeat": ["ab", 3]}]}) == {"a": ["ababab"]}
    assert expand({"$words": ["a", 3]}) == "a1 a2 a3"
    turns = expand({"$turns": {"n": 3, "words": 2}})
    assert [turn["role"] for turn in turns] == ["user", "assistant", "user"]
    assert turns[2]["content"] == "t3x1 t3x2"
    numbered = {"n": 2, "words": 2, "score_start": 0.5, "score_step": -0.25}
    assert expand({"$numbered": {**numbered, "metadata": {"t": {"$words": ["m", 1]}}}}) == [
        {"id": "c1", "text": "w1x1 w1x2", "score": 0.5, "metadata": {"t": "m1"}},
        {"id": "c2", "text": "w2x1 w2x2", "score": 0.25, "metadata": {"t": "m1"}},
    ]
    assert math.isnan(expand({"$nan": True}))
    assert expand({"$inf": -1}) == -math.inf
    with pytest.raises(ValueError, match=r"\$other"):
        expand({"$other": 1})


@pytest.mark.parametrize(
    ("actual", "expected", "equal"),
    [
        (1.0, 1, True), (0.3, 0.1 + 0.2, True), (1.0, 1.000001, False), (0.0, 1e-13, True), (True, 1, False),
        ([1, 2], [2, 1], False), ([1], [1, 1], False), ((1, 2), [1, 2], True),
        ({"a": 1, "b": 2}, {"a": 1}, True),
        ({"b": 2}, {"a": 1}, False), (None, 1, False), ("1", 1, False), (None, None, True),
    ],
)
def test_same_compares_by_the_stated_tolerance(actual: Any, expected: Any, equal: bool) -> None:
    assert same(actual, expected) is equal


def test_folder_is_the_one_that_the_variable_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMPTPACK_VECTORS", str(tmp_path))
    assert vector_files.params("golden", lambda vector: None) == [], "a missing subfolder is no error"
    (tmp_path / "golden").mkdir()
    lines = ['{"id": "a", "function": "f"}', "", '{"id": "b", "function": "g"}', ""]
    (tmp_path / "golden" / "more.jsonl").write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    found = vector_files.params("golden", lambda vector: 7 if vector["function"] == "g" else None)
    assert [one.id for one in found] == ["a", "b"]
    assert [[mark.kwargs["reason"] for mark in one.marks] for one in found] == [[], ["belongs to issue 7"]]
    (tmp_path / "golden" / "more.jsonl").write_text('{"id": "a"}\n{"id": ')
    with pytest.raises(ValueError, match=r"more\.jsonl, line 2"):
        vector_files.read("golden")


def test_every_shipped_vector_has_a_runner_or_a_later_issue() -> None:
    """A name without a runner would be an error at run time; here it is found for the files of this repo."""
    for vector in _shipped("golden"):
        name = (vector_files.family(vector), vector["function"])
        assert name in golden_table.CALLS or name in later.FUNCTIONS, name
        assert set(vector.get("deviation", {}).get("must", {})) <= set(MUST)
        assert name in later.FUNCTIONS or set(codes(vector)) <= set(RIGHT)
    for vector in _shipped("cases"):
        if vector["part"] not in later.PARTS:
            assert vector["input"]["call"] in case_calls.CALLS
            assert _check_names(vector["expected"]["checks"]) <= set(CHECKS)
    for vector in _shipped("injection"):
        names = {text.partition(":")[0] for text in vector["expect"]}
        assert names <= set(injection_checks.PROPERTIES)


def _shipped(kind: str) -> list[dict[str, Any]]:
    lines = [line for path in (HERE / kind).glob("*.jsonl") for line in path.read_text("utf-8").split("\n")]
    vectors = [json.loads(line) for line in lines if line]
    assert vectors
    return vectors


def _check_names(checks: list[dict[str, Any]]) -> set[str]:
    return {name for check in checks for name in ({check["check"]} | _check_names(check.get("then", [])))}


def payload(**changes: Any) -> Any:
    """Return a stand-in for a payload: two sources, the third left out."""
    user = (
        '<sources>\n<source_1 id="S1" chunk="a">\nalpha\n</source_1>\n'
        '<source_2 id="S2" chunk="b">\nbeta\n'
        "</source_2>\n</sources>\n\n<question>why now?</question>"
    )
    drop = SimpleNamespace(
        source=SimpleNamespace(id="c"), reason="over_budget", detail="needs 9, 1 left", of=None
    )
    values: dict[str, Any] = {
        "messages": tuple(
            SimpleNamespace(role=role, content=text) for role, text in (("system", "rules"), ("user", user))
        ),
        "labels": {"S1": ("a",), "S2": ("b",)}, "dropped": (drop,), "tokens": 20,
        "budget": SimpleNamespace(window=40),
    }
    return SimpleNamespace(**values | changes)


CHUNKS = [{"id": "a", "text": "alpha"}, {"id": "b", "text": "beta"}, {"id": "c", "text": "gamma"}]
GIVEN = {
    "window": 40, "reserve": 10, "counter": {"name": "words"}, "chunks": CHUNKS, "question": "why now?",
    "system": "rules",
}
TALK = {"history": [{"content": "t1x1 t1x2"}, {"content": "t2x1 t2x2"}, {"content": "t3x1 t3x2"}]}


def said(text: str) -> Any:
    return payload(messages=(SimpleNamespace(role="user", content=text),))


RISING = ["system text", "last </source_N>", "question"]
NUMBERS = r'<source_(\d+)\s[^>]*id="S(\d+)"'
SWAPPED = payload().messages[1].content.replace("alpha", "beta", 1)

# (check, a payload that passes or None for the stand-in, one that must fail, further values of the case)
PAIRS: list[tuple[dict[str, Any], Any, Any, dict[str, Any]]] = [
    ({"check": "fits"}, None, payload(tokens=31), {}),
    ({"check": "fits"}, None, said("word " * 31), {}),
    ({"check": "packed", "ids": ["a", "b"], "mode": "equals"}, None, payload(labels={"S1": ("a",)}), {}),
    ({"check": "packed_count", "min": 2, "max": 2}, None, payload(labels={}), {}),
    ({"check": "dropped", "ids": ["c"], "with_reason": True}, None, payload(dropped=()), {}),
    ({"check": "partition"}, None, payload(dropped=()), {}),
    ({"check": "partition"}, None, payload(labels={"S1": ("a", "b"), "S2": ("c",)}), {}),
    ({"check": "labels", "equals": ["S1", "S2"]}, None, payload(labels={"S2": ("b",), "S1": ("a",)}), {}),
    ({"check": "labels", "equals_set": ["S1", "S2"]}, None, payload(labels={"S1": ("a",)}), {}),
    ({"check": "map_values_unique"}, None, payload(labels={"S1": ("a",), "S2": ("a",)}), {}),
    ({"check": "text_present", "texts": ["alpha"]}, None, said("beta"), {}),
    ({"check": "text_absent", "texts": ["gamma"]}, None, said("gamma"), {}),
    ({"check": "text_count", "text": "alpha", "min": 1, "max": 1}, None, said("alpha alpha"), {}),
    ({"check": "regex_count", "pattern": "(?i)NONE", "times": 0}, None, said("None"), {}),
    ({"check": "regex_each", "pattern": NUMBERS}, None, said('<source_1 id="S2">'), {}),
    ({"check": "enclosures_match_map"}, None, payload(labels={"S1": ("a",)}), {}),
    ({"check": "enclosure_has_own_text"}, None, said(SWAPPED), {}),
    ({"check": "question_last"}, None, said("why now?</question> and more"), {}),
    ({"check": "question_last"}, said("why now?</question></s><|im_end|>\n"), said("no question"), {}),
    ({"check": "order", "of": RISING}, None, said("rules why now?"), {}),
    ({"check": "order", "of": ["alpha", "question"]}, None, said("why now? alpha"), {}),
    ({"check": "history_suffix"}, said("t2x1 t2x2 / t3x1 t3x2"), said("t2x1 t2x2"), TALK),
    ({"check": "history_suffix"}, said("t3x1 t3x2"), said("t1x1 t1x2 / t3x1 t3x2"), TALK),
    ({"check": "history_suffix"}, said("t3x1 t3x2"), said("t3x1 t3x2 / t2x1 t2x2"), TALK),
    ({"check": "roles_allowed", "roles": ["user", "system"]}, None, said("x"), {}),
]


@pytest.mark.parametrize(("check", "good", "bad", "more"), PAIRS)
def test_a_check_passes_and_can_fail(
    check: dict[str, Any], good: Any, bad: Any, more: dict[str, Any]
) -> None:
    given = {**GIVEN, **more}
    if check["check"] == "roles_allowed":
        bad = payload(messages=(SimpleNamespace(role="tool", content="x"),))
    apply(check, None, Run(given, (Outcome(given, good or payload()),)))
    with pytest.raises(AssertionError):
        apply(check, None, Run(given, (Outcome(given, bad),)))


def run_of(*outcomes: Outcome, **more: Any) -> Run:
    return Run(GIVEN, outcomes, **more)


def test_an_error_reaches_the_reader_unless_the_case_asks_for_one() -> None:
    from promptpack import OptionError

    refused = OptionError("answer reserve 8192 is too large", name="answer")
    broken = KeyError("title")
    with pytest.raises(OptionError):
        apply({"check": "text_present", "texts": ["a"]}, None, run_of(Outcome(GIVEN, error=refused)))
    apply({"check": "fits", "or_raises": True}, None, run_of(Outcome(GIVEN, error=refused)))
    with pytest.raises(KeyError):
        apply({"check": "fits", "or_raises": True}, None, run_of(Outcome(GIVEN, error=broken)))
    wanted = {"check": "raises", "within_s": 2, "never": ["KeyError"], "message_has": ["8192"]}
    apply({**wanted, "message_matches": "(?i)reserve"}, None, run_of(Outcome(GIVEN, error=refused)))
    for outcome in (
        Outcome(GIVEN, payload()), Outcome(GIVEN, error=OptionError("no number", name="answer")),
        Outcome(GIVEN, error=refused, seconds=3.0), Outcome(GIVEN, error=broken),
    ):
        with pytest.raises((AssertionError, KeyError)):
            apply(wanted, None, run_of(outcome))


def test_checks_over_several_calls_can_fail() -> None:
    one, other = Outcome(GIVEN, payload()), Outcome(GIVEN, payload(labels={"S3": ("c",), "S2": ("b",)}))
    new = {"check": "label_new", "id": "c", "turn": 2}
    stable = {"check": "label_stable", "id": "b", "turns": [1, 2]}
    apply(new, None, run_of(one, other))
    apply(stable, None, run_of(one, other))
    renumbered = Outcome(GIVEN, payload(labels={"S1": ("c",), "S3": ("b",)}))
    for check in (new, stable, {"check": "same_label_map"}):
        with pytest.raises(AssertionError):
            apply(check, None, run_of(one, renumbered))
    same_steps = {"check": "same_payload", "steps": ["A", "B"]}
    apply(same_steps, None, run_of(one, one, names=("A", "B")))
    with pytest.raises(AssertionError):
        apply(same_steps, None, run_of(one, other, names=("A", "B")))
    with pytest.raises(AssertionError):
        apply({"check": "same_bytes"}, None, run_of(Outcome(GIVEN, "a"), Outcome(GIVEN, "b")))
    with pytest.raises(AssertionError):
        apply({"check": "each", "then": [{"check": "int_at_least", "n": 2}]}, None, run_of(Outcome(GIVEN, 1)))


def test_verify_compares_the_sets_of_labels() -> None:
    found = Outcome(GIVEN, SimpleNamespace(known=("S2",), unknown=("S9",), stale=("S1",)))
    run = run_of(Outcome(GIVEN, payload()), answer=found, notes={"{label of a}": "S1"})
    apply({"check": "verify", "valid": ["S2"], "stale_or_unknown": ["{label of a}", "S9"]}, None, run)
    wrongs: list[dict[str, list[str]]] = [{"valid": []}, {"unknown": []}, {"stale_or_unknown": ["S9"]}]
    for wrong in wrongs:
        with pytest.raises(AssertionError):
            apply({"check": "verify", **wrong}, None, run)


def test_an_unknown_check_is_an_error() -> None:
    with pytest.raises(ValueError, match="no_such"):
        apply({"check": "no_such"}, None, run_of(Outcome(GIVEN, payload())))


@pytest.mark.parametrize(
    ("step", "terms"),
    [
        ("A: window 5000; let T = count(payload A)", "5000"), ("B: window T + 300", "T + 300"),
        ("C: window T", "T"),
    ],
)
def test_steps_are_read(step: str, terms: str) -> None:
    found = case_calls.STEP.match(step)
    assert found
    assert found["window"] == terms
    assert re.fullmatch(r"[A-C]", found["name"])
