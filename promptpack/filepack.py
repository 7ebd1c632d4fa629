"""Packing whole files into a token budget, the most important first: what `promptpack pack` does."""

from __future__ import annotations

from collections.abc import Mapping

from promptpack.errors import OptionError
from promptpack.packing import Packing, pack
from promptpack.source import Cut, Source
from promptpack.tokens import counter as counter_named

SEPARATOR = "\n\n---\n\n"


def pack_files(
    texts: Mapping[str, str], budget: int, counter: str, cut: tuple[str, int] | None
) -> tuple[str, list[str]]:
    """Return the packed text and lines that tell what was kept, cut and dropped.

    `texts` maps names to texts, in order of priority. A file that does not fit whole is cut to what is left where `cut`
    (what to keep, least tokens) allows it. The separators between files are not part of the budget; the lines say what
    they cost.

    >>> text, lines = pack_files({"a": "one two", "b": "three"}, 2, "words", None)
    >>> text, lines[0]
    ('one two', '[promptpack] 2/2 tokens used (1 included, 1 dropped)')
    """
    count = counter_named(counter)
    policy = None
    if cut is not None:
        keep, least = cut
        if least < 0:
            raise OptionError(f"--min-tokens: expected 0 or more, got {least}", name="min_tokens", given=least)
        policy = Cut(keep=keep, min_tokens=least, at="token", marker="\n...\n" if keep == "ends" else "")  # type: ignore[arg-type]
    n = len(texts)
    sources = [
        Source(name, text, priority=n - index, cut=policy) for index, (name, text) in enumerate(texts.items())
    ]
    packed = pack(
        sources, budget, packing=Packing(select="priority", place="best_first", dedup="off", tie="input"),
        cost=TextCost(count),
    )
    text = packed.render(SEPARATOR)
    kept = f"{len(packed.sources)} included, {len(packed.dropped)} dropped"
    lines = [f"[promptpack] {packed.used}/{budget} tokens used ({kept})"]
    lines += [
        f"  + {one.source.id}: {one.cost} tok" + (" (truncated)" if one.text != one.source.text else "")
        for one in packed.sources
    ]
    lines += [f"  - {out.source.id}: dropped" for out in packed.dropped]
    extra = packed.overhead(count, SEPARATOR)
    if extra > 0:
        lines.append(f"  separators: {extra} tok on top, {packed.used + extra} in all")
    return text, lines


class TextCost:
    """Prices a source by its bare text, with the counter's cuts."""

    def __init__(self, counter: object) -> None:
        self._counter = counter
        for name in ("prefix", "suffix"):
            if hasattr(counter, name):
                setattr(self, name, getattr(counter, name))

    def __call__(self, source: Source, /) -> int:
        """Return the tokens of the text."""
        return int(self._counter(source.text))  # type: ignore[operator]
