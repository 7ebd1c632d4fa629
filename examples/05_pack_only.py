"""The packing alone: which sources, in which order, within a budget. No template, no tokenizer."""

from promptpack import Packing, Source, pack

sources = [
    Source("a", "one two three four", 0.9, document="d1"),
    Source("b", "five six", 0.8, document="d1"),
    Source("c", "one two  three four", 0.7, document="d2"),  # the same text as a, but for a blank
    Source("d", "seven eight nine", 0.6, document="d2"),
]
packed = pack(sources, budget=8, packing=Packing(select="top", place="fold"))
for placed in packed.sources:
    print(placed.position, placed.region, placed.rank, placed.source.id, placed.cost)
for out in packed.dropped:
    print("not sent:", out.source.id, out.reason, "-", out.detail)
