"""How a run goes about it: the options, and the errors that end it."""

from __future__ import annotations

from dataclasses import dataclass

from promptpack.batch.chunks import LARGEST_ROW
from promptpack.batch.engine import worker_count
from promptpack.batch.rows import Failure
from promptpack.errors import OptionError, PromptpackError, quote

ON_ERROR = ("dead-letter", "raise", "skip")


class RowError(PromptpackError, ValueError):
    """A row has no payload, and the run was to stop there: the `number` of the row, and the `failure`."""

    def __init__(self, message: str, *, number: int, failure: Failure) -> None:
        super().__init__(message)
        self.number = number
        self.failure = failure

    @classmethod
    def of(cls, number: int, failure: Failure, file: str = "") -> RowError:
        """Return the error for a row of an input. file: where an input has several."""
        name = "" if failure.id is None else f" ({quote(failure.id)})"
        place = f"{file}, row {number}" if file else f"row {number}"
        return cls(f"{place}{name}: {failure.message}", number=number, failure=failure)


class StoppedError(PromptpackError, RuntimeError):
    """A run stopped before its end, for a reason that lies outside of its rows; `rows` are done."""

    def __init__(self, message: str, *, rows: int) -> None:
        super().__init__(message)
        self.rows = rows


@dataclass(frozen=True, slots=True)
class Options:
    """How a run goes about it.

    workers: processes; None takes as many as there are processors, 0 works in this process. on_error: what becomes of
    a bad row: "dead-letter" writes it with the reason to `dead` (default: OUT.dead.jsonl), "skip" only counts it,
    "raise" stops. beside: where the label maps go (default: OUT.labels.jsonl). split: whether to start a new part of
    the output where the format's limits of a file are reached. resume: go on with a run that was ended. restart: begin
    anew although there is one. largest_row: the most bytes of a row. every: seconds between two entries of the journal,
    which is what a resumed run has to do again at most; the result does not depend on it.
    """

    workers: int | None = None
    on_error: str = "dead-letter"
    dead: str | None = None
    beside: str | None = None
    split: bool = False
    resume: bool = False
    restart: bool = False
    largest_row: int = LARGEST_ROW
    every: float = 2.0

    def __post_init__(self) -> None:
        worker_count(self.workers)
        if self.on_error not in ON_ERROR:
            raise OptionError.unknown("on_error", self.on_error, ON_ERROR)
        if self.on_error == "skip" and self.dead is not None:
            raise OptionError(
                f"dead: on_error is skip, which writes no dead letters, got {quote(self.dead, 200)}", name="dead",
                given=self.dead,
            )
        if self.resume and self.restart:
            raise OptionError("resume, restart: only one of the two", name="resume", given=True)
        if isinstance(self.largest_row, bool) or not isinstance(self.largest_row, int) or self.largest_row < 1:
            raise OptionError(
                f"largest_row: expected a number of bytes from 1, got {quote(self.largest_row)}", name="largest_row",
                given=self.largest_row,
            )
        if isinstance(self.every, bool) or not isinstance(self.every, int | float) or not self.every >= 0:
            raise OptionError(
                f"every: expected seconds, 0 or more, got {quote(self.every)}", name="every", given=self.every
            )
