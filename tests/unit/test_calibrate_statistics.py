"""Intervals: the same in every run, paired, and honest about noise; and the drawings."""

from __future__ import annotations

import re
from random import Random
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpack.calibration.errors import CalibrationError
from promptpack.calibration.plot import html, svg
from promptpack.calibration.result import Calibration
from promptpack.calibration.statistics import difference, intervals
from promptpack.curves import Measure
from promptpack.errors import OptionError
from promptpack.evaluation import intervals as bootstrap

LEVELS = (-2.6, -3.0, -2.2)


def measured(
    values: list[tuple[float, ...]], without: float | list[float] = -5.0, measure: Measure = "loglik", model: str = "m"
) -> Calibration:
    count = len(values[0]) if values else 3
    xs = tuple((at + 0.5) / count for at in range(count))
    base = without if isinstance(without, list) else [without] * len(values)
    return Calibration(model, measure, tuple(range(count)), xs, count, tuple(values), tuple(base), ("a remark",))


def noisy(seed: int, questions: int, size: float = 1.0, levels: tuple[float, ...] = LEVELS) -> list[tuple[float, ...]]:
    """Values with a level of its own for each question, and noise at each place."""
    draw = Random(seed)
    rows = []
    for _ in range(questions):
        own = draw.gauss(0, 2)
        rows.append(tuple(level + own + draw.gauss(0, size) for level in levels))
    return rows


def measured_mean(value: float, count: int) -> float:
    return intervals([[value]] * count)[0].mean


def test_there_is_one_bootstrap() -> None:
    """If this fails, a measurement and an evaluation of the same values tell different intervals."""
    rows = noisy(4, 30)
    columns = [[row[at] for row in rows] for at in range(3)]
    assert [(one.low, one.high) for one in intervals(rows)] == bootstrap.intervals(columns)


def test_intervals_are_the_same_in_every_run() -> None:
    """If this fails, intervals change from run to run or from one version of numpy to the next."""
    one, = intervals([[float(at * at)] for at in range(12)])
    assert (one.mean, one.questions) == (506 / 12, 12)
    assert (round(one.low * 12, 9), round(one.high * 12, 9)) == (248, 782)


def test_one_question_never_tells() -> None:
    """If this fails, a single question makes a difference that is called more than noise."""
    assert not difference([2.0], [1.0]).clear
    assert difference([2.0, 3.0], [1.0, 2.0]).clear
    assert "may be noise" in measured([LEVELS], -5.2).to_markdown()


def test_intervals_hold_what_they_promise() -> None:
    """If this fails, 95 % is not 95 %: of 200 samples the true mean must lie within for most."""
    held = 0
    for seed in range(200):
        draw = Random(seed)
        one, = intervals([[draw.gauss(1.0, 2.0)] for _ in range(60)])
        held += one.low <= 1.0 <= one.high
    assert 180 <= held <= 198


def test_pairing_takes_out_what_makes_a_question_hard() -> None:
    """If this fails, 100 questions cannot tell two places apart."""
    rows = noisy(1, 100, 0.3)
    first, last = ([row[at] for row in rows] for at in (0, 2))
    assert difference(last, first).clear
    own, other = intervals(rows)[0], intervals(rows)[2]
    assert own.high > other.low  # unpaired, the intervals overlap


@given(st.lists(st.tuples(*[st.floats(-20, 0)] * 3), min_size=1, max_size=8))
def test_an_interval_holds_its_mean(rows: list[tuple[float, float, float]]) -> None:
    for one in intervals(rows):
        assert one.low <= one.mean <= one.high
        assert 0 <= one.wins <= 1


@given(st.lists(st.tuples(*[st.floats(-20, 0)] * 3), min_size=1, max_size=8), st.floats(-30, 0))
def test_any_measurement_makes_a_curve_or_says_why_not(rows: list[tuple[float, ...]], without: float) -> None:
    """If this fails, a curve is written that cannot be read, or p leaves 0 to 1."""
    if max(sum(column) / len(rows) for column in zip(*rows, strict=True)) <= measured_mean(without, len(rows)):
        with pytest.raises(CalibrationError, match="no better with the passage"):
            measured(rows, without)
        return
    curve = measured(rows, without).curve()
    assert all(0 <= point.p <= 1 for point in curve.points)
    assert max(point.p for point in curve.points) == 1
    assert svg(measured(rows, without)).startswith("<svg")


def test_p_is_the_share_of_what_the_passage_can_bring() -> None:
    found = measured([LEVELS, LEVELS], -5.2)
    assert [round(one.p, 6) for one in found.table()] == [round((level + 5.2) / 3.0, 6) for level in LEVELS]
    below = measured([(-6.0, -2.0, -3.0)], -5.0)
    assert [round(one.p, 6) for one in below.table()] == [0.0, 1.0, round(2 / 3, 6)]
    assert measured([(0.0, 1.0, 1.0), (0.0, 0.0, 1.0)], 0.0, "exact").curve().points[1].p == 0.5


def test_a_quadratic_smooths_what_the_points_say() -> None:
    found = measured([(-2.0, -2.9, -2.6, -3.1, -2.2)], -6.0)
    points, smooth = found.curve(), found.curve("quadratic")
    assert (points.kind, smooth.kind) == ("points", "quadratic")
    assert points.points == smooth.points
    assert smooth(0.5) < min(smooth(0.1), smooth(0.9))
    with pytest.raises(OptionError, match="fit: unknown value 'cubic'"):
        found.curve("cubic")  # type: ignore[arg-type]


def test_the_note_gives_the_scale_back() -> None:
    """If this fails, the file says something else than what was measured."""
    assert (measured([LEVELS], -5.2).curve().note or "").startswith("p = (L + 5.2000) / 3.0000, L: mean log-likelihood")


def test_the_interval_is_that_of_the_shape() -> None:
    """If this fails, hard and easy questions hide a clear shape, or a noisy one looks clear."""
    steady = [tuple(level + own for level in LEVELS) for own in (-3.0, 0.0, 3.0)]
    for one in measured(steady, [-8.0, -5.0, -2.0]).table():
        assert one.high - one.low == pytest.approx(0, abs=1e-9)
        assert one.estimate.high - one.estimate.low > 1
    wide = measured(noisy(3, 30, 1.5)).table()
    assert min(one.high - one.low for one in wide) > 0.1


def test_noise_is_called_noise() -> None:
    table = measured(noisy(5, 20, 1.0, (-3.0, -3.0, -3.0)), -6.0).to_markdown()
    lines = {line.split("|")[1].strip(): line for line in table.splitlines() if line.startswith("|")}
    assert "may be noise" in lines["last - first"]
    assert "may be noise" not in lines["best place - without"]


def test_the_middle_of_an_even_number_of_places_is_both() -> None:
    found = measured([(-1.0, -3.0, -5.0, -1.0)], -9.0).differences()
    assert found["first - middle"].mean == 3.0
    assert found["ends - middle"].wins == 1.0


def test_nothing_measured_is_an_error() -> None:
    with pytest.raises(CalibrationError, match="there are no questions"):
        measured([])


HOSTILE = 'm</title><script>alert("1")</script>&'


def test_the_drawing_is_well_formed_and_fetches_nothing() -> None:
    """If this fails, the drawing cannot be opened, shows code of a model's name, or asks the network."""
    found = measured(noisy(2, 30), model=HOSTILE)
    drawn = svg(found)
    root = ElementTree.fromstring(drawn)
    assert len(root.findall("{*}circle")) == 3
    assert root.find("{*}title") is not None
    page = html(found)
    for text in (drawn, page):
        assert "<script" not in text
        assert text.count("http") == text.count("http://www.w3.org/2000/svg")
        assert "url(" not in text
        assert "@import" not in text
    assert "a remark" in page
    assert page.count("<table>") == 2
    rows = re.findall(r"<tr>(.*?)</tr>", page)
    assert {len(re.findall("<t[hd]", row)) for row in rows} == {6, 5}
    assert "without the passage" in page


def test_points_stand_where_they_were_measured() -> None:
    root = ElementTree.fromstring(svg(measured([LEVELS], -5.0)))
    circles = [(float(one.attrib["cx"]), float(one.attrib["cy"])) for one in root.findall("{*}circle")]
    assert [x for x, _ in circles] == sorted(x for x, _ in circles)
    last, first, middle = sorted(range(3), key=lambda at: circles[at][1]) if circles else (0, 0, 0)
    assert (last, first, middle) == (2, 0, 1)  # the higher the value, the higher the point
