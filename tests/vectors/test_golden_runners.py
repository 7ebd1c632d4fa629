"""The golden runners' comparisons: a failure means that one of them could not fail, or hides a difference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import golden_claims
import golden_ctxpack
import golden_upack
import pytest
from golden_chapter import same_orders
from golden_must import MUST, Answer
from golden_notation import plain
from golden_right import RIGHT, clusters, codes, refused, refused_for
from golden_table import CALLS as GOLDEN
from test_golden import check_right

FAMILY = "ab \U0001f469\u200d\U0001f469\u200d\U0001f467 done"


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("\U0001f467 done", " done"), (FAMILY[:4], "ab "), ("ab", "ab"), (" done", " done"), (FAMILY, FAMILY), ("", ""),
        (FAMILY[:5] + golden_ctxpack.MARKER + FAMILY[6:], "ab " + golden_ctxpack.MARKER + " done"),
    ],
)
def test_only_pieces_of_clusters_are_taken_off_an_expected_text(text: str, whole: str) -> None:
    assert golden_ctxpack.whole_clusters(FAMILY, text) == whole


def packing(*items: tuple[str, str, int], dropped: list[str], budget: int = 9) -> dict[str, Any]:
    shown: list[dict[str, Any]] = [
        {"id": id_, "text": text, "tokens": tokens, "source": FAMILY} for id_, text, tokens in items
    ]
    total = sum(item["tokens"] for item in shown)
    return {"items": shown, "dropped_ids": dropped, "total_tokens": total, "budget": budget}


def test_a_packing_differs_only_after_a_cut_cluster() -> None:
    wanted = packing(("a", FAMILY, 1), ("b", "\U0001f467 done", 8), dropped=["c"])
    right = packing(("a", FAMILY, 1), ("b", " done", 2), ("c", "ab", 1), dropped=[])
    assert golden_ctxpack.same_packing(right, wanted)
    for wrong in (
        packing(("a", FAMILY, 2), ("b", " done", 2), ("c", "ab", 1), dropped=[]),
        packing(("a", FAMILY, 1), ("b", "done", 1), ("c", "ab", 1), dropped=[]),
        packing(("a", FAMILY, 1), ("b", " done", 2), dropped=[]),
        packing(("a", FAMILY, 1), ("b", " done", 2), ("c", "ab", 7), dropped=[]),
    ):
        assert not golden_ctxpack.same_packing(wrong, wanted)
    assert not golden_ctxpack.same_packing(right, packing(("a", FAMILY, 1), ("b", " done", 2), dropped=["c"]))
    cut = {"text": "\U0001f467 done", "tokens": 8}
    assert golden_ctxpack.same_text({"text": " done", "tokens": 2, "source": FAMILY}, cut)
    assert not golden_ctxpack.same_text({**cut, "source": FAMILY}, cut)


STATS = "\n[x] 3/4 tokens used (1 included, 1 dropped)\n  + a: 3 tok (truncated)\n  - b: dropped\n"


def test_runs_of_the_command_are_compared_by_output_and_facts() -> None:
    wanted = {"exit_code": 0, "stdout": "a\n", "stderr": STATS}
    good = {**wanted, "stderr": STATS.replace("[x]", "[other]")}
    assert golden_ctxpack.same_run(good, wanted)
    wrongs: list[dict[str, Any]] = [
        {"exit_code": 1}, {"stdout": "a"}, {"output_file": "a"}, {"stderr": ""},
        {"stderr": STATS.replace("3/4", "2/4")}, {"stderr": STATS.replace(" (truncated)", "")},
        {"stderr": STATS.replace("- b", "- c")},
    ]
    for wrong in wrongs:
        assert not golden_ctxpack.same_run({**good, **wrong}, wanted), wrong
    assert not golden_ctxpack.same_run(good, {**wanted, "stderr": ""})
    failed = {"exit_code": 2, "stdout": "", "stderr": "Error: no such file"}
    assert golden_ctxpack.same_run(failed, {"exit_code": 1, "stdout": "", "stderr": "x"})
    unlike: list[dict[str, Any]] = [{"exit_code": 0}, {"stdout": "a"}, {"stderr": ""}]
    for wrong in unlike:
        assert not golden_ctxpack.same_run({**failed, **wrong}, {"exit_code": 1})


def test_open_readings_are_the_librarys() -> None:
    assert golden_upack.same_reading({"score": 1.0, "score_set": 1.0}, {"score_set": 1.0, "score_bag": 0.5})
    assert not golden_upack.same_reading({"score": 0.5, "score_set": 0.5}, {"score_set": 1.0, "score_bag": 0.5})
    with pytest.raises(AssertionError):
        golden_upack.same_reading({"score": 0.5}, {"score_bag": 0.5})


def test_of_the_buried_order_the_place_of_the_best_is_fixed() -> None:
    expected = {"ends": [1, 3, 2], "best_first": [1, 2, 3], "best_last": [3, 2, 1]}
    places = {"best_buried": {"index_of_best_in": [1], "suggested": [3, 1, 2]}}
    for buried, equal in (([3, 1, 2], True), ([2, 1, 3], True), ([1, 2, 3], False), ([2, 1], False)):
        assert same_orders({**expected, "best_buried": buried}, {**expected, **places}) is equal


@pytest.mark.parametrize(
    ("claim", "layout"),
    [
        ("top-two-hold-both-edges", lambda n: list(range(1, n + 1))),
        ("weakest-interior", lambda n: list(range(1, n + 1))),
        ("ranks-converge", lambda n: list(range(1, n + 1))),
        ("ranks-converge", lambda n: [1, *range(3, n + 1), 2]),
        ("sorting-wastes-the-closing-edge", lambda n: list(range(1, n + 1))),
    ],
)
def test_a_claim_fails_for_another_layout(
    claim: str, layout: Callable[[int], list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"input": {"claim": claim, "n": 7}}
    assert golden_claims.claim(given)["holds"] is True
    monkeypatch.setattr(golden_claims, "folded", layout)
    monkeypatch.setitem(golden_upack.LAYOUTS, "folded", layout)
    with pytest.raises(AssertionError):
        golden_claims.claim(given)


def test_an_unknown_claim_or_an_empty_range_does_not_pass() -> None:
    with pytest.raises(AssertionError, match="no-such"):
        golden_claims.claim({"input": {"claim": "no-such", "n": 3}})
    given = {"claim": "nothing-lost", "n_from": 4, "n_to": 3}
    assert not golden_claims.same_verdict(golden_claims.claim({"input": given}), {"holds": True})


PLAIN = {"options": {"counter": "heuristic"}}
ITEM = {"id": "a", "text": "abcd", "tokens": 1, "original_tokens": 2}
PACKED = {"items": [ITEM], "total_tokens": 1}
JOINED = {"text": "abcdefgh", "rendered_tokens": 2, "total_tokens": 1, "overhead": 1}
FILES = {"input": {"files": {"a": "text"}}}
PRINTED = {"exit_code": 0, "stdout": "text\n", "stderr": STATS}

# (predicate, vector, value, a result that passes, one that must fail)
MUSTS: list[tuple[str, dict[str, Any], Any, Any, Any]] = [
    ("tokens_max", PLAIN, 1, {"text": "abcd", "tokens": 1}, {"text": "abcdefgh", "tokens": 2}),
    ("tokens_max", PLAIN, 1, {"text": "abcd", "tokens": 1}, {"text": "abcdefgh", "tokens": 1}),
    ("total_tokens_max", PLAIN, 1, PACKED, {**PACKED, "total_tokens": 0}),
    ("total_tokens_max", PLAIN, 1, PACKED, {"items": [ITEM, ITEM], "total_tokens": 2}),
    ("rendered_tokens_max", PLAIN, 1, JOINED, {**JOINED, "overhead": 0}),
    ("rendered_tokens_max", PLAIN, 2, {**JOINED, "overhead": 0}, {**JOINED, "text": "abcd"}),
    ("no_new_characters", {"input": {"text": "abcd"}}, True, {"text": "bc"}, {"text": "b\ufffd"}),
    ("no_new_characters", {"input": {"text": "abcd"}}, True, {"text": "a\n...\nd"}, {"text": "d\n...\na"}),
    ("tokens", PLAIN, 2, {"tokens": 2}, {"tokens": 1}),
    ("original_tokens", PLAIN, {"a": 2}, PACKED, {"items": []}),
    ("total_tokens_at_most_budget", FILES, True, PRINTED, {**PRINTED, "stderr": STATS.replace("3/4", "3/2")}),
    ("rendered_within_budget_or_reported", {**FILES, **PLAIN}, True, PRINTED, {**PRINTED, "stdout": "ten." * 10}),
    ("text_at_most_once", FILES, True, PRINTED, {**PRINTED, "stdout": "text text"}),
    ("text_at_most_once", FILES, True, {**PRINTED, "exit_code": 2, "stdout": ""}, {**PRINTED, "exit_code": 2}),
]


@pytest.mark.parametrize(("name", "vector", "value", "good", "bad"), MUSTS)
def test_what_must_hold_can_fail(name: str, vector: dict[str, Any], value: Any, good: Any, bad: Any) -> None:
    MUST[name](vector, value, Answer(good, None))
    with pytest.raises(AssertionError):
        MUST[name](vector, value, Answer(bad, None))


def test_tags_are_replaced_and_unknown_ones_are_errors() -> None:
    assert plain({"a": {"$undefined": True}, "b": [{"$num": "Infinity"}]}) == {"b": [float("inf")]}
    with pytest.raises(ValueError, match=r"\$other"):
        plain([{"$other": 1}])


def chunk(id_: str, score: float | None, text: str = "t") -> dict[str, Any]:
    return {"id": id_, "text": text, "score": score}


WEIGHTS = {"similarity": 1, "time": 0, "section": 0, "sourceReliability": 0}
EQUAL = {"input": {"chunks": [chunk("a", 0.1), chunk("b", 0.1)], "weights": WEIGHTS}}
EMOJI = "\U0001f600"

# code -> (vector without its note, a wrong result); the right one is what the library gives.
DEVIATING: dict[str, tuple[dict[str, Any], Any]] = {
    "D01": ({"function": "trigram_similarity", "input": {"a": EMOJI + "ab", "b": EMOJI + "abc"}}, 0.25),
    "D06": (
        {
            "function": "rerank_with_diversity", "options": {"enabled": True, "maxCandidates": 2},
            "input": {"chunks": [chunk("a", 9.5), chunk("b", 8.5, "u"), chunk("c", 7.5)]},
            "expected": {"ids": ["a", "b", "c"], "priorityScores": [2.0000095, 1.0000085, 7.5]},
        },
        {"ids": ["a", "b", "c"], "priorityScores": [2.0000095, 1.0000085, 7.5]},
    ),
    "D14": (
        {
            "function": "score_chunks_with_options", "options": {"scoreNormalization": "zScore"}, **EQUAL,
            "expected": {"priorityScores": [-1, -1]},
        },
        {"priorityScores": [-1, -1]},
    ),
    "D18": (
        {
            "function": "reorder_haystack_documents", "options": {},
            "input": {"items": [{"content": "a", "score": None}, {"content": "b", "score": 0.5}]},
        },
        {"order": [0, 1]},
    ),
    "D29": (
        {
            "function": "detect_query_intent", "options": {"config": {}}, "input": {"query": "when?"},
            "expected": "factoid",
        },
        "factoid",
    ),
}


@pytest.mark.parametrize("code", DEVIATING)
def test_a_deviation_is_right_or_fails(code: str) -> None:
    vector, wrong = DEVIATING[code]
    vector = {**vector, "note": f"[deviation {code}] why"}
    assert codes(vector) == [code]
    check_right(vector, Answer(GOLDEN["", vector["function"]](vector), None))
    with pytest.raises(AssertionError):
        check_right(vector, Answer(wrong, None))


def test_refusals_are_of_the_library_and_name_the_field() -> None:
    from promptpack import OptionError, SourceError

    refusing = [code for code, right in RIGHT.items() if right is refused]
    assert refusing
    for code in refusing:
        vector = {"note": f"[deviation {code}]"}
        check_right(vector, Answer(None, OptionError("x", name="x")))
        with pytest.raises(AssertionError):
            check_right(vector, Answer({}, None))
        with pytest.raises(KeyError):
            check_right(vector, Answer(None, KeyError("x")))
    with pytest.raises(AssertionError, match="D99"):
        check_right({"note": "[deviation D99] new"}, Answer({}, None))
    expected = {"raises": "ValidationError", "index": 1, "field": "text"}
    refused_for(expected, Answer(None, SourceError("x", index=1, field="text")))
    for wrong in (SourceError("x", index=0, field="text"), SourceError("x", index=1, field="id")):
        with pytest.raises(AssertionError):
            refused_for(expected, Answer(None, wrong))


def test_the_pairwise_rule_counts_code_points() -> None:
    """The rule that dedup vectors with wide characters are held to: first of each cluster, buckets, a bound."""
    texts = ["abcdefgh", "abcdefghij", "abcdefghijkl"]
    assert clusters(texts, 0.75, None, None) == [[0, 1], [2]]
    assert clusters(texts, 0.3, 1, None) == [[0], [1], [2]]
    assert clusters(["abc", "xyz", "abcd"], 0.5, None, 1) == [[0], [1], [2]]
    assert clusters([EMOJI * 2 + "ab", EMOJI * 2 + "abc"], 0.6, None, None) == [[0, 1]]
