"""The price of a source, as `pack()` asks for it."""

from __future__ import annotations

from collections.abc import Sequence

from promptpack.blocks import Blocks
from promptpack.source import Source


class Cost:
    """The price of a source as `pack()` takes it, with the cheap bound that spares tokenising what cannot fit."""

    foresees = True  # `pack()` asks for the prices that are known beforehand

    def __init__(self, blocks: Blocks) -> None:
        self._price = blocks.price
        self._known = blocks.whole.get
        self.floor = blocks.floor
        self.ahead = blocks.anticipate

    def __call__(self, source: Source, /) -> int:
        """Return the tokens of the enclosed block."""
        known = self.known_price(source)
        return self._price(source) if known is None else known

    def known_price(self, source: Source) -> int | None:
        """Return what the call would, where that is known already."""
        ready = self._known(id(source))
        return None if ready is None else ready.price

    def first_known_prices(self, sources: Sequence[Source]) -> list[int]:
        """Return the prices of the first sources, up to one whose price is not known yet."""
        known = list(map(self._known, map(id, sources)))
        if None in known:
            del known[known.index(None):]
        return [ready.price for ready in known if ready is not None]
