"""What counts as dangerous in one payload: reserved names, live labels, the level."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field

from promptpack.errors import OptionError, quote

LEVELS = ("tags", "structure", "strict", "spotlight", "datamark", "html", "off")
LABEL_LIMIT = 9999
_NAME = re.compile(r"[^\W\d][\w:.-]{0,63}")
_NUMBERED = re.compile(r"[^\W\d][\w:.-]{0,63}(?:\{\}|)")


def _frozen(value: object, name: str) -> frozenset[object]:
    if isinstance(value, frozenset):
        return value
    if isinstance(value, set | tuple | list):
        try:
            return frozenset(value)
        except TypeError:
            pass
    raise OptionError(f"{name}: expected a set, got {quote(value)}", name=name, given=value)


@dataclass(frozen=True, slots=True)
class LiveLabels:
    """Which label numbers a reader would take for a citation of this payload.

    max_label: the numbers 1 to this one are live; None: every number (for history); 0: none.
    keep: numbers that may stay as they are (an assistant's earlier turn citing what the map knows).

    >>> LiveLabels(3).covers(2, 2), LiveLabels(3).covers(4, 9)
    (True, False)
    >>> LiveLabels(None, frozenset({1, 2})).covers(1, 2)
    False
    """

    max_label: int | None = None
    keep: frozenset[int] = frozenset()
    _kept: tuple[int, ...] = field(init=False, repr=False, compare=False)
    _top: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        top = self.max_label
        if top is not None and (isinstance(top, bool) or not isinstance(top, int) or top < 0):
            raise OptionError(
                f"LiveLabels.max_label: expected a whole number of 0 or more, or None, got {quote(top)}",
                name="max_label", given=top,
            )
        keep = _frozen(self.keep, "keep")
        if not all(isinstance(n, int) and not isinstance(n, bool) for n in keep):
            raise OptionError("LiveLabels.keep: expected whole numbers", name="keep", given=self.keep)
        object.__setattr__(self, "keep", keep)
        object.__setattr__(self, "_kept", tuple(sorted(keep)))
        object.__setattr__(self, "_top", LABEL_LIMIT if top is None else top)

    def __contains__(self, number: object) -> bool:
        """Say whether a number is live and not kept."""
        return isinstance(number, int) and 1 <= number <= self._top and number not in self.keep

    def covers(self, low: int, high: int) -> bool:
        """Say whether any number of low..high is live and not kept."""
        high = min(max(low, high), self._top)
        kept = bisect_right(self._kept, high) - bisect_left(self._kept, low)
        return high - low + 1 > kept


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of escaping for one payload; hashable, and cheap to make.

    names: reserved tag names that stand alone, such as `sources`.
    numbered: names that are written with a number, such as `source` for `<source_1>`; another spelling
    than the underscore is written out with braces: `doc{}` for `<doc1>`, `doc-{}` for `<doc-1>`.
    prefix: the letters of the labels, "S" for [S1].
    labels: which numbers are live.
    level: one of `LEVELS`; `off` leaves text alone, attribute values are escaped all the same.
    suffix: what the `spotlight` templates write behind every name, as in `<source_1-7f3a>` (the names
    without it stay reserved).
    mark: what the level `datamark` writes for each blank between words.
    reserved: single characters that have a meaning in the template set (private-use citation marks).

    System-like names (`system`, `system_prompt`, `assistant`, ...) and the chat markers of
    `data/chat-markers.json` are always covered, except at the levels `structure` and `off`.

    Raises OptionError for a name that cannot be a tag's name, a prefix that is not letters, an unknown level.
    """

    names: frozenset[str] = frozenset({"sources", "question"})
    numbered: frozenset[str] = frozenset({"source"})
    prefix: str = "S"
    labels: LiveLabels = LiveLabels()
    level: str = "tags"
    suffix: str = ""
    mark: str = "^"
    reserved: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for name, pattern in (("names", _NAME), ("numbered", _NUMBERED)):
            values = _frozen(getattr(self, name), name)
            object.__setattr__(self, name, values)
            for value in values:
                if not isinstance(value, str) or not pattern.fullmatch(value):
                    raise OptionError(
                        f"Rules.{name}: {quote(value)} cannot be the name of a tag", name=name, given=value
                    )
        if not isinstance(self.prefix, str) or not self.prefix.isalpha() or len(self.prefix) > 16:
            raise OptionError(
                f"Rules.prefix: expected 1 to 16 letters, got {quote(self.prefix)}",
                name="prefix", given=self.prefix,
            )
        if not isinstance(self.labels, LiveLabels):
            raise OptionError(
                f"Rules.labels: expected LiveLabels, got {quote(self.labels)}", name="labels", given=self.labels
            )
        if not isinstance(self.level, str) or self.level not in LEVELS:
            raise OptionError.unknown("escape", self.level, LEVELS)
        if not isinstance(self.suffix, str) or not re.fullmatch(r"(?:-?[0-9A-Za-z]{1,32})?", self.suffix):
            raise OptionError(
                f"Rules.suffix: expected up to 32 ASCII letters and digits, got {quote(self.suffix)}",
                name="suffix", given=self.suffix,
            )
        if not isinstance(self.mark, str) or not re.fullmatch(r"[^\s\w<>&\[\]\"]{1,8}", self.mark):
            raise OptionError(
                f"Rules.mark: expected 1 to 8 signs, no letters, blanks or brackets, got {quote(self.mark)}",
                name="mark", given=self.mark,
            )
        reserved = _frozen(self.reserved, "reserved")
        object.__setattr__(self, "reserved", reserved)
        for char in reserved:
            if not isinstance(char, str) or len(char) != 1 or char.isalnum() or char in "&;# \t\n\r":
                raise OptionError(
                    f"Rules.reserved: expected single signs, got {quote(char)}", name="reserved", given=char
                )

