"""Merging generated slices of a text: every member is in the merged text, and offsets rebuild the original."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from promptpack.packing.candidate import Candidate
from promptpack.packing.merge import MIN_OVERLAP, merge, overlap
from promptpack.source import Source

TEXTS = st.one_of(
    st.text(alphabet="ab ", min_size=1, max_size=120), st.text(min_size=1, max_size=120),
    st.lists(st.sampled_from(["pump ", "valve ", "gauge. ", "filter\n"]), min_size=1, max_size=25).map("".join),
)


@st.composite
def slices(draw: st.DrawFn) -> tuple[str, list[Source]]:
    text = draw(TEXTS)
    known = draw(st.booleans())
    sources = []
    for at in range(draw(st.integers(1, 7))):
        start = draw(st.integers(0, len(text) - 1))
        end = draw(st.integers(start + 1, len(text)))
        offsets = {"start": start, "end": end} if known or draw(st.booleans()) else {}
        sources.append(Source(str(at), text[start:end], document=draw(st.sampled_from(["d", "d", "e"])), **offsets))
    return text, sources


@given(slices())
@settings(max_examples=250, deadline=None)
def test_merged_text_contains_every_member(drawn: tuple[str, list[Source]]) -> None:
    _, sources = drawn
    notes: list[str] = []
    kept, gone = merge([Candidate.of(source, at, at + 1) for at, source in enumerate(sources)], notes)
    by_id = {source.id: source for source in sources}
    assert sorted([c.source.id for c in kept] + [drop.source.id for drop in gone]) == sorted(by_id)
    assert sorted(id_ for candidate in kept for id_ in candidate.chunk_ids) == sorted(by_id)
    hosts = {candidate.source.id: candidate for candidate in kept}
    for candidate in kept:
        assert candidate.chunk_ids[0] == candidate.source.id
        for id_ in candidate.chunk_ids:
            assert by_id[id_].text in candidate.text
            assert by_id[id_].document == candidate.source.document
            assert candidate.index <= int(id_)
        if len(candidate.chunk_ids) == 1:
            assert candidate.text == candidate.source.text
    assert all(drop.of in hosts and drop.source.id in hosts[drop.of].chunk_ids for drop in gone)
    assert len(notes) == sum(len(candidate.chunk_ids) > 1 for candidate in kept)


@given(TEXTS, st.lists(st.integers(1, 30), min_size=1, max_size=8), st.integers(0, 6))
@settings(max_examples=100, deadline=None)
def test_offsets_rebuild_the_text(text: str, steps: list[int], shared: int) -> None:
    sources, start = [], 0
    for at, step in enumerate(steps):
        end = min(len(text), start + step + shared)
        if start < end:
            sources.append(Source(str(at), text[start:end], document="d", start=start, end=end))
        start += step
    kept, _ = merge([Candidate.of(source, at, at + 1) for at, source in enumerate(reversed(sources))], [])
    assert [candidate.text for candidate in kept] == [text[: sources[-1].end]]


@given(st.text(alphabet="ab", max_size=60), st.text(alphabet="ab", max_size=60), st.integers(1, MIN_OVERLAP))
@settings(max_examples=300, deadline=None)
def test_overlap_is_the_longest(left: str, right: str, minimum: int) -> None:
    lengths = [n for n in range(minimum, min(len(left), len(right)) + 1) if left.endswith(right[:n])]
    assert overlap(left, right, minimum) == max(lengths, default=0)
