"""The checks of the cases on payloads and counts: one predicate for each name, written from its stated rule.

A predicate takes the check, the outcome that it is about, and the whole run; it asserts. An outcome that is
an error is raised again by the predicates that need its value.
"""

from __future__ import annotations

import re

from case_adapters import CHECKS as ADAPTER_CHECKS
from case_build import Check, Outcome, Predicate, Run, case_counter, label_map, payload_text, sent_ids
from case_calls import flagged
from case_stage_checks import STAGE_CHECKS
from case_stage_checks import WHOLE as STAGE_WHOLE
from case_texts import TEXT_CHECKS
from case_verify import CHECKS as VERIFY_CHECKS


def deliberate(error: Exception) -> None:
    """Raise an error again that is neither a ValueError nor of the library."""
    from promptpack import PromptpackError

    if not isinstance(error, ValueError | PromptpackError):
        raise error


def raises(check: Check, outcome: Outcome, run: Run) -> None:
    error = outcome.error
    assert error is not None, f"expected an error, got {outcome.value!r}"
    deliberate(error)
    # By its name: a class of the library may well have LookupError among its bases.
    assert type(error).__name__ not in check.get("never", ()), repr(error)
    assert outcome.seconds <= check.get("within_s", float("inf"))
    message = str(error)
    for text in (*check.get("message_has", ()), *check.get("message_names", ())):
        assert text in message, f"{text!r} is not in: {message}"
    if "message_has_integer_at_least" in check:
        numbers = [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", message)]
        assert max(numbers, default=-1) >= check["message_has_integer_at_least"], message
    if "message_matches" in check:
        assert re.search(check["message_matches"], message), message


def no_error(check: Check, outcome: Outcome, run: Run) -> None:
    if outcome.error is not None:
        raise outcome.error


def took(check: Check, outcome: Outcome, run: Run) -> None:
    assert outcome.seconds <= check["max_s"]


def fits(check: Check, outcome: Outcome, run: Run) -> None:
    """Both the library's own count and a count of the whole text by the case's counter stay in the window."""
    if outcome.error is not None and check.get("or_raises"):
        deliberate(outcome.error)
        return
    payload, given = outcome.payload, outcome.given
    room = given["window"] - given.get("reserve", 0)
    assert case_counter(given)(payload_text(payload)) <= room
    assert payload.tokens <= room
    assert payload.budget.window == given["window"]


def packed(check: Check, outcome: Outcome, run: Run) -> None:
    modes = {"equals": set.__eq__, "includes": set.__ge__, "subset": set.__le__}
    assert modes[check.get("mode", "equals")](set(sent_ids(outcome)), set(check["ids"])), sent_ids(outcome)


def packed_count(check: Check, outcome: Outcome, run: Run) -> None:
    assert check.get("min", 0) <= len(label_map(outcome)) <= check.get("max", float("inf"))


def dropped(check: Check, outcome: Outcome, run: Run) -> None:
    found = {drop.source.id: drop for drop in outcome.payload.dropped}
    assert set(check["ids"]) <= set(found), list(found)
    if check.get("with_reason"):
        assert all(found[id_].reason and found[id_].detail for id_ in check["ids"])


def duplicate_of(check: Check, outcome: Outcome, run: Run) -> None:
    assert check["of"] in [drop.of for drop in outcome.payload.dropped if drop.source.id == check["id"]]


def partition(check: Check, outcome: Outcome, run: Run) -> None:
    """Sent and dropped ids together are the input, none is in both, and each dropped one has a reason."""
    sent = sent_ids(outcome)
    left_out = [drop.source.id for drop in outcome.payload.dropped]
    assert sorted(sent + left_out) == sorted(str(chunk["id"]) for chunk in outcome.given["chunks"])
    assert all(drop.reason and drop.detail for drop in outcome.payload.dropped)


def labels(check: Check, outcome: Outcome, run: Run) -> None:
    if "equals" in check:
        assert list(label_map(outcome)) == check["equals"]
    if "equals_set" in check:
        assert set(label_map(outcome)) == set(check["equals_set"])
    assert "equals" in check or "equals_set" in check


def map_ids(check: Check, outcome: Outcome, run: Run) -> None:
    assert set(sent_ids(outcome)) == set(check["ids"])


def map_ids_include(check: Check, outcome: Outcome, run: Run) -> None:
    assert set(sent_ids(outcome)) >= set(check["ids"])


def map_values_unique(check: Check, outcome: Outcome, run: Run) -> None:
    ids = sent_ids(outcome)
    assert len(ids) == len(set(ids)), ids


def same_payload(check: Check, outcome: Outcome, run: Run) -> None:
    first, *others = [run.at(name).payload for name in check["steps"]]
    assert others
    assert all(other.messages == first.messages for other in others)
    assert all(other.labels == first.labels for other in others)


def same_bytes(check: Check, outcome: Outcome, run: Run) -> None:
    assert len(run.outcomes) > 1
    assert len({one.result for one in run.outcomes}) == 1


def same_label_map(check: Check, outcome: Outcome, run: Run) -> None:
    maps = [label_map(one) for one in run.outcomes]
    assert maps
    assert all(one == maps[0] for one in maps)


def label_of(outcome: Outcome, id_: str) -> str:
    found = [label for label, ids in label_map(outcome).items() if id_ in ids]
    assert len(found) == 1, f"{id_} has the labels {found}"
    return found[0]


def label_stable(check: Check, outcome: Outcome, run: Run) -> None:
    assert len({label_of(run.outcomes[turn - 1], check["id"]) for turn in check["turns"]}) == 1


def label_new(check: Check, outcome: Outcome, run: Run) -> None:
    earlier = {label for one in run.outcomes[: check["turn"] - 1] for label in label_map(one)}
    assert label_of(run.outcomes[check["turn"] - 1], check["id"]) not in earlier


def verify(check: Check, outcome: Outcome, run: Run) -> None:
    """The labels found valid, unknown or stale are those listed; "{label of a}" stands for a's label."""
    assert run.answer is not None, "the case has no answer"
    found = run.answer.result
    sets = {
        "valid": set(found.known), "unknown": set(found.unknown), "stale": set(found.stale),
        "stale_or_unknown": {*found.stale, *found.unknown},
    }
    named = [name for name in check if name in sets]
    assert named
    for name in named:
        assert sets[name] == {run.notes.get(label, label) for label in check[name]}, (name, sets)


def int_at_least(check: Check, outcome: Outcome, run: Run) -> None:
    assert type(outcome.result) is int
    assert outcome.result >= check["n"]


def exact_if(check: Check, outcome: Outcome, run: Run) -> None:
    counts = [one.result for one in run.outcomes if one.given["counter"] == check["encoding"]]
    assert counts, f"{check['encoding']} ships with the library, so it has to be among the counters"
    assert counts[: len(check["counts"])] == check["counts"]


def between(check: Check, outcome: Outcome, run: Run) -> None:
    counts = [one.result for one in run.outcomes]
    assert len(counts) == len(check["min"]) == len(check["max"])
    for low, count, high in zip(check["min"], counts, check["max"], strict=True):
        assert low <= count <= high, counts


def flagged_estimate(check: Check, outcome: Outcome, run: Run) -> None:
    for model in check["models"]:
        assert flagged(model), model


def each(check: Check, outcome: Outcome, run: Run) -> None:
    assert run.outcomes
    for one in run.outcomes:
        for inner in check["then"]:
            apply(inner, one, run)


def each_index(check: Check, outcome: Outcome, run: Run) -> None:
    for inner in check["then"]:
        apply(inner, run.outcomes[check["index"]], run)


WHOLE = {"each", "each_index", "same_bytes", "same_label_map", "same_payload", "between", "exact_if"}
WHOLE |= STAGE_WHOLE | {"verify_table", "label_stable", "label_new", "verify", "flagged_estimate"}

CHECKS: dict[str, Predicate] = {
    "raises": raises, "no_error": no_error, "time": took, "fits": fits, "packed": packed,
    "packed_count": packed_count, "dropped": dropped, "duplicate_of": duplicate_of, "partition": partition,
    "labels": labels, "map_ids": map_ids, "map_ids_include": map_ids_include,
    "map_values_unique": map_values_unique, "ids_unique": map_values_unique, "same_payload": same_payload,
    "same_bytes": same_bytes, "same_label_map": same_label_map, "label_stable": label_stable,
    "label_new": label_new, "verify": verify, "int_at_least": int_at_least, "exact_if": exact_if,
    **TEXT_CHECKS, **STAGE_CHECKS, **VERIFY_CHECKS, **ADAPTER_CHECKS,
    "between": between, "flagged_estimate": flagged_estimate, "each": each, "each_index": each_index,
}


def apply(check: Check, outcome: Outcome | None, run: Run) -> None:
    """Apply one check to an outcome; None takes the step that the check names, or the only call.

    A check that names a step is about that step's payload wherever it stands.
    """
    name = check["check"]
    predicate = CHECKS.get(name)
    if predicate is None:
        raise ValueError(f"no predicate for the check {name!r}")
    if outcome is None:
        outcome = run.outcomes[-1] if name in WHOLE else run.at(check.get("step"))
    predicate(check, outcome, run)
