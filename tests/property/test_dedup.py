"""Dedup over generated texts: nothing is lost, nothing comes twice, and order does not matter."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from promptpack.packing.candidate import Candidate
from promptpack.packing.dedup import Dedup, deduplicate
from promptpack.packing.ranking import rank_order
from promptpack.packing.sentences import spans
from promptpack.packing.similarity import folded
from promptpack.source import Source

WORDS = st.sampled_from(
    ["pump", "not", "25", "250", "cafe\u0301", "café", "The", "e.g.", "fine.", "Go!", "完。", "ok  ", "\n\n"]
)
TEXTS = st.one_of(st.lists(WORDS, max_size=8).map(" ".join), st.text(max_size=12))
POLICIES = st.builds(
    Dedup, threshold=st.sampled_from([1.0, 0.9, 0.5]), keep=st.sampled_from(["best", "first", "last"]),
    sentences=st.booleans(), merge=st.booleans(), guard_numbers=st.booleans(),
    length_bucket=st.sampled_from([None, 3]), max_candidates=st.sampled_from([None, 2]),
)
BATCHES = st.lists(
    st.tuples(TEXTS, st.sampled_from([0.1, 0.5, 0.9]), st.booleans(), st.sampled_from([None, "d"])), max_size=8
)


def ranked(batch: list[tuple[str, float, bool, str | None]]) -> list[Candidate]:
    sources = [
        Source(str(at), text, score, required=required, document=document)
        for at, (text, score, required, document) in enumerate(batch)
    ]
    order = rank_order([source.score for source in sources], [source.id for source in sources])
    return [Candidate.of(sources[index], index, rank) for rank, index in enumerate(order, 1)]


@given(BATCHES, POLICIES)
@settings(max_examples=150, deadline=None)
def test_every_source_is_kept_or_dropped_with_a_reason(
    batch: list[tuple[str, float, bool, str | None]], policy: Dedup
) -> None:
    found = ranked(batch)
    result = deduplicate(found, policy)
    kept = [candidate.source.id for candidate in result.kept]
    gone = [drop.source.id for drop in result.dropped]
    assert sorted(kept + gone) == sorted(candidate.source.id for candidate in found)
    assert all(drop.reason and drop.detail for drop in result.dropped)
    assert kept == [candidate.source.id for candidate in found if candidate.source.id in kept]
    covered = {id_ for candidate in result.kept for id_ in candidate.chunk_ids}
    assert all(candidate.source.id in covered for candidate in found if candidate.source.required)
    assert 0 <= result.sentences_sent <= result.sentences_total


@given(BATCHES)
@settings(max_examples=100, deadline=None)
def test_exact_copies_are_those_with_one_folded_form(batch: list[tuple[str, float, bool, str | None]]) -> None:
    found = [candidate for candidate in ranked(batch) if not candidate.source.required]
    kept = [folded(candidate.text) for candidate in deduplicate(found, Dedup()).kept]
    assert len(kept) == len(set(kept))
    assert set(kept) == {folded(candidate.text) for candidate in found}


@given(BATCHES, st.permutations(range(8)))
@settings(max_examples=60, deadline=None)
def test_input_order_does_not_matter(batch: list[tuple[str, float, bool, str | None]], order: list[int]) -> None:
    found = ranked(batch)
    places = [at for at in order if at < len(batch)]
    moved = [Candidate.of(c.source, places.index(c.index), c.rank) for c in found]
    for policy in (Dedup(), Dedup(threshold=0.5), Dedup(sentences=True)):
        assert [(c.source.id, c.text) for c in deduplicate(found, policy).kept] == [
            (c.source.id, c.text) for c in deduplicate(moved, policy).kept
        ]


@given(BATCHES)
@settings(max_examples=100, deadline=None)
def test_every_sentence_is_sent_once(batch: list[tuple[str, float, bool, str | None]]) -> None:
    """What is taken out must be sent by another source: otherwise evidence is lost."""
    found = ranked(batch)
    kept = deduplicate(found, Dedup(sentences=True)).kept

    def sentences(text: str) -> set[str]:
        return {folded(text[start:end]) for start, end in spans(text)}

    before = set().union(*(sentences(candidate.text) for candidate in found))
    sent = " ".join(folded(candidate.text) for candidate in kept)
    assert all(sentence in sent for sentence in before)


@given(st.one_of(st.text(), st.text(alphabet=' ."!?()“”「」。aA1\n#กข।؟', max_size=60)))
@settings(max_examples=300, deadline=None)
def test_spans_cover_all_that_is_not_blank(text: str) -> None:
    found = spans(text)
    assert "".join("".join(text[start:end].split()) for start, end in found) == "".join(text.split())
    assert all(text[start:end] == text[start:end].strip() != "" for start, end in found)
    assert all(a[1] <= b[0] for a, b in pairwise(found))


@given(st.text(alphabet="aé\u0301\u0323\u0344\u1100\u1161 \n\u00a0\u3000\ud800", max_size=30))
def test_folding_is_stable_and_canonical(text: str) -> None:
    once = folded(text)
    assert folded(once) == once
    assert once == " ".join(unicodedata.normalize("NFC", text).split())
