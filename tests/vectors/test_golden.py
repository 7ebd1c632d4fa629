"""Golden vectors: what the reference systems print for an input, or what is right where they are wrong.

A failure means that promptpack no longer gives what a user of one of those systems relies on.
"""

from __future__ import annotations

import pytest
from golden_must import MUST, Answer, check_refusal
from golden_right import RIGHT, codes, refused_for
from golden_table import CALLS, COMPARE
from later import FUNCTIONS
from vector_files import Vector, family, params, same

pytestmark = pytest.mark.vectors


def later(vector: Vector) -> int | None:
    return FUNCTIONS.get((family(vector), vector.get("function", "")))


def answer(vector: Vector) -> Answer:
    name = (family(vector), vector["function"])
    if name not in CALLS:
        pytest.fail(f"{vector['id']}: no runner for the function {name[1]!r} of the system {name[0]!r}")
    try:
        return Answer(CALLS[name](vector), None)
    except AssertionError:
        raise  # the runner's own checks
    except Exception as error:  # judged by the vector: it may ask for a refusal
        return Answer(None, error)


def check_must(vector: Vector, given: Answer) -> None:
    must = vector["deviation"]["must"]
    unknown = set(must) - set(MUST)
    assert must, "a deviation without `must` would check nothing"
    assert not unknown, f"no predicate for {sorted(unknown)}"
    for name, value in must.items():
        MUST[name](vector, value, given)


def check_right(vector: Vector, given: Answer) -> None:
    unknown = set(codes(vector)) - set(RIGHT)
    assert not unknown, f"no predicate for the deviations {sorted(unknown)}"
    for code in codes(vector):
        RIGHT[code](vector, given)


def check_expected(vector: Vector, given: Answer) -> None:
    expected = vector["expected"]
    raising = expected.get("raises") if isinstance(expected, dict) else None
    if raising is True:
        assert given.error is not None, f"expected an error, got {given.result}"
        check_refusal(given.error)
    elif raising is not None:
        refused_for(expected, given)
    else:
        compare = COMPARE.get((family(vector), vector["function"]), same)
        assert compare(given.value, expected), f"{given.value}\nexpected {expected}"


@pytest.mark.parametrize("vector", params("golden", later))
def test_golden(vector: Vector) -> None:
    given = answer(vector)
    if "deviation" in vector:
        check_must(vector, given)
    elif codes(vector):
        check_right(vector, given)
    else:
        check_expected(vector, given)
