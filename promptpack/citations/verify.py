"""Checking an answer against the labels that were sent: what it cites, rightly or not, and what is open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, Any

from promptpack.citations.claims import Sentence, sentences_of
from promptpack.citations.grammar import grammar
from promptpack.citations.parse import Citation, Malformed, Marks, chunk_ids_of, read_marks
from promptpack.errors import CitationError, OptionError, quote
from promptpack.quick import maker

if TYPE_CHECKING:
    from promptpack.citations.extra import Extra
    from promptpack.citations.link import Style
    from promptpack.citations.quotes import Quotation
    from promptpack.citations.rewrite import Rewritten
    from promptpack.citations.support import Claim, Judge

_SHOWN = 20  # labels that an error message lists


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of the answer: its text, and where it starts and ends."""

    text: str
    start: int
    end: int

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Verification:
    """What was found in an answer.

    citations: every label cited, in order, with its span. known: the labels that were sent, in order of
    first use. cited: the chunk ids behind them, in the same order, each once. unknown: labels that no turn
    gave out. stale: labels of an earlier turn whose source was not sent now. unused: labels sent and not
    cited, in prompt order. uncited: claims without any citation. unsupported: cited claims that the cited
    text does not support (only where support was asked for). malformed: what was meant as a citation and
    cannot be read. coverage: the share of claims with a known citation, 0.0 to 1.0; 1.0 where the answer
    makes no claim, since then nothing is left open. refusal: whether a sentence says that the answer is not
    known. claims: the claims that cite something, with their support (where support was asked for). quotes: the
    quotations, and where they were found (where the texts are known). answer: what was checked.
    """

    citations: tuple[Citation, ...]
    known: tuple[str, ...]
    cited: tuple[str, ...]
    unknown: tuple[str, ...]
    stale: tuple[str, ...]
    unused: tuple[str, ...]
    uncited: tuple[Passage, ...]
    unsupported: tuple[Claim, ...]
    malformed: tuple[Malformed, ...]
    coverage: float
    refusal: bool
    claims: tuple[Claim, ...] = ()
    quotes: tuple[Quotation, ...] = ()
    answer: str = field(default="", repr=False)

    @property
    def ok(self) -> bool:
        """Whether nothing is unknown, stale, malformed or unsupported, and it cites a source or refuses."""
        wrong = self.unknown or self.stale or self.malformed or self.unsupported
        return not wrong and bool(self.citations or self.refusal)

    def raise_for_unknown(self) -> Verification:
        """Return this result, or raise CitationError where the answer cites an unknown or a stale label."""
        wrong = []
        if self.unknown:
            wrong.append(f"{_listed(self.unknown)} (unknown)")
        if self.stale:
            wrong.append(f"{_listed(self.stale)} (stale: of an earlier turn, not sent in this one)")
        if not wrong:
            return self
        sent = _listed((*self.known, *self.unused)) or "none"
        raise CitationError(
            f"the answer cites {' and '.join(wrong)}. Labels that were sent: {sent}", verification=self
        )

    def strip(self, *, stale: bool = True) -> Rewritten:
        """Return the answer without its unknown labels, and without the stale ones unless `stale` is False.

        A mark goes with the blank before it, and of a group only the labels in question. Names (`source_9`) that are
        part of a sentence go as well, so that nothing in the result points at what was not sent.

        >>> str(verify_citations("It is free [S1, S9]. It is so [S9].", {"S1": "a"}).strip())
        'It is free [S1]. It is so.'
        """
        from promptpack.citations.rewrite import dropped, edited, units

        wrong = {*self.unknown, *(self.stale if stale else ())}
        changes = dropped(self.answer, units(self.citations, self.malformed), wrong.__contains__)
        left = {label: ids for label, ids in self._chunk_ids().items() if label not in wrong}
        return edited(self.answer, changes, left)

    def renumber(self) -> Rewritten:
        """Return the answer with its labels numbered by first use; `labels` of the result says what they stand for.

        Known labels count from 1; stale and unknown ones follow, so that none of them takes the name of a source.

        >>> new = verify_citations("It is free [S7]. It is so [S3, S7].", {"S3": "a", "S7": "b"}).renumber()
        >>> str(new), new.labels
        ('It is free [S1]. It is so [S2, S1].', {'S1': ('b',), 'S2': ('a',)})
        """
        from promptpack.citations.rewrite import edited, renumbered, units

        order = [*self.known, *self.stale, *self.unknown]
        prefix = order[0].rstrip("0123456789") if order else ""
        new = {label: f"{prefix}{number}" for number, label in enumerate(order, 1)}
        ids = self._chunk_ids()
        changes = renumbered(self.answer, units(self.citations, self.malformed), new)
        return edited(self.answer, changes, {new[label]: ids[label] for label in self.known})

    def link(self, urls: Mapping[str, str], *, style: Style = "markdown") -> Rewritten:
        """Return the answer with its citations as links; see `promptpack.citations.link_citations`.

        >>> str(verify_citations("It is free [S1].", {"S1": "a"}).link({"a": "https://a.example"}, style="footnotes"))
        'It is free [^S1].\\n\\n[^S1]: https://a.example'
        """
        from promptpack.citations.link import Linker
        from promptpack.citations.rewrite import units

        linker = Linker(urls, self._chunk_ids(), style)
        return linker.rewrite(self.answer, self.citations, units(self.citations, self.malformed))

    def sources(self) -> tuple[CitedSource, ...]:
        """Return the sources that are cited, for a list below the answer, in order of first use.

        >>> verify_citations("It is free [S7]. It is so [S7].", {"S7": "b"}).sources()[0].spans
        ((11, 15), (26, 30))
        """
        spans: dict[str, dict[tuple[int, int], None]] = {label: {} for label in self.known}
        for one in self.citations:
            if one.label in spans:
                spans[one.label][one.start, one.end] = None
        ids = self._chunk_ids()
        return tuple(
            CitedSource(number, label, ids[label], tuple(places))
            for number, (label, places) in enumerate(spans.items(), 1)
        )

    def _chunk_ids(self) -> dict[str, tuple[str, ...]]:
        return {one.label: one.chunk_ids for one in self.citations}

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that `json.dumps` takes: lists, texts and numbers, and `ok`; not the answer itself."""
        plain = {name: _plain(getattr(self, name)) for name in self.__slots__ if name != "answer"}
        return {**plain, "ok": self.ok}


@dataclass(frozen=True, slots=True)
class CitedSource:
    """A source that an answer cites: its number by first use, from 1, and the spans of the marks that cite it."""

    number: int
    label: str
    chunk_ids: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]


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
    citations = marks.citations
    if extra is not None:
        citations = tuple(sorted([*citations, *extra.citations], key=lambda one: one.start))
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
        malformed=marks.malformed,
        coverage=sum(index in backed for index in claims) / len(claims) if claims else 1.0,
        refusal=any(one.kind == "refusal" for one in sentences),
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


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    return value


def _listed(labels: Iterable[str]) -> str:
    names = list(labels)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


_passage = maker(Passage)
