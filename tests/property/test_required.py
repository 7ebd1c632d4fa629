"""A required source is sent, whatever the dedup policy makes of its text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpack import BudgetError, Packing, Source, pack

SENTENCES = ["Lamps last long.", "Returns are free.", "It blinks blue when it is ready.", "Money comes in 6 days."]
TEXT = st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=4).map(" ".join)
HITS = st.lists(st.tuples(TEXT, st.floats(0, 1), st.booleans(), st.sampled_from(["d1", "d2"])), max_size=8)


@pytest.mark.parametrize("dedup", ["off", "exact", "near", "sentences", "merge"])
@pytest.mark.parametrize("select", ["top", "prefix", "density", "optimal", "priority", "edges"])
@settings(max_examples=25, deadline=None)
@given(hits=HITS, budget=st.integers(0, 60))
def test_required_sources_are_sent_under_every_dedup(
    dedup: str, select: str, hits: list[tuple[str, float, bool, str]], budget: int
) -> None:
    sources = [
        Source(f"c{at}", text, score, required=required, document=document)
        for at, (text, score, required, document) in enumerate(hits)
    ]
    try:
        packed = pack(sources, budget, packing=Packing(dedup=dedup, select=select))
    except BudgetError:
        assert any(source.required for source in sources)
        return
    sent = {chunk for one in packed.sources for chunk in one.chunk_ids}
    assert {source.id for source in sources if source.required} <= sent
    assert sorted([*sent, *(out.source.id for out in packed.dropped)]) == sorted(source.id for source in sources)
