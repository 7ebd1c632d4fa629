"""The command line: data goes to standard output, talk to standard error.

Exit codes: 0 fine, 1 a check failed (what must be sent does not fit, a citation is unknown), 2 bad usage or input.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from promptpack.cli_batch import batch, batch_verify
from promptpack.cli_bench import bench
from promptpack.cli_calibrate import calibrate
from promptpack.cli_common import (
    Group,
    as_files,
    as_names,
    builder_options,
    emit,
    naming,
    packing_of,
    reported,
    sources_of,
)
from promptpack.cli_eval import evaluate
from promptpack.cli_explain import explain as explain_command
from promptpack.cli_models import models as models_command
from promptpack.cli_reorder import reorder
from promptpack.cli_templates import templates
from promptpack.cli_verify import verify
from promptpack.errors import OptionError
from promptpack.files import read_placed_items, read_text
from promptpack.version import __version__

FORMATS = ("text", "messages", "openai", "payload")
KEEP = {"tail": "start", "head": "end", "middle": "ends"}


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="promptpack")
def main() -> None:
    """Turn retrieved sources into the exact payload for a language model, and check its answer."""


@main.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...", shell_complete=as_files)
@click.option("-q", "--question", help="The question; left out where there is none.")
@click.option("-w", "--window", type=int, help="The model's context window in tokens.  [8192, or the model's]")
@click.option("--answer", type=int, help="Tokens kept free for the answer.  [min(1024, window / 4)]")
@click.option("--margin", type=int, help="Tokens kept free for safety.  [0, or what the model's estimate calls for]")
@click.option("-s", "--system", help="Who the model is; the rules of the template set follow it.")
@click.option("--history", "history_file", help="A file of OpenAI-shaped messages.", shell_complete=as_files)
@click.option("-m", "--model", help="A model name: sets window, counter and template set.",
              shell_complete=as_names("model"))
@click.option("--models", help="A TOML file with models of your own, tried before those of the package.",
              shell_complete=as_files)
@builder_options
@click.option("-f", "--format", "form", type=click.Choice(FORMATS), default="text", show_default=True)
@click.option("-o", "--output", help="Write to this file instead of standard output.", shell_complete=as_files)
@click.option("--explain", is_flag=True, help="Print the account and what was left out on standard error.")
@click.option("--require-sources", is_flag=True, help="Fail where no source is left to send.")
@reported
def render(
    files: tuple[str, ...], question: str | None, window: int | None, answer: int | None, margin: int | None,
    system: str | None, history_file: str | None, model: str | None, models: str | None, template: str | None,
    form: str, output: str | None, explain: bool, require_sources: bool, **packing: Any,
) -> None:
    """Render a payload from FILEs of sources (JSON, JSON Lines; - is standard input)."""
    from promptpack.builder import PromptBuilder
    from promptpack.profiles import planned, profile
    from promptpack.window import Window

    found = profile(model, models)
    size = window if window is not None else found.window or 8192
    if margin is None:
        margin = 0 if packing.get("counter") else planned(size, found.margin).margin
    named: dict[str, Any] = {name: packing.pop(name) for name in ("counter", "escape") if packing.get(name)}
    if packing.get("fields"):
        names = tuple(name.strip() for name in packing["fields"].split(","))
        named["fields"] = "auto" if names == ("auto",) else names
    plan = Window(size, answer=answer, margin=margin)
    builder = PromptBuilder(plan, model=found if model else None, template=_folder(template), **named)
    builder = builder.with_packing(**packing_of(packing))
    builder = builder.with_system(system).with_question(question)
    if history_file:
        placed = read_placed_items(history_file)
        with naming([place for place, _ in placed]):
            builder = builder.add_history([item for _, item in placed])
    for path in files:
        builder = builder.add_sources(sources_of(path))
    payload = builder.render(require_sources=require_sources)
    if payload.dropped and not payload.sources:
        click.echo(f"no source is sent: {payload.dropped[0].detail}", err=True)
    shown: dict[str, Callable[[], str]] = {
        "text": payload.to_text,
        "messages": lambda: _json([{"role": one.role, "content": one.content} for one in payload.messages]),
        "openai": lambda: _json(payload.to_openai()),
        "payload": lambda: _json(payload.to_dict()),
    }
    emit(shown[form](), output)
    if explain:
        from promptpack.view.tables import print_payload

        print_payload(payload)


@main.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...", shell_complete=as_files)
@click.option("-b", "--budget", type=int, required=True,
              help="The most tokens that the files may take; the blank lines between them come on top (--stats).")
@click.option("--reserve", type=int, default=0, show_default=True, help="Tokens of the budget to leave free.")
@click.option("--min-tokens", type=int, default=40, show_default=True, help="Drop a file rather than keep less of it.")
@click.option(
    "--strategy", type=click.Choice(list(KEEP)), default="tail", show_default=True,
    help="What to cut off: the tail, the head, or the middle.",
)
@click.option("--no-truncate", is_flag=True, help="Keep files whole, or drop them.")
@click.option("-c", "--counter", default="o200k_base", show_default=True, help="How tokens are counted.",
              shell_complete=as_names("counter"))
@click.option("-o", "--output", help="Write to this file instead of standard output.", shell_complete=as_files)
@click.option("--stats", is_flag=True, help="Print what was kept, cut and dropped on standard error.")
@reported
def pack(
    files: tuple[str, ...], budget: int, reserve: int, min_tokens: int, strategy: str, no_truncate: bool,
    counter: str, output: str | None, stats: bool,
) -> None:
    """Pack text FILEs, the most important first, into a token budget."""
    from promptpack.filepack import pack_files

    if reserve < 0:
        raise OptionError(f"--reserve: expected 0 or more, got {reserve}", name="reserve", given=reserve)
    texts = {path: read_text(path, lenient=True) for path in dict.fromkeys(files)}
    for path, text in texts.items():
        if "\ufffd" in text:
            click.echo(f"{path}: holds U+FFFD, which stands for bytes that are not UTF-8", err=True)
    if budget < reserve:
        click.echo(f"a budget of {budget} with a reserve of {reserve} leaves no room", err=True)
    cut = None if no_truncate else (KEEP[strategy], min_tokens)
    text, lines = pack_files(texts, max(0, budget - reserve), counter, cut)
    if not text.strip() and any(map(str.strip, texts.values())):
        click.echo(f"nothing of {len(texts)} files fits a budget of {budget}", err=True)
    emit(text, output)
    if stats:
        click.echo("\n" + "\n".join(lines), err=True)


@main.command()
@click.argument("files", nargs=-1, metavar="[FILE]...", shell_complete=as_files)
@click.option("-c", "--counter", help="How tokens are counted.  [o200k_base]", shell_complete=as_names("counter"))
@click.option("-m", "--model", help="Count as this model does.",
              shell_complete=as_names("model"))
@click.option("--models", help="A TOML file with models of your own, tried before those of the package.",
              shell_complete=as_files)
@reported
def count(files: tuple[str, ...], counter: str | None, model: str | None, models: str | None) -> None:
    """Count the tokens of FILEs (- or none: standard input), one line each, and their sum."""
    from promptpack.profiles import profile
    from promptpack.tokens import counter as counter_named

    found = profile(model, models)
    counting = counter_named(counter or found.counter)
    if not counting.exact:
        click.echo(f"{counting.name} estimates", err=True)
    rows = [(counting(read_text(path)), path) for path in files or ("-",)]
    if len(rows) > 1:
        rows.append((sum(tokens for tokens, _ in rows), "total"))
    emit("\n".join(f"{tokens}\t{path}" if len(rows) > 1 else str(tokens) for tokens, path in rows))


def _folder(template: str | None) -> str | Path | None:
    """Return a template as it is given, or its path where it is a folder."""
    return Path(template) if template and Path(template).is_dir() else template


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


main.add_command(batch)
main.add_command(batch_verify)
main.add_command(bench)
main.add_command(calibrate)
main.add_command(explain_command)
main.add_command(models_command)
main.add_command(templates)
main.add_command(reorder)
main.add_command(evaluate)
main.add_command(verify)
