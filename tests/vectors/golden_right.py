"""rag-chunk-reorder's deviations: what is right instead of `expected`, one predicate for each code.

A predicate takes the vector, its function's name among the runners and what the call gave. Three kinds: the
call raises; the answer differs in the stated way; or it equals a value worked out here by the stated rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from golden_must import Answer, check_refusal
from golden_notation import plain
from golden_reorder import CALLS, KEEP, priority, score
from golden_reorder_cli import better_command
from golden_reorder_right import RIGHT as BEYOND
from golden_reorder_right_texts import counted_in_code_points
from vector_files import Vector, same

DEVIATION = re.compile(r"\[deviation ([^\]]*)\]")


def codes(vector: Vector) -> list[str]:
    """Return the codes that a vector's note names; none where it does not deviate."""
    found = DEVIATION.match(vector.get("note") or "")
    return re.findall(r"\w+", found[1]) if found else []


def refused(vector: Vector, answer: Answer) -> None:
    """The call raises an error of the library."""
    assert answer.error is not None, f"expected an error, got {answer.result!r}"
    check_refusal(answer.error)


def trigrams(text: str) -> set[str]:
    """Return the runs of three code points."""
    return {text[at:at + 3] for at in range(len(text) - 2)}


def likeness(one: str, other: str) -> float:
    left, right = trigrams(one), trigrams(other)
    if one == other:
        return 1.0
    return len(left & right) / len(left | right) if left and right else 0.0


def clusters(texts: list[str], threshold: float, bucket: int | None, most: int | None) -> list[list[int]]:
    """Compare each text with the first of every cluster, in order, as the rule says; in code points."""
    found: list[list[int]] = []
    compared: list[int] = []
    for at, text in enumerate(texts):
        for place, members in enumerate(found):
            first = texts[members[0]]
            if threshold == 1:
                near = text == first
            elif (bucket is not None and abs(len(text) // bucket - len(first) // bucket) > 1) or (
                most is not None and compared[place] >= most
            ):
                continue
            else:
                compared[place] += 1
                near = likeness(text, first) >= threshold
            if near:
                members.append(at)
                break
        else:
            found.append([at])
            compared.append(0)
    return found


def in_code_points(vector: Vector, answer: Answer) -> None:
    """D01: lengths and trigrams count code points."""
    given, options = plain(vector["input"]), plain(vector.get("options") or {})
    if vector["function"] == "token_counter_factory":
        counted_in_code_points(vector, answer)
        return
    if vector["function"] == "trigram_similarity":
        assert same(answer.value, likeness(given["a"], given["b"])), answer.value
        return
    assert vector["function"] in ("deduplicate_chunks", "deduplicate_chunks_unsafe"), vector["function"]
    chunks = given["chunks"]
    groups = clusters(
        [chunk["text"] for chunk in chunks], options.get("threshold", 1), options.get("lengthBucketSize"),
        options.get("maxCandidates"),
    )
    keep = KEEP[options.get("keep", "highestScore")]
    places = {"first": lambda group: group[0], "last": lambda group: group[-1]}
    best = places.get(keep, lambda group: max(group, key=lambda at: (score(chunks[at]), -at)))
    assert answer.value["ids"] == [chunks[at]["id"] for at in sorted(map(best, groups))], answer.value


def left_out_below(vector: Vector, answer: Answer) -> None:
    """D06: those left out of the diversity rank below; their numbers stay where all of them are under 1."""
    found, expected = answer.value, vector["expected"]
    most = vector["options"]["maxCandidates"]
    assert found["ids"] == expected["ids"]
    numbers, left = found["priorityScores"], found["priorityScores"][most:]
    assert same(numbers[:most], expected["priorityScores"][:most])
    assert max(left) < min(numbers[:most]), numbers
    own = {chunk["id"]: priority(chunk) for chunk in plain(vector["input"]["chunks"])}
    before = [own[id_] for id_ in found["ids"][most:]]
    if max(before) < 1:
        assert same(left, before)
    assert sorted(range(len(left)), key=lambda at: left[at]) == sorted(range(len(left)), key=lambda at: before[at])


def equal_scores_give_zero(vector: Vector, answer: Answer) -> None:
    """D14: the z-score of equal scores is 0, so that the similarity adds nothing, whatever its weight."""
    given = vector["input"]
    assert len({score(chunk) for chunk in plain(given["chunks"])}) == 1, "the scores are not equal"
    others = {**given["weights"], "similarity": 0}
    rest = CALLS[vector["function"]]({**vector, "input": {**given, "weights": others}})
    assert same(answer.value, rest), answer.value
    shifts = [
        one - other for one, other in
        zip(vector["expected"]["priorityScores"], answer.value["priorityScores"], strict=True)
    ]
    assert same(shifts, [shifts[0]] * len(shifts)), "more than the z-score differs"


def absent_is_zero(vector: Vector, answer: Answer) -> None:
    """D18: a null score is taken as one that is not there."""
    chunks = [
        {key: value for key, value in chunk.items() if key != "score" or value is not None}
        for chunk in plain(vector["input"]["chunks"])
    ]
    wanted = CALLS[vector["function"]]({**vector, "input": {**vector["input"], "chunks": chunks}})
    assert same(answer.value, wanted), answer.value


def default_terms(vector: Vector, answer: Answer) -> None:
    """D29: terms that are not given are the default ones, so that the answer is that of the default settings."""
    options = vector["options"]
    given = {key: value for key, value in plain(options["config"]).items() if value is not None}
    names = {"temporalQueryTerms", "narrativeQueryTerms"}
    assert names - set(given), "the vector gives all terms"
    from promptpack.packing.route import NARRATIVE_TERMS, TEMPORAL_TERMS

    defaults = {"temporalQueryTerms": list(TEMPORAL_TERMS), "narrativeQueryTerms": list(NARRATIVE_TERMS)}
    wanted = CALLS[vector["function"]]({**vector, "options": {**options, "config": {**defaults, **given}}})
    assert answer.value == wanted
    assert answer.value != vector["expected"], "no difference to the reference"


RIGHT: dict[str, Callable[[Vector, Answer], None]] = {
    "D01": in_code_points, "D06": left_out_below, "D14": equal_scores_give_zero, "D29": default_terms,
    **dict.fromkeys(("D02", "D08", "D09", "D10", "D12", "D13", "D15", "D22"), refused), **BEYOND,
    "D23": better_command,
}

# The reference's names of what is at fault, and the library's: an option's `name`, a source's `field`.
FIELDS = {
    "deduplicateThreshold": "threshold", "deduplicateKeep": "keep", "lengthBucketSize": "length_bucket",
    "maxCandidates": "max_candidates", "validationMode": "validate", "chunks": "sources", "id": "id", "text": "text",
    "score": "score", "scoreNormalization": "normalize", "scoreNormalizationTemperature": "temperature",
    "startCount": "start", "endCount": "end", "lambda": "relevance", "sourceDiversityWeight": "document_weight",
    "sourceField": "field",
}


def snake(name: str) -> str:
    """Return a name of the reference in snake_case."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def refused_for(expected: Vector, answer: Answer) -> None:
    """The call raises; a fault of an option or a source is the library's error, naming what the vector names."""
    error = answer.error
    assert error is not None, f"expected an error, got {answer.result!r}"
    if expected["raises"] in ("TypeError", "RangeError") and isinstance(error, TypeError):
        return
    if expected["raises"] == "RerankerError":
        from golden_reorder_outside import shown

        assert same(shown(error), {key: value for key, value in expected.items() if key != "raises"})
        return
    check_refusal(error)
    if "field" in expected:
        # A stage has names of its own; the reorderer has the reference's, in snake_case, chunks have them as they are.
        field = expected["field"]
        if getattr(error, "field", None):
            assert error.field in (field, FIELDS.get(field)), (error, expected)  # type: ignore[attr-defined]
        else:
            name = error.name  # type: ignore[attr-defined]
            assert name == snake(field) or name.split(".")[-1] == FIELDS.get(field), (error, expected)
    if "context" in expected:
        assert same(error.context, expected["context"]), error  # type: ignore[attr-defined]
    if "index" in expected and getattr(error, "index", None) is not None:
        assert error.index == expected["index"], error  # type: ignore[attr-defined]
