"""Which names of requests there were: on disk, so that memory does not grow with the number of rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from promptpack.batch.options import StoppedError

_CACHE = 16_000  # KiB


class Seen:
    """The digests of names, each with the number of its row. path: where they are kept; None: a temporary file.

    last: rows after this one are forgotten, which is how a run goes on where its journal says.

    >>> seen = Seen(None)
    >>> seen.add([(1, b"a"), (2, b"b"), (3, b"a")])
    {3: 1}
    """

    def __init__(self, path: Path | None, *, last: int = 0) -> None:
        self._path = path
        if path is not None and not last:
            self.remove()
        try:
            self._base = sqlite3.connect("" if path is None else str(path), isolation_level=None)
            for setting in (f"cache_size = -{_CACHE}", "journal_mode = WAL", "synchronous = NORMAL"):
                self._base.execute(f"PRAGMA {setting}")
            self._base.execute("CREATE TABLE IF NOT EXISTS seen (key BLOB PRIMARY KEY, row INTEGER) WITHOUT ROWID")
            self._base.execute("DELETE FROM seen WHERE row > ?", (last,))
            self._base.execute("BEGIN")
        except sqlite3.Error as error:
            raise StoppedError(f"batch: the list of ids {path} cannot be used: {error}", rows=last) from error

    def add(self, keys: Iterable[tuple[int, bytes]]) -> dict[int, int]:
        """Add the digests of rows; return the rows whose digest was there before, with the row that had it."""
        twice = {}
        for row, key in keys:
            if not self._base.execute("INSERT OR IGNORE INTO seen VALUES (?, ?)", (key, row)).rowcount:
                ((first,),) = self._base.execute("SELECT row FROM seen WHERE key = ?", (key,))
                twice[row] = first
        return twice

    def commit(self) -> None:
        """Make sure that what was added outlives this process."""
        self._base.execute("COMMIT")
        self._base.execute("BEGIN")

    def close(self) -> None:
        """Give the file free."""
        self._base.close()

    def remove(self) -> None:
        """Delete the file."""
        if self._path is not None:
            for ending in ("", "-wal", "-shm"):
                with suppress(FileNotFoundError):
                    Path(f"{self._path}{ending}").unlink()
