"""Payloads for many rows, in order, made by a pool of processes: `render_many`."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from promptpack.batch.chunks import Chunk, read_objects
from promptpack.batch.engine import ordered, vocabularies_of, worker_count
from promptpack.batch.job import Job, id_of, rendered
from promptpack.batch.options import RowError
from promptpack.batch.rows import Columns, Failure
from promptpack.batch.worker import stops
from promptpack.builder import PromptBuilder
from promptpack.errors import OptionError
from promptpack.payload import Payload

ON_ERROR = ("return", "raise")


@dataclass(frozen=True, slots=True)
class Rendered:
    """What became of a row: its number from 1, its id as far as it is known, and the payload or the error."""

    number: int
    id: str | None
    payload: Payload | None = None
    error: Failure | None = None

    def unwrap(self) -> Payload:
        """Return the payload, or raise RowError."""
        if self.payload is not None:
            return self.payload
        failure = self.error or Failure("RowError", "row: there is no payload", self.id)
        raise RowError(f"row {self.number}: {failure.message}", number=self.number, failure=failure)


@dataclass(frozen=True, slots=True)
class _Rendering:
    """Renders the rows of a chunk; each result is pickled by itself, so that one that cannot be costs no other."""

    builder: PromptBuilder
    columns: Columns
    pickled: bool

    def __call__(self, chunk: Chunk) -> list[Any]:
        """Return a result for each row."""
        return [self._one(raw, chunk.kind) for raw in chunk.read()]

    def _one(self, raw: Any, kind: str) -> Any:
        made = rendered(raw, kind, self.builder, self.columns)
        if isinstance(made, Failure):
            found = Rendered(raw.number, made.id, error=made)
        else:
            found = Rendered(raw.number, made[0].id, made[1])
        if not self.pickled:
            return found
        try:
            return pickle.dumps(found, protocol=pickle.HIGHEST_PROTOCOL)
        except BaseException as error:  # what a source carries is the user's
            if stops(error):
                raise
            return pickle.dumps(Rendered(raw.number, found.id, error=Failure.of(error, found.id)))

    def lost(self, chunk: Chunk, failure: Failure) -> list[Any]:
        """Return the result for a row that ends its worker."""
        id_ = id_of(chunk.read()[0], chunk.kind, self.columns)
        return [pickle.dumps(Rendered(chunk.first, id_, error=replace(failure, id=id_)))]

    def joined(self, parts: Sequence[list[Any]]) -> list[Any]:
        """Return the results of the parts."""
        return [one for part in parts for one in part]


def render_many(
    rows: Iterable[Mapping[str, Any] | str | bytes], builder: PromptBuilder, workers: int | None = None,
    *, columns: Columns | Mapping[str, str] | None = None, on_error: str = "return",
) -> Iterator[Rendered]:
    """Yield what becomes of each row, in their order.

    rows: mappings with `question` and `sources`, and `id`, `history`, `system` where there are such, or lines of JSON;
    they are taken one by one, at most 2 * workers + 2 chunks of 32 ahead, so that they need not fit in memory. builder:
    what all share. workers: processes; None takes as many as there are processors, 0 renders in this one. columns:
    other names of the parts (`Columns`). on_error: "return" gives a bad row as a result with its `error`, "raise"
    raises RowError at the first.

    Where the results are taken slowly, so are the rows; closing the iterator ends the processes. A script that is run
    as such needs `if __name__ == "__main__":`. Raises OptionError where the builder cannot be sent to processes.

    >>> rows = [{"id": "q1", "question": "How long?", "sources": ["For 30 days."]}, {"id": "q2"}]
    >>> for one in render_many(rows, PromptBuilder(2000), workers=0):
    ...     print(one.id, one.payload.tokens if one.payload else one.error.message[:40])
    q1 91
    q2 question: the row has no such column; it
    """
    if on_error not in ON_ERROR:
        raise OptionError.unknown("on_error", on_error, ON_ERROR)
    job = Job(builder, columns=Columns.of(columns))  # checks them
    count = worker_count(workers)
    return _results(rows, job, count, on_error)


def _results(rows: Iterable[Any], job: Job, workers: int, on_error: str) -> Iterator[Rendered]:
    work = _Rendering(job.builder, job.columns, workers > 0)
    chunks = read_objects(rows, pickled=workers > 0)
    results = ordered(chunks, work, workers, vocabularies=vocabularies_of(job.builder))
    try:
        for _, done in results:
            for one in done:
                found: Rendered = pickle.loads(one) if workers else one  # noqa: S301  # our own worker's
                if on_error == "raise":
                    found.unwrap()
                yield found
    finally:
        results.close()
