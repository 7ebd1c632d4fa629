"""Read the tag names of a template from its literal text, so that reserved names are never typed in twice."""

from __future__ import annotations

import re

_BLOCKS = {"{{": "}}", "{%": "%}", "{#": "#}"}
_OPEN = re.compile(r"\{\{|\{%-?\s*raw\s*-?%\}|\{%|\{#")
_ENDRAW = re.compile(r"\{%[-+]?\s*endraw\s*[-+]?%\}")
# What stands for an expression in the literal text: a letter that no template writes.
_HOLE = "\ufffc"
_TAG = re.compile(rf"</?(?P<name>[^\W\d][\w:.-]*)(?P<hole>{_HOLE})?")


def literal_text(template: str) -> str:
    r"""Return the literal text of a Jinja template, with U+FFFC for each expression that is printed.

    Comments and statements vanish; raw blocks are literal. Strings inside expressions may hold the
    closing sign.

    >>> literal_text("{# c #}<a_{{ '}}' }}>{% if x %}y{% endif %}")
    '<a_\ufffc>y'
    """
    return "".join(piece for piece, _ in _pieces(template))


def _pieces(template: str) -> list[tuple[str, int]]:
    """Return the literal text in pieces, each with the place in the template where it ends."""
    pieces: list[tuple[str, int]] = []
    position = 0
    while match := _OPEN.search(template, position):
        pieces.append((template[position : match.start()], match.start()))
        sign = match.group()
        if len(sign) > 2:
            end = _ENDRAW.search(template, match.end())
            inside = end.start() if end else len(template)
            pieces.append((template[match.end() : inside], inside))
            position = end.end() if end else len(template)
            continue
        position = _end_of(template, match.end(), _BLOCKS[sign], strings=sign != "{#")
        if sign == "{{":
            pieces.append((_HOLE, position))
    pieces.append((template[position:], len(template)))
    return pieces


def with_suffix(template: str, suffix: str, names: frozenset[str], numbered: frozenset[str]) -> str:
    """Return a template that writes its tags with a suffix: behind the name, or behind the number that follows it.

    Other tags than those named stay as they are. A numbered name without its number, as rules speak of it, gets the
    suffix, too.

    >>> with_suffix("<a><source_{{ n }} id='{{ l }}'><b>", "-xyz", frozenset({"a"}), frozenset({"source"}))
    "<a-xyz><source_{{ n }}-xyz id='{{ l }}'><b>"
    """
    known = names | numbered | {name.removesuffix("{}") for name in numbered}
    pieces = [piece for piece in _pieces(template) if piece[0]]
    text = "".join(piece for piece, _ in pieces)
    places: list[int] = []
    index, done = 0, 0  # the piece that holds a place, and where it begins in the text
    for match in _TAG.finditer(text):
        name = match["name"]
        if name not in known and name.rstrip("_.:-") not in known:
            continue
        at = match.end()
        while done + len(pieces[index][0]) < at:
            done += len(pieces[index][0])
            index += 1
        piece, end = pieces[index]
        places.append(end - (len(piece) - (at - done)))
    made: list[str] = []
    position = 0
    for place in places:
        made += (template[position:place], suffix)
        position = place
    return "".join([*made, template[position:]])


def _end_of(template: str, position: int, sign: str, *, strings: bool) -> int:
    if not strings:
        end = template.find(sign, position)
        return len(template) if end < 0 else end + 2
    token = re.compile(rf"{re.escape(sign)}|\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+'", re.DOTALL)
    for match in token.finditer(template, position):
        if match.group() == sign:
            return match.end()
    return len(template)


def reserved_names(template_source: str) -> tuple[frozenset[str], frozenset[str]]:
    r"""Return (names, numbered): the tag names that a template writes, for `Rules`.

    A name directly before an expression, as in `<source_{{ n }}>`, is a numbered one: `source` for the
    underscore, otherwise with braces, `doc-{}` or `doc{}`. Names of closing tags count too. Text inside
    comments and expressions does not. Linear.

    >>> names, numbered = reserved_names('<documents>\n<document index="{{ n }}">{{ text }}</document>')
    >>> sorted(names), sorted(numbered)
    (['document', 'documents'], [])
    >>> reserved_names("<source_{{ s.n }} id='{{ s.label }}'>{{ s.text }}</source_{{ s.n }}>")
    (frozenset(), frozenset({'source'}))
    """
    names: set[str] = set()
    numbered: set[str] = set()
    for match in _TAG.finditer(literal_text(template_source)):
        name = match["name"]
        if not match["hole"]:
            names.add(name.rstrip(".:-") or name)
        elif name.endswith("_"):
            numbered.add(name[:-1].rstrip("_") or name)
        else:
            numbered.add(name + "{}")
    return frozenset(names), frozenset(numbered)
