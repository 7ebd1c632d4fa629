"""The check after rendering: what a reader finds in the payload is what the library meant to write."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from promptpack.errors import TemplateRenderError, quote
from promptpack.escape.find import COMMENT, Hit, find
from promptpack.escape.fold import BRACKETS_CLOSE
from promptpack.escape.rules import Rules
from promptpack.escape.shapes import shapes_for

HINT = "print texts without `|safe`, whole, and once"
LONGEST = 200  # characters of a list of labels
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
    for at every level but `structure`, where they are data; a comment or CDATA section that is left open, or closed
    behind a boundary, is one.

    >>> scan('<sources>\n<source_1 id="S1">\nsee &lt;/sources> [S1]\n</source_1>\n</sources>', Rules())
    Found(boundaries=('sources', 'source_1', '/source_1', '/sources'), markers=(), labels=('1',))
    """
    boundaries: list[str] = []
    marks: list[str] = []
    labels: list[str] = []
    hits = find(text, shapes_for(rules), rules.labels, references=False)
    if "<!" in text and shapes_for(rules).comments:
        marks += ["!"] * len(_swallowing(text, hits))
    for _, _, kind, name in hits:
        if kind in _BOUNDARIES:
            boundaries.append(name)
        elif kind == "label":
            labels.append(name)
        elif kind != "end":  # the payload ends there, and nothing completes it
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
    compare(scan(text, rules), expected, template=template)


def compare(found: Found, expected: Found, *, template: str | None = None, hint: str = HINT) -> None:
    """Raise TemplateRenderError, naming the first thing that differs, unless two findings are equal."""
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
        raise TemplateRenderError(f"{where}{what} {at + 1} of the payload {has}, {want}; {hint}", template=template)


def live_spans(text: str, rules: Rules) -> list[tuple[int, int]]:
    """Return where the live labels and the reserved characters of a text stand.

    >>> live_spans("as [S1] says", Rules())
    [(3, 7)]
    """
    hits = find(text, shapes_for(rules), rules.labels, references=False)
    return [
        (start, _closed(text, start) if kind == "label" else start + 1)
        for start, _, kind, _ in hits if kind in ("label", "reserved")
    ]


def _closed(text: str, start: int) -> int:
    """Return where a label ends, brackets included."""
    end = next((at for at in range(start, min(len(text), start + LONGEST)) if text[at] in BRACKETS_CLOSE), start)
    return end + 1


def _swallowing(text: str, hits: Sequence[Hit]) -> list[int]:
    """Return the places of comments that are closed behind a boundary: all up to there is none for an HTML reader."""
    tags = [start for start, _, kind, _ in hits if kind in _BOUNDARIES]
    found: list[int] = []
    ends = {"--": -1, "[C": -1}
    for match in COMMENT.finditer(text):
        what = match[1][:2]
        if text[match.start()] == "<" and ends[what] < match.end():
            # `<!-->` is a comment that is closed at once.
            end = text.find("-->", match.start() + 2) if what == "--" else text.find("]]>", match.end())
            ends[what] = end if end >= 0 else len(text)  # those that are left open are hits already
            at = bisect_left(tags, match.start())
            if at < len(tags) and tags[at] < end:
                found.append(match.start())
    return found
