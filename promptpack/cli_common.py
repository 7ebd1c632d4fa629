"""What the commands share: errors as one line and an exit code, output as UTF-8."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from promptpack.errors import BudgetError, PromptpackError, SourceError


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
