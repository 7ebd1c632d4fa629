"""The `templates` commands: which sets there are, what they say, and whether a set of your own keeps the promises."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from promptpack.cli_common import as_names, emit, reported
from promptpack.errors import OptionError, PromptpackError, TemplateLookupError, TemplateRenderError, quote
from promptpack.settings import FILE
from promptpack.templates import FALLBACK, FILES, TemplateSet, root, template_names


@click.group(invoke_without_command=True)
@click.pass_context
def templates(context: click.Context) -> None:
    """List and show the template sets, and check one of your own."""
    if context.invoked_subcommand is None:
        context.invoke(listed)


@templates.command("list")
@reported
def listed() -> None:
    """Print the shipped sets, and the files in which each differs from the default set."""
    width = max(map(len, template_names()))
    lines = []
    for name in template_names():
        own = [file for file in (*FILES, FILE) if (root() / name / file).is_file()]
        lines.append(f"{name:<{width}}  {' '.join(own)}")
    emit("\n".join(lines))


@templates.command()
@click.argument("name", metavar="SET", shell_complete=as_names("template"))
@reported
def show(name: str) -> None:
    """Print the files of a SET: a shipped name, or a folder."""
    found, folder = _found(name)
    parts = []
    for file, text in found.files():
        origin = "" if (folder / file).is_file() else f" (from {FALLBACK})"
        parts.append(f"== {file}{origin}\n{text.rstrip()}")
    if (folder / FILE).is_file():
        parts.append(f"== {FILE}\n{(folder / FILE).read_text(encoding='utf-8-sig').rstrip()}")
    emit("\n\n".join(parts))


@templates.command()
@click.argument("names", nargs=-1, required=True, metavar="SET...", shell_complete=as_names("template"))
@reported
def lint(names: tuple[str, ...]) -> None:
    """Check each SET, a folder or a shipped name: one line for each finding, and exit code 1 where there is one."""
    from promptpack.lint import lint as findings_of

    lines: list[str] = []
    for name in names:
        try:
            found, folder = _found(name)
        except TemplateLookupError:
            raise
        except (OptionError, TemplateRenderError) as error:  # the set is there, and its files say what cannot be
            lines.append(_unreadable(name, error))
            continue
        lines += [f"{folder / one.file}:{one.line}: {one.code}: {one.message}" for one in findings_of(found)]
    if lines:
        emit("\n".join(lines))
        sys.exit(1)


def _found(name: str) -> tuple[TemplateSet, Path]:
    """Return a set with its folder; a folder of that name goes before a shipped set."""
    if Path(name).is_dir() or "/" in name or "\\" in name:
        return TemplateSet.from_folder(Path(name)), Path(name)
    return TemplateSet.named(name), root() / name


def _unreadable(name: str, error: PromptpackError) -> str:
    file = error.template if isinstance(error, TemplateRenderError) and error.template else FILE
    code = "syntax" if isinstance(error, TemplateRenderError) else "settings"
    why = str(error).removeprefix(f"{quote(str(Path(name) / FILE), 200)}: ")
    return f"{Path(name) / file}:1: {code}: {why}"
