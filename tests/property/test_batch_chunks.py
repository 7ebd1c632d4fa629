"""Reading in chunks and dividing a file: every line once, in order, wherever a reader starts."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from promptpack.batch.archives import _KINDS
from promptpack.batch.chunks import read_lines
from promptpack.batch.rows import custom_id
from promptpack.batch.shard import shards
from promptpack.batch.tally import Summary, Tally

LINES = st.lists(st.binary(max_size=40).map(lambda one: one.replace(b"\n", b" ").rstrip(b"\r")), max_size=90)


@given(LINES, st.booleans(), st.integers(0, 120))
@settings(max_examples=80, deadline=None)
def test_every_line_once_and_from_any_chunk_on(lines: list[bytes], last: bool, skip: int) -> None:
    """A resumed run must read on exactly where the journal says."""
    data = b"\n".join(lines) + (b"\n" if last and lines else b"")
    whole = [(raw.number, raw.offset, raw.data) for chunk in read_lines(io.BytesIO(data)) for raw in chunk.rows]
    expected = data.removesuffix(b"\n").split(b"\n") if data else []
    plain = [one.removesuffix(b"\r") for one in expected]
    if plain and plain[0].startswith(b"\xef\xbb\xbf"):
        plain[0] = plain[0][3:]
    assert [one for _, _, one in whole] == plain
    chunks = list(read_lines(io.BytesIO(data)))
    if chunks:
        at = chunks[skip % len(chunks)]
        stream = io.BytesIO(data)
        stream.seek(at.end)
        rest = list(read_lines(stream, first=at.first + at.count, start=at.end))
        assert rest == chunks[skip % len(chunks) + 1:]


@given(LINES, st.integers(1, 400))
@settings(max_examples=60, deadline=None)
def test_shards_hold_every_line_once(lines: list[bytes], size: int) -> None:
    """A line at a cut must be in one shard, not in none and not in two."""
    data = b"".join(line + b"\n" for line in lines)
    assume(not data.startswith(tuple(_KINDS)))  # those are refused
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "in.jsonl"
        path.write_bytes(data)
        found = [
            (raw.offset, raw.data) for shard in shards(path, size)
            for chunk in shard.chunks(io.BytesIO()) for raw in chunk.rows
        ]
        whole = [(raw.offset, raw.data) for chunk in read_lines(io.BytesIO(data)) for raw in chunk.rows]
    assert found == whole


@given(st.text(max_size=80), st.text(max_size=80))
def test_names_of_requests_differ_where_ids_do(one: str, other: str) -> None:
    """Two rows under one name would get each other's answers."""
    assert (custom_id(one) == custom_id(other)) is (one == other)


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 9), st.integers(0, 99)), max_size=20))
def test_totals_survive_the_journal(numbers: list[tuple[int, int, int]]) -> None:
    summary = Summary()
    for tokens, sent, kept in numbers:
        summary.add(Tally(tokens, sent, kept, (("duplicate", 1, tokens),), 0))
    summary.fail("SourceError")
    assert Summary.from_dict(summary.to_dict()) == summary
    assert summary.tokens == sum(one[0] for one in numbers)
    assert summary.rows == len(numbers) + 1
