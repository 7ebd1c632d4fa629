"""The names of a row's fields: which look like a misspelt one of its parts, and which columns an input has at all."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptpack.batch.chunks import read_lines
from promptpack.batch.codecs import READ_ERRORS, open_lines
from promptpack.errors import OptionError, PromptpackError, SourceError, quote
from promptpack.misspelt import is_slip

if TYPE_CHECKING:
    from promptpack.batch.rows import Columns

HEAD = 1_000_000  # bytes of a file of lines that are looked at before a run
_LONGEST = 80  # characters; a longer name is no slip
_SIGNS = re.compile(r"[_\-\s]+")
_DIGITS = re.compile(r"[0-9]+")


def no_slip(data: Mapping[Any, Any], columns: Columns) -> None:
    """Raise SourceError for a field that looks like the misspelt history or system text that a row lacks.

    Only these two can be missing without a word. An id is no word that can be misspelt, an answer is asked for by the
    format that needs one, and `answers` or `Answer` are common names of something else. A field of another kind than
    the part (a text as a history), a null, and any field beside the right one are the application's own.
    """
    known = _known(columns)
    for key in data:
        if key in known or not isinstance(key, str) or len(key) > _LONGEST:
            continue
        for name, listed in _meant(key, columns):
            if name not in data and _fits(data[key], listed):
                raise SourceError(
                    f"unknown field {quote(key)}; did you mean {quote(name)}? With a {quote(name)} of null the row may "
                    "have both", field=key,
                )


def slips(names: Iterable[str], columns: Columns) -> list[str]:
    """Return those names that may be misspelt ones (`no_slip`).

    >>> from promptpack.batch.rows import Columns
    >>> slips(["id", "hystory", "topic"], Columns())
    ['hystory']
    """
    known = _known(columns)
    return [one for one in names if one not in known and len(one) <= _LONGEST and _meant(one, columns)]


def hint(data: Mapping[Any, Any], name: str, default: str) -> str:
    """Return what may be meant where a row has no column of this name: a misspelt field, or another name for it."""
    there = [key for key in data if isinstance(key, str) and len(key) <= _LONGEST]
    slip = next((key for key in there if _is_slip(key, name)), None)
    if name == default:
        return "" if slip is None else f", and an unknown field {quote(slip)}; did you mean {quote(name)}?"
    close = [slip] if slip is not None else difflib.get_close_matches(name[:_LONGEST], there, n=1)
    return f"; did you mean {quote(close[0])}?" if close else ""


@lru_cache(maxsize=64)
def _known(columns: Columns) -> frozenset[str]:
    return frozenset(getattr(columns, one.name) for one in fields(columns))


@lru_cache(maxsize=2048)  # most rows of a batch have the same fields
def _meant(key: str, columns: Columns) -> tuple[tuple[str, bool], ...]:
    """Return the names of parts that a field may be meant for, each with whether the part is a list."""
    parts = ((columns.history, True), (columns.system, False))
    return tuple((name, listed) for name, listed in parts if _is_slip(key, name))


def _is_slip(key: str, name: str) -> bool:
    """Tell whether a field is a name in other signs or case, or with one slip in one word of it.

    `text_b` is no slip of `text_a`, nor `turns2` of `turns1`: these are numbered.
    """
    mine, other = (_SIGNS.split(one.lower()) for one in (key, name))
    if "".join(mine) == "".join(other):
        return key != name and len(name) > 2
    if _DIGITS.sub("", key) == _DIGITS.sub("", name):
        return False
    apart = [(a, b) for a, b in zip(mine, other, strict=False) if a != b]
    if len(mine) == len(other):
        return len(apart) == 1 and is_slip(*apart[0])
    return is_slip("".join(mine), "".join(other))


def _fits(value: object, listed: bool) -> bool:
    """Tell whether a value is of the kind that a part is. A list may be JSON text, as columns of Arrow hold it."""
    if isinstance(value, str):
        return not listed or value.lstrip()[:1] == "["
    return listed and isinstance(value, list | tuple)


def unseen(files: Sequence[Path], columns: Columns) -> list[str]:
    """Return the columns, other than those by default, that the first rows of the input do not have.

    Raises OptionError where no row at all has one: it is not in the schema of Parquet, or the input has no more rows
    than those that were looked at. What cannot be read is left to the run.
    """
    named = [getattr(columns, one.name) for one in fields(columns) if getattr(columns, one.name) != one.default]
    if not named or not all(one.is_file() for one in files):  # what is read from a pipe would be lost to the run
        return []
    seen: dict[str, None] = {}  # in their order
    whole = True
    try:
        for file in files:
            names, ended = _columns_of(file)
            seen.update(dict.fromkeys(names))
            whole = whole and ended
            if all(one in seen for one in named):
                return []
    except (PromptpackError, *READ_ERRORS):
        return []
    missing = [one for one in named if one not in seen]
    if missing and seen and whole:
        raise OptionError.unknown("column", missing[0], seen)
    return missing if seen else []


def _columns_of(file: Path) -> tuple[Iterable[str], bool]:
    """Return the columns of a file, and whether these are all that it has."""
    from promptpack.batch.shard import Shard

    if Shard.of(file).parquet:
        from promptpack.batch.parquet import column_names

        return column_names(str(file)), True
    from promptpack.batch.rows import parse_line

    names: dict[str, None] = {}
    whole = True
    with open_lines(str(file)) as stream:
        for chunk in read_lines(stream, stop=HEAD, largest=HEAD):
            for raw in chunk.read():
                whole = whole and raw.fault is None  # a line that is too long to be looked at
                with suppress(SourceError):  # a bad row, which is told by the run
                    data = parse_line(bytes(raw.data)) if raw.fault is None else None
                    names.update(dict.fromkeys(map(str, data)) if isinstance(data, dict) else {})
        return names, whole and not stream.read(1)
