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
    pieces: list[str] = []
    position = 0
    while match := _OPEN.search(template, position):
        pieces.append(template[position : match.start()])
        sign = match.group()
        if len(sign) > 2:
            end = _ENDRAW.search(template, match.end())
            pieces.append(template[match.end() : end.start() if end else len(template)])
            position = end.end() if end else len(template)
            continue
        if sign == "{{":
            pieces.append(_HOLE)
        position = _end_of(template, match.end(), _BLOCKS[sign], strings=sign != "{#")
    pieces.append(template[position:])
    return "".join(pieces)


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
