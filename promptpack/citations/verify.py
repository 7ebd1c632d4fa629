"""Checking an answer against the labels that were sent: what it cites, rightly or not, and what is open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from promptpack.citations.claims import sentences_of
from promptpack.citations.grammar import grammar
from promptpack.citations.parse import Citation, Malformed, Marks, chunk_ids_of, read_marks
from promptpack.errors import CitationError, OptionError, quote

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
    known.
    """

    citations: tuple[Citation, ...]
    known: tuple[str, ...]
    cited: tuple[str, ...]
    unknown: tuple[str, ...]
    stale: tuple[str, ...]
    unused: tuple[str, ...]
    uncited: tuple[Passage, ...]
    unsupported: tuple[Passage, ...]
    malformed: tuple[Malformed, ...]
    coverage: float
    refusal: bool

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

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that `json.dumps` takes: lists, texts and numbers, and `ok`."""
        plain: dict[str, list[Any]] = {
            name: [asdict(one) if not isinstance(one, str) else one for one in getattr(self, name)]
            for name in self.__slots__ if name not in ("coverage", "refusal")
        }
        for one in plain["citations"]:
            one["inner"], one["chunk_ids"] = list(one["inner"]), list(one["chunk_ids"])
        return {**plain, "coverage": self.coverage, "refusal": self.refusal, "ok": self.ok}


def verify_citations(
    answer: str,
    labels: Mapping[str, str | Sequence[str]],
    *,
    carried: Mapping[str, str | Sequence[str]] | None = None,
    prefix: str = "S",
    zero_padded: bool = False,
    superscripts: bool = False,
) -> Verification:
    """Check an answer against the labels that were sent.

    labels: label to chunk ids (or one chunk id), in prompt order. carried: labels of earlier turns; those not
    in `labels` are stale, not known. prefix, zero_padded and superscripts: how labels may be written, see
    `read_marks`. A sentence counts as a claim unless it is a heading, a question, a refusal ("I don't know",
    "The sources do not say"), code, or the lead of a list; an answer with at least one citation or a
    refusal, and nothing wrong, is `ok`. Linear in the length of the answer.

    Raises OptionError for an answer that is no text, or a label that could never be cited with this prefix.

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
    used = dict.fromkeys(one.label for one in marks.citations)
    known = tuple(label for label in used if label in sent)
    uncited, coverage, refusal = _claims(answer, marks, sent)
    return Verification(
        citations=marks.citations,
        known=known,
        cited=tuple(dict.fromkeys(chunk for label in known for chunk in sent[label])),
        unknown=tuple(label for label in used if label not in sent and label not in earlier),
        stale=tuple(label for label in used if label not in sent and label in earlier),
        unused=tuple(label for label in sent if label not in used),
        uncited=uncited,
        unsupported=(),
        malformed=marks.malformed,
        coverage=coverage,
        refusal=refusal,
    )


def _claims(answer: str, marks: Marks, sent: Mapping[str, object]) -> tuple[tuple[Passage, ...], float, bool]:
    """Return the claims without a citation, the share of claims with a known one, and whether one refuses."""
    spans: list[tuple[int, int]] = []
    known: list[bool] = []
    for one in marks.citations:
        # Labels of a group share a mark, and a mark inside another one counts for the outer.
        if not spans or one.start >= spans[-1][1]:
            spans.append((one.start, one.end))
            known.append(False)
        known[-1] = known[-1] or one.label in sent
    sentences, owners = sentences_of(answer, spans, marks.blocks)
    cited = set(owners)
    backed = {owner for owner, good in zip(owners, known, strict=True) if good}
    claims = [index for index, one in enumerate(sentences) if one.claim]
    bare = [sentences[index] for index in claims if index not in cited]
    uncited = tuple(Passage(answer[one.start:one.end], one.start, one.end) for one in bare)
    share = sum(index in backed for index in claims) / len(claims) if claims else 1.0
    return uncited, share, any(one.kind == "refusal" for one in sentences)


def _listed(labels: Iterable[str]) -> str:
    names = list(labels)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
