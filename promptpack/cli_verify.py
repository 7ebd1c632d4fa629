"""The command `verify`: checks the citations of an answer, and writes them as links, also while it streams in."""

from __future__ import annotations

import codecs
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from string import Formatter
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote as percent_encoded

import click

from promptpack.cli_common import as_files, emit, reported
from promptpack.errors import OptionError, SourceError, quote
from promptpack.files import read_json, read_text

if TYPE_CHECKING:
    from io import BufferedReader

    from promptpack.payload import PackedSource, Payload

_PIECE = 65_536  # bytes that are read at most at once


@click.command()
@click.argument("answer", shell_complete=as_files)
@click.option("-p", "--payload", "payload_file", required=True, help="What `render --format payload` wrote.",
              shell_complete=as_files)
@click.option("--min-support", type=float, help="Fail where a cited text shares less of its words: 0 to 1.")
@click.option("--json", "as_json", is_flag=True, help="Print the whole result as JSON.")
@click.option(
    "--link", "template", metavar="TEMPLATE",
    help="Print the answer with links to this address: {label}, {number}, {chunk}, or any field of the source.",
)
@click.option(
    "--style", type=click.Choice(["markdown", "footnotes"]), default="markdown", show_default=True,
    help="How links are written.",
)
@reported
def verify(
    answer: str, payload_file: str, min_support: float | None, as_json: bool, template: str | None, style: str
) -> None:
    """Check the citations of an ANSWER file (- is standard input) against a payload; exit 1 where one is wrong.

    Prints the ids of the cited chunks; with --link the answer with its citations as links, as it comes in.
    """
    from promptpack.citations import CitationStream
    from promptpack.citations.link import Linker
    from promptpack.payload import Payload
    from promptpack.view.tables import print_verification

    if answer == "-" and payload_file == "-":
        raise OptionError("verify: only one of ANSWER and --payload can be standard input", name="payload")
    payload = Payload.from_dict(read_json(read_text(payload_file), payload_file))
    stream = CitationStream(payload, min_support=min_support)
    if template is None:
        stream.feed(read_text(answer))
        result = stream.close()
        if as_json:
            emit(_json(result.to_dict()))
        else:
            emit("\n".join(result.cited), newline=bool(result.cited))
    else:
        urls, without = addresses(template, payload)
        linker = Linker(urls, dict(payload.labels), style)
        pieces = linker.stream(stream.over(_standard_input() if answer == "-" else [read_text(answer)]))
        if as_json:
            linked = "".join(pieces)
            result = stream.close()
            emit(_json({**result.to_dict(), "linked": linked}))
        else:
            _write(pieces)
            result = stream.close()
        for label in without:
            click.echo(f"no address for {label}: a field of --link is missing", err=True)
    if not as_json:
        print_verification(result)
    sys.exit(0 if result.ok else 1)


def addresses(template: str, payload: Payload) -> tuple[dict[str, str], list[str]]:
    """Return the address of every label by a template, and the labels that lack one of its fields.

    Fields are percent-encoded, but for one that the template begins with, which is taken for an address of its own.
    """
    try:
        parts = list(Formatter().parse(template))
    except ValueError as error:
        raise OptionError(f"--link: {quote(template)}: {error}", name="link", given=template) from error
    names = {name for _, name, _, _ in parts if name is not None}
    fields = {one.label: _fields(one) for one in payload.sources}
    known = sorted({name for several in fields.values() for name in several} | {"label", "number", "chunk"})
    for unknown in sorted(names.difference(known)):
        raise OptionError.unknown("--link", unknown, known)
    urls: dict[str, str] = {}
    for label, values in fields.items():
        if names <= set(values):
            url = ""
            for literal, name, _, _ in parts:
                url += literal
                if name is not None:
                    url += percent_encoded(values[name], safe="") if url else values[name]
            urls[label] = url
    return urls, [label for label in fields if label not in urls]


def _fields(source: PackedSource) -> dict[str, str]:
    plain: Mapping[str, Any] = source.source.metadata
    return {
        **{name: str(value) for name, value in plain.items() if isinstance(value, str | int | float) and str(value)},
        **{name: value for name, value in source.attributes.items() if value},
        "label": source.label, "number": source.label.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"),
        "chunk": source.chunk_ids[0],
    }


def _standard_input() -> Iterator[str]:
    """Yield what comes in as soon as it does, without a byte order mark."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    try:
        # Not `read`, which would wait for all of it.
        while data := cast("BufferedReader", sys.stdin.buffer).read1(_PIECE):
            yield decoder.decode(data)
        yield decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise SourceError("-: not UTF-8", field="file") from error


def _write(pieces: Iterable[str]) -> None:
    last = "\n"
    for piece in pieces:
        emit(piece, newline=False)
        last = piece[-1:] or last
    if last != "\n":
        emit("")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
