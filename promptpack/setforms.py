"""Escaping for template sets of another form: those that write JSON, and those with citation marks of their own.

In a set that writes JSON, a passage is escaped as in any other, and the result is written the way JSON writes
strings, so that a template prints it between quotes and every passage parses. JSON's own backslashes must not make a
marker of what was none: `<`, tab, `ool_call>` is harmless and `<\\tool_call>` is not. So the short forms (`\\n`, `\\t`,
`\\"`, `\\\\`) are written after ordinary characters alone, and `\\u0009` after all others.

In a set that writes private-use characters, no text may hold them, but for the marks in an assistant's earlier turns
that cite labels the conversation knows: a model copies how it cited before.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from markupsafe import Markup

from promptpack.environment import Compiled
from promptpack.escape import Rules
from promptpack.escape.escaped import changed
from promptpack.escape.find import Hit, find
from promptpack.escape.shapes import shapes_for
from promptpack.escape.text import replacements
from promptpack.escaping import Escaping, Told, kinds_of

_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\f": "\\f", '"': '\\"', "\\": "\\\\"}
# After these a backslash is plain: ASCII but for what opens a shape or a reference (< [ & / and, looked at closer, ;),
# and the letters and stops that lines of other scripts end in. None of them is invisible.
_PLAIN = (
    r"\t\n\r !-%'-.0-:=-Z\\-~\xc0-\u024f\u0386-\u03ce\u0400-\u0482\u048a-\u04ff\u05d0-\u05ea\u0621-\u064a\u0904-\u0939"
    r"\u0964\u0e01-\u0e30\u3001\u3002\u300d\u300f\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3"
    r"\uff01\uff09\uff0c\uff1a\uff1b\uff1f\u2013\u2014\u2019\u201d\u2026"
)
_SPECIAL = re.compile(rf'(?:(?<=[{_PLAIN}])|\A|(?P<after>(?<=;))|(?P<odd>))["\\\x00-\x1f]')
_REFERENCE = re.compile(r"&[#0-9A-Za-z]{1,31};\Z|[#0-9A-Za-z]{32};\Z")  # or what may be the end of a longer one


_MARK = re.compile("\ue200cite((?:\ue202[A-Za-z]{1,12}[1-9][0-9]{0,3})++)\ue201")


def escaping_for(compiled: Compiled) -> type[Escaping]:
    """Return how the texts of a set are escaped."""
    if compiled.set.settings.encoding == "json":
        return JsonEscaping
    return MarkEscaping if compiled.signs else Escaping


class MarkEscaping(Escaping):
    """Escapes as `Escaping` does, and leaves an assistant's citation marks whose labels are all known."""

    __slots__ = ()

    def turn(self, text: str, role: str) -> Markup:
        """Escape text of the history."""
        if role != "assistant" or not self.carried:
            return Escaping.turn(self, text, role)
        pieces: list[str] = []
        kinds: tuple[str, ...] = ()
        at = 0
        for match in _MARK.finditer(text):
            if all(self._knows(label) for label in match[1].split("\ue202")[1:]):
                # No shape reaches across a mark, so that what stands before and after is escaped on its own.
                before = Escaping.turn(self, text[at: match.start()], role)
                pieces += (before, match[0])
                kinds += kinds_of(before)
                at = match.end()
        rest = Escaping.turn(self, text[at:], role)
        return Told.of("".join([*pieces, rest]), kinds + kinds_of(rest))  # piece by piece, and marks of ours

    def _knows(self, label: str) -> bool:
        prefix = self.rules.prefix
        number = label.removeprefix(prefix)
        return label != number and number.isdigit() and int(number) in self.carried


class JsonEscaping(Escaping):
    """Escapes as `Escaping` does, and writes passages and fields as the inside of JSON strings, unlike the question."""

    __slots__ = ()

    def text(self, text: str) -> Markup:
        """Escape a passage."""
        escaped = Escaping.text(self, text)
        return Told.of(json_inert(escaped, self.rules), kinds_of(escaped))  # without those of JSON's own signs

    def question(self, text: str) -> Markup:
        """Escape the question, which stands outside of the objects."""
        return Escaping.text(self, text)

    def leaves(self, text: str) -> bool:
        """Tell, quickly, that a passage would be left as it is."""
        return Escaping.leaves(self, text) and _SPECIAL.search(text) is None

    def left(self, texts: Sequence[str]) -> list[bool]:
        """Tell what `leaves` does, of many passages."""
        inert = Escaping.left(self, texts)
        return [left and _SPECIAL.search(text) is None for left, text in zip(inert, texts, strict=True)]

    def leaves_attribute(self, value: str) -> bool:
        """Tell, quickly, that the value of a field would be left as it is, whatever the labels of the payload."""
        return Escaping.leaves_attribute(self, value) and _SPECIAL.search(value) is None

    def attribute(self, value: str) -> tuple[str, tuple[str, ...]]:
        """Escape the value of a field; return it with what was changed."""
        escaped, edits = Escaping.attribute(self, value)
        return json_inert(escaped, self.rules), edits


def json_inert(text: str, rules: Rules) -> str:
    r"""Return escaped text as it stands in a JSON string; what JSON's own signs complete to a shape is escaped, too.

    >>> print(json_inert("<\\|>", Rules()))
    &lt;\u005c|>
    """
    inside = json_inside(text)
    if inside == text:
        return inside
    shapes = shapes_for(rules)
    hits = find(inside, shapes, rules.labels, references="&" in inside)
    if "&" in inside:  # JSON writes each of them as it is, so that the first is the first here and there
        known = set(_references(text, find(text, shapes, rules.labels)).values())
        found = _references(inside, hits)
        hits = [hit for hit in hits if found.get(hit[0]) not in known]
    return changed(inside, replacements(inside, hits)) if hits else inside


def _references(text: str, hits: Sequence[Hit]) -> dict[int, int]:
    """Return which of the ampersands of a text begin a dangerous reference: where they stand, and their numbers."""
    starts = {hit[0] for hit in hits}
    every = [match.start() for match in re.finditer("&", text)]
    return {at: number for number, at in enumerate(every) if at in starts}


def json_inside(text: str) -> str:
    r"""Return a text as it stands between the quotes of a JSON string; linear.

    >>> print(json_inside('one "two"\nC:\\three'))
    one \"two\"\nC:\\three
    >>> print(json_inside("<\tool_call>"))
    <\u0009ool_call>
    """
    return _SPECIAL.sub(_written, str(text))


def _written(match: re.Match[str]) -> str:
    char = match[0]
    short = _SHORT.get(char)
    unsafe = match["odd"] is not None
    if match["after"] is not None:
        at = match.start()
        unsafe = _REFERENCE.search(match.string[max(0, at - 33): at]) is not None
    return f"\\u{ord(char):04x}" if unsafe or short is None else short
