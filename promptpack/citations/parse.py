"""Reading the citations of an answer: every label with its span, and every mark that is not quite one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from promptpack.citations.code import blanked, fences
from promptpack.citations.grammar import PAIRS, Grammar, Item, grammar
from promptpack.errors import OptionError, quote

Form = Literal["bracket", "double", "paren", "wide", "link", "name", "marker", "superscript"]

MOST_FROM_RANGES = 10_000  # labels that the ranges of one answer may stand for, so that work stays linear
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")


@dataclass(frozen=True, slots=True)
class Citation:
    """One label that an answer cites.

    label: in its one true spelling, such as `S1`. start, end: the span of the whole mark in the answer (with
    its brackets, and the target of a link), so that labels of one group share it; text: the mark as written.
    form: bracket, double, paren, wide (fullwidth and lenticular brackets), link, name (`source_1`), marker
    (private-use signs) or superscript. inner: the span of the label itself, or of the range that it is in.
    chunk_ids: what the label stands for, where a label map was given and knows it.
    """

    label: str
    start: int
    end: int
    text: str
    form: Form
    inner: tuple[int, int]
    chunk_ids: tuple[str, ...] = ()


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

    Nothing is read in code, fences, addresses, link targets and attributes; `[1998]`, `[sic]`, `a[1]` and
    `[S1a]` are plain writing. Malformed are a missing or wrong closing bracket, `[S]`, a leading zero, more
    than four digits, digits that are not ASCII, a range that runs backwards or is longer than 1,000 (or, all
    ranges of the answer together, 10,000), and a label among other words (`[see S1]`). Linear in the length
    of the answer. Raises OptionError for an answer that is no text, or a bad prefix.

    >>> [(bad.text, bad.why) for bad in read_marks("Wide [S3-S1].").malformed]
    [('S3-S1', 'a range that runs backwards')]
    """
    if not isinstance(answer, str):
        raise OptionError(f"answer: expected a text, got {quote(answer)}", name="answer", given=answer)
    rules = grammar(prefix, bool(zero_padded))
    blocks = fences(answer)
    reader = _Reader(answer, blanked(answer, blocks, rules.is_group), rules, chunk_ids_of(labels or {}))
    reader.read(superscripts=superscripts)
    citations = sorted(reader.citations, key=lambda one: one.start)
    malformed = sorted(reader.malformed, key=lambda one: one.start)
    return Marks(tuple(citations), tuple(malformed), tuple(blocks))


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


class _Reader:
    """Reads one answer; `text` is the answer with code blanked out, at the same offsets."""

    def __init__(
        self, answer: str, text: str, rules: Grammar, chunk_ids: Mapping[str, tuple[str, ...]]
    ) -> None:
        self.citations: list[Citation] = []
        self.malformed: list[Malformed] = []
        self._answer, self._text, self._rules, self._chunk_ids = answer, text, rules, chunk_ids
        self._ranged = 0
        self._labels: dict[int, tuple[str, tuple[str, ...]]] = {}

    def read(self, *, superscripts: bool) -> None:
        """Collect the marks: brackets first, then the spellings without brackets that lie outside of them."""
        at, search, text = 0, self._rules.mark.search, self._text
        cut = len(self._rules.prefix)
        while (match := search(text, at)) is not None:
            start, at = match.span()
            kind = match.lastgroup
            if kind == "one":  # by far the most common case, taken the short way
                self._cite(int(match["one"][cut:]), start, at, "bracket", (start + 1, at - 1))
            elif kind == "paren":
                items = self._rules.items(match["paren"], match.start("paren"))
                self._add(items, start, at, "paren" if text[start] == "(" else "wide")
            elif kind == "cut":
                self._fault(start, at, "no closing bracket")
            else:
                at = self._group(match)
        if "ource_" in self._text:
            for match in self._outside(self._rules.name):
                self._add([self._whole(match, match[1])], match.start(), match.end(), "name")
        if "\ue200" in self._text:
            for match in self._outside(_patterns()["marker"]):
                self._marker(match)
        if superscripts:
            for match in self._outside(_patterns()["superscript"]):
                self._add([self._whole(match, match[0].translate(_SUPERSCRIPTS))],
                          match.start(), match.end(), "superscript")

    def _outside(self, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        marks = {(one.start, one.end) for one in self.citations} | {(one.start, one.end) for one in self.malformed}
        taken = iter([*sorted(marks), (len(self._text) + 1,) * 2])
        start, end = next(taken)
        for match in pattern.finditer(self._text):
            while end <= match.start():
                start, end = next(taken)
            if match.end() <= start:
                yield match

    def _group(self, match: re.Match[str]) -> int:
        start, end = match.span()
        kind = "body" if match["double"] is None else "double"
        body, inner = match[kind], match.start(kind)
        form: Form = "double" if kind == "double" else "bracket" if self._text[start] == "[" else "wide"
        if match["link"] or match["far"]:
            form = "link"
        # Round brackets inside are read on their own, since `[as said (S1)]` holds a citation.
        flat = _patterns()["round"].sub(lambda part: " " * len(part[0]), body) if "(" in body else body
        items = self._rules.items(flat, inner)
        named = items and items[0].fault in ("more than a label", "no number")
        if form == "link" and named and not any(item.first >= 0 for item in items):
            items = []  # `[the S3 manual](url)` is a link with a name of its own
        if items and kind == "body" and PAIRS[self._text[start]] != match["close"]:
            self._fault(start, end, "closed by another kind of bracket")
            return end
        if len(items) == 1 and items[0].fault == "no number" and self._text[end:end + 1].isalpha():
            items = []  # `[S]he said`
        self._add(items, start, end, form)
        return end if flat == body else inner

    def _marker(self, match: re.Match[str]) -> None:
        if match["stop"] is None:
            self._fault(*match.span(), "no closing sign")
            return
        items: list[Item] = []
        for part in _patterns()["part"].finditer(self._text, match.start("parts"), match.end("parts")):
            if self._rules.item.fullmatch(part[1]):
                items += self._rules.items(part[1], part.start(1))
            elif not (items and _patterns()["place"].fullmatch(part[1])):
                items.append(Item(*part.span(1), fault="not a label"))
        if not items:
            self._fault(*match.span(), "no label")
        self._add(items, match.start(), match.end(), "marker")

    def _whole(self, match: re.Match[str], number: str) -> Item:
        prefixed = self._rules.prefix + number.replace("⁻", "-")
        item = self._rules.items(prefixed, 0)[0]
        return Item(match.start(), match.end(), item.first, item.last, item.fault)

    def _add(self, items: list[Item], start: int, end: int, form: Form) -> None:
        before, after = self._text[start - 1:start], self._text[end - 1:end]
        if before == "\\" and self._text[end - 2:end - 1] == "\\" and after == "]":
            start -= 1  # \[S1\]: brackets that were escaped for Markdown
        for item in items:
            if item.fault:
                self._fault(item.start, item.end, item.fault)
                continue
            if item.last > item.first:
                self._ranged += item.last - item.first + 1
                if self._ranged > MOST_FROM_RANGES:
                    why = f"the ranges of the answer name more than {MOST_FROM_RANGES:,} labels"
                    self._fault(item.start, item.end, why)
                    continue
            for number in range(item.first, item.last + 1):
                self._cite(number, start, end, form, (item.start, item.end))

    def _cite(self, number: int, start: int, end: int, form: Form, inner: tuple[int, int]) -> None:
        known = self._labels.get(number)
        if known is None:
            label = f"{self._rules.prefix}{number}"
            known = self._labels[number] = (label, self._chunk_ids.get(label, ()))
        text = self._answer[start:end]
        self.citations.append(Citation(known[0], start, end, text, form, inner, known[1]))

    def _fault(self, start: int, end: int, why: str) -> None:
        self.malformed.append(Malformed(self._answer[start:end], start, end, why))


@lru_cache(maxsize=1)
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        "round": re.compile(r"[(（][^()（）]*+[)）]"),
        "marker": re.compile(
            "\ue200[a-z]{0,12}cite(?P<parts>(?:\ue202[^\ue200-\ue202]{0,64}+)*+)(?P<stop>\ue201)?"
        ),
        "part": re.compile("\ue202([^\ue200-\ue202]*+)"),
        "place": re.compile(r"L[0-9]{1,9}(?:-L?[0-9]{1,9})?"),
        "superscript": re.compile("(?<![⁰¹²³⁴-⁹⁻])[⁰¹²³⁴-⁹]{1,4}(?:⁻[⁰¹²³⁴-⁹]{1,4})?(?![⁰¹²³⁴-⁹⁻])"),
    }
