"""Reading the citations of an answer: every label with its span, and every mark that is not quite one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from promptpack.citations.code import blanked
from promptpack.citations.fence import fences
from promptpack.citations.grammar import Grammar, Item, grammar
from promptpack.citations.scan import Form, Mark, scan
from promptpack.citations.slips import slips
from promptpack.errors import OptionError, quote
from promptpack.quick import maker

MOST_FROM_RANGES = 10_000  # labels that the ranges of one answer may stand for, so that work stays linear
TOO_MANY = f"the ranges of the answer name more than {MOST_FROM_RANGES:,} labels"


@dataclass(frozen=True, slots=True)
class Citation:
    """One label that an answer cites.

    label: in its one true spelling, such as `S1`. start, end: the span of the whole mark in the answer (with
    its brackets, and the target of a link), so that labels of one group share it; text: the mark as written.
    form: bracket, double, paren, wide (fullwidth and lenticular brackets), link, name (`source_1`), marker
    (private-use signs), superscript, or native (it came beside the text). inner: the span of the label itself, or of
    the range that it is in. chunk_ids: what the label stands for, where a label map was given and knows it.
    cited_text: the words of the source, where a provider gave them.
    """

    label: str
    start: int
    end: int
    text: str
    form: Form
    inner: tuple[int, int]
    chunk_ids: tuple[str, ...] = ()
    cited_text: str | None = None

    @property
    def chunk_id(self) -> str | None:
        """The first of the chunks that the label stands for; None where it stands for none that is known."""
        return self.chunk_ids[0] if self.chunk_ids else None


@dataclass(frozen=True, slots=True)
class Malformed:
    """Something that was meant as a citation and cannot be read as one without guessing: where, and why."""

    text: str
    start: int
    end: int
    why: str


@dataclass(frozen=True, slots=True)
class Marks:
    """All that was read from one answer, in order; blocks are the spans of fenced code."""

    citations: tuple[Citation, ...]
    malformed: tuple[Malformed, ...]
    blocks: tuple[tuple[int, int], ...] = ()


def parse_citations(
    answer: str,
    labels: Mapping[str, str | Sequence[str]] | None = None,
    *,
    prefix: str = "S",
    zero_padded: bool = False,
    superscripts: bool = False,
) -> tuple[Citation, ...]:
    """Return every citation of an answer, one for each label, in order.

    See `read_marks` for the spellings and the errors; it gives the malformed ones, too.

    >>> [(c.label, c.text) for c in parse_citations("Free [S1, S3]. So be it【S2】; not `x[S4]`.")]
    [('S1', '[S1, S3]'), ('S3', '[S1, S3]'), ('S2', '【S2】')]
    """
    marks = read_marks(answer, labels, prefix=prefix, zero_padded=zero_padded, superscripts=superscripts)
    return marks.citations


def read_marks(
    answer: str,
    labels: Mapping[str, str | Sequence[str]] | None = None,
    *,
    prefix: str = "S",
    zero_padded: bool = False,
    superscripts: bool = False,
) -> Marks:
    """Read the citations of an answer and what looks like one but is malformed.

    Spellings: `[S1]`, groups with `, ; & / |`, "and" or blanks, ranges with any dash (`[S1-S3]`, `[S2-3]`),
    `(S1)`, small letters, inner blanks, emphasis, double, fullwidth and lenticular brackets, a dagger with a
    place (`【S1†L4】`), `[S1](url)`, `source_1`, and the private-use markers of OpenAI's citation format.
    A label is the prefix and one to four ASCII digits. zero_padded: `[S01]` is S1, not malformed.
    superscripts: `¹²` is S12. labels: the label map, which fills `chunk_ids`.

    Nothing is read in code, fences, comments, addresses, link targets and attributes; `[1998]`, `[sic]`, `a[1]` and
    `[S1a]` are plain writing. Malformed are a missing or wrong closing bracket, `[S]`, a leading zero, more
    than four digits, digits that are not ASCII, a range that runs backwards or is longer than 1,000 (or, all
    ranges of the answer together, 10,000), a label among other words (`[see S1]`; in round brackets only words that
    point at it, since `(S3 is cheap)` is prose), and one with invisible characters inside. Linear in the length of the
    answer. Raises OptionError for an answer that is no text, or a bad prefix.

    >>> [(bad.text, bad.why) for bad in read_marks("Wide [S3-S1].").malformed]
    [('S3-S1', 'a range that runs backwards')]
    """
    if not isinstance(answer, str):
        raise OptionError(f"answer: expected a text, got {quote(answer)}", name="answer", given=answer)
    rules = grammar(prefix, bool(zero_padded))
    blocks = fences(answer)
    reader = Reader(rules, chunk_ids_of(labels or {}))
    shown = blanked(answer, blocks, rules.is_group)
    marks = scan(shown, rules, superscripts=superscripts)
    reader.read(answer, 0, marks)
    reader.read(answer, 0, slips(shown, rules, marks))
    malformed = sorted(reader.malformed, key=lambda one: one.start)
    return Marks(tuple(reader.citations), tuple(malformed), tuple(blocks))


def chunk_ids_of(
    labels: Mapping[str, str | Sequence[str]], name: str = "labels"
) -> dict[str, tuple[str, ...]]:
    """Return a label map with a tuple of chunk ids for each label; one id may be given as a plain text.

    >>> chunk_ids_of({"S1": "a", "S2": ["b", "c"]})
    {'S1': ('a',), 'S2': ('b', 'c')}
    """
    if not isinstance(labels, Mapping):
        raise OptionError(f"{name}: expected a mapping of label to chunk ids, got {quote(labels)}",
                          name=name, given=labels)
    plain: dict[str, tuple[str, ...]] = {}
    for label, ids in labels.items():
        if not isinstance(label, str):
            raise OptionError(f"{name}: expected texts as labels, got {quote(label)}", name=name, given=label)
        given = (ids,) if isinstance(ids, str) else ids
        if not isinstance(given, Sequence) or not all(isinstance(one, str) for one in given):
            raise OptionError(f"{name}: {quote(label)}: expected a chunk id or several, got {quote(ids)}",
                              name=name, given=ids)
        plain[label] = tuple(given)
    return plain


class Reader:
    """Turns marks, in order, into citations and what is malformed; it also counts what ranges stand for."""

    def __init__(self, rules: Grammar, chunk_ids: Mapping[str, tuple[str, ...]]) -> None:
        self.citations: list[Citation] = []
        self.malformed: list[Malformed] = []
        self._prefix, self._chunk_ids = rules.prefix, chunk_ids
        self._ranged = 0
        self._labels: dict[int, tuple[str, tuple[str, ...]]] = {}

    def read(self, text: str, offset: int, marks: Iterable[Mark]) -> None:
        """Read marks of a text that begins at `offset` in the answer."""
        cite = self._cite
        for mark in marks:
            start, end, _, items = mark
            if isinstance(items, int):
                cite(text, offset, mark, items, (offset + start + 1, offset + end - 1))
                continue
            for item in items:
                fault = item.fault or self._too_many(item)
                if fault:
                    self.malformed.append(
                        Malformed(text[item.start:item.end], offset + item.start, offset + item.end, fault)
                    )
                    continue
                for number in range(item.first, item.last + 1):
                    cite(text, offset, mark, number, (offset + item.start, offset + item.end))

    def take(self) -> tuple[tuple[Citation, ...], tuple[Malformed, ...]]:
        """Return what was read since the last time, and forget it."""
        taken = tuple(self.citations), tuple(self.malformed)
        self.citations.clear()
        self.malformed.clear()
        return taken

    def _too_many(self, item: Item) -> str:
        if item.last > item.first:
            self._ranged += item.last - item.first + 1
            if self._ranged > MOST_FROM_RANGES:
                return TOO_MANY
        return ""

    def _cite(self, text: str, offset: int, mark: Mark, number: int, inner: tuple[int, int]) -> None:
        known = self._labels.get(number)
        if known is None:
            label = f"{self._prefix}{number}"
            known = self._labels[number] = (label, self._chunk_ids.get(label, ()))
        start, end = mark.start, mark.end
        self.citations.append(
            _citation(known[0], offset + start, offset + end, text[start:end], mark.form, inner, known[1], None)
        )


_citation = maker(Citation)
