"""Cases from public bug reports: a failure means that a fault others had to fix has come into promptpack."""

from __future__ import annotations

import pytest
from case_calls import CALLS
from case_checks import apply
from case_notation import expand
from later import IDS, PARTS
from vector_files import Vector, params

pytestmark = pytest.mark.vectors


def later(vector: Vector) -> int | None:
    return IDS.get(vector["id"], PARTS.get(vector.get("part", "")))


@pytest.mark.parametrize("vector", params("cases", later))
def test_cases(vector: Vector) -> None:
    given = expand(vector["input"])
    call = CALLS.get(given["call"])
    if call is None:
        pytest.fail(f"{vector['id']}: no runner for {given['call']!r} of the part {vector['part']!r}")
    checks = expand(vector["expected"]["checks"])
    assert checks, "a case without checks would check nothing"
    run = call(given)
    for check in checks:
        apply(check, None, run)
