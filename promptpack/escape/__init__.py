"""Escaping: no text can close its enclosure, forge a tag, a label, a role or a control token.

What it does is make the structure of a payload certain: every reserved shape in untrusted text is broken up,
everything else comes through letter for letter, and the exact original can be had back. What it cannot do is
make a model obey: an instruction in plain words inside a source stays what it is.

An opener that the end of a text cuts off (`</`, `<|im_`, `[S1`; in fields every open bracket) is replaced, too, so that
nothing behind the text can complete it; `promptpack.escape.seams` builds its proof on that.

Not covered: boundaries in other syntaxes ("END OF SOURCES", `[/source_1]`), leet spelling (`s0urce_1`), names broken by
visible characters or by references inside them (`</&#115;ource_1>`), percent or `\\u003c` escapes, an unclosed code
fence, a `</source>` without a number where the template writes `<source_1>`, plain-word instructions, and links that
carry data out.
"""

from __future__ import annotations

from promptpack.escape.attribute import escape_attribute, is_inert_attribute
from promptpack.escape.check import HINT, Found, check, compare, live_spans, scan
from promptpack.escape.escaped import Edit, Escaped, EscapedAttribute, source_span
from promptpack.escape.names import reserved_names
from promptpack.escape.rules import LEVELS, LiveLabels, Rules
from promptpack.escape.text import are_inert, escape_text, is_inert, unescape

__all__ = [
    "HINT",
    "LEVELS",
    "Edit",
    "Escaped",
    "EscapedAttribute",
    "Found",
    "LiveLabels",
    "Rules",
    "are_inert",
    "check",
    "compare",
    "escape_attribute",
    "escape_text",
    "is_inert",
    "is_inert_attribute",
    "live_spans",
    "reserved_names",
    "scan",
    "source_span",
    "unescape",
]
