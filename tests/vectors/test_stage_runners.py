"""The runners of the cases on single stages: a failure means that a comparison or a check of theirs could not fail."""

from __future__ import annotations

from typing import Any

import pytest
from case_build import Outcome, Run, in_input_order
from case_checks import apply
from case_stage_checks import STAGE_CHECKS
from case_stages import CALLS, reorder_each

CUT: dict[str, Any] = {"text": "one two three", "limit": 2, "mode": "head", "marker": "", "counter": {"name": "words"}}
CUT |= {"once": "one two"}
ENDS = {**CUT, "mode": "middle", "limit": 10, "text": "a b c d e f g h i j k l", "marker": "library default"}
SCORED = {"scores": [0.9, 0.5, 0.7], "place": "fold"}
PICKED = {"ids": ["a", "b"], "numbers": [0.0, 1.0]}
ITEMS = [{"id": "a", "cost": 2, "value": 1.0}, {"id": "b", "cost": 1, "value": 0.5}]

# (check, values of the case, an outcome that passes, one that must fail)
PAIRS: list[tuple[dict[str, Any], dict[str, Any], Any, Any]] = [
    ({"check": "count_le_limit"}, CUT, "one two", "one two three"),
    ({"check": "prefix_of_input"}, CUT, "one", "two"),
    ({"check": "no_new_replacement_char"}, CUT, "one", "on\ufffd"),
    ({"check": "unchanged_if_fits"}, {**CUT, "limit": 3}, "one two three", "one two"),
    ({"check": "grapheme_prefix"}, {**CUT, "text": "ae\u0301x"}, "ae\u0301", "ae"),
    ({"check": "maximal"}, CUT, "one two ", "one"),
    ({"check": "shape"}, CUT, "one two", "two three"),
    ({"check": "shape"}, {**CUT, "mode": "tail"}, "two three", "one two"),
    ({"check": "shape"}, {**CUT, "marker": "library default"}, "one two …", "one two"),
    ({"check": "shape"}, ENDS, "a b … k l", "… k l"),
    ({"check": "shape"}, ENDS, "a b … k l", ""),
    ({"check": "shape"}, ENDS, "a b … k l", "a b c d e f g … g h i j k l"),
    ({"check": "idempotent"}, CUT, "one two", "one"),
    ({"check": "utf8_encodable"}, CUT, "one", "\ud800"),
    ({"check": "permutation"}, SCORED, ["0", "1", "2"], ["0", "1", "1"]),
    ({"check": "valley"}, SCORED, ["0", "1", "2"], ["1", "0", "2"]),
    ({"check": "valley"}, SCORED, ["2", "1", "0"], ["0", "2", "1"]),
    ({"check": "edges", "scores": [0.7, 0.9]}, SCORED, ["0", "1", "2"], ["0", "2", "1"]),
    ({"check": "repeatable"}, SCORED, ["0", "1", "2"], ["2", "1", "0"]),
    ({"check": "order_each", "ids": [["0", "1", "2"]]}, SCORED, ["0", "1", "2"], ["0", "2", "1"]),
    ({"check": "picked_sets", "sets": [["a", "b"]]}, {}, PICKED, {"ids": ["a", "c"]}),
    ({"check": "picked_sets", "sets": [None]}, {}, PICKED, {"ids": ["a", "a"]}),
    ({"check": "picked_includes", "ids": ["a"]}, {}, PICKED, {"ids": ["b"]}),
    ({"check": "no_nan"}, {}, PICKED, {"numbers": [float("nan")]}),
    ({"check": "selected", "ids": ["a", "b"]}, {}, ITEMS, ITEMS[:1]),
    ({"check": "total_value", "equals": 1.5}, {}, ITEMS, ITEMS[:1]),
    ({"check": "total_cost_le", "max": 2}, {}, ITEMS[:1], ITEMS),
]


@pytest.mark.parametrize(("check", "given", "good", "bad"), PAIRS)
def test_a_check_of_a_stage_passes_and_can_fail(
    check: dict[str, Any], given: dict[str, Any], good: Any, bad: Any
) -> None:
    apply(check, None, Run(given, (Outcome(given, good),)))
    with pytest.raises((AssertionError, UnicodeEncodeError)):
        apply(check, None, Run(given, (Outcome(given, bad),)))


def test_every_check_of_a_stage_is_shown_to_fail() -> None:
    assert set(STAGE_CHECKS) <= {check["check"] for check, *_ in PAIRS}


def test_an_error_says_how_much_is_missing() -> None:
    """The number that a case asks for has to be in the message, written with or without commas."""
    outcome = Outcome({}, error=ValueError("system 300: 1,350 too many"))
    apply({"check": "raises", "message_has_integer_at_least": 1350}, None, Run({}, (outcome,)))
    with pytest.raises(AssertionError):
        apply({"check": "raises", "message_has_integer_at_least": 1351}, None, Run({}, (outcome,)))


def test_unknown_names_of_stages_are_errors() -> None:
    with pytest.raises(KeyError):
        reorder_each({"strategy": "no such", "each": [{"scores": []}]})
    assert CALLS["select"]({"method": "no such", "items": [], "budget": 1}).outcomes[0].error is not None


def test_a_missing_position_is_the_place_in_the_input() -> None:
    found = in_input_order([{"text": "a", "metadata": {"index": 7}}, {"text": "b"}])
    assert [one.get("position") for one in found] == [None, 1]
