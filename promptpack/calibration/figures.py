"""What was measured, question by question, as a JSON file: every mean and interval can be computed from it again.

    {"promptpack_figures": 1, "kind": "curve", "model": "a-model", "measure": "loglik", "remarks": [],
     "ids": ["q1", "q2"], "tokens": [3, 1], "places": [0, 1], "xs": [0.25, 0.75], "passages": 2,
     "values": [[-2.5, -2.25], [-3.5, -3.0]], "without": [-4.0, -5.0]}

A "comparison" has values and `same` by the name of the builder instead. There are ids and numbers in it, and no text
of a question, an answer or a passage. Numbers stand as they were measured, so that all that follows is the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, get_args

from promptpack.calibration.compare import Comparison
from promptpack.calibration.result import Calibration
from promptpack.curves import Measure
from promptpack.errors import OptionError, quote
from promptpack.finite import is_finite

FORMAT = 1
_KINDS: Mapping[str, type[Calibration] | type[Comparison]] = {"curve": Calibration, "comparison": Comparison}


def write_figures(found: Calibration | Comparison, path: str | PathLike[str]) -> None:
    """Write the figures of a measurement to a file; OptionError where it cannot be written."""
    kind = next(name for name, one in _KINDS.items() if isinstance(found, one))
    data = {"promptpack_figures": FORMAT, "kind": kind, **found.to_dict()}
    text = "{\n" + ",\n".join(f" {json.dumps(name)}: {_lines(value)}" for name, value in data.items()) + "\n}\n"
    try:
        Path(path).write_text(text, encoding="utf-8", newline="\n")
    except (OSError, ValueError) as error:
        raise _fault(path, f"cannot be written: {getattr(error, 'strerror', None) or error}") from error


def read_figures(path: str | PathLike[str]) -> Calibration | Comparison:
    """Return what `write_figures` wrote; OptionError, which names the file and the field, where it holds none."""
    try:
        data = json.loads(Path(path).read_bytes().decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise _fault(path, f"cannot be read: {getattr(error, 'strerror', None) or quote(str(error))}") from error
    if not isinstance(data, Mapping) or data.get("promptpack_figures") != FORMAT:
        raise _fault(path, f"holds no figures of a measurement (promptpack_figures: {FORMAT})")
    return _Reading(path, data).found()


class _Reading:
    """Fields of a file, each checked as it is taken."""

    def __init__(self, path: str | PathLike[str], data: Mapping[str, Any]) -> None:
        self.path, self.data = path, data
        self.ids = self.row("ids", data.get("ids"), lambda one: isinstance(one, str), "texts")
        self.count = len(self.ids)

    def found(self) -> Calibration | Comparison:
        model, measure = self.data.get("model"), self.known("measure", get_args(Measure))
        if not isinstance(model, str):
            raise self.fault("model", "a text", model)
        remarks = self.row("remarks", self.data.get("remarks"), lambda one: isinstance(one, str), "texts")
        tokens = self.row("tokens", self.data.get("tokens"), lambda one: one is None or _whole(one), "whole numbers")
        if len(tokens) not in (0, self.count):
            raise self.fault("tokens", f"{self.count}, as many as ids, or none", len(tokens))
        if self.known("kind", tuple(_KINDS)) == "comparison":
            values, same = self.data.get("values"), self.data.get("same")
            if not isinstance(values, Mapping) or len(values) < 2:
                raise self.fault("values", "two builders or more by name", values)
            if not isinstance(same, Mapping) or same.keys() != values.keys() or not all(map(_whole, same.values())):
                raise self.fault("same", "a whole number for each builder", same)
            by_name = {name: self.numbers(f"values: {name}", row, self.count) for name, row in values.items()}
            return Comparison(model, measure, by_name, dict(same), remarks, self.ids, tokens)
        places = self.row("places", self.data.get("places"), _whole, "whole numbers")
        rows = self.data.get("values")
        if not isinstance(rows, list) or len(rows) != self.count:
            raise self.fault("values", f"a row for each of {self.count} ids", rows)
        (passages,) = self.row("passages", [self.data.get("passages")], _whole, "whole numbers")
        return Calibration(
            model, measure, places, self.numbers("xs", self.data.get("xs"), len(places)), passages,
            tuple(self.numbers(f"values[{at}]", row, len(places)) for at, row in enumerate(rows)),
            self.numbers("without", self.data.get("without"), self.count), remarks, self.ids, tokens,
        )

    def known(self, name: str, values: tuple[Any, ...]) -> Any:
        if self.data.get(name) not in values:
            raise self.fault(name, " or ".join(values), self.data.get(name))
        return self.data[name]

    def row(self, name: str, given: Any, fits: Callable[[Any], bool], what: str) -> tuple[Any, ...]:
        if not isinstance(given, list) or not all(map(fits, given)):
            raise self.fault(name, f"a list of {what}", given)
        return tuple(given)

    def numbers(self, name: str, given: Any, count: int) -> tuple[float, ...]:
        found = self.row(name, given, is_finite, "finite numbers")
        if len(found) != count:
            raise self.fault(name, f"{count} numbers", len(found))
        return tuple(map(float, found))

    def fault(self, name: str, expected: str, given: object) -> OptionError:
        return _fault(self.path, f"{name}: expected {expected}, got {quote(given)}")


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _lines(value: Any) -> str:
    """Return JSON with a line for each row of a table."""
    if isinstance(value, list) and value and isinstance(value[0], list):
        return "[\n  " + ",\n  ".join(map(json.dumps, value)) + "\n ]"
    if isinstance(value, Mapping):
        return "{\n  " + ",\n  ".join(f"{json.dumps(name)}: {json.dumps(one)}" for name, one in value.items()) + "\n }"
    return json.dumps(value)


def _fault(path: str | PathLike[str], told: str) -> OptionError:
    return OptionError(f"figures: {quote(str(path), 200)} {told}", name="figures", given=str(path))
