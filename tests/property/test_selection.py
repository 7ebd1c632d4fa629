"""What a selection promises, seen through pack(): reasons that are true, and no better choice left out."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from promptpack.errors import BudgetError
from promptpack.evaluation import edge_distance
from promptpack.packing import DropReason, Packed, Packing, overlap, pack
from promptpack.packing.ranking import rank_gain
from promptpack.packing.similarity import folded
from promptpack.source import Source

QUICK = settings(max_examples=150, deadline=None)
TEXTS = st.lists(st.sampled_from(["ant", "bee", "cow", "dog"]), max_size=5).map(" ".join)
SCORES = st.none() | st.sampled_from([0.1, 0.5, 0.5, 0.9])


@st.composite
def lists_of_sources(draw: st.DrawFn, most: int = 10, forced: bool = True) -> list[Source]:
    flags = st.sampled_from([False, False, False, forced])
    return [
        Source(
            f"c{at}", draw(TEXTS), draw(SCORES), document=draw(st.sampled_from([None, "d1", "d2"])),
            required=draw(flags),
        )
        for at in range(draw(st.integers(0, most)))
    ]


def packed_or_none(sources: list[Source], budget: int | None, packing: Packing) -> Packed | None:
    try:
        return pack(sources, budget, packing=packing)
    except BudgetError:
        assert any(source.required for source in sources)
        return None


PACKINGS = st.builds(
    Packing,
    min_score=st.none() | st.just(0.5),
    dedup=st.sampled_from(["off", "exact"]),
    select=st.sampled_from(["top", "prefix", "density", "optimal", "priority", "edges"]),
    top_k=st.none() | st.integers(1, 5),
    max_per_document=st.none() | st.integers(1, 2),
)


@settings(max_examples=400, deadline=None)
@given(lists_of_sources(), st.none() | st.integers(0, 20), PACKINGS)
def test_the_reason_of_every_drop_is_true(sources: list[Source], budget: int | None, packing: Packing) -> None:
    """If this fails, the account names a reason that did not keep the source out."""
    packed = packed_or_none(sources, budget, packing)
    if packed is None:
        return
    every = {source.id: source for source in sources}
    reasons = {drop.source.id: drop.reason for drop in packed.dropped}
    for drop in packed.dropped:
        source = drop.source
        assert not source.required or drop.reason == DropReason.DUPLICATE
        same = [one for one in packed.sources if one.source.document == source.document]
        match drop.reason:
            case DropReason.MIN_SCORE:
                assert packing.min_score is not None
                assert source.score is None or source.score < packing.min_score
            case DropReason.DUPLICATE:
                assert packing.dedup == "exact"
                assert drop.of is not None
                assert drop.of != source.id
                assert folded(every[drop.of].text) == folded(source.text)
                assert reasons.get(drop.of) != DropReason.DUPLICATE
            case DropReason.TOP_K:
                # What `optimal` then leaves out has had its place among the first `top_k`, too.
                rest = sum(reason == DropReason.NOT_SELECTED for reason in reasons.values())
                assert packing.top_k is not None
                assert len(packed) + rest >= packing.top_k
            case DropReason.PER_DOCUMENT:
                left = [one for one in every.values() if reasons.get(one.id) == DropReason.NOT_SELECTED]
                rest = sum(one.document == source.document for one in left)
                assert packing.max_per_document is not None
                assert source.document is not None
                assert len(same) + rest >= packing.max_per_document
            case DropReason.OVER_BUDGET:
                assert packed.left is not None
                # By priority nothing is taken once nothing is left, not even an empty text.
                assert drop.cost > packed.left or (packing.select == "priority" and packed.left == 0)
            case DropReason.AFTER_CUT:
                assert packing.select == "prefix"
                misfits = [one.rank for one in packed.dropped if one.reason == DropReason.OVER_BUDGET]
                assert min(misfits) < drop.rank
            case DropReason.NOT_SELECTED:
                assert packing.select == "optimal"
                assert budget is None or drop.cost <= budget
            case _:
                raise AssertionError(f"{drop.reason} cannot come from these settings")


@QUICK
@given(lists_of_sources(most=8), st.integers(0, 25))
def test_no_set_that_holds_the_required_sources_is_worth_more(sources: list[Source], budget: int) -> None:
    """If this fails, "optimal" through pack() is not: ranks, costs or required sources reach the solver wrongly."""
    packed = packed_or_none(sources, budget, Packing(select="optimal", dedup="off"))
    if packed is None:
        return
    ranks = {one.id: one.rank for one in packed.sources} | {one.source.id: one.rank for one in packed.dropped}
    costs = {source.id: len(source.text.split()) for source in sources}
    needed = {source.id for source in sources if source.required}
    free = [source.id for source in sources if not source.required]
    most = max(
        sum(rank_gain(ranks[id_]) for id_ in (*some, *needed))
        for size in range(len(free) + 1)
        for some in combinations(free, size)
        if sum(costs[id_] for id_ in (*some, *needed)) <= budget
    )
    assert abs(sum(one.value for one in packed.sources) - most) < 1e-9


@QUICK
@given(
    lists_of_sources(forced=False), st.integers(0, 20), st.lists(SCORES, min_size=1, max_size=3),
    st.sampled_from(["off", "exact"]),
)
def test_sources_that_cannot_fit_change_nothing_wherever_they_rank(
    sources: list[Source], budget: int, scores: list[float | None], dedup: str
) -> None:
    """If this fails, a huge chunk at some rank costs the prompt another one under `top`."""
    giants = [Source(f"giant{at}", f"huge{at} " * (budget + 1), score) for at, score in enumerate(scores)]
    if all(one.score is None for one in sources):
        giants = [Source(one.id, one.text) for one in giants]  # a list without scores stays without
    packing = Packing(dedup=dedup, place="best_first")
    alone, beside = (pack(some, budget, packing=packing) for some in (sources, [*sources, *giants]))
    assert beside.ids == alone.ids
    assert {one.id for one in giants} <= {drop.source.id for drop in beside.dropped}


@QUICK
@given(lists_of_sources(forced=False), st.integers(0, 20))
def test_under_prefix_a_best_source_that_cannot_fit_empties_the_prompt(sources: list[Source], budget: int) -> None:
    """If this fails, `prefix` sends something past its best source; that it may send nothing is its price."""
    best = Source("best", "word " * (budget + 1), 5.0)
    packed = pack([*sources, best], budget, packing=Packing(select="prefix", dedup="off"))
    assert packed.ids == ()
    assert [drop.rank for drop in packed.dropped] == list(range(1, len(sources) + 2))
    assert packed.dropped[0].source is best


@st.composite
def chunks_of_a_text(draw: st.DrawFn) -> list[Source]:
    text = " ".join(draw(st.lists(st.sampled_from(["pump", "valve.", "gauge", "filter!"]), min_size=4, max_size=40)))
    chunks = []
    for at in range(draw(st.integers(1, 6))):
        start = draw(st.integers(0, len(text) - 2))
        end = draw(st.integers(start + 1, len(text)))
        known = {"start": start, "end": end} if draw(st.booleans()) else {}
        chunks.append(Source(f"c{at}", text[start:end], draw(SCORES), document="d", **known))
    return chunks


@QUICK
@given(chunks_of_a_text(), st.none() | st.integers(0, 40))
def test_what_is_sent_contains_the_text_of_each_of_its_chunks(sources: list[Source], budget: int | None) -> None:
    """If this fails, a merged source claims a chunk whose text the model never sees."""
    texts = {source.id: source.text for source in sources}
    packed = pack(sources, budget, packing=Packing(dedup="merge"))
    for one in packed.sources:
        assert all(texts[id_] in one.text for id_ in one.chunk_ids)
    sent = [id_ for one in packed.sources for id_ in one.chunk_ids]
    assert sorted([*sent, *(drop.source.id for drop in packed.dropped)]) == sorted(texts)


@QUICK
@given(st.integers(1, 60))
def test_folding_never_puts_a_weaker_source_nearer_an_end(n: int) -> None:
    """If this fails, a weak source has a better place than a strong one; the weakest is inside from three on."""
    packed = pack([Source(f"c{at:02}", "word", float(at)) for at in range(n)], packing=Packing(dedup="off"))
    by_rank = sorted(packed.sources, key=lambda one: one.rank)
    distances = [edge_distance(one.position, n) for one in by_rank]
    assert distances == sorted(distances)
    assert n < 3 or 0 < by_rank[-1].position < n - 1


@QUICK
@given(st.integers(0, 20), st.integers(2, 30))
def test_the_one_relevant_text_comes_first_wherever_it_arrived(arrived: int, budget: int) -> None:
    """If this fails, the needle stays where the retriever left it, or the budget costs it its place."""
    question = "when does the night ferry leave"
    sources = [Source(f"c{at:02}", f"oak{at} elm fir ash gum yew") for at in range(20)]
    sources.insert(arrived, Source("needle", "the night ferry leaves at ten"))
    packing = Packing(score=overlap(question), place="fold")
    packed = pack(sources, max(budget, 6), packing=packing, question=question)
    assert packed.ids[0] == "needle"
    assert packed.sources[0].rank == 1
