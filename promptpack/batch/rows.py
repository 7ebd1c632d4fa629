"""One row of a batch: its columns, its id, and the builder of its payload, or what is wrong with it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from promptpack.batch.naming import hint, no_slip
from promptpack.builder import PromptBuilder
from promptpack.errors import OptionError, PromptpackError, SourceError, quote

_LONGEST_ID = 1000  # characters; an id names a row and is no place for data
_MESSAGE = 2000  # characters of an error that are kept: a foreign one may quote the whole row
_CUSTOM_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")  # Anthropic's pattern; OpenAI takes these, too


@dataclass(frozen=True, slots=True)
class Columns:
    """The names under which a row holds its parts; any other column is left alone, but for a misspelt one of these.

    id: a text or a whole number; without one a row is named by its place in the input. question: a text, or null for
    none. sources: a list of what `PromptBuilder.add_sources` takes, or null for none. history, system: as the builder
    takes them, where they are there. answer: what the model should say (`chat-finetune`).

    Raises OptionError for a name that is no text, or that two parts share.

    >>> Columns.of({"question": "query"}).question
    'query'
    """

    id: str = "id"
    question: str = "question"
    sources: str = "sources"
    history: str = "history"
    system: str = "system"
    answer: str = "answer"

    def __post_init__(self) -> None:
        names = [getattr(self, one.name) for one in fields(self)]
        for name in names:
            if not isinstance(name, str) or not name:
                raise OptionError(f"columns: expected the name of a column, got {quote(name)}", name="columns",
                                  given=name)
            if names.count(name) > 1:
                raise OptionError(f"columns: {quote(name)} is named for two parts", name="columns", given=name)

    @classmethod
    def of(cls, value: Columns | Mapping[str, str] | None) -> Columns:
        """Return columns as they are, or those that a mapping of part to name says."""
        if value is None or isinstance(value, Columns):
            return value or cls()
        if not isinstance(value, Mapping):
            raise OptionError(f"columns: expected a mapping of part to column, got {quote(value)}", name="columns",
                              given=value)
        known = [one.name for one in fields(cls)]
        for part in value:
            if part not in known:
                raise OptionError.unknown("columns", part, known)
        return cls(**value)


@dataclass(frozen=True, slots=True)
class Row:
    """The parts of one row, each as it came; `given` says whether the row brought a system text."""

    id: str
    question: str | None
    sources: Any
    history: Any = None
    system: str | None = None
    answer: str | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a row has no payload: the class of the error, its message, and the row's id as far as it is known."""

    type: str
    message: str
    id: str | None = None

    @classmethod
    def of(cls, error: BaseException, id: str | None = None) -> Failure:  # noqa: A002  # it is the field's name
        """Return what an exception says; a foreign one in as many words as there is room for."""
        text = str(error) or type(error).__name__
        if not isinstance(error, PromptpackError):
            text = f"{type(error).__name__}: {text}" if str(error) else text
        text = text.encode("utf-8", "backslashreplace").decode()
        return cls(type(error).__name__, text if len(text) <= _MESSAGE else text[:_MESSAGE] + " ...", id)


def parse_line(data: bytes) -> Any:
    """Return the JSON value of a line; SourceError for what is none, for NaN and infinities, and for other encodings.

    >>> parse_line(b'{"id": 1}')
    {'id': 1}
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SourceError(f"row: not UTF-8 (byte {error.start})", field="row") from error
    if not text.strip():
        raise SourceError("row: an empty line", field="row")
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        what = error.msg.removesuffix(" at")
        raise SourceError(f"row: broken JSON at column {error.colno}: {what}", field="row") from error
    except RecursionError:
        raise SourceError("row: JSON that is nested too deep", field="row") from None
    except ValueError as error:
        if isinstance(error, PromptpackError):
            raise
        raise SourceError("row: JSON with a number that is too long", field="row") from error


def _no_constant(name: str) -> Any:
    raise SourceError(f"row: {name} is no JSON number", field="row")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


def read_row(data: object, columns: Columns, place: str) -> Row:
    """Return the parts of a row; `place` names a row without an id. SourceError names the column at fault.

    A field that looks like a misspelt part that the row lacks is at fault, too (`promptpack.batch.naming.no_slip`).

    >>> read_row({"question": "Why?", "sources": ["A text."]}, Columns(), "at-0").id
    'at-0'
    """
    if not isinstance(data, Mapping):
        raise SourceError(f"row: expected an object, got {quote(data)}", field="row")
    missing = [name for name in (columns.question, columns.sources) if name not in data]
    if missing:
        meant = hint(data, missing[0], "question" if missing[0] == columns.question else "sources")
        there = ", ".join(quote(name, 40) for name in list(data)[:12]) or "nothing"
        raise SourceError(
            f"{missing[0]}: the row has no such column{meant}{' It' if meant else '; it'} has {there}. Name the "
            "columns that hold its parts (columns, --column), or give null for none", field=missing[0],
        )
    no_slip(data, columns)
    texts = {}
    for name in (columns.question, columns.system, columns.answer):
        value = data.get(name)
        if value is not None and not isinstance(value, str):
            raise SourceError(f"{name}: expected a text, got {quote(value)}", field=name)
        texts[name] = value
    sources, history = data[columns.sources], data.get(columns.history)
    for name, value in ((columns.sources, sources), (columns.history, history)):
        if value is not None and not isinstance(value, list | tuple):
            raise SourceError(f"{name}: expected a list, got {quote(value)}", field=name)
    question = texts[columns.question]
    if not (question and question.strip()) and not sources and not history:
        raise SourceError("row: no question, no sources and no history: there is nothing to ask", field="row")
    return Row(
        row_id(data.get(columns.id), columns.id, place), question, sources, history, texts[columns.system],
        texts[columns.answer],
    )


def row_id(value: object, name: str, place: str) -> str:
    """Return a row's id as text, or its place where it has none; SourceError for what cannot name a row."""
    if value is None:
        return place
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**40:
        return str(value)
    if not isinstance(value, str) or not value.strip() or len(value) > _LONGEST_ID:
        raise SourceError(
            f"{name}: expected a text of 1 to {_LONGEST_ID} characters or a whole number, got {quote(value)}",
            field=name,
        )
    return value


def known_id(data: object, columns: Columns) -> str | None:
    """Return the id of a row that may be wrong in any way, as far as there is one."""
    found = data.get(columns.id) if isinstance(data, Mapping) else None
    try:
        return None if found is None else row_id(found, columns.id, "")
    except SourceError:
        return None


def check_builder(builder: object) -> None:
    """OptionError for what is no builder that rows can share."""
    if not isinstance(builder, PromptBuilder):
        raise OptionError(f"builder: expected a PromptBuilder, got {quote(builder)}", name="builder", given=builder)
    if builder.rerank is not None:
        raise OptionError(
            "rerank: a batch does not await a reranker; rerank before, and give the scores with the sources",
            name="rerank", given=builder.rerank,
        )


def filled(builder: PromptBuilder, row: Row) -> PromptBuilder:
    """Return the builder with a row's parts added; what a row does not bring stays as the builder has it."""
    made = builder.with_question(row.question)
    if row.system is not None:
        made = made.with_system(row.system)
    if row.history:
        made = made.add_history(row.history)
    return made.add_sources(row.sources) if row.sources else made


def custom_id(id: str) -> str:  # noqa: A002  # it is the column's name
    """Return the name of a request for the providers: the row's id where they take it, else a digest of it.

    1 to 64 letters, digits, - and _; a digest is "pp-" and 32 hexadecimal digits (blake2b of the id in UTF-8).

    >>> custom_id("q-7"), custom_id("docs/7")
    ('q-7', 'pp-7c23bd46d9281654cde0954a355009ac')
    """
    if _CUSTOM_ID.match(id):
        return id
    return "pp-" + hashlib.blake2b(id.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
