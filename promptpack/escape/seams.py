r"""Proof, once per template, that escaped values cannot join up with what the template writes around them.

A payload is fixed text with values between. Escaping makes each value inert by itself, and replaces every opener
whose shape the end of the value cuts off (`</`, `<|im_`, `[S1`, `<sources a`; in fields every open bracket). A shape
that is in the payload and not in the template can only lie across a seam, and there are two ways:

* It begins in fixed text and ends in a value. `_settled` rules that out: behind each opener of the fixed text stands a
  sign that ends every shape begun there, before the value starts.
* It begins in a value and ends in fixed text (or beyond). What a value may still leave open is an opener alone,
  or one with the beginning of a name. `_parts` rules out that the text behind goes on with it: it starts with a sign
  that no shape holds at such a place, or with white space and then something that is no name, slash or number.

Only ASCII signs count in both, so that look-alikes in fixed text lead to "not proven". Where all seams are proven, the
structure of the payload is that of the template, whatever the values are, and reading it again would find
nothing. Where one is not, `promptpack.guard` reads the whole payload. The properties in
`tests/property/test_escape_seams.py` compare the proof with that reading.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass

from promptpack.escape.fold import fold
from promptpack.escape.references import OPENERS

NUMBERS = {"n": "1", "label": "S1"}  # gaps that the library fills itself; any letters and digits do for a label
_WHITE = " \t\n\r\x0b\x0c"
# Signs that end whatever a value left open, right behind it.
_AFTER_TEXT = frozenset("\"'(){}*`<")
_AFTER_FIELD = _AFTER_TEXT | frozenset("],;|")  # a field holds neither "<" nor an open bracket
# Words that go on as no tag: a single one with a colon and a blank, or some with a sign of prose before any ">" or "=".
_HEADING = re.compile(r"([A-Za-z_]\w*):(?:[ \t-\r]|\Z)")
_PROSE = re.compile(r"[\w \t-\r.:/\\-]*+(?=[!-~])[^\w.:/\\>=|-]")
_CLOSED = frozenset(string.punctuation) - frozenset("<[/\\|") | {""}
_LABEL = re.compile(r"[^\W\d_]{1,16}+[0-9]")
_CHANGES_SENSE = re.compile(r"<[ \t-\r]*(?:[A-Z]|sys|ass)")  # read otherwise when glued to a word
_CHAT = re.compile(r"(?i:<[/\\]?(?:sys>|role>))")
_UNSETTLED = re.compile(r"(?i:<[<!]|<[/\\]?[ \t-\r]*role)")
_ENDS_TAG = re.compile("[>\"'(){},;*`?!\\[\\]<]")
_BRACKET = re.compile(
    r"[\w \t-\r/\\]*+(?=[!-~])[^\w/\\~,;|-]"  # a marker's name, and what no marker has behind it
    r"|[\w \t-\r]++[|]"                         # a label's end
    r"|[\w \t-\r,;-]*+(?=[!-~])[^\w,;~-]"       # a list of labels, and what ends it
)


@dataclass(frozen=True, slots=True)
class Seams:
    """What is known of a template's seams.

    proven: all inner ones are. value_first, value_last: a value stands at that end. tails: the proof holds where no
    block and no question ends in an opener (`ends_closed`), which is for the caller to look at.
    """

    proven: bool = True
    value_first: bool = False
    value_last: bool = False
    tails: bool = False

    def __and__(self, other: Seams) -> Seams:
        """Return what is known of blocks that stand one below the other, each of one of two kinds."""
        first, last = self.value_first or other.value_first, self.value_last or other.value_last
        return Seams(self.proven and other.proven, first, last, self.tails or other.tails or (first and last))


def seams(
    literals: Sequence[str], gaps: Sequence[str], blocks: Seams | None = None, *, begun: frozenset[str] = frozenset()
) -> Seams:
    """Look at the fixed texts and the gaps between them: `literals[0] gap[0] literals[1] ... literals[n]`.

    Gaps named `n` and `label` are numbers, `@name` is a field, all others are text. `blocks` tells of the blocks,
    joined by line breaks, that fill the gap `sources`. `begun`: what reserved names begin with that have more parts, or
    a number (`first_parts`). Linear in the fixed text but for its brackets.

    >>> seams(("<q>", "</q>"), ("question",)).proven, seams(("<", ">"), ("question",)).proven
    (True, False)
    """
    fixed, values = [literals[0]], []
    for gap, literal in zip(gaps, literals[1:], strict=True):
        if gap in NUMBERS:
            fixed[-1] += NUMBERS[gap] + literal
        else:
            values.append(gap)
            fixed.append(literal)
    inside = blocks or Seams()
    proven, tails = inside.proven and _settled(fixed[-1] + "\n"), inside.tails  # the line break that joins blocks
    for at, gap in enumerate(values):
        after = fixed[at + 1]
        bound = (
            _parts(after, begun, field=gap[0] == "@")
            or (at + 1 == len(values) and not after.strip(_WHITE))  # the end, or what `value_last` tells of
            or (gap == "sources" and not inside.value_last)  # blocks end in fixed text, which is settled
        )
        if not bound and gap in ("sources", "question") and after[:1] in _WHITE and after:
            bound = tails = True
        proven = proven and bound and _settled(fixed[at])
    if blocks is not None:
        return Seams(proven, tails=tails)
    first, last = bool(values) and not fixed[0].strip(_WHITE), bool(values) and not fixed[-1].strip(_WHITE)
    # A block may follow one that ends in its text.
    follows = first or _parts("\n" + fixed[0], begun, field=False)
    return Seams(proven, first, last, (first and last) or not follows)


def ends_closed(text: str) -> bool:
    """Tell whether the last sign of a text, white space aside, opens nothing; False where that is not plain to see.

    >>> ends_closed("a. "), ends_closed("a <"), ends_closed("")
    (True, False, True)
    """
    last = text.rstrip(_WHITE)[-1:]
    return last in _CLOSED or last.isalnum()


def _settled(literal: str) -> bool:
    """Tell whether every opener in a literal has what ends its shape in the same literal."""
    if any(char in literal for char in OPENERS if char not in "<[]"):
        return False
    for match in re.finditer(r"[<\[\]]", literal):
        rest = literal[match.end():]
        if match[0] == "<":
            tight = "|" in rest[:2]  # chat markers may hold quotation marks
            if _UNSETTLED.match(literal, match.start()) or not (">" in rest if tight else _ENDS_TAG.search(rest)):
                return False
        elif match[0] == "[":
            if not ("]" in rest if rest[:1] == "|" else _BRACKET.match(rest)):
                return False
        elif rest[:1] in ("", "~"):
            return False
    return True


def first_parts(names: frozenset[str], numbered: frozenset[str]) -> frozenset[str]:
    """Return the words that a longer reserved name, or one with a number, begins with.

    >>> sorted(first_parts(frozenset({"a", "doc-item"}), frozenset({"source"})))
    ['doc', 'source']
    """
    parts = [re.split("[-_.:{]", name) for name in names if re.search("[-_.:]", name)]
    return frozenset(part[0].lower() for part in [*parts, *(re.split("[-_.:{]", name) for name in numbered)])


def _parts(literal: str, begun: frozenset[str], *, field: bool) -> bool:
    """Tell whether nothing that a value leaves open can go on in the literal behind it."""
    if not literal:
        return False
    if literal[0] not in _WHITE:
        glued = _CHAT.match(literal) or _CHANGES_SENSE.match(literal)
        return literal[0] in (_AFTER_FIELD if field else _AFTER_TEXT) and not glued
    if field:
        return True
    head = literal.lstrip(_WHITE)
    if not head or head[0] in "/\\|":
        return False
    if not head[0].isascii():
        return not head[0].isalnum() and head[0] not in OPENERS and fold(head[0]) == head[0]
    if head[0].isalnum() or head[0] == "_":
        heading = _HEADING.match(head)
        if heading and heading[1].isascii() and heading[1].lower() not in begun:
            return True
        prose = _PROSE.match(head)
        return prose is not None and prose[0].isascii() and _LABEL.match(head) is None
    return head[0] > " "
