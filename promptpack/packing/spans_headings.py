"""What the lines of a text say about it: which are headings, and which begin an item of a list or a row of a table.

A heading is a Markdown heading, or a short line of its own that does not end like a sentence; it may be underlined.
"""

from __future__ import annotations

import re

# A heading has at most so many characters; a longer line is text.
_LONGEST = 80

_MARKDOWN = re.compile(r"#{1,6}\s+\S")
_UNDERLINE = re.compile(r"={3,}|-{3,}")
# A line of a list, a table, a quotation, code or a rule is no heading, nor is one that has a sentence's end in it. In
# Thai and Lao, which write no stops, a short paragraph looks the same.
_OTHER = re.compile(r"[-+•·–—>|~=<{}\[\]`]|\*(?!\*)|_(?!_)|.*(?:\||[^\W\d_]{2}[.!?]\s|[。！？।؟\u0e00-\u0eff])")
_ENDS = tuple(".!?…。！？।؟۔,;，；、")
_CLOSERS = "\"'”’»)]）】」』*_"
_LETTER = re.compile(r"[^\W\d_]")
# A line that says something by itself: an item of a list, a row of a table, an entry of a log.
_ITEM = re.compile(r"\n[^\S\n]*+(?=(?:[-+*•·–—‣◦]|\d{1,3}[.)]|[a-z]\))[^\S\n]|\||\[?\d{4}-\d\d-\d\d)")
_RULE = re.compile(r"\|?[\s:|-]*-{3}[\s:|-]*")


def items(text: str, start: int, end: int) -> list[int]:
    """Return where a line inside a stretch begins an item of a list, a row of a table or an entry of a log.

    >>> items("Fees:\\n- keys 5\\n- cards 7", 0, 23)
    [6, 15]
    """
    return [match.end() for match in _ITEM.finditer(text, start, end)]


def headings(text: str) -> list[tuple[int, int]]:
    """Return where the headings of a text stand, in order.

    A line is one of its own where nothing stands right above it, and nothing right below, or a line at least twice as
    long, or one that underlines it. Lines of code between fences are none.

    >>> text = "# Terms\\nOf use.\\n\\nFees\\n\\nThere are none.\\n\\n- one\\n\\n> two\\n\\nIt is so,\\nand stays."
    >>> [text[start:end] for start, end in headings(text)]
    ['# Terms', 'Fees']
    """
    return [(start, end) for at, start, end in governing(text) if at == start and text[start] != "|"]


def governing(text: str) -> list[tuple[int, int, int]]:
    """Return what stands above the lines below it, in order: from where on, and its place in the text.

    A heading governs what is below it, up to the next one; in a table that is the first row. Linear.

    >>> text = "Fees\\n\\n| what | fee |\\n|---|---|\\n| keys | 5 |\\n\\nThat is all."
    >>> [(at, text[start:end]) for at, start, end in governing(text)]
    [(0, 'Fees'), (6, '| what | fee |'), (44, 'Fees')]
    """
    found: list[tuple[int, int, int]] = []
    lines = text.split("\n")
    bare = [line.strip() for line in lines]
    at, above, fenced, table = 0, "", False, False
    heading = (0, 0)
    for line, own, below in zip(lines, bare, [*bare[1:], ""], strict=True):
        start = at + line.index(own[0]) if own else at
        if table and not own.startswith("|"):
            found.append((start, *heading))
            table = False
        if own.startswith(("```", "~~~")):
            fenced = not fenced
        elif own and not fenced:
            apart = not above and (not below or len(below) >= 2 * len(own) or _UNDERLINE.fullmatch(below) is not None)
            if len(own) <= _LONGEST and (_MARKDOWN.match(own) or (apart and _is_title(own))):
                heading = (start, start + len(own))
                found.append((start, *heading))
            elif own[0] == "|" and not table and _RULE.fullmatch(below):
                found.append((start, start, start + len(own)))
                table = True
        at += len(line) + 1
        above = own
    return found


def _is_title(line: str) -> bool:
    return not line.rstrip(_CLOSERS).endswith(_ENDS) and _OTHER.match(line) is None and _LETTER.search(line) is not None
