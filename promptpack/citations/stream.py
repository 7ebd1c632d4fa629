"""Citations of an answer that is still being written: text passes at once, a mark as soon as it is certain."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from promptpack.citations.code import STOP, blanked, blanked_so_far, partial_start
from promptpack.citations.fence import closes_fence, fence_lines, may_open, opens_fence
from promptpack.citations.grammar import grammar
from promptpack.citations.hold import settled
from promptpack.citations.parse import Citation, Malformed, Reader, chunk_ids_of
from promptpack.citations.scan import Mark, scan
from promptpack.citations.verification import Verification
from promptpack.citations.verify import verify_citations
from promptpack.errors import OptionError, quote

Status = Literal["known", "unknown", "stale"]

_QUIET = 1_000  # characters that may pass before the text is looked at again, where nothing begins a mark
_DECIDING = "`\n>)"  # what ends a code span, a paragraph, a tag or element, and the target of a link


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """A piece of the answer, in order: plain text, or one mark with the labels that it cites.

    kind: text or citation. text: as the model wrote it; the texts of all events make up the answer. start, end:
    its span in the answer. citations: what a mark cites, as `parse_citations` gives it (marks that stand inside
    another one come with that one). statuses: for each of them known, unknown or stale. malformed: what in the mark
    could not be read.
    """

    kind: Literal["text", "citation"]
    text: str
    start: int
    end: int
    citations: tuple[Citation, ...] = ()
    statuses: tuple[Status, ...] = ()
    malformed: tuple[Malformed, ...] = ()

    @property
    def known(self) -> bool:
        """Whether it is a mark all of whose labels were sent."""
        return bool(self.statuses) and all(status == "known" for status in self.statuses)


class CitationStream:
    """Reads an answer piece by piece, and says for each citation, as soon as it is there, what it stands for.

    given: a payload, its labels, or a mapping of label to chunk ids. carried and prefix: for a plain mapping, see
    `verify_citations`; zero_padded, superscripts and the options of the check (`min_support`, `judge`, `texts`) are as
    there. `feed` returns events; what may still become
    a citation is held back, at most a few thousand characters and mostly a few. However the answer is cut into
    pieces, between the halves of a surrogate pair too, the events give the same text and the same citations as
    the whole answer would. `close` checks the answer, and `rest` has the last events then. Linear.

    Raises OptionError for a piece that is no text, and after `close`.

    >>> stream = CitationStream({"S1": "returns#1"})
    >>> [(one.kind, one.text) for piece in ("30 days [", "S1]. Fr", "ee [S9") for one in stream.feed(piece)]
    [('text', '30 days '), ('citation', '[S1]'), ('text', '. Fr'), ('text', 'ee ')]
    >>> result = stream.close()
    >>> [(one.kind, one.text) for one in stream.rest], result.known, result.malformed[0].why
    ([('text', '[S9')], ('S1',), 'no closing bracket')
    """

    def __init__(
        self, given: Any, *, carried: Mapping[str, str | Sequence[str]] | None = None, prefix: str | None = None,
        zero_padded: bool = False, superscripts: bool = False, **checks: Any,
    ) -> None:
        labels = getattr(given, "labels", given)
        stale = getattr(labels, "stale", {}) if carried is None else carried
        self._sent = chunk_ids_of(labels)
        self._carried = chunk_ids_of(stale, "carried")
        self._prefix: str = getattr(labels, "prefix", "S") if prefix is None else prefix
        self._payload = given if hasattr(given, "labels") else None
        self._checks = checks
        self._reading = {"zero_padded": bool(zero_padded), "superscripts": bool(superscripts)}
        self._rules = grammar(self._prefix, bool(zero_padded))
        self._check("")  # a wrong option shows now and not at the end of the answer
        self._reader = Reader(self._rules, {**self._carried, **self._sent})
        self._pieces: list[str] = []
        self._half = ""  # the first half of a surrogate pair
        self._text = ""  # from _base on
        self._base = 0
        self._told = 0  # up to here events were given
        self._before = ""  # stands for the character before _base
        self._look_at = _QUIET  # how long the text has to be before it is worth looking at it again
        self._inside_line = False  # whether _base is in a line that is known to be no fence
        self._fence = ""  # the marks of the block that _base is in
        self._result: Verification | None = None
        self.rest: tuple[StreamEvent, ...] = ()

    def feed(self, piece: str) -> list[StreamEvent]:
        """Take the next piece of the answer, and return what is certain by now."""
        if not isinstance(piece, str):
            raise OptionError(f"feed: expected a text, got {quote(piece)}", name="piece", given=piece)
        if self._result is not None:
            raise OptionError("feed: the stream is closed", name="piece", given=piece)
        piece = _joined(self._half + piece)
        self._half = piece[-1:] if "\ud800" <= piece[-1:] <= "\udbff" else ""
        return self._take(piece[:-1] if self._half else piece)

    def over(self, pieces: Iterable[str]) -> Iterator[StreamEvent]:
        """Feed every piece, close, and yield all events, the last ones included; `close()` has the result."""
        for piece in pieces:
            yield from self.feed(piece)
        self.close()
        yield from self.rest

    def close(self) -> Verification:
        """End the answer and return its check, the same as for the whole answer; `rest` has the last events."""
        if self._result is None:
            last = self._take(self._half)
            self.rest = (*last, *self._advance(final=True))
            self._half = self._text = ""
            self._result = self._check("".join(self._pieces))
            self._pieces = []
        return self._result

    def _check(self, answer: str) -> Verification:
        options: dict[str, Any] = {**self._reading, **self._checks}
        if self._payload is not None:
            result: Verification = self._payload.verify(answer, **options)
            return result
        return verify_citations(answer, self._sent, carried=self._carried, prefix=self._prefix, **options)

    def _take(self, piece: str) -> list[StreamEvent]:
        if not piece:
            return []
        self._pieces.append(piece)
        end = self._base + len(self._text)
        self._text += piece
        quiet = len(self._text) < self._look_at
        if quiet and self._told == end and not _lively().search(self._text, end - self._base):
            self._told += len(piece)
            return [StreamEvent("text", piece, end, self._told)]
        if quiet and self._told < end and not any(sign in piece for sign in _DECIDING):
            return []
        return self._advance(final=False)

    def _advance(self, *, final: bool) -> list[StreamEvent]:
        events: list[StreamEvent] = []
        while self._text:
            line = self._next_fence(final)
            if self._fence:
                self._pass(events, line.end() if line else len(self._text))
                if line is None:
                    self._skip_block(final)
                    return events
                self._fence = ""
                self._drop(line.end(), inside_line=True)
            elif line is None:
                self._read(events, final=final)
                return events
            else:
                marks, start, end = line["marks"], line.start(), line.end()
                self._read(events, final=True, until=start)
                self._pass(events, end - start)
                self._fence = marks
                self._drop(end - start, inside_line=True)
        return events

    def _next_fence(self, final: bool) -> re.Match[str] | None:
        """Return the next whole line that opens a block, or in a block closes it."""
        at = self._text.find("\n") if self._inside_line else 0
        for line in fence_lines(self._text, at) if at >= 0 else ():
            whole = final or line.end() < len(self._text)
            if whole and (closes_fence(line, self._fence) if self._fence else opens_fence(line)):
                return line
        return None

    def _skip_block(self, final: bool) -> None:
        """Forget a piece of a block, but for the beginning of a line that may close it."""
        line = self._text.rfind("\n") + 1
        rest = self._text[line:]
        begun = (line > 0 or not self._inside_line) and (may_open(rest) or next(fence_lines(rest), None) is not None)
        keep = line if begun and not final else len(self._text)
        self._drop(keep, inside_line=not begun)

    def _read(self, events: list[StreamEvent], *, final: bool, until: int | None = None) -> None:
        """Read the text up to `until` (None: all of it), in which no block of code begins."""
        length = len(self._text) if until is None else until
        region = length if final else self._open_line()
        shift = len(self._before)
        text = self._before + self._text[:region]
        undecided: list[int] = []
        if final:
            shown = blanked(text, [], self._rules.is_group)
        else:
            shown, undecided = blanked_so_far(text, self._rules.is_group)
        superscripts = self._reading["superscripts"]
        marks = scan(shown, self._rules, superscripts=superscripts)
        hold = keep = len(text)
        if not final:
            hold = settled(shown, undecided, marks, self._rules, superscripts=superscripts)
            keep = min(hold, partial_start(shown), *undecided)
        offset = self._base - shift
        since = self._told - offset
        self._tell(events, text, offset, [mark for mark in marks if mark.items != [] and since <= mark.start < hold])
        self._pass(events, hold - shift)
        if hold == len(text) and region < length:
            self._pass(events, self._quiet_until(region))
        keep = max(keep - shift, 0)
        # Where a mark waits for the end of what may be code, most pieces tell nothing new.
        longer = (length - keep) * 17 // 16
        self._look_at = max(longer, _QUIET) if hold == len(text) else longer if undecided else 0
        self._drop(keep, shown[keep + shift - 1:keep + shift], inside_line=self._in_line(keep))

    def _open_line(self) -> int:
        """Return where the last line begins, if it may be the first of a block of code; else the text's length."""
        start = self._text.rfind("\n") + 1
        if start == 0 and self._inside_line:
            return len(self._text)
        line = self._text[start:]
        found = next(fence_lines(line), None)
        return start if may_open(line) or (found is not None and opens_fence(found)) else len(self._text)

    def _quiet_until(self, line: int) -> int:
        """Return how far nothing can become a mark in the last line, which begins at `line`, fence or not."""
        marks = next(fence_lines(self._text, line), None)
        lively = _lively().search(self._text, marks.end("marks")) if marks else None
        return lively.start() if lively else len(self._text)

    def _in_line(self, at: int) -> bool:
        """Tell whether a place in the text, that nothing undecided lies before, is inside a line."""
        return self._text[at - 1] != "\n" if at else self._inside_line

    def _tell(self, events: list[StreamEvent], text: str, offset: int, marks: list[Mark]) -> None:
        at = 0
        while at < len(marks):
            start, end = marks[at].start, marks[at].end
            group = at
            while group < len(marks) and marks[group].start < end:
                end = max(end, marks[group].end)
                group += 1
            self._reader.read(text, offset, marks[at:group])
            at = group
            cited, malformed = self._reader.take()
            if cited:
                self._pass(events, start + offset - self._base)
                self._told = offset + end
                statuses = tuple(self._status(one.label) for one in cited)
                events.append(
                    StreamEvent("citation", text[start:end], offset + start, self._told, cited, statuses, malformed)
                )

    def _status(self, label: str) -> Status:
        return "known" if label in self._sent else "stale" if label in self._carried else "unknown"

    def _pass(self, events: list[StreamEvent], until: int) -> None:
        """Give out the text up to `until` (in `_text`) as plain text."""
        start, end = self._told - self._base, until
        if end > start:
            events.append(StreamEvent("text", self._text[start:end], self._told, self._base + end))
            self._told = self._base + end

    def _drop(self, length: int, last: str = STOP, *, inside_line: bool) -> None:
        """Forget the first characters of the text, but for what the next one has to know of the last."""
        if length:
            self._before = _stand_in(last)
            self._text = self._text[length:]
            self._base += length
        self._inside_line = inside_line


def _joined(text: str) -> str:
    """Join the halves of surrogate pairs; a half without the other stays as it is."""
    return _pair().sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)


def _stand_in(sign: str) -> str:
    """Return a character that is to what follows what this one was, and that begins nothing itself."""
    if sign in "⁰¹²³⁴⁵⁶⁷⁸⁹⁻":
        return "⁻"
    return "x" if sign in "_<>/.@#-\x00" or (sign.isascii() and sign.isalnum()) else " "


@lru_cache(maxsize=1)
def _pair() -> re.Pattern[str]:
    return re.compile("[\ud800-\udbff][\udc00-\udfff]")


@lru_cache(maxsize=1)
def _lively() -> re.Pattern[str]:
    """What may begin a mark: text without it passes at once."""
    return re.compile(
        r"[\[(（【［〖〔\\\ue200⁰¹²³⁴-⁹⁻]|(?<![0-9A-Za-z_<>/.@#-])[Ss](?:ource_|(?:o(?:u(?:r(?:ce?)?)?)?)?\Z)"
    )
