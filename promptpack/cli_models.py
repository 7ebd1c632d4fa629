"""The command `promptpack models`: what is known of a model, or of all."""

from __future__ import annotations

import click

from promptpack.cli_common import as_files, as_names, emit, reported
from promptpack.errors import OptionError

_UNKNOWN = " No window is known of it"
_TO_DO = (
    ": give a file with a row of your own for it (--models FILE), or, where you use it, --window TOKENS. "
    "`promptpack models` lists the patterns of names that are known."
)


@click.command()
@click.argument("name", required=False, shell_complete=as_names("model"))
@click.option("--models", "file", help="A TOML file with models of your own, tried before those of the package.",
              shell_complete=as_files)
@reported
def models(name: str | None, file: str | None) -> None:
    """List the patterns of model names with window, counter and template set; or say what is known of one model."""
    from promptpack.profiles import load_models, required_profile

    if name is None:
        emit("\n".join(
            f"{pattern}\t{row.window}\t{row.counter}\t{row.template or 'default'}"
            for row in load_models(file).rows for pattern in row.match
        ))
        return
    try:
        found = required_profile(name, file)
    except OptionError as error:  # what it says to do is for programs
        start, unknown, _ = str(error).partition(_UNKNOWN)
        if unknown:
            error.args = (f"{start}{_UNKNOWN}{_TO_DO}",)
        raise
    row = load_models(file).find(name)
    told = {
        "model": found.model, "patterns": ", ".join(row.match) if row else None, "window": found.window,
        "counter": found.counter, "exact counter": found.exact_counter,
        "template": found.template or "default", "tokens a message": found.message, "tokens of the reply": found.reply,
        "margin": f"{found.margin:.0%} of the window", "system role": "yes" if found.system_role else "no",
        "chat markers": ", ".join(found.markers) or None, "source": found.source, "checked": found.checked,
    }
    emit("\n".join(f"{what}\t{value}" for what, value in told.items() if value is not None))
