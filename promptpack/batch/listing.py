"""The list of the rows that a shard has rendered: with it shards are joined as if they were one file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from promptpack.batch.job import Made
from promptpack.batch.rows import Failure
from promptpack.batch.tally import Tally
from promptpack.errors import quote


class Listing:
    """Writes a line for each rendered row, in order: its number within the shard, id, key, size and tally."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="ascii")

    def add(self, made: Iterable[Made]) -> None:
        """List rows."""
        for one in made:
            self._file.write(json.dumps([one.number, one.id, one.key.hex(), one.size, *one.tally]) + "\n")

    def commit(self) -> None:
        """Make sure that what was listed outlives this process."""
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def remove(self) -> None:
        """Keep the file: it is what was asked for."""


def read_listing(path: Path) -> Iterator[Made]:
    """Yield the rows of a list."""
    with path.open(encoding="ascii") as file:
        for line in file:
            number, id_, key, size, tokens, sent, kept, dropped, turns = json.loads(line)
            told = tuple((str(reason), int(count), int(cost)) for reason, count, cost in dropped)
            yield Made(number, id_, bytes.fromhex(key), size, Tally(tokens, sent, kept, told, turns))


def repeated(id_: str, first: str) -> Failure:
    """Return why a row whose id an earlier row has is no payload. first: the number of that row."""
    return Failure("DuplicateIdError", f"id: {quote(id_)} names row {first}, too", id_)
