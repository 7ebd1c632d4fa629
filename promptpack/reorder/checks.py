"""What values an option of the reorderer may have: one small function for each kind.

A check takes the option's name and a value, and returns the value as it is kept; it raises OptionError that
names the option, the value and what is right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from promptpack.errors import OptionError, quote
from promptpack.packing.ranking import is_finite
from promptpack.rerank import Rerank

Check = Callable[[str, Any], Any]


def wrong(name: str, expected: str, given: object) -> OptionError:
    """Return the error for a value that an option cannot have."""
    return OptionError(f"{name}: expected {expected}, got {quote(given)}", name=name, given=given)


@dataclass(frozen=True, slots=True)
class OneOf:
    """Accepts one of the known texts, in this spelling."""

    known: tuple[str, ...]

    def __call__(self, name: str, value: Any) -> str:
        """Return the value; OptionError for any other one."""
        if not isinstance(value, str) or value not in self.known:
            raise OptionError.unknown(name, value, self.known)
        return value


def one_of(*known: str) -> OneOf:
    """Accept one of these texts."""
    return OneOf(known)


def whole(least: int) -> Check:
    """Accept a whole number of at least `least`; 3.0 is 3."""

    def check(name: str, value: Any) -> int:
        if not is_finite(value) or value != int(value) or value < least:
            raise wrong(name, f"a whole number of {least} or more", value)
        return int(value)

    return check


def number(least: float | None = None, most: float | None = None, *, above: float | None = None) -> Check:
    """Accept a finite number within bounds."""
    bounds = [
        *([f"of {least:g} or more"] if least is not None else []),
        *([f"of at most {most:g}"] if most is not None else []),
        *([f"above {above:g}"] if above is not None else []),
    ]
    expected = " ".join(["a finite number", " and ".join(bounds)]).strip()

    def check(name: str, value: Any) -> float:
        inside = is_finite(value) and (least is None or value >= least) and (most is None or value <= most)
        if not inside or (above is not None and value <= above):
            raise wrong(name, expected, value)
        found: float = value
        return found

    return check


def flag(name: str, value: Any) -> bool:
    """Accept True or False."""
    if not isinstance(value, bool):
        raise wrong(name, "True or False", value)
    return value


def text(name: str, value: Any) -> str:
    """Accept a text that is not empty."""
    if not isinstance(value, str) or not value:
        raise wrong(name, "a name", value)
    return value


def function(name: str, value: Any) -> Any:
    """Accept anything that can be called."""
    if not callable(value):
        raise wrong(name, "a function", value)
    return value


def pair(name: str, value: Any) -> tuple[float, float]:
    """Accept (low, high), two finite numbers in this order."""
    fits = isinstance(value, Sequence) and not isinstance(value, str | bytes) and len(value) == 2
    if not fits or not all(map(is_finite, value)) or value[0] > value[1]:
        raise wrong(name, "(low, high), two finite numbers in this order", value)
    return (value[0], value[1])


def terms(name: str, value: Any) -> tuple[str, ...]:
    """Accept a list of words or phrases, none of them blank."""
    listed = isinstance(value, Sequence) and not isinstance(value, str | bytes)
    if not listed or not all(isinstance(one, str) and one.strip() for one in value):
        raise wrong(name, "a list of words or phrases", value)
    return tuple(value)


def counter(name: str, value: Any) -> Any:
    """Accept a function from text to number."""
    if not callable(value) or isinstance(value, type):
        raise wrong(name, "a function from a text to a number", value)
    return value


def signal(name: str, value: Any) -> Any:
    """Accept a sign to stop: an event (`is_set()`), or something with `aborted` and `addEventListener`."""
    if callable(getattr(value, "is_set", None)):
        return value
    fields = value if isinstance(value, Mapping) else {key: getattr(value, key, None) for key in _SIGNAL}
    if not isinstance(fields.get("aborted"), bool) or not callable(fields.get("addEventListener")):
        raise wrong(name, "an event with is_set(), such as asyncio.Event", value)
    return value


_SIGNAL = ("aborted", "addEventListener")


def is_stopped(value: Any) -> bool:
    """Tell whether a sign to stop was given."""
    if value is None:
        return False
    if callable(getattr(value, "is_set", None)):
        return bool(value.is_set())
    return bool(value["aborted"] if isinstance(value, Mapping) else value.aborted)


def reranker(name: str, value: Any) -> Any:
    """Accept a `Rerank`, or an object with a method `rerank`."""
    if not isinstance(value, Rerank) and not callable(getattr(value, "rerank", None)):
        raise wrong(name, "a Rerank, or an object with a method rerank(chunks, query)", value)
    return value
