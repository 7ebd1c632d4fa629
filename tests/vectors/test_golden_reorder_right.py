"""The predicates for rag-chunk-reorder's deviations can fail: the reference's own answer does not pass them.

A failure means that a predicate would let the fault through that it is there for.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from golden_must import Answer
from golden_reorder_cli import same_cli
from golden_reorder_right import RIGHT as BEYOND
from golden_right import RIGHT, codes
from vector_files import Vector

GOLDEN = Path(__file__).parent / "golden"
VECTORS: list[Vector] = [
    json.loads(line)
    for path in sorted(GOLDEN.glob("reorder-*.jsonl"))
    for line in path.read_text(encoding="utf-8").splitlines()
]


def reference(vector: Vector) -> Answer:
    """Return what the reference answered, as a runner's answer."""
    from promptpack import OptionError

    expected = vector["expected"]
    if isinstance(expected, dict) and "raises" in expected:
        return Answer(None, OptionError("x", name="x"))
    if vector["function"] == "cli":
        out = json.dumps(expected["stdout_json"]) if "stdout_json" in expected else expected.get("stdout", "")
        return Answer({"exit": expected["exit"], "stdout": out, "stderr": "Error: x", "files": {}}, None)
    return Answer(expected, None)


@pytest.mark.parametrize("code", sorted({*BEYOND, "D23"}))
def test_the_reference_does_not_pass(code: str) -> None:
    vectors = [vector for vector in VECTORS if code in codes(vector)]
    assert vectors, "no vector has this deviation"
    failed = 0
    for vector in vectors:
        try:
            RIGHT[code](vector, reference(vector))
        except (AssertionError, KeyError, ValueError):
            failed += 1
    # Where the two agree after all, as for words without marks in question, the vector tells nothing.
    assert failed, f"none of {len(vectors)} vectors tells right from wrong"


def test_runs_of_the_command_are_told_apart() -> None:
    run: dict[str, Any] = {"exit": 0, "stdout": '[{"id": "a"}]', "stderr": "", "files": {"o": "[1]\n"}}
    right = {"exit": 0, "stdout_json": [{"id": "a"}], "stdout_ends_with_newline": False, "files": {"o": {"json": [1]}}}
    assert same_cli(run, right)
    for wrong in (
        {**right, "stdout_json": []}, {**right, "stdout_ends_with_newline": True}, {**right, "files": {}},
        {**right, "files": {"o": {"jsonl": [2]}}}, {"exit": 1, "stdout": ""}, {"exit": 0, "flags": ["--nope"]},
        {"exit": 0, "stdout": "0.1.7\n"},
    ):
        assert not same_cli(run, wrong), wrong
    assert not same_cli({**run, "exit": 2}, right)
    assert not same_cli({**run, "exit": 2, "stdout": "", "stderr": "Traceback"}, {"exit": 1})
    with pytest.raises(AssertionError, match="nothing compares"):
        same_cli(run, {"exit": 0, "other": 1})
