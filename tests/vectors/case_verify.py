"""The cases on citations: verify each answer against a label map, and what has to hold of the results."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from case_build import Check, Given, Outcome, Predicate, Run, attempt

if TYPE_CHECKING:
    from promptpack import Verification


def verify_each(given: Given) -> Run:
    """Check every answer against the label map."""
    from promptpack import verify_citations

    def check(one: Given) -> Verification:
        return verify_citations(one["answer"], one["label_map"])

    return Run(given, tuple(attempt({**given, **entry}, check) for entry in given["each"]))


def checked(outcome: Outcome, run: Run) -> Verification:
    """Return the result of the check that an outcome is about: of itself, or of the answer of a whole run."""
    from promptpack import Verification

    if outcome.error is None and not isinstance(outcome.value, Verification) and run.answer is not None:
        outcome = run.answer
    found = outcome.result
    assert isinstance(found, Verification)
    return found


def verify_table(check: Check, outcome: Outcome, run: Run) -> None:
    """Row i belongs to answer i: sets of labels, and the sentences without any citation; null is not checked."""
    rows = check["rows"]
    assert len(rows) == len(run.outcomes)
    for row, one in zip(rows, run.outcomes, strict=True):
        found = checked(one, run)
        actual = {
            "valid": set(found.known), "unknown": set(found.unknown), "stale": set(found.stale),
            "uncited_sentences": [str(sentence) for sentence in found.uncited],
        }
        named = {name: value for name, value in row.items() if value is not None}
        assert named, "a row without values would check nothing"
        for name, value in named.items():
            expected = value if name == "uncited_sentences" else set(value)
            assert actual[name] == expected, (one.given["answer"], name, actual[name])


def not_ok(check: Check, outcome: Outcome, run: Run) -> None:
    assert not checked(outcome, run).ok


def not_lost(check: Check, outcome: Outcome, run: Run) -> None:
    """The label is found valid or is reported as malformed; the mark is not overlooked."""
    found = checked(outcome, run)
    assert check["label"] in found.known or any(check["label"] in one.text for one in found.malformed), found


CALLS: dict[str, Callable[[Given], Run]] = {"verify_each": verify_each}
CHECKS: dict[str, Predicate] = {"verify_table": verify_table, "not_ok": not_ok, "not_lost": not_lost}
