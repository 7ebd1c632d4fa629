"""Admission: what may enter the packing, and what is repaired on the way in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Literal, get_args

from promptpack.errors import DuplicateIdError, OptionError, SourceError, quote
from promptpack.packing.ranking import is_finite
from promptpack.source import Source

Validate = Literal["strict", "coerce"]

# What a number that is not finite becomes under "coerce": a score and a priority count as 0, what
# only describes the source is taken as unknown.
REPAIRS: Mapping[str, float | None] = {"score": 0.0, "priority": 0.0, "position": None, "reliability": None}


@dataclass(frozen=True, slots=True)
class Admitted:
    """The sources that entered, in input order, and one note for each repair."""

    sources: tuple[Source, ...]
    notes: tuple[str, ...]


def admit(sources: Iterable[Source], validate: Validate = "strict") -> Admitted:
    """Check the sources and return them as they will be packed.

    "strict" refuses a number that is not finite (score, priority, position, reliability) with
    SourceError, and an id that occurs twice with DuplicateIdError. "coerce" repairs both and says
    so: a score or priority becomes 0, a position or reliability unknown, and the second `x` becomes
    `x~2`. Anything that is no Source, and an empty id, which could not be told from a missing one, is
    refused by both. Linear in the number of sources.

    >>> admitted = admit([Source("a", "x", float("nan")), Source("a", "y", 0.5)], "coerce")
    >>> [(source.id, source.score) for source in admitted.sources]
    [('a', 0.0), ('a~2', 0.5)]
    >>> print(*admitted.notes, sep="\\n")
    source 'a': score nan is not a finite number and counts as 0.0
    source 'a': the id occurs again and is kept apart as 'a~2'
    """
    if validate not in get_args(Validate):
        raise OptionError.unknown("validate", validate, get_args(Validate))
    if isinstance(sources, list | tuple) and _all_sound(sources):
        return Admitted(tuple(sources), ())
    notes: list[str] = []
    admitted: list[Source] = []
    seen: set[str] = set()
    repeated = False
    for index, source in enumerate(_listed(sources)):
        if not isinstance(source, Source):
            raise SourceError(f"sources[{index}]: expected a Source, got {quote(source)}", index=index)
        if not source.id:
            raise SourceError(
                f"sources[{index}]: id: expected a text that is not empty", id=source.id, index=index, field="id"
            )
        if not _all_finite((source,)):
            source = _repaired(source, index, validate, notes)
        if source.id in seen:
            if validate == "strict":
                raise DuplicateIdError(
                    f"source {quote(source.id)}: the id occurs twice, the second time at index {index}; "
                    f'make ids unique, or use validate="coerce" to keep the repeats apart',
                    id=source.id, index=index, field="id",
                )
            repeated = True
        seen.add(source.id)
        admitted.append(source)
    apart = keep_apart(admitted) if repeated else tuple(admitted)
    for old, new in zip(admitted, apart, strict=True):
        if old is not new:
            what = f"source {quote(old.id)}: the id occurs again"
            notes.append(f"{what} and is kept apart as {quote(new.id)}")
    return Admitted(apart, tuple(notes))


def _listed(sources: Iterable[Source]) -> Iterable[Source]:
    single = isinstance(sources, str | bytes | Mapping | Source)
    if single or not isinstance(sources, Iterable):
        raise SourceError(f"sources: expected a list of Source, got {quote(sources)}", field="sources")
    return sources


def _all_sound(sources: Sequence[Source]) -> bool:
    """Tell, quickly, that there is nothing to refuse or to repair: the usual case."""
    if any(kind is not Source for kind in set(map(type, sources))):
        return False
    ids = {source.id for source in sources}
    return len(ids) == len(sources) and "" not in ids and _all_finite(sources)


def _all_finite(sources: Sequence[Source]) -> bool:
    # 0 times a finite number is 0, times anything else NaN: one test for the four fields of all sources.
    try:
        return isfinite(sum([
            (one.score or 0.0) * 0.0 + one.priority * 0.0 + (one.position or 0.0) * 0.0 + (one.reliability or 0.0) * 0.0
            for one in sources
        ]))
    except OverflowError:  # a whole number beyond the range of a float
        return False


def _repaired(source: Source, index: int, validate: Validate, notes: list[str]) -> Source:
    changes: dict[str, float | None] = {}
    for field, repair in REPAIRS.items():
        value = getattr(source, field)
        if value is None or is_finite(value):
            continue
        if validate == "strict":
            raise SourceError(
                f"source {quote(source.id)} (index {index}): {field}: expected a finite number, got "
                f'{quote(value)}; validate="coerce" would take {"it as unknown" if repair is None else "0"}',
                id=source.id, index=index, field=field,
            )
        becomes = "is taken as unknown" if repair is None else f"counts as {repair}"
        what = f"source {quote(source.id)}: {field} {quote(value)}"
        notes.append(f"{what} is not a finite number and {becomes}")
        changes[field] = repair
    return replace(source, **changes)  # type: ignore[arg-type]  # the fields are the keys of REPAIRS


def keep_apart(sources: Sequence[Source]) -> tuple[Source, ...]:
    """Return the sources with ids that are all different: the second `x` becomes `x~2`, in input order.

    A number that is an id already is passed over. Sources whose id is unique come back as they are.

    >>> [source.id for source in keep_apart([Source("x", "1"), Source("x", "2"), Source("x~2", "3")])]
    ['x', 'x~3', 'x~2']
    """
    taken = {source.id for source in sources}
    if len(taken) == len(sources):
        return tuple(sources)
    apart: list[Source] = []
    used: set[str] = set()
    numbers: dict[str, int] = {}
    for source in sources:
        if source.id in used:
            number = numbers.get(source.id, 1) + 1
            while f"{source.id}~{number}" in taken:
                number += 1
            numbers[source.id] = number
            source = replace(source, id=f"{source.id}~{number}")
            taken.add(source.id)
        used.add(source.id)
        apart.append(source)
    return tuple(apart)
