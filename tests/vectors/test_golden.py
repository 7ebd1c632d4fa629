"""Golden vectors: what the reference systems print for an input, or what is right where they are wrong.

A failure means that promptpack no longer gives what a user of one of those systems relies on.
"""

from __future__ import annotations

import pytest
from golden_calls import CALLS
from golden_must import MUST, Answer, check_refusal
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


@pytest.mark.parametrize("vector", params("golden", later))
def test_golden(vector: Vector) -> None:
    given = answer(vector)
    if "deviation" in vector:
        must = vector["deviation"]["must"]
        unknown = set(must) - set(MUST)
        assert must, "a deviation without `must` would check nothing"
        assert not unknown, f"no predicate for {sorted(unknown)}"
        for name, value in must.items():
            MUST[name](vector, value, given)
    elif vector["expected"] == {"raises": True}:
        assert given.error is not None, f"expected an error, got {given.result}"
        check_refusal(given.error)
    else:
        assert same(given.value, vector["expected"]), f"{given.value}\nexpected {vector['expected']}"
