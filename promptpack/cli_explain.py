"""The command `explain`: what a stored payload sends and leaves out, as tables in the terminal or as a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from promptpack.cli_common import as_files, emit, reported
from promptpack.errors import OptionError
from promptpack.files import read_json, read_text

if TYPE_CHECKING:
    from promptpack.citations import Verification
    from promptpack.payload import Payload


@click.command()
@click.argument("payload_file", metavar="PAYLOAD", shell_complete=as_files)
@click.option("-a", "--answer", "answer_file", help="A file with the answer: it is checked, too.",
              shell_complete=as_files)
@click.option("--min-support", type=float, help="With --answer: what a cited text has to share of its words: 0 to 1.")
@click.option("--html", "page_file", metavar="PAGE", help="Write one self-contained HTML page to this file instead.",
              shell_complete=as_files)
@reported
def explain(payload_file: str, answer_file: str | None, min_support: float | None, page_file: str | None) -> None:
    """Show what a PAYLOAD sends, in prompt order, and what was left out and why.

    PAYLOAD is what `render --format payload` wrote (- is standard input). With --html the same, with all texts, as a
    page for a browser.
    """
    from promptpack.payload import Payload

    if payload_file == answer_file == "-":
        raise OptionError("explain: only one of PAYLOAD and --answer can be standard input", name="answer")
    if min_support is not None and answer_file is None:
        raise OptionError("--min-support: there is no --answer to check", name="min_support", given=min_support)
    payload = Payload.from_dict(read_json(read_text(payload_file), payload_file))
    answer = None if answer_file is None else read_text(answer_file)
    result = None if answer is None else payload.verify(answer, min_support=min_support)
    if page_file is not None:
        emit(payload.to_html(result), page_file, newline=False)
    else:
        emit(_tables(payload, result), newline=False)


def _tables(payload: Payload, result: Verification | None) -> str:
    """Return the tables, in colour where standard output is a terminal that has them."""
    from rich.console import Console

    from promptpack.view.tables import print_payload, print_verification

    console = Console()
    with console.capture() as shown:
        print_payload(payload, console, listed=None)
        if result is not None:
            print_verification(result, console)
    return shown.get()
