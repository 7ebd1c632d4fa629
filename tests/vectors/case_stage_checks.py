"""The checks of the cases on single stages: cut texts, orders, picks and selections, from their stated rules."""

from __future__ import annotations

import itertools
import math
from typing import Any

from case_build import Check, Outcome, Predicate, Run, case_counter
from case_stages import MODES


def counted(outcome: Outcome) -> int:
    return case_counter(outcome.given)(outcome.result)


def count_le_limit(check: Check, outcome: Outcome, run: Run) -> None:
    assert counted(outcome) <= outcome.given["limit"], outcome.result


def prefix_of_input(check: Check, outcome: Outcome, run: Run) -> None:
    assert outcome.given["text"].startswith(outcome.result), outcome.result


def no_new_replacement_char(check: Check, outcome: Outcome, run: Run) -> None:
    assert outcome.result.count("\ufffd") <= outcome.given["text"].count("\ufffd")


def unchanged_if_fits(check: Check, outcome: Outcome, run: Run) -> None:
    text = outcome.given["text"]
    if case_counter(outcome.given)(text) <= outcome.given["limit"]:
        assert outcome.result == text


def clusters(text: str) -> list[str]:
    """Return the extended grapheme clusters (UAX 29) of a text."""
    import regex

    found: list[str] = regex.findall(r"\X", text)
    return found


def grapheme_prefix(check: Check, outcome: Outcome, run: Run) -> None:
    kept = clusters(outcome.result)
    assert kept == clusters(outcome.given["text"])[:len(kept)], outcome.result


def maximal(check: Check, outcome: Outcome, run: Run) -> None:
    """One more cluster would pass the limit, or the whole text is there."""
    text, result = outcome.given["text"], outcome.result
    more = "".join(clusters(text)[:len(clusters(result)) + 1])
    assert result == text or case_counter(outcome.given)(more) > outcome.given["limit"], result


def shape(check: Check, outcome: Outcome, run: Run) -> None:
    """Besides the marker there is a beginning, an end, or both; both ends have text from limit 10 on."""
    from promptpack.packing.trim import MARKERS

    given, result, text = outcome.given, outcome.result, outcome.given["text"]
    keep = MODES[given["mode"]]
    if result in (text, ""):
        assert result == text or given["mode"] != "middle" or given["limit"] < 10
        return
    marker = MARKERS[keep] if given["marker"] == "library default" else given["marker"]
    head, found, tail = result.partition(marker) if marker else (result, "", "")
    if not marker and keep == "end":
        head, tail = "", result
    assert found == marker, result
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) + len(tail) < len(text)
    assert keep != "start" or tail == ""
    assert keep != "end" or head == ""
    assert keep != "ends" or given["limit"] < 10 or (head and tail)


def idempotent(check: Check, outcome: Outcome, run: Run) -> None:
    assert outcome.result == outcome.given["once"]


def input_ids(outcome: Outcome) -> list[str]:
    given = outcome.given
    return [chunk["id"] for chunk in given["chunks"]] if "chunks" in given else [
        str(index) for index in range(len(given["scores"]))
    ]


def scores_in_order(outcome: Outcome) -> list[Any]:
    return [outcome.given["scores"][int(id_)] for id_ in outcome.result]


def permutation(check: Check, outcome: Outcome, run: Run) -> None:
    assert sorted(outcome.result) == sorted(input_ids(outcome)), outcome.result


def valley(check: Check, outcome: Outcome, run: Run) -> None:
    """The scores fall and then rise, and the two largest are first and last."""
    scores = scores_in_order(outcome)
    lowest = scores.index(min(scores)) if scores else 0
    assert all(one >= other for one, other in itertools.pairwise(scores[:lowest + 1])), scores
    assert all(one <= other for one, other in itertools.pairwise(scores[lowest:])), scores
    if len(scores) > 1:
        assert sorted((scores[0], scores[-1])) == sorted(scores)[-2:], scores


def edges(check: Check, outcome: Outcome, run: Run) -> None:
    scores = scores_in_order(outcome)
    assert sorted((scores[0], scores[-1])) == sorted(check["scores"]), scores


def order_each(check: Check, outcome: Outcome, run: Run) -> None:
    assert [one.result for one in run.outcomes] == check["ids"]


def repeatable(check: Check, outcome: Outcome, run: Run) -> None:
    from case_stages import reordered

    assert reordered(outcome.given) == outcome.result


def picked_sets(check: Check, outcome: Outcome, run: Run) -> None:
    assert len(run.outcomes) == len(check["sets"])
    for one, wanted in zip(run.outcomes, check["sets"], strict=True):
        assert len(set(one.result["ids"])) == len(one.result["ids"])
        assert wanted is None or set(one.result["ids"]) == set(wanted), one.result


def picked_includes(check: Check, outcome: Outcome, run: Run) -> None:
    assert set(outcome.result["ids"]) >= set(check["ids"]), outcome.result


def no_nan(check: Check, outcome: Outcome, run: Run) -> None:
    assert outcome.result["numbers"]
    assert not any(math.isnan(number) for number in outcome.result["numbers"])


def selected(check: Check, outcome: Outcome, run: Run) -> None:
    ids = [item["id"] for item in outcome.result]
    assert sorted(ids) == sorted(check["ids"]), ids


def total_value(check: Check, outcome: Outcome, run: Run) -> None:
    total = math.fsum(item["value"] for item in outcome.result)
    assert math.isclose(total, check["equals"], rel_tol=1e-9, abs_tol=1e-12), total


def total_cost_le(check: Check, outcome: Outcome, run: Run) -> None:
    assert sum(item["cost"] for item in outcome.result) <= check["max"]


# These look at all outcomes of a case.
WHOLE = {"order_each", "picked_sets"}

STAGE_CHECKS: dict[str, Predicate] = {
    "count_le_limit": count_le_limit, "prefix_of_input": prefix_of_input,
    "no_new_replacement_char": no_new_replacement_char, "unchanged_if_fits": unchanged_if_fits,
    "grapheme_prefix": grapheme_prefix, "maximal": maximal, "shape": shape, "idempotent": idempotent,
    "permutation": permutation, "valley": valley, "edges": edges, "order_each": order_each,
    "repeatable": repeatable, "picked_sets": picked_sets, "picked_includes": picked_includes, "no_nan": no_nan,
    "selected": selected, "total_value": total_value, "total_cost_le": total_cost_le,
}
