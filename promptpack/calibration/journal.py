"""The journal of a measurement: every answer is written down as it comes, so that none is asked for twice.

It is a file of JSON lines. The first names the model and what is measured; each of the others holds one probe's result
under its key, which follows from the messages and answers. So a rerun asks only for what is missing, also where
questions were added or the number of positions changed, and an end at any moment loses only what was on its way.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from promptpack.calibration.measures import Measured
from promptpack.calibration.probes import Probe
from promptpack.errors import OptionError, quote
from promptpack.packing.ranking import is_finite

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Journal:
    """The file; job: what all of its results share (model, measure, form of the prompt)."""

    path: Path
    job: Mapping[str, Any]

    def read(self) -> dict[str, Measured]:
        """Return the results by key; none where there is no file yet.

        A last line that was cut off by the end of a run is left out. Raises OptionError for a file of another job, and
        for one that cannot be read.
        """
        lines = self._lines()
        if not lines:
            return {}
        head = _object(lines[0])
        if head is None or head.get("promptpack_probes") != FORMAT:
            raise self._fault("is no journal of a measurement")
        for name, value in self.job.items():
            if head.get(name) != value:
                raise self._fault(f"was made with {name} {quote(head.get(name))}, not {quote(value)}")
        found: dict[str, Measured] = {}
        for number, line in enumerate(lines[1:], 2):
            held = _object(line)
            if held is None or not isinstance(held.get("key"), str) or not is_finite(held.get("value")):
                raise self._fault(f"line {number} holds no result")
            found[held["key"]] = Measured(float(held["value"]), held.get("tokens"), held.get("said"))
        return found

    @contextmanager
    def writing(self) -> Iterator[TextIO]:
        """Open the file to write behind what it holds; a line that was cut off goes."""
        lines = self._lines()
        try:
            with self.path.open("a", encoding="utf-8", newline="\n") as file:
                file.truncate(sum(len(line) + 1 for line in lines))
                if not lines:
                    file.write(json.dumps({"promptpack_probes": FORMAT, **self.job}, ensure_ascii=True) + "\n")
                    file.flush()
                yield file
        except OSError as error:
            raise self._fault(f"cannot be written: {error.strerror}") from error

    def _lines(self) -> list[bytes]:
        """Return the whole lines."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise self._fault(f"cannot be read: {error.strerror}") from error
        return data.split(b"\n")[:-1]

    def _fault(self, told: str) -> OptionError:
        return OptionError(
            f"journal: {quote(str(self.path), 200)} {told}; name another file, or begin anew (--restart)",
            name="journal", given=str(self.path),
        )


def begun_with(path: Path) -> str | None:
    """Return what a journal measures; None where there is none, or it is not to be read.

    >>> begun_with(Path("there-is-no-such-file")) is None
    True
    """
    lines = Journal(path, {})._lines()
    head = _object(lines[0]) if lines else None
    measure = None if head is None else head.get("measure")
    return measure if isinstance(measure, str) and measure in ("loglik", "exact") else None


def write(file: TextIO, probe: Probe, found: Measured) -> None:
    """Write one result, whole."""
    held = {"key": probe.key, "question": probe.question, "name": probe.name, "value": found.value}
    if found.tokens is not None:
        held["tokens"] = found.tokens
    if found.said is not None:
        held["said"] = found.said
    file.write(json.dumps(held, ensure_ascii=True) + "\n")
    file.flush()


def _object(line: bytes) -> Mapping[str, Any] | None:
    try:
        held = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return held if isinstance(held, Mapping) else None
