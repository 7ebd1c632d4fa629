"""What comes in: a retrieved chunk, and how it may be shortened."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import date, datetime
from numbers import Integral, Real
from typing import Any, Literal, get_args

from promptpack.errors import OptionError, SourceError, quote

Keep = Literal["start", "end", "ends", "relevant"]
At = Literal["sentence", "word", "token", "character"]


@dataclass(frozen=True, slots=True)
class Cut:
    """How a source may be shortened when it does not fit whole.

    keep: which part stays: the start, the end, both ends, or the sentences that match the question best.
    min_tokens: with less room than this the source is dropped rather than cut (tokens, >= 0).
    at: where a cut may fall; a character is a grapheme cluster, never a part of one.
    marker: the visible sign of an omission; None takes one that suits `keep`. It is counted.

    >>> Cut(keep="ends").at
    'sentence'
    """

    keep: Keep = "start"
    min_tokens: int = 32
    at: At = "sentence"
    marker: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.keep, str) or self.keep not in get_args(Keep):
            raise OptionError.unknown("Cut.keep", self.keep, get_args(Keep))
        if not isinstance(self.at, str) or self.at not in get_args(At):
            raise OptionError.unknown("Cut.at", self.at, get_args(At))
        if isinstance(self.min_tokens, bool) or not isinstance(self.min_tokens, int) or self.min_tokens < 0:
            raise OptionError(
                f"Cut.min_tokens: expected a whole number of 0 or more, got {quote(self.min_tokens)}",
                name="min_tokens", given=self.min_tokens,
            )
        if self.marker is not None and not isinstance(self.marker, str):
            raise OptionError(
                f"Cut.marker: expected a text or None, got {quote(self.marker)}", name="marker", given=self.marker
            )


class _Noted:
    """Room for what was found out about a source, so that the next payload need not find it out again.

    made: how the source stands in a payload, and under which settings (`promptpack.blocks`). It is no part of the
    value: not compared, copied or pickled, and it goes with the source.
    """

    __slots__ = ("_made",)

    _made: tuple[Any, ...] | None


@dataclass(frozen=True, slots=True)
class Source(_Noted):
    """A retrieved chunk: an id that its label will map to, its text, and what is known about it.

    score: higher is better, any scale; None for all means that the order of arrival is the ranking.
    document, position: the parent document and the chunk's index within it.
    updated: a date, an ISO text, or a Unix time in seconds or milliseconds (told apart by size).
    required: never dropped; an error if it cannot fit. pinned: required, and placed before the history.
    cut: how it may be shortened; None means whole or not at all.
    tokens: the known token count of `text`; its enclosure is measured all the same.
    start, end: character offsets in the document, for stitching overlapping chunks.
    metadata: shown fields (title, section, url, ...); only those named in the builder's `fields` are sent.
    origin: the framework object that it came from; not compared.

    Raises SourceError where a field has a type that it cannot have. Scores that are not finite are
    left to `pack(validate=...)`.

    >>> Source("returns#1", "Returns are free for 30 days.", 0.9).id
    'returns#1'
    """

    id: str
    text: str
    score: float | None = None
    _: KW_ONLY
    document: str | None = None
    position: int | float | None = None
    updated: date | datetime | str | int | float | None = None
    reliability: float | None = None
    priority: float = 0
    required: bool = False
    pinned: bool = False
    cut: Cut | None = None
    tokens: int | None = None
    start: int | None = None
    end: int | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    origin: object = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if type(self.id) is not str and not isinstance(self.id, str):
            raise self._error("id", f"expected a text, got {quote(self.id)}")
        if type(self.text) is not str and not isinstance(self.text, str):
            raise self._error("text", f"expected a text, got {quote(self.text)}")
        if self.document is not None and not isinstance(self.document, str):
            raise self._error("document", f"expected a text or None, got {quote(self.document)}")
        for name in ("score", "position", "reliability"):
            value = getattr(self, name)
            if value is not None and type(value) is not float:
                self._check_number(name, value)
        if type(self.priority) is not int:
            self._check_number("priority", self.priority)
        if self.updated is not None:
            self._check_updated()
        if self.cut is not None and not isinstance(self.cut, Cut):
            raise self._error("cut", f"expected a Cut or None, got {quote(self.cut)}")
        for name in ("tokens", "start", "end"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, Integral) or value < 0):
                raise self._error(name, f"expected a whole number of 0 or more, or None, got {quote(value)}")
            if value is not None:  # a numpy number becomes a plain one
                object.__setattr__(self, name, int(value))
        if self.start is not None and self.end is not None and self.start > self.end:
            raise self._error("start", f"start {self.start} is behind end {self.end}")
        for name in ("required", "pinned"):
            if not isinstance(getattr(self, name), bool):
                raise self._error(name, f"expected True or False, got {quote(getattr(self, name))}")
        if not isinstance(self.metadata, Mapping):
            raise self._error("metadata", f"expected a mapping, got {quote(self.metadata)}")
        # A copy: a source that is changed behind its back would render differently the next time.
        object.__setattr__(self, "metadata", dict(self.metadata))
        object.__setattr__(self, "_made", None)

    def _check_number(self, name: str, value: object) -> None:
        if isinstance(value, bool) or not isinstance(value, Real):
            raise self._error(name, f"expected a number, got {quote(value)}")
        if not isinstance(value, int | float) or type(value).__module__ != "builtins":
            # numpy scalars and fractions: a plain number compares, pickles and prints the same everywhere
            try:
                plain = int(value) if isinstance(value, Integral) else float(value)
            except OverflowError:
                raise self._error(name, "the number is too large") from None
            object.__setattr__(self, name, plain)

    def _check_updated(self) -> None:
        value = self.updated
        if isinstance(value, bool) or not isinstance(value, date | str | Real):
            raise self._error("updated", f"expected a date, an ISO text or a Unix time, got {quote(value)}")
        if isinstance(value, float) and not math.isfinite(value):
            raise self._error("updated", f"expected a finite Unix time, got {quote(value)}")

    def _error(self, name: str, why: str) -> SourceError:
        id_ = self.id if isinstance(self.id, str) else None
        return SourceError(f"source {quote(id_)}: {name}: {why}", id=id_, field=name)
