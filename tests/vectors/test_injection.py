"""Hostile and ordinary texts in every place: a failure means that text passes for the prompt or is lost."""

from __future__ import annotations

import pytest
from injection_build import Case, request
from injection_checks import PROPERTIES
from later import KINDS
from vector_files import Vector, params

pytestmark = pytest.mark.vectors

KNOWN = {
    "id", "kind", "text", "where", "expect", "sources", "fields", "repeat", "nest", "meta", "attr",
    "attr_name", "attr_value", "duplicate", "answer", "answer_repeat", "as", "note", "role",
}
PLACES = {"body", "attr", "id", "question", "history", "template"}


def later(vector: Vector) -> int | None:
    return KINDS.get("injection")


@pytest.mark.parametrize("vector", params("injection", later))
def test_injection(vector: Vector) -> None:
    unknown = set(vector) - KNOWN
    assert not unknown, f"fields that the runner does not know: {sorted(unknown)}"
    assert vector["where"] in PLACES, vector["where"]
    properties = [text.partition(":")[::2] for text in vector["expect"]]
    missing = [name for name, _ in properties if name not in PROPERTIES]
    assert properties, "a case that expects nothing would check nothing"
    assert not missing, f"no predicate for {missing}"
    case = Case(request(vector))
    for name, argument in properties:
        PROPERTIES[name](case, argument)
