"""Position curves: what p is between the points, what is refused, and the file that holds one."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from promptpack import OptionError, PositionCurve
from promptpack.curves import CurvePoint
from promptpack.evaluation import expected_use, use_probability
from promptpack.evaluation.bench import position_table


def test_points_are_joined_by_straight_lines_and_level_outside() -> None:
    curve = PositionCurve([(0.25, 0.5), (0.5, 0.75), (0.75, 0.25)])
    assert [curve(x) for x in (0, 0.25, 0.375, 0.5, 0.625, 0.75, 1)] == [0.5, 0.5, 0.625, 0.75, 0.5, 0.25, 0.25]
    assert [PositionCurve([(0.5, 0.4)])(x) for x in (0, 0.5, 1)] == [0.4, 0.4, 0.4]


def test_the_illustrative_curve_is_the_one_of_the_measures() -> None:
    """Two copies of the formula would drift apart."""
    curve = PositionCurve.illustrative()
    assert [curve(i / 100) for i in range(101)] == [use_probability(i / 100) for i in range(101)]
    assert [use_probability(i / 64) for i in range(65)] == [
        0.55 + ((0.75 if i < 32 else 0.65) - 0.55) * (2 * i / 64 - 1) ** 2 for i in range(65)
    ]


def test_parabolas_may_meet_elsewhere() -> None:
    curve = PositionCurve([(0, 0.9), (0.25, 0.1), (1, 0.5)], kind="parabolas")
    assert [curve(x) for x in (0, 0.125, 0.25, 0.625, 1)] == pytest.approx([0.9, 0.3, 0.1, 0.2, 0.5])


def test_a_quadratic_is_the_least_squares_fit() -> None:
    """By the normal equations: what is left is orthogonal to 1, x and x^2; noisy points, several at one place."""
    points = [(x / 8, 0.3 + 0.05 * ((7 * x * x + k) % 5) + 0.02 * k) for x in range(9) for k in range(3)]
    curve = PositionCurve(points, kind="quadratic")
    a, b, c = curve.coefficients
    left = [(x, p - (a + b * x + c * x * x)) for x, p in points]
    assert max(abs(rest) for _, rest in left) > 0.05
    assert [sum(rest * x**power for x, rest in left) for power in range(3)] == pytest.approx([0, 0, 0], abs=1e-12)
    assert curve(0.3) == pytest.approx(a + b * 0.3 + c * 0.09)


def test_a_quadratic_through_exact_points_stays_within_zero_and_one() -> None:
    curve = PositionCurve([(0, 1), (0.4, 0), (0.6, 0), (1, 1)], kind="quadratic")
    assert curve(0.5) == 0.0
    assert curve(0) == pytest.approx(1.0)
    assert all(0 <= curve(i / 50) <= 1 for i in range(51))


@pytest.mark.parametrize(
    ("points", "options", "message"),
    [
        ([], {}, "curve: points: expected at least one"),
        ("abc", {}, "expected a list of points, got 'abc'"),
        (None, {}, "expected a list of points, got None"),
        ([0.5], {}, "expected pairs of x and p, got 0.5"),
        ([(0, 1, 2)], {}, "expected pairs of x and p"),
        ([(0, 1.5)], {}, "points: p: expected a number from 0 to 1, got 1.5"),
        ([(-0.1, 1)], {}, "points: x: expected a number from 0 to 1, got -0.1"),
        ([(0, float("nan"))], {}, "points: p: expected a number from 0 to 1, got nan"),
        ([(0, True)], {}, "points: p: expected a number from 0 to 1, got True"),
        ([(0, "1")], {}, "points: p: expected a number from 0 to 1, got '1'"),
        ([(0.5, 0.5), (0.2, 0.5)], {}, "expected x in ascending order, got 0.2 after 0.5"),
        ([(0.5, 0.5), (0.5, 0.6)], {}, "expected x in ascending order"),
        ([(0, 0.5, 0.4, 0.45)], {}, "expected low <= p <= high, got 0.4, 0.5, 0.45"),
        ([{"x": 0, "p": 0.5, "low": 0.4}], {}, "low and high: expected both or neither"),
        ([{"x": 0}], {}, "curve: points: p is missing"),
        ([{"x": 0, "p": 1, "hihg": 1}], {}, "unknown value 'hihg'; did you mean 'high'?"),
        ([(0, 0.5)], {"kind": "pionts"}, "curve: kind: unknown value 'pionts'; did you mean 'points'?"),
        ([(0, 0.5)], {"kind": []}, "curve: kind: unknown value"),
        ([(0, 0.5)], {"measure": "logprob"}, "curve: measure: unknown value 'logprob'"),
        ([(0, 0.5)], {"measure": ["exact"]}, "curve: measure: unknown value"),
        ([(0, 0.5)], {"model": 5}, "curve: model: expected a text or None, got 5"),
        ([(0, 0.5)], {"questions": -1}, "curve: questions: expected a whole number of 0 or more, or None, got -1"),
        ([(0, 0.5)], {"questions": True}, "questions: expected a whole number"),
        ([(0, 0.5), (1, 0.5)], {"kind": "parabolas"}, "two parabolas need three, at x = 0, between, and at x = 1"),
        ([(0.1, 0.5), (0.5, 0.5), (1, 0.5)], {"kind": "parabolas"}, "two parabolas need three"),
        ([(0, 0.5), (0, 0.6), (1, 0.5)], {"kind": "quadratic"}, "needs 3 or more different x"),
        ([(0, 0.5), (1e-200, 0.6), (2e-200, 0.5)], {"kind": "quadratic"}, "too close to one another"),
    ],
)
def test_what_makes_no_curve_is_refused(points: Any, options: Any, message: str) -> None:
    with pytest.raises(OptionError) as caught:
        PositionCurve(points, **options)
    assert message in str(caught.value)


@pytest.mark.parametrize("x", [-0.1, 1.1, float("nan"), "x", None, True, 10**400])
def test_a_place_outside_is_refused(x: Any) -> None:
    with pytest.raises(OptionError, match="x: expected a number from 0 to 1"):
        PositionCurve.illustrative()(x)


CURVES = [
    PositionCurve.illustrative(),
    PositionCurve([(0, 0.7, 0.6, 0.8), (1, 0.9)], model="mödel", measure="loglik", questions=100, note="a note\n"),
    PositionCurve([(0, 0.5), (0.5, 0.4), (0.5, 0.45), (1, 0.9)], kind="quadratic", measure="exact"),
]


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.kind)
def test_a_curve_survives_the_file_and_the_pickle(curve: PositionCurve, tmp_path: Path) -> None:
    curve.save(tmp_path / "curve.json")
    for again in (PositionCurve.load(tmp_path / "curve.json"), pickle.loads(pickle.dumps(curve))):
        assert again == curve
        assert hash(again) == hash(curve)
        assert again(0.3) == curve(0.3)


def test_the_file_has_a_stable_form(tmp_path: Path) -> None:
    """Other programs write and read it."""
    CURVES[1].save(str(tmp_path / "curve.json"))
    assert json.loads((tmp_path / "curve.json").read_text(encoding="utf-8")) == {
        "promptpack_curve": 1, "kind": "points",
        "points": [{"x": 0.0, "p": 0.7, "low": 0.6, "high": 0.8}, {"x": 1.0, "p": 0.9}],
        "model": "mödel", "measure": "loglik", "questions": 100, "note": "a note\n",
    }


def test_numbers_of_numpy_can_be_written() -> None:
    np = pytest.importorskip("numpy")
    curve = PositionCurve([(np.float32(0.5), np.float64(0.25))], questions=np.int64(3))
    assert json.loads(json.dumps(curve.to_dict()))["points"] == [{"x": 0.5, "p": 0.25}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot be read"),
        ("[" * 100_000, "cannot be read"),
        ("[]", "expected a mapping"),
        ("{}", "promptpack_curve: the version is missing; this version reads 1"),
        ('{"promptpack_curve": 2}', "the version 2 is not known"),
        ('{"promptpack_curve": true, "points": [[0, 1]]}', "the version True is not known"),
        ('{"promptpack_curve": 1}', "points are missing"),
        ('{"promptpack_curve": 1, "points": [[0, 7]]}', "points: p: expected a number from 0 to 1, got 7"),
        ('{"promptpack_curve": 1, "points": [[0, 1]], "modle": "m"}', "unknown value 'modle'; did you mean 'model'?"),
        ('{"promptpack_curve": 1, "points": [{"x": NaN, "p": 1}]}', "points: x: expected a number"),
    ],
)
def test_a_file_that_is_no_curve_is_named(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(OptionError) as caught:
        PositionCurve.load(file)
    assert "mine.json" in str(caught.value)
    assert message in str(caught.value)


def test_files_that_cannot_be_read_or_written_are_named(tmp_path: Path) -> None:
    for act in (PositionCurve.load, PositionCurve.illustrative().save):
        with pytest.raises(OptionError, match=r"nowhere.*No such file"):
            act(tmp_path / "nowhere" / "curve.json")
    for path in (None, 5, "a\0b"):
        with pytest.raises(OptionError):
            PositionCurve.load(path)  # type: ignore[arg-type]
    (tmp_path / "latin").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(OptionError, match="cannot be read"):
        PositionCurve.load(tmp_path / "latin")


def test_a_point_can_be_given_in_every_form() -> None:
    assert CurvePoint.of({"x": 1, "p": 0.5}) == CurvePoint.of([1, 0.5]) == CurvePoint(1.0, 0.5)


def test_expected_use_takes_a_curve() -> None:
    rising = PositionCurve([(0, 0.0), (1, 1.0)])
    assert expected_use([1, 1], [1, 0], rising) == 0.25
    assert expected_use([3, 1], [0, 0], rising) == pytest.approx((0.375 + 0.875) / 2)  # worth nothing: all alike
    assert expected_use([], []) == 0.0
    assert expected_use([1, 1], [1e308, 1e308], rising) == 0.5
    for weights, values, curve in (([1], [1, 2], None), ([1], [-1], None), ([1], [float("nan")], None),
                                   ([1], "1", None), ([1], [1], "illustrative")):
        with pytest.raises(OptionError):
            expected_use(weights, values, curve)  # type: ignore[arg-type]


def test_the_table_of_placements_goes_by_the_curve_that_is_given() -> None:
    """Its own placement is in the table, and no other has more of it."""
    table = position_table(trials=5, curve=PositionCurve([(0, 0.1), (0.3, 0.8), (1, 0.2)]))
    rows = {row.split("|")[1].strip(): float(row.split("|")[4]) for row in table.splitlines()[2:]}
    assert list(rows) == ["fold", "u_curve", "best_first", "best_last", "buried", "the curve"]
    assert max(rows.values()) == rows["the curve"] > rows["fold"]
