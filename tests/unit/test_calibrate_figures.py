"""The figures of a measurement in a file: what was told can be computed from them again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from promptpack.calibration.compare import Comparison
from promptpack.calibration.figures import read_figures, write_figures
from promptpack.calibration.result import Calibration
from promptpack.errors import OptionError

CURVE = Calibration(
    "a-model", "loglik", (0, 1, 2), (0.1, 0.5, 0.9), 3, ((-2.5, -3.25, -2.0), (-1.5, -1.75, -1.0)), (-5.0, -4.5),
    ("a remark",), ("q1", "q2"), (3, None),
)
BUILDERS = Comparison(
    "a-model", "exact", {"one": (1.0, 0.0, 1.0), "two": (1.0, 1.0, 1.0)}, {"one": 3, "two": 1}, (), ("a", "b", "c"),
)


@pytest.mark.parametrize("found", [CURVE, BUILDERS], ids=lambda one: type(one).__name__)
def test_figures_come_back(found: Calibration | Comparison, tmp_path: Path) -> None:
    """If this fails, a published interval cannot be computed again from what was kept."""
    write_figures(found, tmp_path / "figures.json")
    again = read_figures(tmp_path / "figures.json")
    assert again == found
    assert again.to_markdown() == found.to_markdown()


def test_the_file_has_a_line_for_each_question(tmp_path: Path) -> None:
    """If this fails, a change of one question shows as a change of everything."""
    write_figures(CURVE, tmp_path / "figures.json")
    assert "  [-2.5, -3.25, -2.0],\n  [-1.5, -1.75, -1.0]\n" in (tmp_path / "figures.json").read_text(encoding="utf-8")


def changed(**fields: Any) -> str:
    return json.dumps({"promptpack_figures": 1, "kind": "curve", **CURVE.to_dict(), **fields})


@pytest.mark.parametrize(("held", "told"), [
    ("", "cannot be read"), ("[" * 100_000, "cannot be read"), ("[]", "holds no figures"), ("{}", "holds no figures"),
    (changed(promptpack_figures=2), "holds no figures"),
    (changed(kind="other"), "kind: expected curve or comparison, got 'other'"), (changed(kind=[]), "kind: expected"),
    (changed(model=1), "model: expected a text"), (changed(measure="best"), "measure: expected loglik or exact"),
    (changed(ids=["q1"]), "tokens: expected 1, as many as ids, or none, got 2"),
    (changed(ids=[1, 2]), "ids: expected a list of texts"),
    (changed(tokens=[3, -1]), "tokens: expected a list of whole"),
    (changed(values=[[-2.5, -3.25, -2.0]]), "values: expected a row for each of 2 ids"),
    (changed(values=[[-2.5], [-1.0]]), r"values\[0\]: expected 3 numbers, got 1"),
    (changed(without=[float("nan"), 1]), "without: expected a list of finite numbers"),
    (changed(passages=True), "passages: expected a list of whole numbers"), (changed(xs=None), "xs: expected a list"),
    (changed(kind="comparison"), "values: expected two builders or more by name"),
    (changed(kind="comparison", values={"a": [1, 2], "b": [1, 2]}), "same: expected a whole number"),
    (changed(kind="comparison", values={"a": [1, 2], "b": [1]}, same={"a": 1, "b": 0}), "values: b: expected 2"),
])
def test_a_file_that_is_something_else_is_told(held: str, told: str, tmp_path: Path) -> None:
    """If this fails, a wrong file ends in a traceback, or in figures that nobody measured."""
    (tmp_path / "figures.json").write_text(held, encoding="utf-8")
    with pytest.raises(OptionError, match=told):
        read_figures(tmp_path / "figures.json")


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="cannot be read: No such file"):
        read_figures(tmp_path / "none.json")
    with pytest.raises(OptionError, match="cannot be written: No such file"):
        write_figures(CURVE, tmp_path / "none" / "figures.json")
