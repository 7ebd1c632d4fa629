"""The patterns of one set of rules: a quick search over raw text, an exact match over folded text.

The quick search (`tags`, `brackets`, `references`, `others`) finds openers that *may* begin a dangerous
shape: it passes over anything that plain ASCII already rules out, and stops at every odd character. The
exact pattern (`full`) is then matched at that one place. Both are linear: every unbounded repeat is
possessive or ends at a character that it cannot hold, and none crosses the next opener.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from promptpack.escape import markers
from promptpack.escape.fold import ANGLES, BRACKETS, BRACKETS_CLOSE, PLAIN_BLOCKS, WEAK, WEAK_ANGLES, fold
from promptpack.escape.references import OPENERS, reference_to
from promptpack.escape.rules import Rules

S = r"[ \t-\r]"  # ASCII white space; all other white space folds to a blank
SS = r"[ \t-\r/\\]"
_ROLE = r"system(?:[ \t-\r_-]?(?:prompt|message|reminder|instructions?))?|assistant"
_ATTR = rf"{SS}++[a-z_:][\w:.-]*+{S}*+=(?!=)"
# The starts of references that `decode_structure` may decode, at any depth.
_STRUCTURAL = r"(?:#(?!0*+(?:60|91|93)[;&])|amp|AMP|gt|GT|sol|bsol|ver|Ver|nbsp|NonB|Tab|NewL)"
# A second angle bracket right behind the first, as in <<SYS>>.
_SECOND = rf"(?:[{ANGLES}]|&(?:amp;)*+(?:(?:lt|LT);?|#0*+60;?|#[xX]0*+3[cC];?))"
_OPENED = rf"(?=(?:{SS}*+>|{_ATTR}))"


@dataclass(frozen=True, slots=True)
class Shapes:
    """Compiled patterns for one set of names, one prefix and one kind of level."""

    tags: re.Pattern[str]
    brackets: re.Pattern[str]
    references: re.Pattern[str]
    others: re.Pattern[str]
    full: re.Pattern[str]
    label: re.Pattern[str]
    plain: re.Pattern[str]
    body: re.Pattern[str]
    comments: bool
    strict: re.Pattern[str] | None
    reserved: str


def shapes_for(rules: Rules) -> Shapes:
    """Return the patterns for `rules`, compiled on first use and kept for the next call."""
    return _build(
        rules.names, rules.numbered, rules.prefix, len(rules.suffix.lstrip("-")), rules.reserved,
        rules.level == "structure", rules.level == "strict",
    )


def _separators(name: str) -> str:
    """A name's pattern in which any usual separator stands for any other."""
    parts = re.split(r"([-_.:]+)", fold(name))
    return "".join(r"[ \t-\r_.:#-]{1,4}+" if i % 2 else re.escape(p) for i, p in enumerate(parts) if p)


def _longest_first(names: list[str]) -> str:
    return "|".join(sorted(set(names), key=lambda n: (-len(n), n))) or r"(?!)"


def _tag_patterns(names: frozenset[str], numbered: frozenset[str], suffix: int) -> tuple[str, str, set[str]]:
    """Return the pattern of a set's own tags, that of tags which the end of the text cuts off, and first letters."""
    # Any suffix of that length: a guess is as dead as the right one, and one pattern serves all payloads.
    tail = rf"(?:[-_.:]?[0-9a-z]{{{suffix}}}(?![0-9a-z]))?" if suffix else ""
    word = f"(?:{_longest_first([_separators(n) for n in names])}){tail}(?![-.:]?\\w)"
    stems = _longest_first([_separators(n.removesuffix("{}").rstrip("-_.:")) for n in numbered])
    bare = _longest_first(
        [re.escape(fold(n.removesuffix("{}") if n.endswith("{}") else n + "_")) for n in numbered]
    )
    number = rf"(?:{stems})[ \t-\r_.:#-]*+[0-9]++"
    opened_number = rf"{number}{tail}(?![-.:]?\w)"
    angle = f"[<{WEAK}]"
    full = "|".join((
        rf"{angle}{S}*+[/\\]{SS}*+(?P<close>{number}{tail}|{word})",
        rf"{angle}{S}*+(?P<bare>(?:{bare})[0-9]++{tail}(?![-.:]?\w)){_OPENED}",
        rf"{angle}{S}*+(?P<attr>(?:{opened_number}|{word}))(?={_ATTR})",
        rf"<{S}*+(?P<word>{word}){_OPENED}",
        rf"<(?P<last>(?:{bare})[0-9]++{tail}|{word}){SS}*+\Z",
    ))
    begun = _longest_first([f"(?:{stems})", *(_separators(part) for n in names | numbered for part in _begun(n))])
    ended = "|".join((
        rf"{angle}{S}*+(?:[/\\]{SS}*+)?(?:{begun})[ \t-\r_.:#-]*+\Z",
        rf"{angle}{S}*+(?:{opened_number}|{word}){SS}*+(?:(?<={SS})[a-z_:][\w:.-]*+{S}*+)?\Z",
        rf"{angle}{S}*+[/\\]{SS}*+\Z",
    ))
    return full, ended, {fold(n.removesuffix("{}"))[:3] for n in names | numbered}


def _begun(name: str) -> list[str]:
    """Return what a name of several parts begins with: "doc" and "doc-item" of "doc-item-list"."""
    parts = re.split(r"([-_.:]+)", name.removesuffix("{}").rstrip("-_.:"))
    return ["".join(parts[:i]) for i in range(1, len(parts), 2)]


def _shortest(starts: set[str]) -> list[str]:
    """Without the starts that another one begins, in order."""
    lower = {s.lower() for s in starts}
    return sorted(s for s in lower if not any(s != t and s.startswith(t) for t in lower))


def _any_case(start: str) -> str:
    # Classes instead of the flag for letter case: the engine skips an alternative by its first class.
    return "".join(f"[{c.lower()}{c.upper()}]" if c.isascii() and c.isalpha() else re.escape(c) for c in start)


@lru_cache(maxsize=64)
def _build(
    names: frozenset[str], numbered: frozenset[str], prefix: str, suffix: int, reserved: frozenset[str],
    structure: bool, strict: bool,
) -> Shapes:
    own, ended, starts = _tag_patterns(names, numbered, suffix)
    sign = re.escape(fold(prefix))
    number = "[1-9][0-9]{0,3}(?![0-9])"
    gap = f"{S}{{0,3}}"
    label = rf"\[{gap}{sign}(?P<label>{number}(?:{gap}[,;\u2013-]{gap}(?:{sign})?{number})*+){gap}"
    special = re.escape("".join(sorted(reserved)))
    parts = [f"(?i:{own})", rf"{label}[\],;|\u2013-]"]
    bracket_starts = f"{S}{{0,3}}{sign}[1-9]"
    if not structure:
        marks = markers.shapes()
        parts += [
            rf"(?i:<{S}*+(?P<slash>[/\\]{SS}*+)?(?P<role>{_ROLE}){SS}*+(?:>|\Z))",
            f"(?P<marker>{marks.full})",
        ]
        starts |= {"sys", "ass", *marks.tag_starts}
        bracket_starts += rf"|[/\\]?(?:{'|'.join(sorted(marks.bracket_starts))})|[|]"
    # What the end of the text cuts off is taken for the whole: nobody knows what will stand behind it.
    parts += [f"(?P<end>(?i:{ended}))", rf"{label.replace('<label>', '<cut>')}\Z"]
    if special:
        parts.append(f"(?P<reserved>[{special}])")

    openers = OPENERS + "".join(sorted(reserved))
    # What the quick search cannot read: everything outside plain ASCII and plain scripts, and references
    # to structural characters. An opener is no part of another one's shape.
    foreign = any(not n.isascii() for n in (*names, *numbered, prefix))
    known = rf"\t-\r{'' if foreign else PLAIN_BLOCKS}{re.escape(OPENERS)}"
    odd = rf"(?=[^ -%'-~{known}])(?:&{_STRUCTURAL}|(?!&))"
    first = "".join(sorted({c for s in starts for c in (s[0].lower(), s[0].upper()) if c.isascii()}))
    start = rf"(?:(?=[{re.escape(first)}]|[^ -~])(?:{'|'.join(_any_case(s) for s in _shortest(starts))}))"
    angles, brackets, closers = map(re.escape, (ANGLES[1:] + WEAK_ANGLES, BRACKETS[1:], BRACKETS_CLOSE[1:]))
    wide = f"{angles}{brackets}{closers}{special}"
    # After an opening angle: a known start, or a word that runs into something odd, a bar, or a namespace.
    word = rf"[A-Za-z0-9_]*+(?=[^ -%'-9;-{{}}~{known}])(?:[|](?!<)|:{start}|&{_STRUCTURAL}|(?![|:&]))"
    after_angle = (
        rf"{SS}*+(?:{start}|{word}|[sS]{SS}*+(?:>|\Z))|{S}*+[/\\]{SS}*+\Z"
        rf"|{_SECOND}[/\\]?+[^\t-\rA-RT-~ -@{wide}]"
    )
    after_bracket = rf"{bracket_starts}|{S}{{0,3}}[/\\]?[A-Za-z0-9]*+{odd}"
    reference = reference_to(openers)
    # One class first, so that the search can skip: what may follow depends on what it found.
    other = (
        rf"[{wide}](?:(?<=[{angles}])(?={after_angle})|(?<=[{brackets}])(?={after_bracket})"
        rf"|(?<=[{closers}])(?=[~\uff5e]){f'|(?<=[{special}])' if special else ''})"
    )
    after_any = rf"{after_angle}|{after_bracket}|[~\uff5e]{'|' if special else ''}"
    stops = rf"<>\[\]{wide}"
    return Shapes(
        tags=re.compile(rf"<(?={after_angle})"),
        brackets=re.compile(rf"\[(?={after_bracket})"),
        references=re.compile(f"&{reference}(?={after_any})"),
        others=re.compile(other),
        full=re.compile("|".join(parts)),
        label=re.compile(rf"{label}\](?=\()"),
        # A stretch that is matched as it is: plain ASCII without references, up to the next bracket. Only a
        # second "<", or <role>, begins a marker that goes on behind it.
        plain=re.compile(
            r"[ -%'-;=?-Z\\^-~\t-\r]*+(?:\Z|>(?<!role>)|[\[\]]|<(?<!<<)"
            r"|[<>](?:[ -%'-~\t-\r]{32}|[ -%'-~\t-\r]*+\Z))"
        ),
        # Up to the next opener and one character more; a few longer markers hold a second bracket.
        body=re.compile(
            rf"(?s:(?={_SECOND}|[e\uff45]?[~\uff5e]).{{0,32}}|[^&{stops}]{{4}}>.{{0,32}}"
            rf"|(?:[^&{stops}]++|&(?!{reference}))*+.?)"
        ),
        comments=not structure,
        strict=re.compile(
            rf"[{re.escape(ANGLES)}](?=[A-Za-z/!?\\%$]|{odd})|&(?=#?[0-9A-Za-z])"
        ) if strict else None,
        reserved="".join(sorted(reserved)),
    )
