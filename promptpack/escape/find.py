"""Find the openers of dangerous shapes in a text: the one place where the rule is applied."""

from __future__ import annotations

import re
from typing import NamedTuple

from promptpack.escape.fold import fold, seen_before
from promptpack.escape.references import decode_structure, opener_of
from promptpack.escape.rules import LiveLabels
from promptpack.escape.shapes import Shapes

_COMMENT = re.compile(r"(?:<|&(?:amp;)*+#60;)!(?P<what>--|\[CDATA\[)")
_ODD_ASCII = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_MINIMAX = re.compile("\\](?=[~\uff5e])")
_OPENINGS = frozenset({"bare", "attr", "word", "last"})
_SEPARATORS = re.compile(r"[ \t-\r_.:#-]+")
_ENDS = {"--": "-->", "[CDATA[": "]]>"}
_RANGE = re.compile(r"(?:^|(?P<dash>[\u2013-])|[,;])[^0-9]*+(?P<n>[0-9]++)")


class Hit(NamedTuple):
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
    # Plain ASCII is matched where it stands, without looking at each stretch.
    plain = text.isascii() and "&" not in text and _ODD_ASCII.search(text) is None
    suspects: list[re.Pattern[str]] = []
    if "<" in text:
        suspects.append(shapes.tags)
    if "[" in text:
        suspects.append(shapes.brackets)
    if "]~" in text or "]\uff5e" in text:
        suspects.append(_MINIMAX)
    if references and "&" in text:
        suspects.append(shapes.references)
    if shapes.reserved or not text.isascii():
        suspects.append(shapes.others)
    for pattern in suspects:
        for match in pattern.finditer(text):
            start, end = match.span()
            if plain or (text[start] in "<[]" and shapes.plain.match(text, end)):
                exact = shapes.full.match(text, start)
            else:
                exact = _read(text, start, end, shapes)
            if exact is not None:
                hit = _judge(exact, text, start, end, shapes, labels)
                if hit is not None:
                    hits.append(hit)
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


def _read(text: str, start: int, end: int, shapes: Shapes) -> re.Match[str] | None:
    """Match the exact pattern against the folded stretch behind an opener."""
    stretch = shapes.body.match(text, end)
    assert stretch is not None  # it matches the empty text  # noqa: S101
    opener = text[start] if end - start == 1 else opener_of(text[start:end])
    view = fold(opener + decode_structure(stretch.group()))
    # The sign behind it keeps a stretch that was cut off from looking like the end of the text.
    return shapes.full.match(view if stretch.end() == len(text) else view + "\x01")


def _judge(
    match: re.Match[str], text: str, start: int, end: int, shapes: Shapes, labels: LiveLabels
) -> Hit | None:
    """Say what a match is, or None where its surroundings make it ordinary."""
    kind = match.lastgroup or ""
    if kind == "label":
        if not _live(match[kind], labels) or _is_link(text, start, shapes):
            return None
        return Hit(start, end, kind, match[kind])
    if kind == "close":
        return Hit(start, end, kind, "/" + _plain_name(match[kind]))
    if kind == "role":
        if match["slash"]:
            return Hit(start, end, kind, "/" + _plain_name(match[kind]))
        return None if _in_word(seen_before(text, start)) else Hit(start, end, kind, _plain_name(match[kind]))
    if kind in _OPENINGS:
        if _type_argument(text, start, match):
            return None
        return Hit(start, end, "open", _plain_name(match[kind]))
    return Hit(start, end, kind, match.group())


def _plain_name(name: str) -> str:
    return _SEPARATORS.sub("_", name.lower())


def _in_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def _type_argument(text: str, start: int, match: re.Match[str]) -> bool:
    """Say whether this is `List<Question>`: glued to a word, and a capital right after the bracket."""
    view, at = match.string, match.start()
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
