"""The library's options in the words of the command line: who typed a flag reads that flag in the error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import click

from promptpack.errors import OptionError

_IN_CODE = "A folder of your own is given as a pathlib.Path or TemplateSet.from_folder(path)."
_TYPED = "A folder of your own is given by its path, with a / in it."


@contextmanager
def flagged(names: Mapping[str, str], words: Mapping[str, str] | None = None) -> Iterator[None]:
    """Let an error that begins with names of the library's options begin with the flags of the running command.

    names: the flag of each option whose name is not that of the command's parameter. words: what else an error says of
    the library, and what it says here.
    """
    try:
        yield
    except OptionError as error:
        options = [one for one in click.get_current_context().command.params if isinstance(one, click.Option)]
        flags = {**names, **{str(one.name): max(one.opts, key=len) for one in options}}
        head, colon, told = str(error).partition(": ")
        found = head.split(", ")
        # "none of them" is said of the rows, not of their number
        if colon and all(name in flags for name in found) and not told.startswith("none of them"):
            for here, there in {_IN_CODE: _TYPED, **(words or {})}.items():
                told = told.replace(here, there)
            error.args = (f"{', '.join(flags[name] for name in found)}: {told}",)
        raise
