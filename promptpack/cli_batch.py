"""The commands `batch` and `batch-verify`: many rows to payloads, and the answers of a finished batch checked."""

from __future__ import annotations

import signal
import sys
from contextlib import ExitStack, redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptpack.batch.chunks import LARGEST_ROW
from promptpack.cli_common import as_files, as_names, builder_options, let_go, packing_of, reported, unwritten
from promptpack.cli_flags import flagged
from promptpack.errors import OptionError, PromptpackError, quote

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptpack.batch.rows import Columns
    from promptpack.batch.tally import Summary
    from promptpack.builder import PromptBuilder

FORMATS = (
    "payload", "parquet", "openai-batch", "anthropic-batch", "vllm-batch", "gemini-batch", "chat-finetune",
)
# Where the library's name of an option is not that of the command's parameter.
_FLAGS = {
    "format": "--format", "column": "--column", "beside": "--labels", "largest_row": "--max-row-bytes",
    "size": "--shard-size", "curve": "--place",
}
_WORDS = {"on_error is skip": "--on-error is skip"}


@click.command()
@click.argument("source", metavar="IN", shell_complete=as_files)
@click.argument("target", metavar="OUT", shell_complete=as_files)
@click.option("-f", "--format", "form", type=click.Choice(FORMATS), help="What a line is.  [payload, or parquet]")
@click.option("-m", "--model", help="A model name: sets window, counter and template set, and goes into requests.",
              shell_complete=as_names("model"))
@click.option("--models", help="A TOML file with models of your own, tried before those of the package.",
              shell_complete=as_files)
@click.option("--endpoint", type=click.Choice(["chat", "responses"]), default="chat", help="Of openai-batch.")
@click.option("-w", "--window", type=int, help="The model's context window in tokens.  [8192, or the model's]")
@click.option("--answer", type=int, help="Tokens kept free for the answer.  [min(1024, window / 4)]")
@click.option("--margin", type=int, help="Tokens kept free for safety.  [0, or what the model's estimate calls for]")
@click.option("-s", "--system", help="Who the model is, where a row does not say; the set's rules follow it.")
@builder_options
@click.option("--column", "columns", multiple=True, metavar="PART=NAME",
              help="The column of a part: id, question, sources, history, system, answer.")
@click.option("-j", "--workers", type=int, help="Processes; 0 works in this one.  [as many as processors]")
@click.option("--on-error", type=click.Choice(["dead-letter", "raise", "skip"]), default="dead-letter",
              show_default=True, help="What becomes of a bad row.")
@click.option("--dead", metavar="FILE", help="Where bad rows go, with the reason.  [OUT.dead.jsonl]",
              shell_complete=as_files)
@click.option("--labels", metavar="FILE", help="Where the label maps go.  [OUT.labels.jsonl]", shell_complete=as_files)
@click.option("--split", is_flag=True, help="Write parts, OUT-00001 and so on, within the provider's limits.")
@click.option("--engine", type=click.Choice(["local", "ray"]), default="local", show_default=True,
              help="Where the work is done; ray needs the extra ray.")
@click.option("--ray-address", metavar="ADDRESS", help="Of a Ray cluster.  [one of its own, on this computer]")
@click.option("--shard-size", type=int, metavar="BYTES", help="Of a task of Ray, or of a file of a folder.  [16 MB up]")
@click.option("--resume", is_flag=True, help="Go on with a run that was ended.")
@click.option("--restart", is_flag=True, help="Begin anew although a run was not finished.")
@click.option("--max-row-bytes", type=int, default=LARGEST_ROW, show_default=True, help="A longer row is a bad one.")
@click.option("--price", type=float, help="The price of a million tokens of input, for the summary.")
@click.option("-q", "--quiet", is_flag=True, help="No progress and no summary.")
@reported
@flagged(_FLAGS, _WORDS)
def batch(
    source: str, target: str, form: str | None, model: str | None, models: str | None, endpoint: str,
    columns: tuple[str, ...], workers: int | None, on_error: str, dead: str | None, labels: str | None, split: bool,
    resume: bool, restart: bool, max_row_bytes: int, price: float | None, quiet: bool, engine: str,
    ray_address: str | None, shard_size: int | None, **prompt: Any,
) -> None:
    """Render each row of IN into OUT: JSON Lines (also .gz, .zst), Parquet, or - for a stream.

    IN may be a folder of such files, and OUT a folder, with a file for each shard. With --engine ray, or a folder, the
    same command goes on with a run that was ended.

    A row is an object with id, question and sources, and history, system and answer where there are such. Exit code 0:
    every row has a payload; 3: some have not (OUT.dead.jsonl); 1: stopped, and --resume goes on; 2: bad usage.
    """
    from promptpack.batch.codecs import codec_of
    from promptpack.batch.finished import failed_before, finished_before, said_of
    from promptpack.batch.job import Job
    from promptpack.batch.options import Options, RowError, StoppedError
    from promptpack.batch.rows import Columns
    from promptpack.batch.run import run_batch
    from promptpack.batch.tally import checked_price
    from promptpack.batch.told import ended, letters

    price = checked_price(price)
    parts = _parts(columns)
    builder = _builder(model, models, **prompt)
    chosen = form or ("parquet" if target != "-" and codec_of(target) == "arrow" else "payload")
    job = Job(builder, chosen, model=model, columns=Columns.of(parts), endpoint=endpoint)
    options = Options(
        workers=workers, on_error=on_error, dead=dead, beside=labels, split=split, resume=resume, restart=restart,
        largest_row=max_row_bytes,
    )
    divided = _divided(source, target, engine, ray_address, shard_size, workers)
    if (there := finished_before(target, options)) is not None:
        failed = failed_before(target)  # who skipped rows has no file that tells of them
        click.echo(said_of(there, failed), err=True)
        if dead_there := letters(target, options):
            click.echo(f"bad rows, with the reason of each: {dead_there}", err=True)
        sys.exit(3 if failed or dead_there else 0)
    _told_unseen(source, job.columns)
    again = "" if target == "-" else "; the same command goes on" if divided else "; --resume goes on"
    signal.signal(signal.SIGTERM, lambda *_: _interrupt())
    try:
        with ExitStack() as stack:
            watch = None
            if engine == "ray":  # it tells of dead processes on standard output
                stack.enter_context(redirect_stdout(sys.stderr))
            if not quiet and sys.stderr.isatty():
                from promptpack.batch.progress import Bar

                watch = stack.enter_context(Bar()).update
            summary = (divided or run_batch)(source, target, job, options, watch=watch)
    except KeyboardInterrupt:
        click.echo(f"stopped{again}", err=True)
        sys.exit(1)
    except (RowError, StoppedError) as error:
        past = ", and past such a row with --on-error dead-letter" if again and isinstance(error, RowError) else ""
        if isinstance(error.__cause__, BrokenPipeError):
            let_go()
        with suppress(BrokenPipeError):  # where both went to that reader
            click.echo(f"Error: {error}{again}{past}", err=True)
        sys.exit(1)
    if not quiet:
        for told in (*summary.lines(price), *ended(target, job.kind, summary, options)):
            click.echo(told, err=True)
    sys.exit(3 if summary.failures else 0)


def _told_unseen(source: str, columns: Columns) -> None:
    """Say which columns that were named the first rows do not have; OptionError where none at all has one."""
    from promptpack.batch.division import inputs
    from promptpack.batch.naming import unseen

    missing = [] if source == "-" else unseen(inputs(source), columns)
    if missing:
        told = ", ".join(quote(one) for one in missing)
        click.echo(f"{source}: columns that are named (--column) and that none of the first rows has: {told}", err=True)


def _divided(
    source: str, target: str, engine: str, address: str | None, size: int | None, workers: int | None
) -> Callable[..., Summary] | None:
    """Return what runs a job shard by shard, where it is one: on Ray, or where a folder is named."""
    from functools import partial

    if address is not None and engine != "ray":
        raise OptionError("--ray-address: is of --engine ray", name="ray_address", given=address)
    if engine == "ray" and workers == 0:
        raise OptionError("--workers: Ray needs at least one", name="workers", given=0)
    if engine == "local" and not (target.endswith("/") or Path(source).is_dir() or Path(target).is_dir()):
        if size is not None:
            raise OptionError("--shard-size: is of --engine ray, and of folders", name="shard_size", given=size)
        return None
    from promptpack.batch.divided import run_divided

    if engine == "local":
        return partial(run_divided, size=size)
    from promptpack.batch.on_ray import ray_engine

    return partial(run_divided, size=size, engine=ray_engine(address))


def _interrupt() -> None:
    raise KeyboardInterrupt


def _parts(columns: tuple[str, ...]) -> dict[str, str]:
    """Return the columns by part; OptionError for a part that is named twice."""
    found: dict[str, str] = {}
    for part, name in map(_pair, columns):
        if part in found:
            raise OptionError(f"--column: {part} is named twice, {found[part]} and {name}", name="column", given=name)
        found[part] = name
    return found


def _pair(text: str) -> tuple[str, str]:
    part, sign, name = text.partition("=")
    if not sign or not part or not name:
        raise OptionError(f"--column: expected PART=NAME, got {text!r}", name="column", given=text)
    return part, name


def _builder(model: str | None, models: str | None, **prompt: Any) -> PromptBuilder:
    """Return the builder that all rows share."""
    from promptpack.builder import PromptBuilder
    from promptpack.profiles import planned, profile
    from promptpack.window import Window

    if prompt["escape"] == "spotlight":
        raise OptionError(
            "--escape: spotlight draws a secret for each run, so that no run could be gone on with; call run_batch "
            "with a builder that has Spotlight(seed=...)", name="escape", given="spotlight",
        )
    found = profile(model, models)
    size = prompt["window"] if prompt["window"] is not None else found.window or 8192
    margin = prompt["margin"]
    if margin is None:
        margin = 0 if prompt["counter"] else planned(size, found.margin).margin
    named: dict[str, Any] = {name: prompt[name] for name in ("counter", "escape") if prompt[name]}
    if prompt["fields"]:
        names = tuple(name.strip() for name in prompt["fields"].split(","))
        named["fields"] = "auto" if names == ("auto",) else names
    builder = PromptBuilder(
        Window(size, answer=prompt["answer"], margin=margin), model=found if model else None,
        template=prompt["template"], **named,
    )
    builder = builder.with_packing(**packing_of(prompt))
    return builder.with_system(prompt["system"]) if prompt["system"] else builder


@click.command("batch-verify")
@click.argument("results", nargs=-1, required=True, shell_complete=as_files)
@click.option("-p", "--payloads", required=True, shell_complete=as_files,
              help="The label maps of the batch, or its lines of format payload, or the folder that it wrote.")
@click.option("-o", "--output", help="Write to this file instead of standard output.", shell_complete=as_files)
@click.option("--min-support", type=float, help="Fail where a cited text shares less of its words: 0 to 1.")
@click.option("-q", "--quiet", is_flag=True, help="No summary.")
@reported
@flagged(_FLAGS, _WORDS)
def batch_verify(
    results: tuple[str, ...], payloads: str, output: str | None, min_support: float | None, quiet: bool
) -> None:
    """Check the answers in RESULTS, the files of a finished batch (- is standard input), against their payloads.

    Writes a line for each result: its custom_id, the row's id, and the verification. Exit code 0: every payload has an
    answer that passes; 3: some have not; 1: stopped; 2: bad usage or input.
    """
    from promptpack.batch.formats import line
    from promptpack.batch.maps import map_files
    from promptpack.batch.verify import Verified, verify_results

    totals = Verified()
    fresh = _fresh(output, *results, *map_files(payloads))
    found = verify_results(results, payloads, min_support=min_support, totals=totals, stdin=sys.stdin.buffer)
    try:
        with ExitStack() as stack:
            stream = sys.stdout.buffer if fresh is None else stack.enter_context(fresh.open("wb"))
            for one in found:
                stream.write(line(one))
            stream.flush()
        if fresh is not None:
            fresh.replace(str(output))
    except KeyboardInterrupt:
        click.echo("stopped", err=True)
        sys.exit(1)
    except OSError as error:
        if isinstance(error, BrokenPipeError | PromptpackError):
            raise
        raise unwritten(error, output) from error
    finally:
        if fresh is not None:  # where it did not become the output
            with suppress(OSError):
                fresh.unlink()
    if not quiet:
        for told in totals.lines():
            click.echo(told, err=True)
    sys.exit(0 if totals.fine else 3)


def _fresh(output: str | None, *inputs: str) -> Path | None:
    """Return where the output is written until it is whole; None for standard output.

    OptionError for one that is an input: an answer that was paid for would be written over.
    """
    from promptpack.batch.codecs import codec_of
    from promptpack.batch.outputs import check_plain

    if not output or output == "-":
        return None
    check_plain(Path(output))
    for one in inputs:
        if one != "-" and Path(one).resolve() == Path(output).resolve():
            raise OptionError(f"output: {output} is read, too; name another file", name="output", given=output)
    if codec_of(output) != "plain":
        raise OptionError(
            f"output: {output} has the ending of another form, and plain lines are written; name a .jsonl file",
            name="output", given=output,
        )
    return Path(f"{output}.part")
