"""Which placement suits a question: what it asks for, and what the sources can tell."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast, get_args

from promptpack.curves import PositionCurve
from promptpack.errors import OptionError, quote
from promptpack.packing.by_rank import BY_RANK, ByRank, Spread
from promptpack.packing.dates import instant
from promptpack.packing.place import Chronological, DocumentOrder, field_value, group_keys
from promptpack.protocols import Placer
from promptpack.source import Source

Intent = Literal["factoid", "narrative", "temporal"]
Detector = Callable[[str], str | None]

# The words of rag-chunk-reorder's default settings, so that both route a question alike.
TEMPORAL_TERMS = (
    "when", "date", "timeline", "chronological", "latest", "recent", "before", "after", "year", "month",
    "day", "history", "historical",
)
NARRATIVE_TERMS = (
    "summarize", "summary", "explain", "walk through", "overview", "guide", "chapter", "section", "steps",
    "how does", "story",
)


def detect_intent(
    question: str | None,
    *,
    temporal_terms: Sequence[str] = TEMPORAL_TERMS,
    narrative_terms: Sequence[str] = NARRATIVE_TERMS,
    detector: Detector | None = None,
) -> Intent:
    """Return what a question asks for: "temporal", "narrative", or else "factoid".

    Terms match whole words after NFKC and lower-casing, a term of several words only words that
    follow one another; temporal terms are tried first. A detector is asked before the terms, and answers None
    where they shall decide. A blank question is "factoid". Raises OptionError for a question that is no text, and for
    an answer of the detector that is none of the three.

    >>> detect_intent("Walk through the audit"), detect_intent("Which kettle is blue?")
    ('narrative', 'factoid')
    """
    if question is not None and not isinstance(question, str):
        message = f"question: expected a text or None, got {quote(question)}"
        raise OptionError(message, name="question", given=question)
    if question is None or not question.strip():
        return "factoid"
    if detector is not None:
        found = detector(question)
        if found is not None:
            if not isinstance(found, str) or found not in get_args(Intent):
                raise OptionError.unknown("intent", found, (*get_args(Intent), "None, to go by the words"))
            return cast(Intent, found)
    words = _words(question)
    if _mentions(words, temporal_terms):
        return "temporal"
    return "narrative" if _mentions(words, narrative_terms) else "factoid"


def _words(text: str) -> str:
    # Framed and joined by one blank each, so that whole words are found by a plain search.
    found = re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", text).lower())
    return f" {' '.join(found)} "


def _mentions(words: str, terms: Sequence[str]) -> bool:
    return any(term.strip() and term in words for term in map(_words, terms))


@dataclass(frozen=True, slots=True)
class Coverage:
    """Which share of the sources, 0 to 1, has a readable date, a document and a position."""

    temporal: float
    document: float
    position: float


def metadata_coverage(sources: Sequence[Source], field: str = "document") -> Coverage:
    """Return the share of the sources that has a date, a document (named by `field`), a position.

    Zero is a value, an empty text or a structured value is none. Without sources all shares are 0.

    >>> metadata_coverage([Source("a", "x", document="d"), Source("b", "x", updated="2024-03-01")])
    Coverage(temporal=0.5, document=0.5, position=0.0)
    """
    n = len(sources)
    if n == 0:
        return Coverage(0.0, 0.0, 0.0)
    # A key that is no text of a value is the name of the group without one.
    keys = group_keys([None, *(field_value(source, field) for source in sources)])
    return Coverage(
        sum(instant(source.updated) is not None for source in sources) / n,
        sum(key != keys[0] for key in keys[1:]) / n,
        sum(source.position is not None for source in sources) / n,
    )


@dataclass(frozen=True, slots=True)
class Auto:
    """Choose the placement by the question and by what the sources carry.

    A temporal question goes to `Chronological` if at least `temporal_coverage` of the sources have a
    date; a narrative one to `DocumentOrder` if `document_coverage` have a document and
    `position_coverage` a position; everything else to `Spread`. Shares are 0 to 1, equality suffices.

    intent: what the question asks for (factoid, narrative, temporal), or a function that tells it, or None where it
    cannot; None goes by the words in `temporal_terms` and `narrative_terms`. field: what names a document.
    """

    temporal_coverage: float = 0.4
    document_coverage: float = 0.4
    position_coverage: float = 0.3
    intent: str | Detector | None = None
    temporal_terms: tuple[str, ...] = TEMPORAL_TERMS
    narrative_terms: tuple[str, ...] = NARRATIVE_TERMS
    field: str = "document"

    def __post_init__(self) -> None:
        for name in ("temporal_coverage", "document_coverage", "position_coverage"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
                raise OptionError(
                    f"Auto.{name}: expected a number from 0 to 1, got {quote(value)}", name=name, given=value
                )
        if self.intent is not None and not callable(self.intent) and self.intent not in get_args(Intent):
            raise OptionError.unknown("Auto.intent", self.intent, get_args(Intent))
        for name in ("temporal_terms", "narrative_terms"):
            terms = getattr(self, name)
            if isinstance(terms, str) or not all(isinstance(term, str) for term in terms):
                raise OptionError(
                    f"Auto.{name}: expected a tuple of texts, got {quote(terms)}", name=name, given=terms
                )
        if not isinstance(self.field, str) or not self.field:
            message = f"Auto.field: expected a name, got {quote(self.field)}"
            raise OptionError(message, name="field", given=self.field)

    def resolve(self, sources: Sequence[Source], question: str | None) -> Placer:
        """Return the placer for this question and these sources.

        >>> Auto().resolve([Source("a", "x", updated="2024-03-01")], "When did it open?")
        Chronological(newest_first=False)
        """
        coverage = metadata_coverage(sources, self.field)
        intent = self.find_intent(question)
        if intent == "temporal" and coverage.temporal >= self.temporal_coverage:
            return Chronological()
        covered = coverage.document >= self.document_coverage and coverage.position >= self.position_coverage
        return DocumentOrder(self.field) if intent == "narrative" and covered else Spread()

    def find_intent(self, question: str | None) -> Intent:
        """Return what the question asks for, under these settings."""
        if isinstance(self.intent, str):
            return cast(Intent, self.intent)
        return detect_intent(
            question, temporal_terms=self.temporal_terms, narrative_terms=self.narrative_terms,
            detector=self.intent,
        )


PLACERS: Mapping[str, Placer | Auto] = {
    "spread": Spread(),
    "document": DocumentOrder(),
    "chronological": Chronological(),
    "auto": Auto(),
    **{name: ByRank(name) for name in BY_RANK},
}


def placer(place: str | Placer | Auto | None) -> Placer | Auto:
    """Return the placer that a name or value stands for; None stands for the fold.

    Raises OptionError for a name that is not one of `PLACERS`.

    >>> placer("best_first")
    ByRank(order='best_first')
    """
    if place is None:
        return PLACERS["fold"]
    if isinstance(place, str):
        if place not in PLACERS:
            raise OptionError.unknown("place", place, PLACERS)
        return PLACERS[place]
    if isinstance(place, PositionCurve):
        raise OptionError("place: to place by a position curve, give Curve(curve)", name="place", given=place)
    if isinstance(place, Auto) or callable(place):
        return place
    raise OptionError.unknown("place", place, PLACERS)
