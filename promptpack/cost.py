"""The price of a source, as `pack()` asks for it."""

from __future__ import annotations

from promptpack.blocks import Blocks
from promptpack.source import Source


class Cost:
    """The price of a source as `pack()` takes it, with the cheap bound that spares tokenising what cannot fit."""

    def __init__(self, blocks: Blocks) -> None:
        self._price = blocks.price
        self._known = blocks.whole.get
        self.floor = blocks.floor
        self.ahead = blocks.anticipate

    def __call__(self, source: Source, /) -> int:
        """Return the tokens of the enclosed block."""
        known = self.known(source)
        return self._price(source) if known is None else known

    def known(self, source: Source) -> int | None:
        """Return what the call would, where that is known already."""
        ready = self._known(id(source))
        return None if ready is None else ready.price
