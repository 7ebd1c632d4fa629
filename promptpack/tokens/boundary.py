"""Where a text may be cut so that the counts of its two parts add up exactly.

For the vocabularies of this package (and words, chars and the estimate) the tokens of A + B are those of
A followed by those of B wherever rule N or rule S holds at the cut: none of the split patterns looks
behind, and at these places no piece can reach across. Rule P holds for byte-level vocabularies only.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache

# The Unicode property White_Space, which is what the split patterns mean by white space. Python's
# isspace() also takes U+001C to U+001F for white space.
WHITE_SPACE = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_APOSTROPHES = "'\u2019"


def rule_n(before: str, after: str) -> bool:
    r"""Rule N: a newline, then a character that is neither white space nor a slash.

    The slash is an exception of o200k_base and Mistral's vocabulary, which have tokens like "\n/".

    >>> rule_n("\n", "<"), rule_n("\n", "/"), rule_n("\n", " ")
    (True, False, False)
    """
    return before in ("\n", "\r") and after not in WHITE_SPACE and after != "/"


def rule_s(before: str, after: str) -> bool:
    r"""Rule S: a character that is not white space, then white space other than a newline.

    >>> rule_s("d", " "), rule_s("d", "\n"), rule_s(" ", " ")
    (True, False, False)
    """
    return before not in WHITE_SPACE and after in WHITE_SPACE and after not in "\n\r"


def rule_p(before: str, after: str) -> bool:
    """Rule P: a letter or digit, then neither letter, digit, combining mark nor apostrophe.

    Byte-level vocabularies only: words and the estimate do not add up here. A character that this
    Python's Unicode data does not know is left out, since a tokenizer may take it for a letter.

    >>> rule_p("d", "."), rule_p("d", "'"), rule_p("d", "e")
    (True, False, False)
    """
    left, right = unicodedata.category(before), unicodedata.category(after)
    return left[0] in "LN" and right[0] not in "LNM" and right != "Cn" and after not in _APOSTROPHES


def cuts_here(before: str, after: str) -> bool:
    r"""Tell whether counts add up exactly at the cut between two texts, by rule N or rule S.

    Looks at the last character of `before` and the first of `after` only; a cut at the edge of an
    empty text always adds up. False means "not known to", not "does not".

    >>> cuts_here("one.\n", "<source>"), cuts_here("one", " two"), cuts_here("one.", "\n")
    (True, True, False)
    """
    if not before or not after:
        return True
    a, b = before[-1], after[0]
    return rule_n(a, b) or rule_s(a, b)


@cache
def _cuts() -> re.Pattern[str]:
    space = re.escape(WHITE_SPACE)
    inline = re.escape(WHITE_SPACE.replace("\n", "").replace("\r", ""))
    return re.compile(f"(?<=[\\n\\r])(?=[^{space}/])|(?<=[^{space}])(?=[{inline}])")


def next_cut(text: str, index: int) -> int:
    """Return the first place at or after `index` where counts add up, the end of the text at the latest.

    >>> next_cut("one two three", 1)
    3
    """
    if index <= 0:
        return 0
    found = _cuts().search(text, index)
    return found.start() if found else len(text)


def last_cut(text: str, index: int) -> int:
    """Return the last place at or before `index` where counts add up, the start of the text at the least.

    >>> last_cut("one two three", 12)
    7
    """
    if index >= len(text):
        return len(text)
    reach = 64
    while index > 0:
        low = max(0, index - reach)
        place = -1
        for found in _cuts().finditer(text, low, index + 1):
            place = found.start()
        # the very start of the slice has no character before it to judge by
        if place > 0:
            return place
        if low == 0:
            break
        reach *= 4
    return 0


def parts(text: str, size: int) -> Iterator[str]:
    """Yield the text in parts whose counts add up exactly, each of `size` characters or a little more.

    A part is as long as the way to the next cut demands; joined they are the text. Linear time.

    >>> list(parts("one two three", 4))
    ['one two', ' three']
    """
    start = 0
    while start < len(text):
        end = next_cut(text, start + size) if start + size < len(text) else len(text)
        yield text[start:end]
        start = end
