"""Finding the marks of citations in a text whose code is blanked out: where each one is, and what it names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from promptpack.citations.grammar import DIGITS, MOST, PAIRS, Grammar, Item

Form = Literal["bracket", "double", "paren", "wide", "link", "name", "marker", "superscript", "native"]

PARTS = 100  # parts of one private-use marker
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")


class Mark(NamedTuple):
    """One mark, with all its brackets, and its items in order; a single number stands for one plain label."""

    start: int
    end: int
    form: Form
    items: int | list[Item]


def scan(text: str, rules: Grammar, *, superscripts: bool) -> list[Mark]:
    """Return the marks of a text in order: brackets first, then the spellings without brackets outside of them.

    A mark may stand inside another one, as in `[as said (S1)]`; the outer one comes first.
    """
    marks = list(_bracketed(text, rules))
    if "ource_" in text:
        for match in outside(text, rules.name, marks):
            marks.append(_mark(text, *match.span(), "name", [_whole(match, match[1], rules)]))
    if "\ue200" in text:
        for match in outside(text, patterns()["marker"], marks):
            marks.append(_mark(text, *match.span(), "marker", _parts(text, match, rules)))
    if superscripts:
        for match in outside(text, patterns()["superscript"], marks):
            number = match[0].translate(_SUPERSCRIPTS)
            marks.append(_mark(text, *match.span(), "superscript", [_whole(match, number, rules)]))
    marks.sort(key=lambda mark: mark.start)
    return marks


def _bracketed(text: str, rules: Grammar) -> Iterator[Mark]:
    at, search, cut = 0, rules.mark.search, len(rules.prefix) + 1
    while (match := search(text, at)) is not None:
        start, at = match.span()
        kind = match.lastgroup
        if kind == "one":  # by far the most common case, taken the short way
            yield Mark(start, at, "bracket", int(text[start + cut:at - 1]))
        elif kind == "shut":
            items = rules.items(match["paren"], match.start("paren"))
            yield _mark(text, start, at, "paren" if text[start] == "(" else "wide", items)
        elif kind == "paren":  # a list that is never closed is plain writing, unless it is too long to be one
            if rules.more.match(text, at):
                yield Mark(start, at, "paren", [Item(start, at, fault=f"more than {MOST} labels in one mark")])
        elif kind == "cut":
            yield Mark(start, at, "bracket", [Item(start, at, fault="no closing bracket")])
        elif kind == "long":
            yield Mark(start, at, "bracket", [Item(start + 1, at, fault=f"more than {DIGITS} digits")])
        else:
            mark, at = _group(text, match, rules)
            yield mark


def _group(text: str, match: re.Match[str], rules: Grammar) -> tuple[Mark, int]:
    """Return what stands in square or wide brackets as a mark, and where to go on reading."""
    start, end = match.span()
    kind = "body" if match["double"] is None else "double"
    body, inner = match[kind], match.start(kind)
    form: Form = "double" if kind == "double" else "bracket" if text[start] == "[" else "wide"
    if match["link"] or match["far"]:
        form = "link"
    # Round brackets inside are read on their own, since `[as said (S1)]` holds a citation.
    flat = patterns()["round"].sub(lambda part: " " * len(part[0]), body) if "(" in body else body
    items = rules.items(flat, inner)
    named = items and items[0].fault in ("more than a label", "no number")
    if form == "link" and named and not any(item.first >= 0 for item in items):
        items = []  # `[the S3 manual](url)` is a link with a name of its own
    if items and kind == "body" and PAIRS[text[start]] != match["close"]:
        return Mark(start, end, form, [Item(start, end, fault="closed by another kind of bracket")]), end
    if len(items) == 1 and items[0].fault == "no number" and text[end:end + 1].isalpha():
        items = []  # `[S]he said`
    return _mark(text, start, end, form, items), end if flat == body else inner


def _mark(text: str, start: int, end: int, form: Form, items: list[Item]) -> Mark:
    if text[start - 1:start] == "\\" and text[end - 2:end] == "\\]":
        start -= 1  # \[S1\]: brackets that were escaped for Markdown
    return Mark(start, end, form, items)


def _parts(text: str, match: re.Match[str], rules: Grammar) -> list[Item]:
    if match["stop"] is None:
        return [Item(*match.span(), fault="no closing sign")]
    items: list[Item] = []
    for part in patterns()["part"].finditer(text, match.start("parts"), match.end("parts")):
        if rules.item.fullmatch(part[1]):
            items += rules.items(part[1], part.start(1))
        elif not (items and patterns()["place"].fullmatch(part[1])):
            items.append(Item(*part.span(1), fault="not a label"))
    return items or [Item(*match.span(), fault="no label")]


def _whole(match: re.Match[str], number: str, rules: Grammar) -> Item:
    item = rules.items(rules.prefix + number.replace("⁻", "-"), 0)[0]
    return Item(match.start(), match.end(), item.first, item.last, item.fault)


def outside(text: str, pattern: re.Pattern[str], marks: Sequence[Mark]) -> Iterator[re.Match[str]]:
    """Yield the matches that no label of a mark, and nothing malformed in one, overlaps."""
    spans: set[tuple[int, int]] = set()
    for mark in marks:
        if isinstance(mark.items, int) or any(not item.fault for item in mark.items):
            spans.add((mark.start, mark.end))
        else:
            spans.update((item.start, item.end) for item in mark.items)
    taken = iter([*sorted(spans), (len(text) + 1,) * 2])
    start, end = next(taken)
    for match in pattern.finditer(text):
        while end <= match.start():
            start, end = next(taken)
        if match.end() <= start:
            yield match


@lru_cache(maxsize=1)
def patterns() -> dict[str, re.Pattern[str]]:
    """Return the patterns that do not depend on the prefix."""
    return {
        "round": re.compile(r"[(（][^()（）]*+[)）]"),
        "marker": re.compile(
            f"\ue200[a-z]{{0,12}}cite(?P<parts>(?:\ue202[^\ue200-\ue202]{{0,64}}+){{0,{PARTS}}}+)(?P<stop>\ue201)?"
        ),
        "part": re.compile("\ue202([^\ue200-\ue202]*+)"),
        "place": re.compile(r"L[0-9]{1,9}(?:-L?[0-9]{1,9})?"),
        "superscript": re.compile("(?<![⁰¹²³⁴-⁹⁻])[⁰¹²³⁴-⁹]{1,4}(?:⁻[⁰¹²³⁴-⁹]{1,4})?(?![⁰¹²³⁴-⁹⁻])"),
    }
