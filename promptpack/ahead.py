"""Which sources are priced before anybody asks for their price: as many as are likely to fit, many at a time.

A tokenizer is up to twice as fast where nothing else runs between its texts. How much text fits into a budget is
guessed from the last payload of the same settings; a wrong guess costs time, and shows nowhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from promptpack.source import Source

Pace = tuple[int, int]  # bytes of texts, and the tokens of their blocks
FIRST: Pace = (3, 1)  # few bytes for prose, so that few texts are counted in vain
_AT_ONCE = 1024  # texts that are counted in one go; each go begins with what the machine's caches have lost
_LOOKED_AT = 64  # characters


def price_ahead(
    sources: Sequence[Source], room: int, pace: Pace, noted: Callable[[Source], int | None],
    price: Callable[[list[Source]], int],
) -> Pace:
    """Price the first sources, as many as are likely to fit into `room`; return the pace that was found.

    noted: the price of a source that an earlier payload left, None where there is none. price: prices sources in one
    go, and returns their tokens.

    >>> sources = [Source(str(n), "x" * 60) for n in range(5)]
    >>> price_ahead(sources, 45, FIRST, lambda source: None, lambda new: print(len(new)) or 20 * len(new))
    3
    (180, 60)
    """
    seen, used = pace
    told = 0, 0
    left, at = room, 0
    while True:
        new: list[Source] = []
        length = 0
        while at < len(sources) and length * used <= left * seen and len(new) < _AT_ONCE:
            source = sources[at]
            at += 1
            known = noted(source)
            if known is not None:
                left -= known
            else:
                text = source.text
                length += len(text) if text.isascii() else _size(text)
                new.append(source)
        # As many as are likely to fit, and one that may not, where there is a batch anyway.
        if not new or (len(new) == 1 and length * used > left * seen):
            return told if told[1] else pace
        tokens = price(new)
        left -= tokens
        seen, used = told = told[0] + length, told[1] + tokens
        if not used:
            return pace


def _size(text: str) -> int:
    """Return about how many bytes a text has in UTF-8, by a look at its start."""
    start = text[:_LOOKED_AT]
    return len(text) * len(start.encode("utf-8", "surrogatepass")) // len(start)
