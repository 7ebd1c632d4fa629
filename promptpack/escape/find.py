"""Find the openers of dangerous shapes in a text: the one place where the rule is applied."""

from __future__ import annotations

import re
from dataclasses import dataclass

from promptpack.escape.fold import fold, seen_before
from promptpack.escape.references import decode_structure, opener_of
from promptpack.escape.rules import LiveLabels
from promptpack.escape.shapes import Shapes

_COMMENT = re.compile(r"(?:<|&(?:amp;)*+#60;)!(?P<what>--|\[CDATA\[)")
_ENDS = {"--": "-->", "[CDATA[": "]]>"}
_RANGE = re.compile(r"(?:^|(?P<dash>[\u2013-])|[,;])[^0-9]*+(?P<n>[0-9]++)")


@dataclass(slots=True, eq=False)
class Hit:
    """An opener that must not stay: text[start:end] is the character itself, or a reference to it.

    kind: close, open, role, marker, label, comment, reserved or markup; name: what it opens.
    """

    start: int
    end: int
    kind: str
    name: str


def find(text: str, shapes: Shapes, labels: LiveLabels, *, references: bool = True) -> list[Hit]:
    """Return the dangerous openers of `text` in order; linear in its length.

    With references=False only openers that stand there as characters are reported, which is what a
    reader of the finished payload sees.
    """
    hits: list[Hit] = []
    if "<" in text:
        for match in shapes.tags.finditer(text):
            _examine(text, match.start(), match.end(), shapes, labels, hits)
    if "[" in text:
        for match in shapes.brackets.finditer(text):
            _examine(text, match.start(), match.end(), shapes, labels, hits)
    if "]~" in text or "]\uff5e" in text:
        for match in re.finditer("\\](?=[~\uff5e])", text):
            _examine(text, match.start(), match.end(), shapes, labels, hits)
    if references and "&" in text:
        for match in shapes.references.finditer(text):
            _examine(text, match.start(), match.end(), shapes, labels, hits)
    if shapes.reserved or not text.isascii():
        for match in shapes.others.finditer(text):
            _examine(text, match.start(), match.end(), shapes, labels, hits)
    if shapes.comments and ("<!" in text or "#60;!" in text):
        _find_comments(text, hits, references)
    if shapes.strict is not None and references:
        hits += [Hit(m.start(), m.end(), "markup", "") for m in shapes.strict.finditer(text)]
    if len(hits) > 1:
        hits.sort(key=_order)
        if shapes.strict is not None:
            hits = [h for i, h in enumerate(hits) if not i or h.start != hits[i - 1].start]
    return hits


def _order(hit: Hit) -> tuple[int, bool]:
    return hit.start, hit.kind == "markup"


def _examine(text: str, start: int, end: int, shapes: Shapes, labels: LiveLabels, hits: list[Hit]) -> None:
    char = text[start]
    match: re.Match[str] | None
    if char in "<[]" and shapes.plain.match(text, end):
        match = shapes.full.match(text, start)
    else:
        stretch = shapes.body.match(text, end)
        assert stretch is not None  # it matches the empty text  # noqa: S101
        opener = fold(char if end - start == 1 else opener_of(text[start:end]))
        view = opener + fold(decode_structure(stretch.group()))
        # The sign behind it keeps a stretch that was cut off from looking like the end of the text.
        match = shapes.full.match(view if stretch.end() == len(text) else view + "\x01")
    if match is None:
        return
    kind = match.lastgroup or ""
    view = match.group()
    if kind in ("bare", "attr", "word", "last"):
        if _type_argument(text, start, match.string, match.start()):
            return
        hits.append(Hit(start, end, "open", _plain_name(match[kind])))
    elif kind == "close":
        hits.append(Hit(start, end, "close", "/" + _plain_name(match[kind])))
    elif kind == "role":
        if not match["slash"] and _in_word(seen_before(text, start)):
            return
        hits.append(Hit(start, end, "role", ("/" if match["slash"] else "") + _plain_name(match[kind])))
    elif kind == "label":
        if _live(match["label"], labels) and not _is_link(text, start, shapes):
            hits.append(Hit(start, end, "label", match["label"]))
    else:
        hits.append(Hit(start, end, kind, view))


def _plain_name(name: str) -> str:
    return re.sub(r"[ \t-\r_.:#-]+", "_", name.lower())


def _in_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def _type_argument(text: str, start: int, view: str, at: int) -> bool:
    """Say whether this is `List<Question>`: glued to a word, and a capital right after the bracket."""
    first, second = view[at + 1 : at + 2], view[at + 2 : at + 3]
    if not ("A" <= first <= "Z" and "a" <= second <= "z" and view[at] == "<"):
        return False
    return _in_word(seen_before(text, start))


def _live(numbers: str, labels: LiveLabels) -> bool:
    low = 0
    for match in _RANGE.finditer(numbers):
        number = int(match["n"])
        if labels.covers(number, number) or (match["dash"] and labels.covers(min(low, number), max(low, number))):
            return True
        low = number
    return False


def _is_link(text: str, start: int, shapes: Shapes) -> bool:
    """Say whether `[S1](...)` stands there letter for letter: a link of Markdown, not a citation."""
    return shapes.label.match(text, start) is not None


def _find_comments(text: str, hits: list[Hit], references: bool) -> None:
    last = {what: text.rfind(end) for what, end in _ENDS.items()}
    for match in _COMMENT.finditer(text):
        if match.start() > last[match["what"]] and (references or text[match.start()] == "<"):
            hits.append(Hit(match.start(), match.start("what") - 1, "comment", "!" + match["what"]))
