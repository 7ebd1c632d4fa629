"""Checking an answer against the labels that were sent: what it cites, rightly or not, and what is open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from promptpack.citations.claims import Sentence, sentences_of
from promptpack.citations.grammar import grammar
from promptpack.citations.parse import Marks, chunk_ids_of, read_marks
from promptpack.citations.verification import Passage, Verification
from promptpack.errors import OptionError, quote
from promptpack.quick import maker

if TYPE_CHECKING:
    from promptpack.citations.extra import Extra
    from promptpack.citations.support import Judge

def verify_citations(
    answer: str,
    labels: Mapping[str, str | Sequence[str]],
    *,
    carried: Mapping[str, str | Sequence[str]] | None = None,
    prefix: str = "S",
    zero_padded: bool = False,
    superscripts: bool = False,
    texts: Mapping[str, str] | None = None,
    min_support: float | None = None,
    judge: Judge | None = None,
    extra: Extra | None = None,
) -> Verification:
    """Check an answer against the labels that were sent.

    labels: label to chunk ids (or one chunk id), in prompt order. carried: labels of earlier turns; those not
    in `labels` are stale, not known. prefix, zero_padded and superscripts: how labels may be written, see
    `read_marks`. A sentence counts as a claim unless it is a heading, a question, a refusal ("I don't know",
    "The sources do not say"), code, or the lead of a list; an answer with at least one citation or a
    refusal, and nothing wrong, is `ok`. Linear in the length of the answer.

    texts: the text behind each label; with it quotations are looked up (`promptpack.citations.quotes`).
    min_support: from 0 to 1; every claim that cites something is compared with the texts that it cites, and is
    unsupported where its support is less, or where one of its numbers, dates or quotations is not in them. Support is
    the overlap of words (formula: `promptpack.citations.support`), and overlap is not entailment. judge: a callable
    `(claim, text) -> score` to be used instead; then its score alone decides.

    extra: citations that came beside the text (`promptpack.citations.native`); they count like those in the text.

    Raises OptionError for an answer that is no text, a label that could never be cited with this prefix, support
    asked for without texts, and a judge that gives no number.

    >>> found = verify_citations("It is 30 days [S1]. It is free [S4].", {"S1": "a", "S2": "b"})
    >>> found.known, found.cited, found.unknown, found.unused, found.coverage, found.ok
    (('S1',), ('a',), ('S4',), ('S2',), 0.5, False)
    """
    sent = chunk_ids_of(labels)
    earlier = chunk_ids_of(carried or {}, "carried")
    rules = grammar(prefix, bool(zero_padded))
    for label in sent:
        match = rules.item.fullmatch(label)
        if match is None or label != f"{prefix}{int(match[1])}":
            raise OptionError(
                f"labels: {quote(label)} could never be cited; expected {prefix} and 1 to 4 digits",
                name="labels", given=label,
            )
    marks = read_marks(
        answer, {**earlier, **sent}, prefix=prefix, zero_padded=zero_padded, superscripts=superscripts
    )
    citations, malformed = marks.citations, marks.malformed
    if extra is not None:
        citations = tuple(sorted([*citations, *extra.citations], key=lambda one: one.start))
        malformed = tuple(sorted([*malformed, *extra.malformed], key=lambda one: one.start))
    used = dict.fromkeys(one.label for one in citations)
    known = tuple(label for label in used if label in sent)
    sentences, cited = _sentences(answer, marks, extra)
    claims = [index for index, one in enumerate(sentences) if one.claim]
    backed = {index for index, labels in cited.items() if any(label in sent for label in labels)}
    bare = [sentences[index] for index in claims if index not in cited]
    found = _evidence(answer, marks, sentences, cited, sent, texts, min_support, judge)
    return Verification(
        citations=citations,
        known=known,
        cited=tuple(dict.fromkeys(chunk for label in known for chunk in sent[label])),
        unknown=tuple(label for label in used if label not in sent and label not in earlier),
        stale=tuple(label for label in used if label not in sent and label in earlier),
        unused=tuple(label for label in sent if label not in used),
        uncited=tuple(_passage(answer[one.start:one.end], one.start, one.end) for one in bare),
        malformed=malformed,
        coverage=sum(index in backed for index in claims) / len(claims) if claims else 1.0,
        refusal=any(one.kind == "refusal" for one in sentences) or (extra is not None and extra.refused),
        answer=answer,
        **found,
    )


def _sentences(
    answer: str, marks: Marks, extra: Extra | None
) -> tuple[list[Sentence], dict[int, dict[str, None]]]:
    """Return the sentences of an answer, and by the index of a sentence the labels that it cites, in order."""
    if extra is not None:
        return extra.sentences(answer, marks)
    spans: list[tuple[int, int]] = []
    labels: list[list[str]] = []
    end = -1
    for one in marks.citations:
        # Labels of a group share a mark, and a mark inside another one counts for the outer.
        if one.start >= end:
            end = one.end
            spans.append((one.start, end))
            labels.append([])
        labels[-1].append(one.label)
    sentences, owners = sentences_of(answer, spans, marks.blocks)
    cited: dict[int, dict[str, None]] = {}
    for owner, group in zip(owners, labels, strict=True):
        if owner in cited:
            cited[owner].update(dict.fromkeys(group))
        else:
            cited[owner] = dict.fromkeys(group)
    cited.pop(-1, None)  # marks of an answer without any sentence
    return sentences, cited


def _evidence(
    answer: str, marks: Marks, sentences: Sequence[Sentence], cited: Mapping[int, dict[str, None]],
    sent: Mapping[str, object], texts: Mapping[str, str] | None, min_support: float | None, judge: Judge | None,
) -> dict[str, Any]:
    """Return the fields of a verification that need the texts of the sources."""
    if texts is None and min_support is None and judge is None:
        return {"unsupported": ()}
    from promptpack.citations.evidence import quoted, texts_of, threshold, unsupported, weighed

    least = threshold(min_support)
    if judge is not None and not callable(judge):
        raise OptionError(f"judge: expected a callable (claim, text), got {quote(judge)}", name="judge", given=judge)
    if texts is None:
        raise OptionError(
            "min_support, judge: the texts of the sources are needed: texts={label: text}", name="texts", given=None
        )
    held = texts_of(texts, sent)
    named = {index: list(labels) for index, labels in cited.items()}
    quotes = quoted(answer, marks, sentences, named, held)
    if least is None and judge is None:
        return {"unsupported": (), "quotes": quotes}
    claims = weighed(answer, marks, sentences, named, held, quotes, judge)
    return {"unsupported": unsupported(claims, least, judge), "claims": claims, "quotes": quotes}


_passage = maker(Passage)
