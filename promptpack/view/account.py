"""The window in parts, for bars and tables: what takes how much of it, in the order in which it is sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptpack.window import Budget

_TOLD = ("window", "answer", "margin", "system", "history", "question", "frame", "sources", "used", "tools")
_ALWAYS = ("system", "sources", "question", "free", "answer")  # of interest also where they are 0
_MEANT = {"enclosures": "of the sources, around their texts", "metadata": "of the enclosures, for shown fields"}
_DIGITS = 64  # bits of the largest number that is written out


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the window: its tokens, where it begins and how much it takes as shares of the whole, 0.0 to 1.0."""

    name: str
    tokens: int
    start: float
    share: float
    note: str = ""


def window_parts(budget: Budget) -> tuple[Part, ...]:
    """Return the parts of a window in the order of the prompt, what is free and reserved last.

    They add up to the window. Of an account that does not add up (one that was made by hand) each number is shown as
    it is, and the shares are of the larger sum. Parts of 0 tokens are left out, but for those that every window has.

    >>> from promptpack.window import Budget
    >>> account = Budget(window=100, answer=20, system=10, question=5, sources=65, used=45)
    >>> [(part.name, part.tokens) for part in window_parts(account)]
    [('system', 10), ('sources', 30), ('question', 5), ('free', 35), ('answer', 20)]
    """
    named = budget.system + budget.tools + budget.history + budget.question + budget.frame
    rows = [
        ("system", budget.system, ""), ("tools", budget.tools, "schemas"), ("history", budget.history, ""),
        ("sources", budget.used - budget.fixed, f"of {count(budget.sources)} available"),
        ("question", budget.question, ""), ("frame", budget.frame, "template and roles"),
        ("other", budget.fixed - named, ""), ("free", budget.left, ""), ("margin", budget.margin, ""),
        ("answer", budget.answer, "reserved"),
    ]
    whole = max(budget.window, sum(max(0, tokens) for _, tokens, _ in rows), 1)
    parts: list[Part] = []
    at = 0
    for name, tokens, note in rows:
        size = max(0, tokens)
        if tokens or name in _ALWAYS:
            parts.append(Part(name, tokens, at / whole, size / whole, note))
        at += size
    return tuple(parts)


def further(budget: Budget) -> tuple[tuple[str, int, str], ...]:
    """Return what an account says besides, where it is not 0: parts of its parts by name, with what they are of."""
    others = [one.name for one in fields(budget) if one.name not in _TOLD]
    numbers = [(name, getattr(budget, name), _MEANT.get(name, "part of the above")) for name in others]
    return tuple(one for one in numbers if type(one[1]) is int and one[1])


def cells(parts: Sequence[Part], width: int) -> list[int]:
    """Return how many of `width` cells each part gets: by its share, at least one where it has any tokens.

    >>> from promptpack.window import Budget
    >>> cells(window_parts(Budget(window=1000, answer=250, system=3, used=503, sources=747)), 20)
    [1, 10, 0, 4, 5]
    """
    exact = [part.share * width for part in parts]
    given = [max(1, int(size)) if size else 0 for size in exact]
    while sum(given) > width and max(given) > 1:
        given[given.index(max(given))] -= 1
    short = width - sum(given)
    rest = sorted(range(len(given)), key=lambda at: (int(exact[at]) - exact[at], at))
    for at in [at for at in rest if given[at]][:max(0, short)]:
        given[at] += 1
    return given


def count(number: int) -> str:
    """Return a whole number with commas; one that nothing has is told by its size.

    >>> count(1234567), count(10**5000)
    ('1,234,567', 'about 2^16609')
    """
    if number.bit_length() > _DIGITS:
        return f"{'-' if number < 0 else ''}about 2^{number.bit_length() - 1}"
    return f"{number:,}"
