"""What a comparison measures: each metric with its title, what it needs of a data set, and what it says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Column:
    """A metric: its title, what it says, the fields that a case must have for it, and how it is shown.

    better: 1 where more is better, -1 where less is, 0 where neither. answers: whether it is about the answers.
    """

    title: str
    meaning: str
    needs: str = ""
    better: int = 1
    digits: int = 3
    answers: bool = False


COLUMNS: Mapping[str, Column] = {
    "sources": Column("sources", "sources that are sent", better=0, digits=1),
    "tokens": Column("tokens", "tokens of their texts, without what encloses them", better=-1, digits=1),
    "key_point_recall": Column(
        "key point recall", "share of the key points that stand in a text that is sent; case is ignored", "key_points"
    ),
    "key_point_precision": Column(
        "key point precision", "share of the texts that are sent in which a key point stands", "key_points"
    ),
    "span_recall": Column("span recall", "share of the spans that stand in a text that is sent, as written", "spans"),
    "recall_at_k": Column(
        "recall@k", "share of the relevant sources that are sent; one that is sent in part counts", "relevant"
    ),
    "precision_at_k": Column("precision@k", "share of the sources that are sent that are relevant", "relevant"),
    "ndcg": Column(
        "nDCG", "gains of the relevant sources in prompt order, against the best order of all relevant ones, sent or "
        "not; it prizes the front, so a fold pays for its second source at the end", "relevant",
    ),
    "position_effectiveness": Column(
        "position", "how much of the gain stands near an edge: places weigh 1 at both ends and 0 in the middle",
        "relevant",
    ),
    "answer_in_window": Column(
        "answer in window", "share of the questions for which each piece of evidence is sent", "needs"
    ),
    "faithfulness": Column(
        "faithfulness", "share of the content words of the answer that stand in a text that is sent", "prediction",
        answers=True,
    ),
    "citation_coverage": Column(
        "coverage", "share of all words of the answer that stand in a text that is sent", "prediction", answers=True
    ),
    "key_points_stated": Column(
        "key points stated", "share of the key points that the answer has", "prediction, key_points", answers=True
    ),
    "exact_match": Column(
        "exact match", "whether the answer is one of the references, word for word", "prediction, references",
        answers=True,
    ),
    "f1": Column(
        "F1", "words that the answer shares with the best reference", "prediction, references", answers=True
    ),
    "answerability": Column(
        "answerability", "whether the answer says something exactly where a reference does", "prediction, references",
        answers=True,
    ),
    "citation_recall": Column(
        "citation recall", "share of the statements that their citations support together (ALCE)",
        "prediction with labels", answers=True,
    ),
    "citation_precision": Column(
        "citation precision", "share of the citations that are of use to their statement (ALCE)",
        "prediction with labels", answers=True,
    ),
}
