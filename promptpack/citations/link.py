"""Citations as links of Markdown, in the text or as footnotes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, get_args

from promptpack.citations.parse import Citation, chunk_ids_of, read_marks
from promptpack.citations.rewrite import Rewritten, Unit, edited, units
from promptpack.errors import OptionError, quote

if TYPE_CHECKING:
    from promptpack.citations.stream import StreamEvent

Style = Literal["markdown", "footnotes"]

_RUN = ("javascript", "vbscript", "data")  # what a browser would run, or show as a page of its own


def link_citations(
    answer: str,
    urls: Mapping[str, str],
    labels: Mapping[str, str | Sequence[str]] | None = None,
    *,
    style: Style = "markdown",
    prefix: str = "S",
    zero_padded: bool = False,
    superscripts: bool = False,
) -> Rewritten:
    """Return an answer with its citations as links; a label without an address stays as it is.

    urls: label or chunk id to address; of a label with several chunks, the first that has one. labels: the label map,
    needed for chunk ids. style: `markdown` for `[S1](url)`, `footnotes` for `[^S1]` with the addresses at the end. A
    blank keeps a mark apart from a parenthesis behind it that would make a link of it, and a footnote that opens a line
    from a colon that would make it the text of one. The other options are those of `read_marks`. Signs that would end a
    link are percent-encoded in addresses.

    Raises OptionError for an unknown style, an address that is no text, and one that would run code (javascript:).

    >>> str(link_citations("It is free [S1, S3].", {"a#1": "https://a.example/1"}, {"S1": "a#1"}))
    'It is free [S1](https://a.example/1), [S3].'
    """
    marks = read_marks(answer, labels, prefix=prefix, zero_padded=zero_padded, superscripts=superscripts)
    linker = Linker(urls, chunk_ids_of(labels or {}), style)
    return linker.rewrite(answer, marks.citations, units(marks.citations, marks.malformed))


class Linker:
    """Writes marks as links, and remembers which footnotes that takes."""

    def __init__(self, urls: Mapping[str, str], labels: Mapping[str, tuple[str, ...]], style: str = "markdown") -> None:
        if style not in get_args(Style):
            raise OptionError.unknown("style", style, get_args(Style))
        if not isinstance(urls, Mapping):
            raise OptionError(
                f"urls: expected a mapping of label or chunk id to address, got {quote(urls)}", name="urls", given=urls
            )
        self._urls = {name: address(url, name) for name, url in urls.items()}
        self._labels = labels
        self._style = style
        self._noted: dict[str, str] = {}

    def rewrite(self, answer: str, citations: Sequence[Citation], marks: Sequence[Unit]) -> Rewritten:
        """Return the answer with all its marks as links, and citations that came beside it as links behind its text."""
        changes = []
        written = [self.mark(answer, unit) for unit in marks]
        line = _Line()
        at = 0
        for index, (unit, text) in enumerate(zip(marks, written, strict=True)):
            line.read(answer[at:unit.start])
            adjacent = index + 1 < len(marks) and marks[index + 1].start == unit.end
            behind = written[index + 1] if adjacent else answer[unit.end:unit.end + 1]
            text += self._gap(text, behind, line.opens)
            line.read(answer[unit.start:unit.end])
            at = unit.end
            if text != answer[unit.start:unit.end]:
                changes.append((unit.start, unit.end, text))
        beside: dict[int, dict[str, None]] = {}
        for one in citations:
            if one.form == "native" and self._url(one.label):
                beside.setdefault(one.end, {})[one.label] = None
        for end, labels in beside.items():
            text = " " + self._joined(list(labels))
            changes.append((end, end, text + self._gap(text, answer[end:end + 1], False)))
        notes = self.notes(answer)
        if notes:
            changes.append((len(answer), len(answer), notes))
        cited = dict.fromkeys(one.label for one in citations)
        return edited(answer, changes, {label: self._labels.get(label, ()) for label in cited})

    def mark(self, text: str, unit: Unit, offset: int = 0) -> str:
        """Return how a mark is written; text: the answer from `offset` on."""
        if not any(self._url(label) for label in unit.labels):
            return text[unit.start - offset:unit.end - offset]
        if unit.form == "name":
            label = unit.labels[0]
            name = text[unit.start - offset:unit.end - offset]
            return f"[{name}]({self._url(label)})" if self._style == "markdown" else f"{name}{self._one(label)}"
        parts: list[str] = []
        for item in unit.items:
            if item.labels:
                parts += item.labels
            else:  # what could not be read stays to be seen
                parts.append(f"[{text[item.start - offset:item.end - offset]}]")
        return self._joined(list(dict.fromkeys(parts)))

    def stream(self, events: Iterable[StreamEvent]) -> Iterator[str]:
        """Yield the text of the events of a `CitationStream` with its marks as links; the footnotes come last."""
        end = mark = ""  # the last mark, as long as nothing came behind it
        line, opens = _Line(), False
        for event in events:
            end = event.text
            for start, stop, written in self._pieces(event):
                if not written:
                    continue
                yield self._gap(mark, written, opens) + written
                mark, opens = (written if stop else ""), line.opens
                line.read(event.text[start:stop] if stop else written)
        yield self.notes(end)

    def _pieces(self, event: StreamEvent) -> Iterator[tuple[int, int, str]]:
        """Yield the text of an event as it is written; of marks also where they stand in it, of other text (0, 0)."""
        at = 0
        for unit in units(event.citations, event.malformed):
            start, stop = unit.start - event.start, unit.end - event.start
            yield 0, 0, event.text[at:start]
            yield start, stop, self.mark(event.text, unit, event.start)
            at = stop
        yield 0, 0, event.text[at:]

    def _gap(self, mark: str, behind: str, opens: bool) -> str:
        """Return what has to stand between a mark and what comes behind it, so that Markdown reads the two apart."""
        if not mark.endswith("]") or not self._urls:
            return ""
        # In plain Markdown "[a](b)" is a link whatever a and b are, and "[^a]: b" at the start of a line a definition.
        defines = behind[:1] == ":" and opens and mark.startswith("[^") and mark.count("[") == 1
        return " " if behind[:1] == "(" or defines else ""

    def notes(self, end: str) -> str:
        """Return the footnotes for the marks so far, with the blank line before them; `end`: how the answer ends."""
        if not self._noted:
            return ""
        lines = "".join(f"\n[^{label}]: {url}" for label, url in self._noted.items())
        return lines if end.endswith("\n") else "\n" + lines

    def _joined(self, parts: list[str]) -> str:
        written = [part if part[0] == "[" else self._one(part) for part in parts]
        return ("" if self._style == "footnotes" else ", ").join(written)

    def _one(self, label: str) -> str:
        url = self._url(label)
        if not url:
            return f"[{label}]"
        if self._style == "footnotes":
            self._noted[label] = url
            return f"[^{label}]"
        return f"[{label}]({url})"

    def _url(self, label: str) -> str:
        names = (label, *self._labels.get(label, ()))
        return next((self._urls[name] for name in names if self._urls.get(name)), "")


class _Line:
    """Tells whether a line has not begun yet but for blanks and the marks of lists and quotations."""

    __slots__ = ("opens",)

    def __init__(self) -> None:
        self.opens = True

    def read(self, text: str) -> None:
        """Take what comes next."""
        _, newline, last = text.rpartition("\n")
        self.opens = (self.opens or newline != "") and _opening().fullmatch(last) is not None


@lru_cache(maxsize=1)
def _opening() -> re.Pattern[str]:
    return re.compile(r"[ \t>*+.)0-9-]*")


def address(url: object, name: object = "") -> str:
    """Return an address as it can stand in a link of Markdown; OptionError for what is none.

    >>> address("https://a.example/x (1)")
    'https://a.example/x%20%281%29'
    """
    if not isinstance(url, str):
        raise OptionError(f"urls: {quote(name)}: expected an address, got {quote(url)}", name="urls", given=url)
    plain = url.strip()
    # Browsers pass over white space and control characters in the name of a scheme.
    scheme = re.sub(r"[\x00-\x20\x7f]", "", plain.partition(":")[0]).lower()
    if ":" in plain and scheme in _RUN:
        raise OptionError(
            f"urls: {quote(name)}: an address with {scheme}: is not put into a link: {quote(url)}",
            name="urls", given=url,
        )
    return _unsafe().sub(lambda match: f"%{ord(match[0]):02X}", plain)


@lru_cache(maxsize=1)
def _unsafe() -> re.Pattern[str]:
    return re.compile(r"[\x00-\x20<>()\[\]\\\"`{}|^\x7f]")
