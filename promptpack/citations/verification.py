"""What was found in an answer, and what can be made of it: an error, another answer, links, a list of sources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, Any

from promptpack.citations.parse import Citation, Malformed
from promptpack.errors import CitationError
from promptpack.labels import prefix_of

if TYPE_CHECKING:
    from promptpack.citations.link import Style
    from promptpack.citations.quotes import Quotation
    from promptpack.citations.rewrite import Rewritten
    from promptpack.citations.support import Claim

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
        part of a sentence go as well, so that nothing in the result points at what was not sent; so do words that only
        point at the mark (`(see [S9])`), and the sign of a list item that has nothing else. All other marks stay marks:
        the result is read again, and a blank or a sign of omission (`[……]`) stays where a mark would be lost otherwise.

        >>> from promptpack.citations import verify_citations
        >>> str(verify_citations("It is free [S1, S9]. It is so [S9].", {"S1": "a"}).strip())
        'It is free [S1]. It is so.'
        """
        from promptpack.citations.fence import fences
        from promptpack.citations.strip import stripped

        wrong = {*self.unknown, *(self.stale if stale else ())}
        left = {label: ids for label, ids in self._chunk_ids().items() if label not in wrong}
        blocks = fences(self.answer)
        return stripped(self.answer, self.citations, self.malformed, blocks, wrong.__contains__, left)

    def renumber(self) -> Rewritten:
        """Return the answer with its labels numbered by first use; `labels` of the result says what they stand for.

        Known labels count from 1; stale and unknown ones follow, so that none of them takes the name of a source.

        >>> from promptpack.citations import verify_citations
        >>> new = verify_citations("It is free [S7]. It is so [S3, S7].", {"S3": "a", "S7": "b"}).renumber()
        >>> str(new), new.labels
        ('It is free [S1]. It is so [S2, S1].', {'S1': ('b',), 'S2': ('a',)})
        """
        from promptpack.citations.rewrite import edited, renumbered, units

        order = [*self.known, *self.stale, *self.unknown]
        prefix = prefix_of(order[0]) if order else ""
        new = {label: f"{prefix}{number}" for number, label in enumerate(order, 1)}
        ids = self._chunk_ids()
        changes = renumbered(self.answer, units(self.citations, self.malformed), new)
        return edited(self.answer, changes, {new[label]: ids[label] for label in self.known})

    def link(self, urls: Mapping[str, str], *, style: Style = "markdown") -> Rewritten:
        """Return the answer with its citations as links; see `promptpack.citations.link_citations`.

        >>> from promptpack.citations import verify_citations
        >>> str(verify_citations("It is free [S1].", {"S1": "a"}).link({"a": "https://a.example"}, style="footnotes"))
        'It is free [^S1].\\n\\n[^S1]: https://a.example'
        """
        from promptpack.citations.link import Linker
        from promptpack.citations.rewrite import units

        linker = Linker(urls, self._chunk_ids(), style)
        return linker.rewrite(self.answer, self.citations, units(self.citations, self.malformed))

    def sources(self) -> tuple[CitedSource, ...]:
        """Return the sources that are cited, for a list below the answer, in order of first use.

        >>> from promptpack.citations import verify_citations
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
