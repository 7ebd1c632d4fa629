"""What the commands share: errors as one line and an exit code, output as UTF-8, and what options stand for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from promptpack.errors import BudgetError, PromptpackError, SourceError

_PACKING = ("select", "place", "dedup", "top_k", "min_score")
_CURVE = "curve:"


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
}


def as_names(what: str) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """Complete the value of a parameter by the names that there are for it; loaded only when a shell asks."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        module, name = _NAMES[what]
        known = getattr(import_module(module), name)
        return [CompletionItem(one) for one in (known() if callable(known) else known) if one.startswith(incomplete)]

    return complete


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


def packing_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of the packing among a command's options, without those that were not given.

    `curve:FILE` as the placement is one by the curve in that file.
    """
    found = {name: options[name] for name in _PACKING if options.get(name) is not None}
    if str(found.get("place", "")).startswith(_CURVE):
        from promptpack.curves import PositionCurve
        from promptpack.packing.curve import Curve

        found["place"] = Curve(PositionCurve.load(found["place"].removeprefix(_CURVE)))
    return found


def emit(text: str, output: str | None = None, *, newline: bool = True) -> None:
    """Write UTF-8 to standard output or a file, whatever the locale says."""
    data = text.encode("utf-8", "replace")
    if output and output != "-":
        try:
            Path(output).write_bytes(data)
        except OSError as error:
            raise SourceError(f"{output}: cannot be written: {error.strerror}", field="output") from error
        return
    stream = sys.stdout.buffer
    stream.write(data + b"\n" if newline else data)
    stream.flush()
