"""Find the openers of dangerous shapes in a text: the one place where the rule is applied."""

from __future__ import annotations

import re

from promptpack.escape.fold import fold, seen_before
from promptpack.escape.hidden import CONTROLS
from promptpack.escape.references import decode_structure, opener_of
from promptpack.escape.rules import LiveLabels
from promptpack.escape.shapes import Shapes

# The second bracket of CDATA may have been escaped as the opener of something else.
COMMENT = re.compile(r"(?:<|&(?:amp;)*+#60;)!(?P<what>--|\[CDATA(?:\[|&(?:amp;)*+#91;))")
# What plain ASCII does not hold: controls, DEL, references.
_NOT_PLAIN = CONTROLS + b"\x7f&"
TILDE, WIDE_TILDE = "~", "\uff5e"  # behind "]" they begin a marker; normalization makes one of the other
_MINIMAX = re.compile(f"\\](?=[{TILDE}{WIDE_TILDE}])")
_OPENINGS = frozenset({"bare", "attr", "word", "last"})
_SEPARATORS = re.compile(r"[ \t-\r_.:#-]+")
_RANGE = re.compile(r"(?:^|(?P<dash>[\u2013-])|[,;])[^0-9]*+(?P<n>[0-9]++)")


# An opener that must not stay: (start, end, kind, name). text[start:end] is the character itself, or a
# reference to it; kind is close, open, role, marker, label, comment, reserved or markup; name: what it opens.
Hit = tuple[int, int, str, str]


def find(
    text: str, shapes: Shapes, labels: LiveLabels, *, references: bool = True, quiet: bool = False
) -> list[Hit]:
    """Return the dangerous openers of `text` in order; linear in its length.

    quiet: what `odd.is_quiet` said of the text, where it was asked: then only ASCII openers are looked for.

    With references=False only openers that stand there as characters are reported, which is what a
    reader of the finished payload sees.
    """
    hits: list[Hit] = []
    plain: bool | None = None
    suspects: list[re.Pattern[str]] = []
    if "<" in text:
        suspects.append(shapes.tags)
    if "[" in text:
        suspects.append(shapes.brackets)
    if may_open_by_tilde(text):
        suspects.append(_MINIMAX)
    if references and "&" in text:
        suspects.append(shapes.references)
    if shapes.reserved or not (quiet or text.isascii()):
        suspects.append(shapes.others)
    for pattern in suspects:
        for match in pattern.finditer(text):
            start, end = match.span()
            if plain is None:
                # Plain ASCII is matched where it stands, without looking at each stretch.
                plain = text.isascii() and len(text.encode().translate(None, _NOT_PLAIN)) == len(text)
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
        hits += [(m.start(), m.end(), "markup", "") for m in shapes.strict.finditer(text)]
    if len(hits) > 1:
        hits.sort()
        if shapes.strict is not None:
            hits = [hit for i, hit in enumerate(hits) if not i or hit[0] != hits[i - 1][0]]
    return hits


def may_open_by_tilde(text: str) -> bool:
    """Tell, quickly, whether a marker like `]~b]` may begin in a text."""
    # One character is found many times faster than two.
    return (TILDE in text and "]~" in text) or (WIDE_TILDE in text and "]\uff5e" in text)


def _read(text: str, start: int, end: int, shapes: Shapes) -> re.Match[str] | None:
    """Match the exact pattern against the folded stretch behind an opener."""
    stretch = shapes.body.match(text, end)
    assert stretch is not None  # it matches the empty text  # noqa: S101
    opener = text[start] if end - start == 1 else opener_of(text[start:end])
    view = fold(opener + decode_structure(stretch.group()))
    last = stretch.end() == len(text)
    if len(view) < 4 and not (shapes.reserved or last):  # no shape is shorter
        return None
    # The sign behind it keeps a stretch that was cut off from looking like the end of the text.
    return shapes.full.match(view if last else view + "\x01")


def _judge(
    match: re.Match[str], text: str, start: int, end: int, shapes: Shapes, labels: LiveLabels
) -> Hit | None:
    """Say what a match is, or None where its surroundings make it ordinary."""
    kind = match.lastgroup or ""
    if kind == "label":
        numbers = match[kind]
        if not (int(numbers) in labels if numbers.isdigit() else _live(numbers, labels)):
            return None
        # `[S1](...)`, letter for letter, is a link of Markdown and not a citation.
        if match.string[match.end() - 1] == "]" and shapes.label.match(text, start):
            return None
        return (start, end, kind, numbers)
    if kind == "close":
        return (start, end, kind, "/" + _plain_name(match[kind]))
    if kind == "end":
        return (start, end, kind, "")
    if kind == "cut":
        return (start, end, "end", "") if _live(match[kind], labels) else None
    if kind == "role":
        if match["slash"]:
            return (start, end, kind, "/" + _plain_name(match[kind]))
        return None if _in_word(seen_before(text, start)) else (start, end, kind, _plain_name(match[kind]))
    if kind in _OPENINGS:
        if _type_argument(text, start, match):
            return None
        return (start, end, "open", _plain_name(match[kind]))
    return (start, end, kind, match.group())


def _plain_name(name: str) -> str:
    name = name.lower()
    return name if name.isidentifier() else _SEPARATORS.sub("_", name)


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
        first = min(low, number) if match["dash"] else number
        if labels.covers(first, max(low if match["dash"] else number, number)):
            return True
        low = number
    return False


def _find_comments(text: str, hits: list[Hit], references: bool) -> None:
    dashes, brackets = text.rfind("-->"), text.rfind("]]>")
    for match in COMMENT.finditer(text):
        start = match.start()
        what = match[1]
        if start > (dashes if what == "--" else brackets) and (references or text[start] == "<"):
            hits.append((start, match.start(1) - 1, "comment", "!" + what[:7]))
