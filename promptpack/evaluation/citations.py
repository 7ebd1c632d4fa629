"""Citation recall and precision as ALCE defines them, over sentences, their citations and a judge of support.

Gao, Yen, Yu and Chen (2023), "Enabling Large Language Models to Generate Text with Citations", section 3.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptpack.errors import OptionError, quote

if TYPE_CHECKING:
    from promptpack.citations.claims import Sentence

Entails = Callable[[str, str], bool]


@dataclass(frozen=True, slots=True)
class CitationScores:
    """Citation recall and precision, and what they were worked out from.

    recall: the share of the sentences that their citations support together. precision: the share of the citations
    that are of use to their sentence. Both are 0.0 where there is nothing to count. sentences, supported: counted for
    the recall; citations, useful: for the precision. citation_f1: the harmonic mean.
    """

    recall: float
    precision: float
    sentences: int
    supported: int
    citations: int
    useful: int

    @property
    def citation_f1(self) -> float:
        """The harmonic mean of recall and precision; 0.0 where both are."""
        both = self.recall + self.precision
        return 2 * self.recall * self.precision / both if both else 0.0


def citation_scores(
    sentences: Sequence[tuple[str, Sequence[str]]], passages: Mapping[str, str], entails: Entails, *,
    most: int | None = None,
) -> CitationScores:
    """Return the citation recall and precision of an answer.

    sentences: (sentence without its citations, the labels that it cites). passages: the text of each label.
    entails(premise, statement): whether the premise supports the statement: an NLI model, or a function of yours.
    most: only so many citations of a sentence count (ALCE: 3); None counts all.

    Recall: a sentence counts 1 if it has a citation and its passages, joined in the order cited, support it. Precision:
    a citation counts 1 if its sentence counts for the recall and the citation is not irrelevant; it is irrelevant if
    it does not support the sentence alone, and the others do without it. A label without a passage supports nothing.
    For a sentence with n citations `entails` is asked at most 2 n + 1 times.

    >>> facts = {"S1": "Returns take 45 days.", "S2": "Lamps are blue."}
    >>> scores = citation_scores([("Returns take 45 days.", ["S1", "S2"])], facts, lambda text, claim: claim in text)
    >>> scores.recall, scores.precision
    (1.0, 0.5)
    """
    if not callable(entails):
        raise OptionError(f"entails: expected a function, got {quote(entails)}", name="entails", given=entails)
    if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 1):
        message = f"most: expected a whole number of 1 or more, or None, got {quote(most)}"
        raise OptionError(message, name="most", given=most)
    if not isinstance(passages, Mapping):
        message = f"passages: expected a mapping from labels to texts, got {quote(passages)}"
        raise OptionError(message, name="passages", given=passages)
    supported = citations = useful = 0
    count = 0
    for sentence, labels in _checked(sentences):
        count += 1
        cited = list(dict.fromkeys(labels))[:most]
        citations += len(cited)
        if not cited or not _supports(cited, passages, sentence, entails):
            continue
        supported += 1
        useful += sum(_is_useful(label, cited, passages, sentence, entails) for label in cited)
    return CitationScores(_share(supported, count), _share(useful, citations), count, supported, citations, useful)


def cited_sentences(answer: str, *, prefix: str = "S") -> list[tuple[str, tuple[str, ...]]]:
    """Return the sentences of an answer that state something, without their citations, and the labels they cite.

    Citations are read as `promptpack.parse_citations` does; headings, questions, refusals and code state nothing. A
    heading's or question's citations are left out with it. For `citation_scores`.

    >>> cited_sentences("It takes 45 days [S1][S3]. Is that so? It is free.")
    [('It takes 45 days.', ('S1', 'S3')), ('It is free.', ())]
    """
    spans, labels, sentences, owners = _read(answer, prefix)
    cited: dict[int, list[str]] = {}
    for owner, names in zip(owners, labels, strict=True):
        cited.setdefault(owner, []).extend(names)
    return [
        (_without(answer, one.start, one.end, spans), tuple(dict.fromkeys(cited.get(index, ()))))
        for index, one in enumerate(sentences) if one.claim
    ]


def plain_answer(answer: str, *, prefix: str = "S") -> str:
    """Return what an answer says, to compare it with others: without its citations, and nothing where it only refuses.

    White space is folded. An answer refuses if one of its sentences says that the answer is not known or not in the
    sources, and none states anything.

    >>> plain_answer("It takes 45 days [S1][S3].\\nLamps are blue.[S2]"), plain_answer("I don't know.")
    ('It takes 45 days. Lamps are blue.', '')
    """
    spans, _, sentences, _ = _read(answer, prefix)
    kinds = {one.kind for one in sentences}
    if "refusal" in kinds and "claim" not in kinds:
        return ""
    return _without(answer, 0, len(answer), spans)


def _read(answer: str, prefix: str) -> tuple[list[tuple[int, int]], list[list[str]], list[Sentence], list[int]]:
    """Return the spans of the marks and their labels, the sentences, and the index of the sentence of each mark."""
    from promptpack.citations.claims import sentences_of
    from promptpack.citations.parse import read_marks

    if not isinstance(answer, str):
        raise OptionError(f"answer: expected a text, got {quote(answer)}", name="answer", given=answer)
    marks = read_marks(answer, prefix=prefix)
    spans: list[tuple[int, int]] = []
    labels: list[list[str]] = []
    for one in marks.citations:
        # Labels of a group share a mark, and a mark inside another one counts for the outer.
        if not spans or one.start >= spans[-1][1]:
            spans.append((one.start, one.end))
            labels.append([])
        labels[-1].append(one.label)
    return spans, labels, *sentences_of(answer, spans, marks.blocks)


def _without(answer: str, start: int, end: int, spans: Sequence[tuple[int, int]]) -> str:
    kept, at = "", start
    for first, last in spans[bisect_left(spans, (start, start)):]:
        if first >= end:
            break
        kept, at = (kept + answer[at:first]).rstrip(), last
    return " ".join((kept + answer[at:end]).split())


def _is_useful(
    label: str, cited: Sequence[str], passages: Mapping[str, str], sentence: str, entails: Entails
) -> bool:
    if len(cited) == 1 or _supports([label], passages, sentence, entails):
        return True
    return not _supports([one for one in cited if one != label], passages, sentence, entails)


def _supports(labels: Sequence[str], passages: Mapping[str, str], sentence: str, entails: Entails) -> bool:
    texts = [passages[label] for label in labels if label in passages]
    return bool(texts) and bool(entails("\n".join(texts), sentence))


def _checked(sentences: Sequence[tuple[str, Sequence[str]]]) -> list[tuple[str, Sequence[str]]]:
    if isinstance(sentences, str | bytes | Mapping) or not isinstance(sentences, Sequence):
        message = f"sentences: expected a list of (sentence, labels), got {quote(sentences)}"
        raise OptionError(message, name="sentences", given=sentences)
    for at, one in enumerate(sentences):
        fits = isinstance(one, tuple | list) and len(one) == 2 and isinstance(one[0], str)
        if not fits or isinstance(one[1], str) or not isinstance(one[1], Sequence):
            raise OptionError(
                f"sentences[{at}]: expected (sentence, labels), got {quote(one)}", name="sentences", given=one
            )
    return list(sentences)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def overlap_entails(least: float = 0.8) -> Entails:
    """Return a judge that goes by words: a premise supports a statement if it has at least this share of its words.

    A stand-in without a model, for tests and for comparing runs; it neither reads numbers nor negations.

    >>> overlap_entails(0.5)("returns take 45 days", "Returns take a month.")
    True
    """
    from promptpack.evaluation.answers import faithfulness
    from promptpack.packing.ranking import is_finite

    if not is_finite(least) or not 0 <= least <= 1:
        raise OptionError(f"least: expected a number from 0 to 1, got {quote(least)}", name="least", given=least)
    return lambda premise, statement: faithfulness(statement, [premise]) >= least
