"""Escaped text as a type: what it was, and where each part of it came from."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

from markupsafe import Markup

from promptpack.errors import OptionError, quote


class Edit(NamedTuple):
    """One change: escaped[out_start:out_end] stands for source[src_start:src_end].

    kind: close, open, role, marker, label, comment, reserved, markup (an opener was replaced), end (an opener was
    replaced whose shape is cut off by the end of the text, so that what comes next could complete it), reference
    (a reference was encoded once more), hidden (a run became U+FFFD), and in attributes and at other levels
    quote, space, cut, mark. `source` is the replaced text; the repr leaves it out, so that it is not logged.
    """

    kind: str
    out_start: int
    out_end: int
    src_start: int
    src_end: int
    source: str

    def __repr__(self) -> str:
        return (
            f"Edit(kind={self.kind!r}, out_start={self.out_start}, out_end={self.out_end}, "
            f"src_start={self.src_start}, src_end={self.src_end})"
        )


# A change that is still to be made: text[start:end] becomes the third, of a kind. A bare tuple, because
# hostile text needs a million of them.
Change = tuple[int, int, str, str]


class Escaped(Markup):
    """Text that is safe where it was escaped for; a `Markup`, so that no template escapes it again.

    `edits` lists the changes in order, `kinds` their kinds; the edits are made out when they are first asked for.
    Only `escape_text` and `escape_attribute` make one; what the methods of a text return (slices, joins, `strip()`) is
    plain `Markup`, because its edits would be wrong.
    """

    __slots__ = ("_edits", "_made_from")
    _edits: tuple[Edit, ...] | None
    _made_from: tuple[str, Sequence[Change]] | None

    def __new__(  # type: ignore[misc]
        cls, object: object = "", encoding: str | None = None, errors: str = "strict"  # noqa: A002
    ) -> Markup:
        """Return plain `Markup`: its methods build results with the class, and those are no `Escaped`."""
        return Markup(object, encoding, errors)

    @classmethod
    def of(cls, text: str, edits: tuple[Edit, ...] = ()) -> Self:
        """Make one from finished text and its edits."""
        made = str.__new__(cls, text)
        made._edits, made._made_from = edits, None
        return made

    @classmethod
    def changed(cls, text: str, changes: Sequence[Change]) -> Self:
        """Make one by changes of a text, which are in order and do not overlap."""
        made = str.__new__(cls, changed(text, changes))
        made._edits, made._made_from = None, (text, changes)
        return made

    @property
    def edits(self) -> tuple[Edit, ...]:
        """The changes, in order, with their places on both sides."""
        if self._edits is None:
            self._edits = edits_of(*self._made_from) if self._made_from else ()
            self._made_from = None
        return self._edits

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of the changes, in order."""
        if self._edits is None and self._made_from is not None:
            return tuple([kind for _, _, _, kind in self._made_from[1]])
        return tuple([edit.kind for edit in self._edits or ()])

    def __reduce__(self) -> tuple[object, ...]:
        return type(self).of, (str(self), self.edits)


class EscapedAttribute(Escaped):
    """The value of an attribute, to stand between double quotes; as safe as text anywhere else."""

    __slots__ = ()


def apply(text: str, changes: Iterable[Change]) -> tuple[str, tuple[Edit, ...]]:
    """Make the changes, which are in order and do not overlap; return the result and its edits."""
    changes = list(changes)
    return changed(text, changes), edits_of(text, changes)


def changed(text: str, changes: Iterable[Change]) -> str:
    """Return the text with the changes made."""
    pieces: list[str] = []
    position = 0
    for start, end, out, _ in changes:
        pieces += (text[position:start], out)
        position = end
    pieces.append(text[position:])
    return "".join(pieces)


def edits_of(text: str, changes: Iterable[Change]) -> tuple[Edit, ...]:
    """Return the changes with the places in the result."""
    edits: list[Edit] = []
    new = tuple.__new__  # what the class itself calls, one step shorter: hostile text makes a million of them
    position = length = 0
    for start, end, out, kind in changes:
        length += start - position
        after = length + len(out)
        edits.append(new(Edit, (kind, length, after, start, end, text[start:end])))
        length, position = after, end
    return tuple(edits)


def unescape_edits(escaped: Escaped) -> str:
    """Undo the edits: the exact text that was escaped."""
    pieces: list[str] = []
    text, position = str(escaped), 0
    for edit in escaped.edits:
        pieces += (text[position : edit.out_start], edit.source)
        position = edit.out_end
    pieces.append(text[position:])
    return "".join(pieces)


def source_span(escaped: Escaped, start: int, end: int) -> tuple[int, int]:
    """Return the span of the source text that escaped[start:end] came from, in characters.

    A span that begins or ends inside a replacement takes in all that was replaced. Raises OptionError unless
    0 <= start <= end <= len(escaped).

    >>> from promptpack.escape import Rules, escape_text
    >>> shown = escape_text("see </sources> there", Rules())
    >>> str(shown), source_span(shown, shown.index("there"), len(shown))
    ('see &lt;/sources> there', (15, 20))
    """
    if not 0 <= start <= end <= len(escaped):
        raise OptionError(
            f"source_span: {quote(start)} to {quote(end)} is no span of a text of {len(escaped)} characters",
            name="start", given=(start, end),
        )
    edits = escaped.edits
    first = bisect_right(edits, start, key=lambda e: e.out_start) - 1
    low = _mapped(edits, first, start, at_end=False)
    if start == end:
        return low, low
    last = bisect_right(edits, end - 1, key=lambda e: e.out_start) - 1
    return low, _mapped(edits, last, end, at_end=True)


def _mapped(edits: tuple[Edit, ...], index: int, position: int, *, at_end: bool) -> int:
    if index < 0:
        return position
    edit = edits[index]
    if position < edit.out_end or (at_end and position == edit.out_end):
        return edit.src_end if at_end else edit.src_start
    return position - edit.out_end + edit.src_end
