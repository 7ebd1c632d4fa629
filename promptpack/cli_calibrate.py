"""The `calibrate` command: a model's own position curve, or builders side by side, over an endpoint."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
from click.core import ParameterSource

from promptpack.cli_common import as_files, as_names, emit, reported
from promptpack.cli_flags import flagged
from promptpack.errors import OptionError, SourceError
from promptpack.files import can_be_written, read_numbered_lines

if TYPE_CHECKING:
    from promptpack.builder import PromptBuilder
    from promptpack.calibration.asking import Asking, Done
    from promptpack.calibration.compare import Comparison
    from promptpack.calibration.endpoint import Endpoint
    from promptpack.calibration.probes import Probe
    from promptpack.calibration.result import Calibration

OUT = "curve.json"
_OF_CURVES = ("passages", "positions", "template", "fit", "plot")  # a comparison has none of these
# Where the library's name of an option is not that of the command's parameter.
_FLAGS = {
    "limit": "--answer-tokens", "chat template": "--chat-template", "api_key": "--api-key-env", "builders": "--compare",
}
_ROW = re.compile(r"\Aquestions\[([0-9]+)\]|(?<= is that of )questions\[([0-9]+)\](?=, too\Z)")


@contextmanager
def _by_line(file: str, numbers: list[int]) -> Iterator[None]:
    """Let an error of a row name its line; the library knows rows by their positions."""
    try:
        yield
    except SourceError as error:
        told = str(error)
        if _ROW.match(told):
            told = _ROW.sub(lambda found: f"line {numbers[int(found[1] or found[2])]}", told)
            error.args = (f"{file}: {told}",)
        raise


@click.command()
@click.argument("questions_file", metavar="QUESTIONS", shell_complete=as_files)
@click.option("--base-url", required=True, help="Where the model is, as OpenAI's clients take it: .../v1")
@click.option("-m", "--model", required=True, help="The name of the model there.")
@click.option("--api-key-env", metavar="VAR", help="The environment variable that holds the key.")
@click.option("--passages", type=int, default=9, show_default=True, help="Passages in each prompt.")
@click.option("--positions", type=int, default=9, show_default=True, help="Places that are measured.")
@click.option("--questions", type=int, default=100, show_default=True, help="At most so many questions.")
@click.option("--measure", default="auto", show_default=True, help="loglik, exact, or auto: what can be had.")
@click.option(
    "--chat-template", default="plain", show_default=True,
    help="For loglik: the model's chat template (a file), chatml, or plain.",
)
@click.option("-w", "--window", type=int, help="The model's context window in tokens.  [the model's, or 8192]")
@click.option("-t", "--template", help="The template set of the prompts.  [the model's, or default]",
              shell_complete=as_names("template"))
@click.option("--answer-tokens", type=int, default=64, show_default=True, help="For exact: most tokens of an answer.")
@click.option(
    "--fit", type=click.Choice(["points", "quadratic"]), default="points", show_default=True,
    help="The curve: through all points, or the closest parabola.",
)
@click.option("-o", "--out", help=f"The file of the curve; with --compare, of the figures.  [{OUT}]",
              shell_complete=as_files)
@click.option("--plot", multiple=True, help="Draw the curve to this file: .svg or .html (repeat).",
              shell_complete=as_files)
@click.option("--figures", help="Keep the values of each question in this file (JSON), without any text.",
              shell_complete=as_files)
@click.option("--compare", shell_complete=as_files,
              help="Compare builders instead: a .toml file with a table for each, or a .py file with a variable for "
              "each, or with all in a dict named builders.")
@click.option("--journal", help="The file that keeps the answers.  [OUT.probes.jsonl]", shell_complete=as_files)
@click.option("--resume", is_flag=True, help="Go on: ask only for what the journal does not hold.")
@click.option("--restart", is_flag=True, help="Begin anew although there is a journal.")
@click.option("--price", metavar="IN,OUT", help="The price of a million tokens in, and out, for the estimate.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask before it begins.")
@click.option("--concurrency", type=int, default=1, show_default=True, help="Requests at once.")
@click.option("--timeout", type=float, default=120.0, show_default=True, help="Seconds for a request.")
@click.option("--retries", type=int, default=5, show_default=True, help="Further tries of a request that fails.")
@reported
@flagged(_FLAGS)
def calibrate(
    questions_file: str, base_url: str, model: str, api_key_env: str | None, passages: int, positions: int,
    questions: int, measure: str, chat_template: str, window: int | None, template: str | None, answer_tokens: int,
    fit: Literal["points", "quadratic"], out: str | None, plot: tuple[str, ...], figures: str | None,
    compare: str | None, journal: str | None, resume: bool, restart: bool, price: str | None, yes: bool,
    concurrency: int, timeout: float, retries: int,
) -> None:
    """Measure how much a model uses a passage by its place, with QUESTIONS (JSON Lines; - is standard input).

    A row holds `question`, `answers`, the `passage` that answers it and `distractors`; or `sources` and the ids of
    the `relevant` ones. The passage is put at several places among the others; what counts is the log-likelihood of the
    first answer, where the endpoint gives log-probabilities of a given text, else whether the model's own answer is
    right. The curve goes to a file for `--place curve:FILE`; its figures are printed.
    """
    from promptpack.calibration.asking import Asking
    from promptpack.calibration.endpoint import Endpoint
    from promptpack.calibration.forms import ChatForm

    for name in _OF_CURVES if compare else ():
        if click.get_current_context().get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise OptionError(f"--{name}: there is none of a comparison", name=name, given=compare)
    for file in plot:
        if not file.endswith((".svg", ".html")):
            raise OptionError(f"--plot: expected a file .svg or .html, got {file!r}", name="plot", given=file)
    endpoint = Endpoint(base_url, model, _key(api_key_env), timeout, retries)
    # Before anything is asked, and before an old journal goes: what cannot be written would be paid for in vain.
    made = [("out", out or ("-" if compare else OUT)), *(("plot", file) for file in plot), ("figures", figures)]
    for name, written in made:
        if written and not (compare and name == "out" and written == "-"):  # standard output
            can_be_written(written, name)
    kept = Path(journal or f"{out or compare or OUT}.probes.jsonl")
    _begin(kept, resume, restart)
    can_be_written(kept, "journal")
    asking = Asking(measure, ChatForm.of(chat_template), answer_tokens, concurrency, kept)
    prices = _prices(price)
    numbered = read_numbered_lines(questions_file)
    rows = [row for _, row in numbered]
    named = partial(_by_line, questions_file, [number for number, _ in numbered])
    if compare:
        with named():
            probes = _probes(rows, compare, window, questions)
        _compare(probes, endpoint, asking, prices, yes, out, figures)
        return
    from promptpack.calibration.measure import calibrate as measured
    from promptpack.calibration.measure import plan

    builder = _builder(model, window, template, answer_tokens)
    with named():
        todo = plan(rows, builder, passages=passages, positions=positions, questions=questions)
    for remark in todo.remarks:
        click.echo(remark, err=True)
    _estimate(todo.all(), asking, endpoint, prices, yes)
    with _progress() as done:
        found = measured(endpoint, todo, replace(asking, on_done=done))
    for remark in found.remarks[len(todo.remarks):]:
        click.echo(remark, err=True)
    _keep(found, figures)
    found.curve(fit).save(out or OUT)
    for file in plot:
        from promptpack.calibration.plot import html, svg

        emit(html(found) if file.endswith(".html") else svg(found), file)
    emit(found.to_markdown())
    click.echo(f"{out or OUT}: the curve ({found.measure}, {len(found.values):,} questions)", err=True)


def _probes(rows: list[Any], file: str, window: int | None, questions: int) -> dict[str, list[Probe]]:
    from promptpack.calibration.builders import read_builders
    from promptpack.calibration.compare import comparison_probes

    return comparison_probes(rows, read_builders(file, window or 8192), questions)


def _compare(
    probes: dict[str, list[Probe]], endpoint: Endpoint, asking: Asking, prices: tuple[float, float] | None, yes: bool,
    out: str | None, kept: str | None,
) -> None:
    from promptpack.calibration.compare import compared

    _estimate([one for own in probes.values() for one in own], asking, endpoint, prices, yes)
    with _progress() as done:
        found = compared(probes, endpoint, replace(asking, on_done=done))
    for remark in found.remarks:
        click.echo(remark, err=True)
    _keep(found, kept)
    figures = found.to_markdown()
    emit(figures)
    if out:
        emit(figures + "\n", out)


def _keep(found: Calibration | Comparison, figures: str | None) -> None:
    if figures:
        from promptpack.calibration.figures import write_figures

        write_figures(found, figures)


def _builder(model: str, window: int | None, template: str | None, answer: int) -> PromptBuilder:
    from promptpack.builder import PromptBuilder
    from promptpack.profiles import planned, profile
    from promptpack.window import Window

    found = profile(model)
    size = window if window is not None else found.window or 8192
    # A name that says nothing of the tokenizer: counts only have to keep prompts within the window.
    named = planned(size, found.margin).margin if found.known else 0
    path = Path(template) if template and Path(template).is_dir() else template
    return PromptBuilder(
        Window(size, answer=min(answer, size // 4), margin=named), model=found if found.known else None, template=path
    )


def _key(variable: str | None) -> str | None:
    if variable is None:
        return None
    key = os.environ.get(variable)
    if not key:
        raise OptionError(f"--api-key-env: {variable} is not set", name="api_key_env", given=variable)
    return key


def _begin(journal: Path, resume: bool, restart: bool) -> None:
    """See to it that a journal that is there is neither lost nor taken up by chance."""
    if resume and restart:
        raise OptionError("--resume, --restart: only one of the two", name="resume", given=True)
    if restart:
        try:
            journal.unlink(missing_ok=True)
        except OSError as error:
            raise OptionError(
                f"{journal}: cannot be removed: {error.strerror}", name="journal", given=str(journal)
            ) from error
    elif journal.exists() and not resume:
        raise OptionError(
            f"{journal}: there is a journal of answers already; --resume goes on with it, --restart begins anew",
            name="journal", given=str(journal),
        )


def _prices(price: str | None) -> tuple[float, float] | None:
    if price is None:
        return None
    parts = price.split(",")
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 2):
        raise OptionError(
            f"--price: expected one or two numbers, as in 0.15,0.60, got {price!r}", name="price", given=price
        )
    return numbers[0], numbers[-1] if len(numbers) == 2 else 0.0


def _estimate(
    probes: list[Probe], asking: Asking, endpoint: Endpoint, prices: tuple[float, float] | None, yes: bool
) -> None:
    from promptpack.calibration.measure import cost

    click.echo(f"to ask: {cost(probes, asking, endpoint, prices)}", err=True)
    if not yes and sys.stdin.isatty() and sys.stderr.isatty():
        click.confirm("Go on?", abort=True, err=True, default=True)


@contextmanager
def _progress() -> Iterator[Done | None]:
    """Give what is called with the progress: a bar on standard error where that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn, TimeRemainingColumn

    bar = Progress(
        BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(), console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task("probes", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
