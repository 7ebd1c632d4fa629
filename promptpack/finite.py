"""What counts as a number: the one home of a check that arguments, scores, curves and metadata share."""

from __future__ import annotations

from math import isfinite
from numbers import Integral, Real
from sys import float_info


def is_finite(value: object) -> bool:
    """Tell whether a value is a plain number (int or float, not a bool) within the range of a float.

    For what is kept as it is, and may be written to JSON.

    >>> [is_finite(value) for value in (0.5, 3, float("nan"), 10**400, True, "1", None)]
    [True, True, False, False, False, False, False]
    """
    # Compared, not converted: whole numbers beyond the range of a float do not overflow, NaN is false.
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= float_info.max


def is_number(value: object) -> bool:
    """Tell whether a value is any real number, of numpy or a fraction as well, that a float can hold.

    For what is made a float at once; a bool is none.

    >>> from fractions import Fraction
    >>> [is_number(value) for value in (0.5, Fraction(1, 2), float("inf"), Fraction(10**400), True, "1")]
    [True, True, False, False, False, False]
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        return isfinite(value)
    except OverflowError:  # a whole number or a fraction beyond the range of a float
        return False


def is_number_of_any_size(value: object) -> bool:
    """Tell whether a value is a number as in `is_number`, or a whole number of any size, as metadata may hold.

    >>> is_number_of_any_size(10**400), is_number_of_any_size(float("nan")), is_number_of_any_size(False)
    (True, False, False)
    """
    return is_number(value) or (isinstance(value, Integral) and not isinstance(value, bool))
