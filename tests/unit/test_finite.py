"""What counts as a number, for arguments, scores, curves and metadata alike."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from promptpack import SourceError
from promptpack.curves import CurvePoint
from promptpack.finite import is_finite, is_number, is_number_of_any_size
from promptpack.packing import ranking
from promptpack.reading import read_sources

HUGE = Fraction(10**400, 3)
# value: plain, any real number that a float holds, of any size
KINDS: list[tuple[Any, bool, bool, bool]] = [
    (0, True, True, True), (-2.5, True, True, True), (np.float64(0.5), True, True, True),
    (np.float32(0.5), False, True, True), (np.int64(3), False, True, True), (Fraction(1, 3), False, True, True),
    (10**400, False, False, True), (HUGE, False, False, False),
    (float("nan"), False, False, False), (float("-inf"), False, False, False), (np.float32("nan"), False, False, False),
    (True, False, False, False), (np.bool_(True), False, False, False), (Decimal("0.5"), False, False, False),
    ("1", False, False, False), (None, False, False, False), (1j, False, False, False), ([1.0], False, False, False),
]


@pytest.mark.parametrize(("value", "plain", "number", "any_size"), KINDS, ids=lambda one: repr(one)[:20])
def test_the_three_checks_differ_only_in_what_they_take_on(
    value: Any, plain: bool, number: bool, any_size: bool
) -> None:
    """If it fails, an argument is refused in one place and taken in another, or something infinite gets in."""
    assert (is_finite(value), is_number(value), is_number_of_any_size(value)) == (plain, number, any_size)


def test_ranking_asks_the_same() -> None:
    assert ranking.is_finite is is_finite


def test_a_fraction_out_of_range_is_an_error_of_the_library() -> None:
    """If it fails, reading metadata ends in a bare OverflowError."""
    with pytest.raises(SourceError, match="metadata: a key has to be a text"):
        list(read_sources([{"text": "A text.", "metadata": {HUGE: 1}}]))
    with pytest.raises(SourceError, match="expected a text or a finite number"):
        list(read_sources([{"text": "A text.", "id": HUGE}]))


def test_a_point_may_come_from_numpy() -> None:
    point = CurvePoint(np.float32(0.5), np.float64(0.25))  # type: ignore[arg-type]
    assert (type(point.x), type(point.p)) == (float, float)
