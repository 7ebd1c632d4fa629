"""The runner of the citation cases fails where a result is wrong."""

from __future__ import annotations

import pytest
from case_checks import apply
from case_verify import verify_each

GIVEN = {
    "label_map": {"S1": "a", "S2": "b"},
    "each": [{"answer": "It is so [S1]. It is free."}, {"answer": "x [S9]"}],
}
GOOD = [{"valid": ["S1"], "unknown": [], "uncited_sentences": ["It is free."]}, {"valid": None, "unknown": ["S9"]}]


def table(*rows):
    return {"check": "verify_table", "rows": list(rows)}


def test_what_holds_passes():
    run = verify_each(GIVEN)
    apply(table(*GOOD), None, run)
    apply({"check": "each_index", "index": 1, "then": [{"check": "not_ok"}]}, None, run)
    apply({"check": "each_index", "index": 0, "then": [{"check": "not_lost", "label": "S1"}]}, None, run)


@pytest.mark.parametrize("row", [
    {"valid": []}, {"valid": ["S1", "S2"]}, {"unknown": ["S9"]}, {"uncited_sentences": []}, {"stale": ["S1"]},
    {"valid": None}, {},
])
def test_a_wrong_row_fails(row):
    with pytest.raises(AssertionError):
        apply(table(row, GOOD[1]), None, verify_each(GIVEN))


@pytest.mark.parametrize(("index", "check"), [
    (0, {"check": "not_ok"}), (0, {"check": "not_lost", "label": "S2"}),
])
def test_a_wrong_result_fails(index, check):
    with pytest.raises(AssertionError):
        apply({"check": "each_index", "index": index, "then": [check]}, None, verify_each(GIVEN))


def test_a_missing_row_fails():
    with pytest.raises(AssertionError):
        apply(table(GOOD[0]), None, verify_each(GIVEN))
