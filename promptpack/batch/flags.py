"""The library's options in the words of the command line: who typed a flag reads that flag in the error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from promptpack.errors import OptionError

# Where the library's name of an option is not that of the command's parameter.
_FLAGS = {
    "format": "--format", "column": "--column", "beside": "--labels", "largest_row": "--max-row-bytes",
    "size": "--shard-size", "curve": "--place",
}
_IN_CODE = "A folder of your own is given as a pathlib.Path or TemplateSet.from_folder(path)."


@contextmanager
def flagged() -> Iterator[None]:
    """Let an error that begins with names of the library's options begin with the flags of the running command."""
    try:
        yield
    except OptionError as error:
        options = [one for one in click.get_current_context().command.params if isinstance(one, click.Option)]
        flags = _FLAGS | {str(one.name): max(one.opts, key=len) for one in options}
        head, colon, told = str(error).partition(": ")
        names = head.split(", ")
        if colon and all(name in flags for name in names):
            told = told.replace("on_error is skip", "--on-error is skip")
            told = told.replace(_IN_CODE, "A folder of your own is given by its path, with a / in it.")
            error.args = (f"{', '.join(flags[name] for name in names)}: {told}",)
        raise
