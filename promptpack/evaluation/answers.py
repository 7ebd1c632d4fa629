"""Metrics of answers: against references, and against the texts that they should rest on.

Texts are compared by their words after NFKC and lower-casing; everything but letters, digits, marks and blanks is
a blank, and the articles a, an, the are left out (for answers only).
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from promptpack.errors import OptionError, quote

ARTICLES = frozenset(("a", "an", "the"))
# Words that carry no content of their own: the 25 of Manning, Raghavan and Schuetze (2008), section 2.2.2.
STOP_WORDS = frozenset((
    "a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "has", "he", "in", "is", "it", "its", "of", "on",
    "that", "the", "to", "was", "were", "will", "with",
))


@cache
def _others() -> re.Pattern[str]:
    import regex

    # Marks belong to the word that they stand in; but for the dot that lower-casing a capital dotted I leaves, which
    # is as good as punctuation in the reference.
    return regex.compile(r"[^\p{L}\p{N}\p{M}\s]+|(?<=i)\u0307")  # type: ignore[no-any-return]


def words(text: str, *, fold: bool = True) -> list[str]:
    """Return the words of a text: NFKC, lower case (`fold`), cut at everything but letters, digits and marks.

    >>> words("Re-entry, snow_white!")
    ['re', 'entry', 'snow', 'white']
    """
    if not isinstance(text, str):
        raise OptionError(f"text: expected a text, got {quote(text)}", name="text", given=text)
    text = unicodedata.normalize("NFKC", text)
    return _others().sub(" ", text.lower() if fold else text).split()


def _answer(text: str) -> list[str]:
    return [word for word in words(text) if word not in ARTICLES]


def exact_match(prediction: str, references: str | Sequence[str]) -> float:
    """Return 1.0 if the prediction has the words of one of the references, in order, without articles; else 0.0.

    >>> exact_match("The copper kettle.", ["copper kettle", "pot"])
    1.0
    """
    said = _answer(prediction)
    return float(any(said == _answer(one) for one in _references(references)))


def token_f1(prediction: str, references: str | Sequence[str]) -> float:
    """Return the best F1 of the prediction's words against a reference: 2 P R / (P + R), words counted as often.

    P and R are the shared words over those of the prediction and of the reference, without articles. Two answers
    without words agree (1.0). 0.0 without references.

    >>> token_f1("a red kettle", "the red copper kettle")
    0.8
    """
    said = _answer(prediction)
    return max((_f1(said, _answer(one)) for one in _references(references)), default=0.0)


def _f1(said: Sequence[str], wanted: Sequence[str]) -> float:
    if not said or not wanted:
        return float(not said and not wanted)
    shared = sum((Counter(said) & Counter(wanted)).values())
    return 2 * shared / (len(said) + len(wanted))


def is_answerable(text: str) -> bool:
    """Tell whether a text says anything: whether a word is left that is no article.

    >>> is_answerable("Paris"), is_answerable("the ...")
    (True, False)
    """
    return bool(_answer(text))


def answerability_match(prediction: str, references: str | Sequence[str]) -> float:
    """Return 1.0 if the prediction says something exactly when one of the references does, else 0.0.

    >>> answerability_match("", [""]), answerability_match("Paris", [""])
    (1.0, 0.0)
    """
    return float(is_answerable(prediction) == any(is_answerable(one) for one in _references(references)))


def faithfulness(
    prediction: str, contexts: Sequence[str], *,
    ignore_stop_words: bool = True, min_token_length: int = 2, case_insensitive: bool = True,
) -> float:
    """Return the share of the prediction's content words that occur in the contexts.

    Each word counts once; stop words and those shorter than `min_token_length` are left out. 0.0 where no word is
    left.

    >>> faithfulness("the copper pot", ["a copper kettle"])
    0.5
    """
    return _covered(prediction, contexts, ignore_stop_words, min_token_length, case_insensitive)


def citation_coverage(
    prediction: str, contexts: Sequence[str], *,
    ignore_stop_words: bool = False, min_token_length: int = 1, case_insensitive: bool = True,
) -> float:
    """Return the share of the prediction's words that occur in the contexts: `faithfulness` with all words.

    >>> citation_coverage("a copper pot", ["a copper kettle"])
    0.6666666666666666
    """
    return _covered(prediction, contexts, ignore_stop_words, min_token_length, case_insensitive)


def _covered(prediction: str, contexts: Sequence[str], stop: bool, shortest: int, fold: bool) -> float:
    if isinstance(shortest, bool) or not isinstance(shortest, int) or shortest < 0:
        message = f"min_token_length: expected a whole number of 0 or more, got {quote(shortest)}"
        raise OptionError(message, name="min_token_length", given=shortest)
    said = {
        word for word in words(prediction, fold=fold)
        if len(word) >= shortest and not (stop and word.lower() in STOP_WORDS)
    }
    there = {word for text in _listed("contexts", contexts) for word in words(text, fold=fold)}
    return sum(word in there for word in said) / len(said) if said else 0.0


@dataclass(frozen=True, slots=True)
class AnswerScores:
    """The metrics of one answer; faithfulness and citation_coverage are None where it had no contexts."""

    exact_match: float
    f1: float
    answerability: float
    faithfulness: float | None = None
    citation_coverage: float | None = None


@dataclass(frozen=True, slots=True)
class AnswerSummary:
    """The means over a set of answers, and the metrics of each.

    faithfulness and citation_coverage are means over the answers that had contexts, None where none had.
    """

    count: int
    exact_match: float
    f1: float
    answerability: float
    faithfulness: float | None
    citation_coverage: float | None
    per_example: tuple[AnswerScores, ...]


def evaluate_answer_set(
    cases: Sequence[Mapping[str, Any]], *,
    faithfulness: Mapping[str, Any] | None = None, citation_coverage: Mapping[str, Any] | None = None,
) -> AnswerSummary:
    """Return the metrics of a set of answers, and their means (0.0 for an empty set).

    cases: mappings with `prediction`, `references` and perhaps `contexts`. faithfulness, citation_coverage: keyword
    options of these metrics.

    >>> evaluate_answer_set([{"prediction": "Paris", "references": ["Paris"]}]).exact_match
    1.0
    """
    each = tuple(
        _scores(case, index, faithfulness or {}, citation_coverage or {})
        for index, case in enumerate(_listed("cases", cases))
    )
    means = {field.name: _mean([getattr(one, field.name) for one in each]) for field in fields(AnswerScores)}
    required = {name: means.pop(name) or 0.0 for name in ("exact_match", "f1", "answerability")}
    return AnswerSummary(
        len(each), **required, faithfulness=means["faithfulness"], citation_coverage=means["citation_coverage"],
        per_example=each,
    )


def _scores(case: Any, index: int, faith: Mapping[str, Any], cover: Mapping[str, Any]) -> AnswerScores:
    if not isinstance(case, Mapping):
        raise OptionError(f"cases[{index}]: expected a mapping, got {quote(case)}", name="cases", given=case)
    for name in ("prediction", "references"):
        if case.get(name) is None:
            raise OptionError(f"cases[{index}]: {name} is missing", name=name, known=("prediction", "references"))
    said, wanted, contexts = case["prediction"], case["references"], case.get("contexts")
    found = AnswerScores(exact_match(said, wanted), token_f1(said, wanted), answerability_match(said, wanted))
    if contexts is None:
        return found
    return AnswerScores(
        found.exact_match, found.f1, found.answerability, _faithfulness(said, contexts, **faith),
        _citation_coverage(said, contexts, **cover),
    )


_faithfulness, _citation_coverage = faithfulness, citation_coverage


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _references(references: str | Sequence[str]) -> list[str]:
    return [references] if isinstance(references, str) else _listed("references", references)


def _listed(name: str, given: Any) -> list[Any]:
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Sequence):
        raise OptionError(f"{name}: expected a list, got {quote(given)}", name=name, given=given)
    return list(given)
