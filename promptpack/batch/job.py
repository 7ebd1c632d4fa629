"""The work of a run: what a worker makes of a chunk of rows. A job is plain data that pickles."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, NamedTuple, SupportsIndex

from promptpack.batch.chunks import Chunk, Raw
from promptpack.batch.codecs import codec_for
from promptpack.batch.formats import Format, Wanted, beside, checked, line
from promptpack.batch.rows import (
    Columns,
    Failure,
    Row,
    check_builder,
    custom_id,
    filled,
    known_id,
    parse_line,
    read_row,
)
from promptpack.batch.tally import Tally
from promptpack.batch.worker import stops
from promptpack.builder import PromptBuilder
from promptpack.errors import SourceError
from promptpack.payload import Payload
from promptpack.templates import TemplateSet


class Made(NamedTuple):
    """A row that was rendered. key: a digest of its name for the provider. size: of its line, in bytes."""

    number: int
    id: str
    key: bytes
    size: int
    tally: Tally


class Lost(NamedTuple):
    """A row that has no payload."""

    number: int
    failure: Failure


@dataclass(frozen=True, slots=True)
class Done:
    """What became of a chunk: an entry for each row, the lines of the rendered ones as a block, and those beside."""

    entries: tuple[Made | Lost, ...]
    block: bytes = b""
    beside: tuple[bytes, ...] = ()

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        """Let whoever pickles it carry the block apart, which saves copies of it."""
        block = pickle.PickleBuffer(self.block) if int(protocol) >= 5 else self.block
        return Done, (self.entries, block, self.beside)


@dataclass(frozen=True, slots=True)
class Job:
    """How rows become lines.

    builder: what all rows share; each adds its question, sources, history and system text. format: see
    `promptpack.batch.formats`. model: for the requests, where it is not the builder's. columns: where the parts of a
    row stand. endpoint: "chat" or "responses" (openai-batch). codec: of the blocks. beside: whether to make the lines
    with the label maps. largest: the most bytes of a line.

    Raises OptionError for what would make every row fail.

    >>> Job(PromptBuilder(1000), "openai-batch", model="gpt-4o").kind.rows
    50000
    """

    builder: PromptBuilder
    format: str = "payload"
    _: KW_ONLY
    model: str | None = None
    columns: Columns = field(default_factory=Columns)
    endpoint: str = "chat"
    codec: str = "plain"
    beside: bool | None = None
    largest: int | None = None

    def __post_init__(self) -> None:
        check_builder(self.builder)
        template = self.builder.template
        if template is not None and not isinstance(template, TemplateSet):  # read once: a run has one template
            object.__setattr__(self, "builder", self.builder.with_template(TemplateSet.of(template)))
        object.__setattr__(self, "columns", Columns.of(self.columns))
        kind = checked(self.format, self.wanted, self.builder)
        if self.beside is None:
            object.__setattr__(self, "beside", kind.beside)

    @property
    def wanted(self) -> Wanted:
        """What the requests say besides the messages."""
        return Wanted(self.model, self.endpoint)

    @property
    def kind(self) -> Format:
        """The format."""
        return checked(self.format, self.wanted, self.builder)

    def __call__(self, chunk: Chunk) -> Done:
        """Render the rows of a chunk; a row that fails is an entry like the others."""
        kind, wanted = self.kind, self.wanted
        entries: list[Made | Lost] = []
        records: list[Any] = []
        lines: list[bytes] = []
        for raw in chunk.read():
            made = rendered(raw, chunk.kind, self.builder, self.columns, chunk.origin)
            if isinstance(made, tuple):
                row, payload = made
                try:
                    found = kind.make(payload, row, wanted)
                    record: Any = found if self.codec == "arrow" else line(found, foreign=kind.foreign)
                    size = len(record) if self.codec != "arrow" else 0
                    if self.largest is not None and size > self.largest:
                        raise SourceError(
                            f"row: a request of {size:,} bytes; a file of {self.format} holds {self.largest:,}",
                            field="row",
                        )
                    labels = line(beside(payload, row)) if self.beside else b""
                except BaseException as error:  # what a provider's form cannot hold
                    if stops(error):
                        raise
                    entries.append(Lost(raw.number, Failure.of(error, row.id)))
                    continue
                records.append(record)
                lines.append(labels)
                entries.append(Made(raw.number, row.id, _key(row.id), size, Tally.of(payload)))
            else:
                entries.append(Lost(raw.number, made))
        return Done(tuple(entries), codec_for(self.codec).encode(records), tuple(lines))

    def lost(self, chunk: Chunk, failure: Failure) -> Done:
        """Return what becomes of a chunk of one row that ends its worker."""
        raw = chunk.read()[0]
        return Done((Lost(raw.number, replace(failure, id=id_of(raw, chunk.kind, self.columns))),))

    def joined(self, parts: Sequence[Done]) -> Done:
        """Return the parts of a chunk as one: the same bytes as if it had never been divided."""
        codec = codec_for(self.codec)
        records = [one for part in parts for one in codec.decode(part.block)]
        return Done(
            tuple(one for part in parts for one in part.entries), codec.encode(records),
            tuple(one for part in parts for one in part.beside),
        )

    def without(self, done: Done, leave: dict[int, Failure]) -> Done:
        """Return what is left of a chunk without the rendered rows of these numbers, which fail after all."""
        codec = codec_for(self.codec)
        made = [one for one in done.entries if isinstance(one, Made)]
        records = codec.decode(done.block)
        kept = [index for index, one in enumerate(made) if one.number not in leave]
        return Done(
            tuple(Lost(one.number, leave[one.number]) if one.number in leave else one for one in done.entries),
            codec.encode([records[index] for index in kept]), tuple(done.beside[index] for index in kept),
        )


def rendered(
    raw: Raw, kind: str, builder: PromptBuilder, columns: Columns, origin: str = ""
) -> tuple[Row, Payload] | Failure:
    """Return the parts and the payload of a row, or why there is none."""
    id_, data = None, None
    try:
        data = value_of(raw, kind, columns)
        row = read_row(data, columns, raw.place(origin))
        id_ = row.id
        return row, filled(builder, row).render()
    except BaseException as error:  # also what native code panics with, which is no Exception
        if stops(error):
            raise
        return Failure.of(error, id_ or known_id(raw.data if data is None else data, columns))


def id_of(raw: Raw, kind: str, columns: Columns) -> str | None:
    """Return the id of a row as far as there is one."""
    try:
        return known_id(value_of(raw, kind, columns), columns)
    except BaseException as error:  # it may be wrong in any way; then it has no id
        if stops(error):
            raise
        return None


def value_of(raw: Raw, kind: str, columns: Columns) -> Any:
    """Return the row that was read; SourceError where there is none."""
    if raw.fault is not None:
        raise SourceError(raw.fault, field="row")
    if kind == "arrow":
        from promptpack.batch.arrow import opened

        return opened(raw.data, columns)
    data = pickle.loads(raw.data) if kind == "pickle" else raw.data  # noqa: S301  # the parent's own bytes
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    return parse_line(data) if isinstance(data, bytes) else data


def _key(id_: str) -> bytes:
    """Return what tells the names of requests apart."""
    return hashlib.blake2b(custom_id(id_).encode(), digest_size=16).digest()
