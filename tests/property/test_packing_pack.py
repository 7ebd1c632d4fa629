"""What holds of pack() for every input: the account, the order, the reasons."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from promptpack.errors import BudgetError
from promptpack.packing import DropReason, Packing, pack
from promptpack.packing.diversity import Diversity
from promptpack.packing.scoring import Scoring, overlap
from promptpack.source import Cut, Source

QUICK = settings(max_examples=150, deadline=None)
WORDS = ["ant", "bee", "cow. ", "dog", "eel!", "fox\n", "gnu", "hen", "ibis? ", "漢字。"]


@st.composite
def candidates(draw, scored=False, cuts=True, forced=True, most=12):
    n = draw(st.integers(0, most))
    ids = draw(st.lists(st.text("abcdef~#1", min_size=1, max_size=4), min_size=n, max_size=n, unique=True))
    score = st.sampled_from([0.1, 0.5, 0.5, 0.9, -1.0, 3])
    cut = st.builds(
        Cut, keep=st.sampled_from(["start", "end", "ends", "relevant"]), min_tokens=st.integers(0, 4),
        at=st.sampled_from(["sentence", "word", "token", "character"]),
        marker=st.sampled_from([None, "", " […] "]),
    )
    return [
        Source(
            id_,
            " ".join(draw(st.lists(st.sampled_from(WORDS), max_size=9))),
            draw(score if scored else st.none() | score),
            document=draw(st.sampled_from([None, "d1", "d2"])),
            position=draw(st.sampled_from([None, 0, 1, 2.5])),
            updated=draw(st.sampled_from([None, "2024-03-01", 1709251200, "?"])),
            priority=draw(st.sampled_from([0, 1, -2, 0.5])),
            required=draw(st.just(False) if not forced else st.sampled_from([False, False, False, True])),
            pinned=draw(st.just(False) if not forced else st.sampled_from([False, False, False, True])),
            cut=draw(st.none() | cut if cuts else st.none()),
        )
        for id_ in ids
    ]


SELECTS = ["top", "prefix", "density", "optimal", "priority", "edges", "spans"]
PLACES = ["fold", "spread", "best_first", "best_last", "buried", "document", "chronological", "auto"]
PACKINGS = st.builds(
    Packing,
    min_score=st.none() | st.just(0.5),
    score=st.sampled_from([None, None, Scoring(similarity=-1.0, position=0.5), overlap("gnu eel")]),
    dedup=st.sampled_from(["off", "exact", "near", "sentences", "merge"]),
    diversity=st.sampled_from([None, None, Diversity(document_weight=0.2)]),
    select=st.sampled_from(SELECTS),
    top_k=st.none() | st.integers(2, 8),
    min_sources=st.none() | st.integers(0, 2),
    max_per_document=st.none() | st.integers(1, 3),
    place=st.sampled_from(PLACES),
    group_by=st.none() | st.just("document"),
    tie=st.sampled_from(["id", "input"]),
)
BUDGETS = st.none() | st.integers(0, 40)


def packed_or_none(sources, budget, packing, question=None):
    try:
        return pack(sources, budget, packing=packing, question=question)
    except BudgetError:
        assert any(source.required or source.pinned for source in sources)
        return None


@QUICK
@given(candidates(), BUDGETS, PACKINGS)
def test_every_source_is_sent_or_dropped_once_and_the_costs_fit(sources, budget, packing):
    """If this fails, a source vanishes or is sent twice, or the sources do not fit."""
    packed = packed_or_none(sources, budget, packing, "When does the gnu eat?")
    if packed is None:
        return
    sent = [id_ for placed in packed for id_ in placed.chunk_ids]
    accounted = [*sent, *(drop.source.id for drop in packed.dropped)]
    assert sorted(accounted) == sorted(source.id for source in sources)
    assert [placed.position for placed in packed] == list(range(len(packed)))
    assert packed.used == sum(placed.cost for placed in packed)
    assert budget is None or packed.used <= budget or packed.flagged
    for placed in packed:
        assert placed.cost == len(placed.text.split())
        changed = placed.text != placed.source.text
        assert not changed or placed.source.cut is not None or packing.dedup in ("sentences", "merge")
    must = {source.id for source in sources if source.required or source.pinned}
    if packing.dedup == "off":
        assert must <= set(packed.ids)
    if packing.dedup == "off" and packing.min_score is None:
        ranks = [*(placed.rank for placed in packed), *(drop.rank for drop in packed.dropped)]
        assert sorted(ranks) == list(range(1, len(sources) + 1))
    for drop in packed.dropped:
        assert drop.reason in set(DropReason)
        assert drop.stage in {"admit", "dedup", "select"}
        assert drop.detail
        assert drop.cost >= 0


@QUICK
@given(candidates(scored=True), BUDGETS, PACKINGS, st.randoms(use_true_random=False))
def test_the_order_of_the_input_never_matters(sources, budget, packing, random):
    """If this fails, the same retrieval in another order gives another prompt."""
    if packing.tie == "input" or packing.select == "priority":
        return
    shuffled = list(sources)
    random.shuffle(shuffled)
    first, second = (packed_or_none(one, budget, packing) for one in (sources, shuffled))
    if first is None or second is None:
        assert first is second
        return
    assert first.sources == second.sources
    assert {(d.source.id, d.reason, d.rank) for d in first.dropped} == {
        (d.source.id, d.reason, d.rank) for d in second.dropped
    }


@QUICK
@given(candidates(cuts=False), st.sampled_from(SELECTS), st.integers(0, 30))
def test_place_changes_the_order_and_nothing_else(sources, select, budget):
    """If this fails, a placement loses or changes a source."""
    if select == "edges":
        return  # what stands at the edges is what the placement says
    results = [packed_or_none(sources, budget, Packing(select=select, place=place)) for place in PLACES]
    texts = [None if packed is None else sorted((p.id, p.text, p.rank) for p in packed) for packed in results]
    assert all(one == texts[0] for one in texts)


@QUICK
@given(candidates(cuts=False, forced=False), st.integers(0, 25))
def test_an_oversize_source_changes_nothing_else_under_top(sources, budget):
    """If this fails, one huge chunk costs the prompt a good one."""
    giant = Source("giant", "word " * (budget + 1), 99.0)
    packing = Packing(dedup="off", place="best_first")
    alone = pack(sources, budget, packing=packing)
    # A giant without a score, so that a list without scores stays without.
    if all(source.score is None for source in sources):
        giant = Source("giant", giant.text)
    beside = pack([giant, *sources], budget, packing=packing)
    assert beside.ids == alone.ids
    assert "giant" in {drop.source.id for drop in beside.dropped}


@QUICK
@given(candidates(cuts=False, forced=False), st.integers(0, 25))
def test_prefix_never_sends_a_source_past_a_better_one(sources, budget):
    """If this fails, a weak source outlives a stronger one."""
    packed = pack(sources, budget, packing=Packing(select="prefix", dedup="off", place="best_first"))
    assert [placed.rank for placed in packed] == list(range(1, len(packed) + 1))


@QUICK
@given(candidates(cuts=False, forced=False), st.integers(0, 25), st.integers(0, 5))
def test_optimal_is_worth_no_less_and_grows_with_the_budget(sources, budget, more):
    """If this fails, "optimal" is not, or a larger window gives a worse prompt."""
    def worth(select, room):
        return sum(p.value for p in pack(sources, room, packing=Packing(select=select, dedup="off")))

    best = worth("optimal", budget) + 1e-9
    assert best >= worth("top", budget)
    assert best >= worth("density", budget)
    assert worth("optimal", budget + more) + 1e-9 >= best - 1e-9


@QUICK
@given(candidates(), BUDGETS, PACKINGS)
def test_a_second_call_gives_the_same(sources, budget, packing):
    """If this fails, a result depends on something beside its input."""
    assert packed_or_none(sources, budget, packing) == packed_or_none(sources, budget, packing)
