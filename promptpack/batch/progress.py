"""A line on a terminal that tells how far a run is; loaded only where there is one."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from promptpack.batch.journal import State


class Bar:
    """The line, on standard error: rows, rows a second, tokens, errors, time left where the size of the input is known.

    >>> import io
    >>> told = Console(file=io.StringIO(), force_terminal=True, width=80)
    >>> with Bar(told) as bar:
    ...     bar.update(State(position=10, rows=1), 100)
    >>> "1 rows" in told.file.getvalue()
    True
    """

    def __init__(self, console: Console | None = None) -> None:
        self._progress = Progress(
            TextColumn("{task.fields[told]}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn(),
            TimeRemainingColumn(), console=console or Console(stderr=True), transient=True,
        )
        self._task = self._progress.add_task("rows", total=None, told="0 rows")
        self._first: int | None = None

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._progress.stop()

    def update(self, state: State, total: int | None) -> None:
        """Tell how far the run is."""
        task = self._progress.tasks[0]
        if self._first is None:
            self._first = state.rows  # where a resumed run goes on: rows before were not made in this time
        elapsed = task.elapsed or 0.0
        speed = (state.rows - self._first) / elapsed if elapsed > 0 else 0.0
        failed = state.summary.failures
        told = f"{state.rows:,} rows, {speed:,.0f}/s, {state.summary.tokens:,} tokens" + (
            f", {failed:,} failed" if failed else ""
        )
        self._progress.update(self._task, completed=state.position, total=total, told=told)
