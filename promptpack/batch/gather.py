"""Parts become one result, in the order of the input: ids compared, rows numbered, files joined or named."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import merge
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from promptpack.batch.chunks import LARGEST_ROW, Raw
from promptpack.batch.dead import dead_line
from promptpack.batch.listing import read_listing, repeated
from promptpack.batch.options import RowError
from promptpack.batch.parts import Parts
from promptpack.batch.rows import Failure
from promptpack.batch.seen import Seen
from promptpack.batch.shard import Shard
from promptpack.batch.tally import Summary

_TOGETHER = 1000  # ids that are looked up together


@dataclass(frozen=True, slots=True)
class Part:
    """A part as it goes into the result. leave: which of its lines to leave out, from 0. dead: its dead letters, to be
    taken once: all of a large part need not fit in memory. requests: how many of its lines stay.
    """

    number: int
    out: Path
    labels: Path
    leave: frozenset[int]
    dead: Iterator[bytes]
    requests: int


class Sink(Protocol):
    """Where parts go."""

    def put(self, part: Part) -> None:
        """Take the next part."""
        ...


@dataclass(slots=True)
class Gather:
    """Takes parts in order. on_error: "raise" stops at the first bad row of the input. largest_row: as the parts
    were made with it.

    A row whose id an earlier row of the input has becomes a dead letter, in whichever parts the two are, and rows are
    numbered through each file, so that the result is what one process makes of the whole.
    """

    parts: Parts
    shards: Sequence[Shard]
    sink: Sink
    seen: Seen
    on_error: str = "dead-letter"
    largest_row: int = LARGEST_ROW
    summary: Summary = field(default_factory=Summary)
    taken: int = 0
    _files: list[tuple[int, Shard]] = field(default_factory=list)  # the row before the first of each, and the file

    def take(self) -> None:
        """Take the next part."""
        number = self.taken
        shard = self.shards[number]
        if not self._files or self._files[-1][1].path != shard.path:
            self._files.append((self.summary.rows, shard))
        before = self._files[-1][0]  # rows of other files
        shift = 0 if shard.group is not None else self.summary.rows - before  # rows of this file
        lost = self._repeated(number, before + shift)
        dead = self._dead(number, shard, shift, {each: failure for each, (_, failure) in lost.items()})
        if self.on_error == "raise" and (first := next(dead, None)) is not None:
            _raise(first, shard)
        totals = self._totals(number, set(lost))
        self.sink.put(Part(
            number, self.parts.file(number), self.parts.file(number, "labels"),
            frozenset(at for at, _ in lost.values()), dead, totals.payloads,
        ))
        self.seen.commit()
        self.summary.merge(totals)
        self.taken += 1

    def _repeated(self, number: int, shift: int) -> dict[int, tuple[int, Failure]]:
        """Return the rows of a part whose ids there were: by their numbers, which line of the part, and why."""
        found = {}
        listed = enumerate(read_listing(self.parts.rows(number)))
        while some := list(islice(listed, _TOGETHER)):
            twice = self.seen.add([(one.number + shift, one.key) for _, one in some])
            for at, one in some if twice else ():
                if one.number + shift in twice:
                    found[one.number] = (at, repeated(one.id, self._named(twice[one.number + shift])))
        return found

    def _named(self, row: int) -> str:
        """Return how a row of the input is called: its number in its file, and the file where there are several."""
        before, shard = self._files[bisect_left(self._files, row, key=lambda one: one[0]) - 1]
        return f"{row - before} of {shard.name}" if shard.name else str(row - before)

    def _dead(self, number: int, shard: Shard, shift: int, lost: dict[int, Failure]) -> Iterator[bytes]:
        """Yield the dead letters of a part in the order of its rows; both kinds come in that order."""
        made = _letters(self.parts.file(number, "dead"))
        more = (json.loads(dead_line(raw, lost[raw.number])) for raw in self._rows(shard, lost))
        for said in merge(made, more, key=lambda one: int(one["line"])):
            yield _said(said, shift, shard)

    def _rows(self, shard: Shard, wanted: dict[int, Failure]) -> Iterator[Raw]:
        """Yield rows of a shard as they came, by reading it again."""
        if wanted:
            for chunk in shard.chunks(BytesIO(), largest=self.largest_row):
                yield from (raw for raw in chunk.read() if raw.number in wanted)

    def _totals(self, number: int, lost: set[int]) -> Summary:
        whole = self.parts.summary(number)
        if not lost:
            return whole
        found = Summary()
        for one in read_listing(self.parts.rows(number)):
            if one.number in lost:
                found.fail("DuplicateIdError")
            else:
                found.add(one.tally)
        for kind, count in whole.failed.items():
            found.merge(Summary(rows=count, failed={kind: count}))
        return found


def _letters(path: Path) -> Iterator[dict[str, Any]]:
    """Yield what the dead letters of a part say."""
    if path.exists():
        with path.open("rb") as file:
            yield from map(json.loads, file)


def _said(said: dict[str, Any], shift: int, shard: Shard) -> bytes:
    """Return a dead letter with the number that the row has in its file, and the file where there are several."""
    line: dict[str, Any] = {"file": shard.name} if shard.name else {}
    line |= said | {"line": said["line"] + shift}
    return json.dumps(line, ensure_ascii=True, default=str).encode() + b"\n"


def _raise(line: bytes, shard: Shard) -> None:
    said = json.loads(line)
    failure = Failure(said["error"]["type"], said["error"]["message"], said["id"])
    raise RowError.of(said["line"], failure, shard.name)
