"""What stands around a passage: how many tokens its enclosure takes, and how many of them its fields do."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat

from promptpack.blocks import Blocks
from promptpack.forms import Form, Ready


def around(
    blocks: Blocks, ready: Sequence[Ready], numbers: Sequence[int], prices: Sequence[int]
) -> tuple[int, int]:
    """Return what the enclosures of passages cost besides their texts, and how much of that their fields do.

    numbers, prices: of their labels, and under these. Where fields are not counted by themselves, an enclosure is
    counted with nothing in it.
    """
    none = blocks.form(())
    bare = none.meter.all_fixed(numbers) if none.meter is not None and none.columnar else None
    enclosures = fields = 0
    for made, number, price, least in zip(ready, numbers, prices, bare or repeat(0), strict=False):
        if made.body >= 0 and bare is not None:
            outside = price - made.body
            inner = outside - least
        else:
            outside, inner = _counted(blocks, made, number, price, none)
        enclosures += outside
        fields += max(0, inner)
    return enclosures, fields


def _counted(blocks: Blocks, made: Ready, number: int, price: int, none: Form) -> tuple[int, int]:
    digits, count = str(number), blocks.counter
    label = blocks.labels.prefix + digits
    empty = made.form.block(digits, label, "", made.shown)
    if empty is None:
        outside = max(0, price - count(made.text))
        return outside, min(outside, sum(map(count, made.shown)))
    outside = count(empty)
    bare = none.block(digits, label, "", ()) if made.shown else empty
    return outside, outside - count(bare or "")
