"""Names of models that are written in another way than a models file has them, or misspelt.

A wildcard takes what it can get: `gpt-4-o` and `gpt-40-mini` fit `gpt-4*`, `claude-sonet-5` fits `claude*`, and each of
these rows has another window than the model that was meant. Two rules, and both only where they lead to another row:

* Signs between the parts do not count: `gpt-4-o` is `gpt-4o`, `claude-opus-4.8` is `claude-opus-4-8`. The same letters
  and digits in the same order, up to the end of a part, are the same name.
* A word that is no word of the known names, and one slip away from one (a letter too many, too few, another one, or two
  that changed places; not the first), is a misspelling; so is a part in which a letter stands for a digit that looks
  like it (`40` for `4o`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

SHORTEST = 4  # letters of a word that can be told from its neighbours
_PART = re.compile(r"[^\W_]+")
_WORD = re.compile(r"[a-z]+")
_ALIKE = str.maketrans("oil", "011")


def stems(patterns: Iterable[str]) -> tuple[str, ...]:
    """Return what patterns of names say for certain: those with wildcards at the ends only, without them.

    One that ends with a sign (`qwen3-*`) asks for that sign, so that it is no stem.

    >>> stems(["gpt-4o*", "*claude-opus-5*", "phi-3*-128k*", "qwen3-*"])
    ('gpt-4o', 'claude-opus-5')
    """
    bare = (pattern.strip("*") for pattern in patterns)
    return tuple(dict.fromkeys(one for one in bare if one[-1:].isalnum() and not set(one) & set("*?[")))


def respelled(name: str, known: Sequence[str]) -> Iterator[str]:
    """Yield the name with the signs of each known stem that it holds in other signs; the longest stem first.

    >>> list(respelled("gpt-4-o-mini", ("gpt-4", "gpt-4o")))
    ['gpt-4o-mini']
    """
    parts = list(_PART.finditer(name))
    letters = "".join(part[0] for part in parts)
    starts: dict[int, int] = {}  # where a part begins, in the letters and in the name; and likewise its end
    ends: dict[int, int] = {}
    at = 0
    for part in parts:
        starts[at] = part.start()
        at += len(part[0])
        ends[at] = part.end()
    for stem in sorted(known, key=lambda one: (-len(one), one)):
        plain = "".join(_PART.findall(stem))
        at = letters.find(plain)
        while at >= 0:
            end = at + len(plain)
            if at in starts and end in ends:
                if name[starts[at]:ends[end]] != stem:
                    yield name[:starts[at]] + stem + name[ends[end]:]
                break
            at = letters.find(plain, at + 1)


def corrected(name: str, known: Sequence[str]) -> Iterator[str]:
    """Yield the name with one misspelt word or part made that of a known stem.

    >>> list(corrected("claude-sonet-9", ("claude-sonnet-5",))), list(corrected("gpt-40", ("gpt-4o",)))
    (['claude-sonnet-9'], ['gpt-4o'])
    """
    words = {word for stem in known for word in _WORD.findall(stem)}
    parts = {part for stem in known for part in _PART.findall(stem)}
    for found in _WORD.finditer(name):
        if len(found[0]) >= SHORTEST and found[0] not in words:
            yield from _with(name, found, (word for word in sorted(words) if is_slip(found[0], word)))
    for found in _PART.finditer(name):
        if found[0] not in parts and any(char.isdigit() for char in found[0]):
            alike = found[0].translate(_ALIKE)
            yield from _with(name, found, (part for part in sorted(parts) if part.translate(_ALIKE) == alike))


def _with(name: str, found: re.Match[str], others: Iterable[str]) -> Iterator[str]:
    return (name[:found.start()] + one + name[found.end():] for one in others)


def is_slip(word: str, known: str) -> bool:
    """Tell whether a word is a known one, of four letters or more, with one slip behind its first letter.

    >>> is_slip("lables", "labels"), is_slip("key_point", "key_points"), is_slip("chat", "that")
    (True, True, False)
    """
    if word == known or not word or len(known) < SHORTEST or word[0] != known[0] or abs(len(word) - len(known)) > 1:
        return False
    short, long = sorted((word, known), key=len)
    at = next((index for index, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    if len(short) < len(long):
        return short[at:] == long[at + 1:]
    swapped = short[at + 1:at + 2] + short[at:at + 1] + short[at + 2:]
    return short[at + 1:] == long[at + 1:] or swapped == long[at:]


def first_other(names: Iterable[str], row_of: Callable[[str], object], row: object) -> str | None:
    """Return the first name that leads to a row, and to another one than `row`; None where there is none."""
    return next((one for one in names if row_of(one) not in (None, row)), None)
