"""The `reorder` command: retrieved chunks in, the same chunks in a new order out; flags as in rag-chunk-reorder."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any, cast

import click
from click.shell_completion import CompletionItem

from promptpack.cli_common import as_files, as_names, emit, naming, reported
from promptpack.errors import OptionError, SourceError
from promptpack.files import read_json, read_json_lines, read_numbered_lines, read_placed_items, read_text
from promptpack.version import __version__

Command = Callable[..., None]
# Options of the reorderer by flag: name, type (None: on or off), help.
FLAGS: tuple[tuple[str, Any, str], ...] = (
    ("strategy", str, "scoreSpread, preserveOrder, chronological or auto."),
    ("startCount", int, "Chunks at the start (scoreSpread)."), ("endCount", int, "Chunks at the end (scoreSpread)."),
    ("chronologicalOrder", str, "asc or desc."), ("preserveOrderSourceField", str, "What names a document."),
    ("groupBy", str, "Keep chunks together that have the same value in this metadata field."),
    ("minScore", float, "Drop chunks that score less."), ("topK", int, "At most this many chunks."),
    ("minTopK", int, "At least this many, even past the budget."),
    ("maxTokens", int, "Tokens for all chunks."), ("maxChars", int, "Characters for all chunks."),
    ("tokenCounter", str, "How tokens are counted: a counter or a model.  [o200k_base]"),
    ("packing", str, "auto, prefix or edgeAware: what the limits take."),
    ("deduplicate", None, "Drop repeated texts."),
    ("deduplicateThreshold", float, "How alike texts are repeats, 0 to 1.  [1: equal]"),
    ("deduplicateKeep", str, "highestScore, first or last."),
    ("scoreNormalization", str, "none, minMax, zScore or softmax."),
    ("scoreNormalizationTemperature", float, "Temperature of softmax."),
    ("validationMode", str, "strict, or coerce to repair what can be."),
    ("includePriorityScore", None, "Add each chunk's priority to its metadata."),
    ("includeExplain", None, "Add to its metadata why each chunk stands where it does."),
)


class Strict(click.Command):
    """A command whose usage errors are one line, and whose help wins when it comes first."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; a usage error ends with code 2."""
        first = args[:1] if args[:1] in (["-h"], ["--help"], ["-V"], ["--version"]) else args
        try:
            return super().parse_args(ctx, first)
        except click.UsageError as error:
            click.echo(f"Error: {error.format_message()}", err=True)
            ctx.exit(2)


def _spellings(name: str) -> tuple[str, ...]:
    from promptpack.reorder.options import snake

    return tuple(dict.fromkeys((f"--{name}", "--" + snake(name).replace("_", "-"))))


def _values(name: str) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """Complete the value of a flag by those that its option takes; a comparator cannot be given in a shell."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from promptpack.reorder.options import CHECKS, snake

        known = getattr(CHECKS.get(snake(name)), "known", ())
        return [CompletionItem(one) for one in known if one.startswith(incomplete) and one != "custom"]

    return as_names("counter", "model") if name == "tokenCounter" else complete


def _reorder_flags(command: Command) -> Command:
    for name, kind, text in reversed(FLAGS):
        named: dict[str, Any] = {"is_flag": True, "default": None} if kind is None else {"type": kind}
        if kind is str:
            named["shell_complete"] = _values(name)
        command = click.option(*_spellings(name), name, help=text, **named)(command)
    return command


@click.command(cls=Strict, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("-i", "--input", "source", default="-", help="A file of chunks: JSON or JSON Lines.  [standard input]",
              shell_complete=as_files)
@click.option("-o", "--output", help="Write to this file instead of standard output.",
              shell_complete=as_files)
@click.option("-q", "--query", help="The question, for strategy auto.")
@click.option("--config", help="A file with options as JSON, or the JSON itself; flags win.",
              shell_complete=as_files)
@click.option("--jsonl", is_flag=True, help="Read and write a chunk a line.")
@click.option("--dry-run", is_flag=True, help="Print what would be done, as numbers, instead of the chunks.")
@click.option("--diagnosticsOut", "--diagnostics-out", "told", help="Write what was done, as JSON, to this file.",
              shell_complete=as_files)
@click.option("--bench", is_flag=True, help="Rate --predictions against --answers instead.")
@click.option("--answers", help="For --bench: JSON Lines with references and perhaps contexts.",
              shell_complete=as_files)
@click.option("--predictions", help="For --bench: JSON Lines with prediction.",
              shell_complete=as_files)
@_reorder_flags
@click.version_option(__version__, "-V", "--version", message="%(version)s")
@reported
def reorder(
    source: str, output: str | None, query: str | None, config: str | None, jsonl: bool, dry_run: bool,
    told: str | None, bench: bool, answers: str | None, predictions: str | None, **flags: Any,
) -> None:
    """Reorder retrieved chunks, so that the best stand where models look."""
    if bench:
        emit(_json(_rated(answers, predictions)), output, newline=False)
        return
    from promptpack.reorder import Reorderer

    reorderer, placed = Reorderer(*_config(config), **_options(flags)), _chunks(source, jsonl)
    with naming([place for place, _ in placed]):
        result = reorderer.reorder_with_diagnostics([chunk for _, chunk in placed], query)
    diagnostics = _json(result.diagnostics.to_dict())
    if told:
        emit(diagnostics, told)
    if dry_run:
        if not told:
            emit(diagnostics)
        return
    if jsonl:
        emit("".join(_json(chunk, None) + "\n" for chunk in result.chunks), output, newline=False)
    else:
        emit(_json(result.chunks), output, newline=False)


def _options(flags: Mapping[str, Any]) -> dict[str, Any]:
    given = {name: value for name, value in flags.items() if value is not None}
    if "maxTokens" in given:
        given.setdefault("tokenCounter", "o200k_base")
    return given


def _config(config: str | None) -> list[Mapping[str, Any]]:
    if config is None:
        return []
    inline = config.lstrip().startswith("{")
    found = read_json(config if inline else read_text(config), "--config" if inline else config)
    if not isinstance(found, dict):
        raise OptionError("--config: expected an object of options", name="config", given=found)
    return [found]


def _chunks(path: str, jsonl: bool) -> list[tuple[str, Any]]:
    """Return the chunks, each with its place in the file."""
    if path == "-" and sys.stdin is not None and sys.stdin.isatty():
        click.echo("Reading chunks from standard input ...", err=True)
    if not jsonl:
        return read_placed_items(path)
    return [(f"{path}: line {number}", chunk) for number, chunk in read_numbered_lines(path)]


def _rated(answers: str | None, predictions: str | None) -> dict[str, Any]:
    if answers is None or predictions is None:
        missing = "--answers" if answers is None else "--predictions"
        raise OptionError(f"--bench: {missing} is missing", name=missing.strip("-"))
    wanted, said = read_json_lines(answers), read_json_lines(predictions)
    if len(wanted) != len(said):
        raise SourceError(f"--bench: {len(wanted)} answers, but {len(said)} predictions", field="predictions")
    from dataclasses import asdict

    from promptpack.evaluation.answers import evaluate_answer_set
    from promptpack.reorder.options import camel

    cases = []
    for number, (one, other) in enumerate(zip(wanted, said, strict=True), 1):
        if not isinstance(one, dict) or not isinstance(other, dict):
            raise SourceError(f"--bench: line {number}: expected objects", field="answers", index=number)
        cases.append({**one, **other})

    def named(value: Any) -> Any:
        if isinstance(value, dict):
            return {camel(key): named(one) for key, one in value.items() if one is not None}
        return [named(one) for one in value] if isinstance(value, list | tuple) else value

    return cast(dict[str, Any], named(asdict(evaluate_answer_set(cases))))


def _json(value: Any, indent: int | None = 2) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False)
    except ValueError as error:
        raise SourceError(f"output: a number that JSON cannot hold ({error})", field="output") from error
