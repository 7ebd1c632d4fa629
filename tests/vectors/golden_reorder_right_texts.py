"""rag-chunk-reorder's deviations in metrics and counts: what is right instead of `expected`, worked out here."""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Callable

from golden_must import Answer
from vector_files import Vector, same

ARTICLES = ("a", "an", "the")


def counted_in_code_points(vector: Vector, answer: Answer) -> None:
    """D01: a quarter of the code points, rounded up."""
    assert vector["input"]["name"] != "whitespace"
    assert answer.value == math.ceil(len(vector["input"]["text"]) / 4)


def words(text: str, fold: bool = True) -> list[str]:
    """Return words by category: letters, numbers and marks belong to a word (D03, D35)."""
    text = unicodedata.normalize("NFKC", text)
    kept = (char if unicodedata.category(char)[0] in "LNM" else " " for char in (text.lower() if fold else text))
    return "".join(kept).split()


def by_whole_words(vector: Vector, answer: Answer) -> None:
    """D03, D35: word edges are those of Unicode, and marks belong to the word."""
    given, options = vector["input"], vector.get("options") or {}
    if vector["function"] in ("exact_match", "token_f1"):
        said = [word for word in words(given["prediction"]) if word not in ARTICLES]
        references = given["references"] if isinstance(given["references"], list) else [given["references"]]
        wanted = [[word for word in words(one) if word not in ARTICLES] for one in references]
        if vector["function"] == "exact_match":
            right = float(any(said == one for one in wanted))
        else:
            right = max((f1(said, one) for one in wanted), default=0.0)
    else:
        right = covered(vector["function"], given, options)
    assert same(answer.value, right), (answer.value, right)


def covered(function: str, given: Vector, options: Vector) -> float:
    """Return the share of the distinct words that occur in the contexts."""
    from promptpack.evaluation.answers import STOP_WORDS

    whole = function == "citation_coverage"
    assert whole or function == "faithfulness", function
    fold = options.get("caseInsensitive", True)
    shortest = options.get("minTokenLength", 1 if whole else 2)
    stop = STOP_WORDS if options.get("ignoreStopWords", not whole) else frozenset()
    there = {word for text in given["contexts"] for word in words(text, fold)}
    said = {word for word in words(given["prediction"], fold) if len(word) >= shortest and word.lower() not in stop}
    return sum(word in there for word in said) / len(said) if said else 0.0


def f1(said: list[str], wanted: list[str]) -> float:
    shared = sum((Counter(said) & Counter(wanted)).values())
    return 2 * shared / (len(said) + len(wanted)) if said or wanted else 1.0


def composed(vector: Vector, answer: Answer) -> None:
    """D04: key points are found in NFC."""
    given = vector["input"]

    def nfc(text: str) -> str:
        return unicodedata.normalize("NFC", text)

    hits = [[nfc(point) in nfc(text) for text in given["texts"]] for point in given["keyPoints"]]
    rows = hits if vector["function"] == "key_point_recall" else list(zip(*hits, strict=True))
    assert same(answer.value, sum(map(any, rows)) / len(rows))


def own_or_metadata(vector: Vector, answer: Answer) -> None:
    """D05: the priority of the metadata counts where the chunk's own is no number."""
    (chunk,) = vector["input"]["chunks"]
    assert answer.value == chunk["metadata"]["priorityScore"]


def zero_answerability(vector: Vector, answer: Answer) -> None:
    """D33: all means of an empty set are 0."""
    assert same(answer.value, {**vector["expected"], "answerability": 0})


RIGHT: dict[str, Callable[[Vector, Answer], None]] = {
    "D03": by_whole_words, "D04": composed, "D05": own_or_metadata, "D33": zero_answerability, "D35": by_whole_words,
}
