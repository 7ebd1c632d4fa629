"""What the commands share: errors as one line and an exit code, output as UTF-8, and what options stand for."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from promptpack.errors import BudgetError, PromptpackError, SourceError, quote
from promptpack.files import read_placed_items

if TYPE_CHECKING:
    from promptpack.source import Source

_PACKING = ("select", "place", "dedup", "top_k", "min_score")


def as_files(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the value of a parameter as the name of a file; without it a shell completes nothing there."""
    return [CompletionItem(incomplete, type="file")]


_NAMES = {
    "select": ("promptpack.packing.choose", "SELECTS"),
    "place": ("promptpack.packing.route", "PLACERS"),
    "dedup": ("promptpack.packing.pipeline", "DEDUPS"),
    "escape": ("promptpack.escape.rules", "LEVELS"),
    "policy": ("promptpack.evaluation.policies", "POLICIES"),
    "template": ("promptpack.templates", "template_names"),
    "counter": ("promptpack.tokens", "counter_names"),
    "model": ("promptpack.profiles", "model_names"),
}
_BESIDE = {"template": "dir", "counter": "file"}  # what may be given instead of a name


def as_names(*what: str) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """Complete the value of a parameter by the names that there are for it; loaded only when a shell asks.

    Where none of them begins so, and a folder or a file will do as well, it completes to those.
    """

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        found = []
        for module, name in map(_NAMES.__getitem__, what):
            known = getattr(import_module(module), name)
            found += [one for one in (known() if callable(known) else known) if one.startswith(incomplete)]
        beside = [_BESIDE[one] for one in what if one in _BESIDE]
        if not found and beside:
            return [CompletionItem(incomplete, type=beside[0])]
        return [CompletionItem(one) for one in found]

    return complete


def builder_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a builder that several commands share."""
    options = (
        click.option("-t", "--template", help="The name of a template set, or a folder.",
                     shell_complete=as_names("template")),
        click.option("-c", "--counter", help="How tokens are counted.  [o200k_base]",
                     shell_complete=as_names("counter")),
        click.option("--select", help="How sources are chosen: auto (default), top, spans, ...",
                     shell_complete=as_names("select")),
        click.option("--place", help="How sources are placed: fold, u_curve, best_first, ..., curve:FILE",
                     shell_complete=as_names("place")),
        click.option("--dedup", help="How repeated text is dropped: exact, off, ...", shell_complete=as_names("dedup")),
        click.option("--top-k", type=int, help="At most this many sources."),
        click.option("--min-score", type=float, help="Drop sources that score less."),
        click.option("--escape", help="How text is made inert: tags, html, off, ...",
                     shell_complete=as_names("escape")),
        click.option("--fields", help="The metadata to show, separated by commas; auto: what tells the sources apart."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def reported(command: Callable[..., None]) -> Callable[..., None]:
    """Turn the library's errors into a line on standard error and an exit code."""

    @wraps(command)
    def run(**options: Any) -> None:
        try:
            command(**options)
        except BudgetError as error:
            _stop(error, 1)
        except PromptpackError as error:
            _stop(error, 2)
        except BrokenPipeError:  # the reader went away, as `head` does
            sys.stderr.close()
            sys.exit(0)

    return run


def _stop(error: PromptpackError, code: int) -> None:
    click.echo(f"Error: {error}", err=True)
    sys.exit(code)


class Group(click.Group):
    """The commands; what click itself prints, as help, may not find room either."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run a command."""
        try:
            return super().main(*args, **extra)
        except OSError as error:
            if error.filename is not None:  # not about standard output
                raise
            _stop(unwritten(error), 2)


@contextmanager
def naming(places: Sequence[str]) -> Iterator[None]:
    """Say the place in a file of the item that a SourceError names by its index."""
    try:
        yield
    except SourceError as error:
        if error.index is not None and error.index < len(places):
            _place(error, places[error.index])
        raise


def _place(error: SourceError, place: str) -> None:
    told = re.sub(r"\A(?:sources|chunks)\[\d+\](?:: )?", "", str(error))
    error.args = (f"{place}{told}" if told.startswith(" (") else f"{place}: {told}",)


def sources_of(path: str) -> list[Source]:
    """Return the sources of a file; SourceError names the file and the line (or the place in its list) of a bad one.

    Each is looked at by itself, numbers and texts too: later on only its id would be known, which need not be unique.
    """
    from promptpack.finite import is_finite
    from promptpack.packing.intake import REPAIRS
    from promptpack.reading import read_source

    found: list[Source] = []
    for place, item in read_placed_items(path):
        try:
            source = read_source(item)
            for field in REPAIRS:
                value = getattr(source, field)
                if value is not None and not is_finite(value):
                    told = f"source {quote(source.id)}: {field}: expected a finite number, got {quote(value)}"
                    raise SourceError(told, id=source.id, field=field)
            if (source.required or source.pinned) and not source.text.strip():
                told = f"source {quote(source.id)}: text: a required source has no text"
                raise SourceError(told, id=source.id, field="text")
        except SourceError as error:
            error.index = len(found)
            _place(error, place)
            raise
        found.append(source)
    return found


def packing_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of the packing among a command's options, without those that were not given.

    `curve:FILE` as the placement is one by the curve in that file.
    """
    found = {name: options[name] for name in _PACKING if options.get(name) is not None}
    if "place" in found:
        from promptpack.packing.curve import placement

        found["place"] = placement(found["place"])
    return found


def emit(text: str, output: str | None = None, *, newline: bool = True) -> None:
    """Write UTF-8 to standard output or a file, whatever the locale says."""
    data = text.encode("utf-8", "replace")
    if output and output != "-":
        try:
            Path(output).write_bytes(data)
        except OSError as error:
            raise unwritten(error, output) from error
        return
    try:
        stream = sys.stdout.buffer
        stream.write(data + b"\n" if newline else data)
        stream.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise unwritten(error) from error


def unwritten(error: OSError, output: str | None = None) -> SourceError:
    """Build the error for an output that cannot be written; without a name it is standard output."""
    if output is None or output == "-":
        output = "standard output"
        let_go()
    return SourceError(f"{output}: cannot be written: {error.strerror or error}", field="output")


def let_go() -> None:
    """Let what standard output still holds go nowhere: the interpreter would try again, and change the exit code."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
