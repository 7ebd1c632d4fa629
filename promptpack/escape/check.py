"""The check after rendering: what a reader finds in the payload is what the library meant to write."""

from __future__ import annotations

from dataclasses import dataclass

from promptpack.errors import TemplateRenderError, quote
from promptpack.escape.find import find
from promptpack.escape.rules import Rules
from promptpack.escape.shapes import shapes_for

_BOUNDARIES = frozenset({"close", "open", "role"})


@dataclass(frozen=True, slots=True)
class Found:
    """What stands in a text as structure: boundaries in order, markers in order, live labels in order.

    boundaries: `sources`, `source_1`, `/source_1`, ...; separators and letter case folded. markers: chat
    markers, unclosed comments and reserved characters. labels: the numbers as they were written, `1` or
    `1, S3`. Two of them add up as their texts do: `scan(a + b) == scan(a) + scan(b)` where no shape
    reaches across the join.
    """

    boundaries: tuple[str, ...] = ()
    markers: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()

    def __add__(self, other: Found) -> Found:
        if not isinstance(other, Found):
            return NotImplemented
        return Found(
            self.boundaries + other.boundaries, self.markers + other.markers, self.labels + other.labels
        )


def scan(text: str, rules: Rules) -> Found:
    r"""Read a finished text as a forgiving reader would; linear, and quick on ordinary text.

    Character references are not decoded: what is escaped is no structure. At the level `off` texts are
    trusted to hold structure of their own, so that there is nothing to compare with. Markers are looked
    for at every level but `structure`, where they are data.

    >>> scan('<sources>\n<source_1 id="S1">\nsee &lt;/sources> [S1]\n</source_1>\n</sources>', Rules())
    Found(boundaries=('sources', 'source_1', '/source_1', '/sources'), markers=(), labels=('1',))
    """
    boundaries: list[str] = []
    marks: list[str] = []
    labels: list[str] = []
    for _, _, kind, name in find(text, shapes_for(rules), rules.labels, references=False):
        if kind in _BOUNDARIES:
            boundaries.append(name)
        elif kind == "label":
            labels.append(name)
        else:
            marks.append(name)
    return Found(tuple(boundaries), tuple(marks), tuple(labels))


def check(text: str, expected: Found, rules: Rules, *, template: str | None = None) -> None:
    """Raise TemplateRenderError unless `text` holds exactly the structure that was meant.

    This catches templates that print raw text, cut escaped text, or let pieces join up.

    >>> check("<question>x</question>", Found(("question", "/question")), Rules())
    >>> check("a</question>", Found(), Rules(), template="user.j2")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    promptpack.errors.TemplateRenderError: template 'user.j2': tag 1 of the payload is '/question', none ...
    """
    found = scan(text, rules)
    if found == expected:
        return
    for what, there, meant in (
        ("tag", found.boundaries, expected.boundaries),
        ("control marker", found.markers, expected.markers),
        ("label", found.labels, expected.labels),
    ):
        if there == meant:
            continue
        common = min(len(there), len(meant))
        at = next((i for i in range(common) if there[i] != meant[i]), common)
        has = f"is {quote(there[at], 40)}" if at < len(there) else "is missing"
        want = f"{quote(meant[at], 40)} was meant there" if at < len(meant) else "none was meant there"
        where = f"template {quote(template)}: " if template else ""
        raise TemplateRenderError(
            f"{where}{what} {at + 1} of the payload {has}, {want}; "
            "print texts without `|safe`, whole, and once",
            template=template,
        )
