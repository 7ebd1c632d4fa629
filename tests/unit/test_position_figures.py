"""The published figures of the small model follow from the values that are kept, question by question."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from scripts import script

from promptpack.calibration.plot import svg
from promptpack.curves import PositionCurve

ROOT = Path(__file__).parent.parent.parent
BLOCK = re.compile(r"<!-- table: smollm_figures\.py ?([\w -]*?) -->\n(.*?)<!-- end of table -->", re.S)


@pytest.fixture(scope="module")
def figures() -> Iterator[ModuleType]:
    with script("smollm_figures") as module:
        yield module


def blocks(name: str) -> list[tuple[str, str]]:
    return BLOCK.findall((ROOT / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["docs/position.md", "README.md"])
def test_every_table_is_computed_from_what_was_measured(name: str, figures: ModuleType) -> None:
    """If this fails, an interval is published that the kept values do not have; `smollm_figures.py --write`."""
    for tables, held in blocks(name):
        wanted = "\n\n".join(figures.TABLES[one]() for one in tables.split() or ["summary"])
        assert held.strip() == wanted


def test_the_page_has_all_tables() -> None:
    """If this fails, the test above looks at nothing."""
    named = {one for tables, _ in blocks("docs/position.md") for one in tables.split()}
    assert {"places", "differences", "builders", "ranks", "weighted", "lengths"} <= named


def test_the_example_curve_and_its_drawing_are_those_of_the_values(figures: ModuleType) -> None:
    """If this fails, the curve that users load is not the one that was measured."""
    found = figures.curve()
    assert PositionCurve.load(figures.CURVES / f"{figures.NAME}.json") == found.curve()
    assert (figures.CURVES / f"{figures.NAME}.svg").read_text(encoding="utf-8") == svg(found)


def test_all_places_were_measured_and_each_question_counts_once(figures: ModuleType) -> None:
    found, compared = figures.curve(), figures.comparison()
    assert (found.places, found.passages) == (tuple(range(9)), 9)
    assert len(set(found.ids)) == len(found.values)
    assert len(set(compared.ids)) == len(figures.ranks())
    assert not set(found.ids) & set(compared.ids), "a curve may not be tried on the questions it was measured with"


def test_what_is_kept_has_no_text_of_the_questions(figures: ModuleType) -> None:
    """If this fails, texts that are not part of this repository are in it."""
    for path in sorted((figures.CURVES / "measured").glob("*.json")):
        held = json.loads(path.read_text(encoding="utf-8"))
        ids = held.get("ids", held)
        assert all(re.fullmatch(r"[0-9a-f]{24}", one) for one in ids), path.name
        texts = [one for one in held.get("remarks", []) if one]
        assert not any("?" in one for one in texts), path.name
