"""Escape a text: one pass over the original, only the openers of dangerous shapes are replaced."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from promptpack.errors import OptionError, SourceError, quote
from promptpack.escape.escaped import Change, Edit, Escaped, changed, unescape_edits
from promptpack.escape.find import WIDE_TILDE, Hit, find, may_open_by_tilde
from promptpack.escape.hidden import REPLACEMENT, hidden_runs, surrogates
from promptpack.escape.odd import are_quiet, is_quiet
from promptpack.escape.rules import Rules
from promptpack.escape.shapes import Shapes, shapes_for

_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
# Blanks between words, but for those in lists of numbers: "[S2, S1 and" holds no label, "[S2,^S1" might.
_BLANK = re.compile(r"(?<=\S)(?<!\d[,;\u2013-]) (?=\S)")
_OWN_REFERENCE = re.compile(r"&(?:lt|#([0-9]{1,7}));")


def escape_text(text: str, rules: Rules) -> Escaped:
    r"""Make `text` inert for a payload with these rules; everything else comes through unchanged.

    Openers become character references ("<" `&lt;`, "[" `&#91;`), a reference that would decode to such an
    opener is encoded once more (`&amp;lt;`), hidden runs and control characters become one U+FFFD. The
    result is reversible (`unescape`) and maps to the source (`source_span`). An `Escaped` comes back as it
    is. Time is linear in the length. At the level `off` only lone surrogates are replaced.

    Raises SourceError where `text` is not a text.

    >>> str(escape_text("if a < b: </source_1> [S2] &lt;/sources>", Rules()))
    'if a < b: &lt;/source_1> &#91;S2] &amp;lt;/sources>'
    """
    if type(text) is not str:
        if isinstance(text, Escaped):
            return text
        if not isinstance(text, str):
            raise SourceError(f"expected a text to escape, got {quote(text)}", field="text")
        text = str.__str__(text)
    if is_inert(text, rules):
        return Escaped.of(text)
    changes = _changes(text, rules)
    if not changes:
        return Escaped.of(text)
    return Escaped.changed(text, changes)


def is_inert(text: str, rules: Rules) -> bool:
    """Tell, quickly, that escaping would leave a text as it is; False where it has to be looked at closely.

    >>> is_inert("if a[0] < b: ...", Rules()), is_inert("see [S1]", Rules())
    (True, False)
    """
    if rules.reserved or rules.level not in _UNMARKED:
        return False
    if rules.level != "off" and _may_open(text, shapes_for(rules)):
        return False
    return is_quiet(text)


def are_inert(texts: Sequence[str], rules: Rules) -> list[bool]:
    """Tell of each text what `is_inert` does; what is in none of them is looked for once.

    >>> are_inert(["if a[0] < b: ...", "see [S1]"], Rules())
    [True, False]
    """
    if rules.reserved or rules.level not in _UNMARKED:
        return [False] * len(texts)
    shapes = shapes_for(rules)
    found: list[bool] = []
    for at in range(0, len(texts), _TOGETHER):
        some = texts[at: at + _TOGETHER]
        together = b"\n".join([text.encode("utf-8", "surrogatepass") for text in some])
        quiet = are_quiet(together)
        if rules.level == "off" or not _has_openers(together):
            found += [quiet or is_quiet(text) for text in some]
        else:
            found += [not _may_open(text, shapes) and (quiet or is_quiet(text)) for text in some]
    return found


def _has_openers(text: bytes) -> bool:
    return b"<" in text or b"[" in text or b"&" in text or b"~" in text or _WIDE_TILDE in text


def _may_open(text: str, shapes: Shapes) -> bool:
    # One character is found many times faster than two.
    return bool(
        ("<" in text and (shapes.tags.search(text) or "<!" in text))
        or ("[" in text and shapes.brackets.search(text))
        or ("&" in text and (shapes.references.search(text) or "#60;!" in text))
        or may_open_by_tilde(text)
    )


_WIDE_TILDE = WIDE_TILDE.encode()
_TOGETHER = 32  # texts: more of them leave the nearest cache of the machine
# Levels at which a text without openers and controls is left as it is.
_UNMARKED = frozenset({"tags", "structure", "spotlight", "off"})


def text_changes(text: str, rules: Rules) -> list[Change]:
    """Return what the rules of `tags` (or `strict`, `structure`) change in a text, in order."""
    quiet = is_quiet(text)
    changes = replacements(text, find(text, shapes_for(rules), rules.labels, quiet=quiet))
    strict = rules.level == "strict"
    if quiet and not strict:
        return changes
    return merged(changes, [(a, b, REPLACEMENT, "hidden") for a, b in hidden_runs(text, strict=strict)])


def replacements(text: str, hits: Iterable[Hit]) -> list[Change]:
    """Return the changes that make hits harmless."""
    changes: list[Change] = []
    for start, _, kind, _ in hits:
        char = text[start]
        if char == "&":
            changes.append((start + 1, start + 1, "amp;", "reference"))
        elif char == "<" and kind != "comment":
            changes.append((start, start + 1, "&lt;", kind))
        else:
            changes.append((start, start + 1, _reference(char), kind))
    return changes


@lru_cache(maxsize=128)
def _reference(char: str) -> str:
    return f"&#{ord(char)};"


def merged(first: list[Change], second: list[Change]) -> list[Change]:
    """Return both lists as one, in order; of two changes at one character the first list's stays."""
    if not first or not second:
        return first or second
    taken = {start for start, end, _, _ in first if end > start}
    return sorted(first + [change for change in second if change[0] not in taken])


def _changes(text: str, rules: Rules) -> list[Change]:
    if rules.level == "off":
        return [(a, b, REPLACEMENT, "hidden") for a, b in surrogates(text)]
    changes = text_changes(text, rules)
    if rules.level == "html":
        every = [(m.start(), m.end(), _HTML[m[0]], "markup") for m in re.finditer("[&<>]", text)]
        return merged(every, [change for change in changes if change[3] != "reference"])
    if rules.level == "datamark":
        marks = [(m.start(), m.end(), rules.mark, "mark") for m in _BLANK.finditer(text)]
        return merged(changes, marks)
    return changes


def unescape(escaped: str, rules: Rules | None = None) -> str:
    r"""Return the text that was escaped, exactly.

    For an `Escaped` by its edits. For a plain string, which has lost them (an answer's quote, a stored
    payload), by taking one level off with the same rules; what had become U+FFFD or a data mark stays so.

    Raises OptionError for a plain string without rules.

    >>> shown = escape_text("</sources> and &lt;/sources>", Rules())
    >>> unescape(shown) == unescape(str(shown), Rules()) == "</sources> and &lt;/sources>"
    True
    """
    if isinstance(escaped, Escaped):
        return unescape_edits(escaped)
    if rules is None:
        raise OptionError("unescape: a text without edits needs the rules it was escaped with", name="rules")
    if rules.level == "html":
        return _OWN_REFERENCE.sub(_char, escaped.replace("&gt;", ">")).replace("&amp;", "&")
    if rules.level == "off":
        return escaped
    return changed(escaped, _backwards(escaped, rules))


def _backwards(text: str, rules: Rules) -> Iterator[Change]:
    for start, _, kind, _ in find(text, shapes_for(rules), rules.labels):
        if text.startswith("&amp;", start):
            yield start + 1, start + 5, "", "reference"
        elif own := _OWN_REFERENCE.match(text, start):
            yield start, own.end(), _char(own), kind


def _char(match: re.Match[str]) -> str:
    return chr(min(int(match[1]), 0x10FFFF)) if match[1] else "<"


__all__ = ["Edit", "escape_text", "merged", "replacements", "text_changes", "unescape"]
