"""Fenced blocks of code, as in CommonMark: which lines open and close them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

LINE = 1_000  # characters of a line that opens or closes a block

Span = tuple[int, int]


def fences(text: str) -> list[Span]:
    """Return the spans of fenced code blocks, whole lines; one that is never closed runs to the end.

    A fence is three or more backticks or tildes at the start of a line (after list and quote marks); it is
    closed by the same sign, at least as often. Indented code without a fence is taken for text, since models
    indent the paragraphs of lists in the same way.

    >>> fences("a\\n```\\n[S1]\\n```\\nb")
    [(2, 14)]
    """
    found: list[Span] = []
    start, sign = -1, ""
    for match in fence_lines(text):
        if start < 0:
            if opens_fence(match):
                start, sign = match.start(), match["marks"]
        elif closes_fence(match, sign):
            found.append((start, match.end()))
            start = -1
    if start >= 0:
        found.append((start, len(text)))
    return found


def fence_lines(text: str, at: int = 0) -> Iterator[re.Match[str]]:
    """Yield the lines from `at` on that begin with the marks of a fence, each as a match of the whole line."""
    patterns = _patterns()
    while (run := patterns["run"].search(text, at)) is not None:
        # What may stand before the marks holds none, so only the first run of a line can be a fence.
        line = patterns["line"].match(text, max(at, text.rfind("\n", at, run.start()) + 1))
        if line:
            yield line
        at = text.find("\n", run.start()) + 1
        if not at:
            return


def opens_fence(line: re.Match[str]) -> bool:
    """Tell whether a line that begins with marks opens a fenced block."""
    return len(line[0]) <= LINE and (line["marks"][0] == "~" or "`" not in line["rest"])


def closes_fence(line: re.Match[str], marks: str) -> bool:
    """Tell whether a line closes the block that these marks opened."""
    return (
        len(line[0]) <= LINE and line["marks"].startswith(marks) and not line["lead"] and not line["rest"].strip()
    )


def may_open(line: str) -> bool:
    """Tell whether a line without its end holds nothing yet but what can stand before the marks of a fence."""
    return len(line) <= LINE and _patterns()["lead"].match(line) is not None


@lru_cache(maxsize=1)
def _patterns() -> dict[str, re.Pattern[str]]:
    lead = r"(?P<lead>(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]++)*+)"
    return {
        "line": re.compile(
            rf"^[ \t>]*+{lead}[ \t>]*+(?P<marks>`{{3,}}+|~{{3,}}+)(?P<rest>[^\n]*+)", re.MULTILINE
        ),
        "run": re.compile("```|~~~"),
        "lead": re.compile(rf"[ \t>]*+{lead}(?:[-*+]|[0-9]{{1,9}}[.)]?)?[ \t>]*+(?:`{{0,2}}|~{{0,2}})\Z"),
    }
