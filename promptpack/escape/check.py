"""The check after rendering: what a reader finds in the payload is what the library meant to write."""

from __future__ import annotations

from dataclasses import dataclass

from promptpack.errors import TemplateRenderError, quote
from promptpack.escape.find import find
from promptpack.escape.rules import LiveLabels, Rules
from promptpack.escape.shapes import shapes_for

_EVERY = LiveLabels()
_BOUNDARIES = frozenset({"close", "open", "role"})


@dataclass(frozen=True, slots=True)
class Found:
    """What stands in a text as structure: boundaries in order, markers in order, live labels in order.

    boundaries: `sources`, `source_1`, `/source_1`, ...; separators and letter case folded. markers: chat
    markers, unclosed comments and reserved characters. labels: the numbers as they were written, `1` or
    `1, S3`. Two of them add up as their texts do: `scan(a + b) == scan(a) + scan(b)` where the texts join
    at a line end.
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

    Character references are not decoded: what is escaped is no structure. Markers are looked for at every
    level but `structure` and `off`, where they are data.

    >>> scan('<sources>\n<source_1 id="S1">\nsee &lt;/sources> [S1]\n</source_1>\n</sources>', Rules())
    Found(boundaries=('sources', 'source_1', '/source_1', '/sources'), markers=(), labels=('1',))
    """
    boundaries: list[str] = []
    marks: list[str] = []
    labels: list[str] = []
    for hit in find(text, shapes_for(rules), rules.labels, references=False):
        if hit.kind in _BOUNDARIES:
            boundaries.append(hit.name)
        elif hit.kind == "label":
            labels.append(hit.name)
        else:
            marks.append(hit.name)
    return Found(tuple(boundaries), tuple(marks), tuple(labels))


def check(text: str, expected: Found, rules: Rules, *, template: str | None = None) -> None:
    """Raise TemplateRenderError unless `text` holds exactly the structure that was meant.

    This catches templates that print raw text, cut escaped text, or let pieces join up.

    >>> check("<question>x</question>", Found(("question", "/question")), Rules())
    >>> check("<question></question></question>", Found(("question", "/question")), Rules(), template="user.j2")
    Traceback (most recent call last):
    promptpack.errors.TemplateRenderError: template 'user.j2': tag 3 of the payload is '/question', none was meant there; print texts without `|safe`, whole, and once
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
        at = next((i for i, (a, b) in enumerate(zip(there, meant, strict=False)) if a != b), min(len(there), len(meant)))
        has = f"is {quote(there[at], 40)}" if at < len(there) else "is missing"
        want = f"{quote(meant[at], 40)} was meant there" if at < len(meant) else "none was meant there"
        where = f"template {quote(template)}: " if template else ""
        raise TemplateRenderError(
            f"{where}{what} {at + 1} of the payload {has}, {want}; print texts without `|safe`, whole, and once",
            template=template,
        )
