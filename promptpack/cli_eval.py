"""The `eval` command: policies side by side over a data set of questions."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import click

from promptpack.cli_common import as_files, as_names, emit, reported, sources_of
from promptpack.errors import OptionError, SourceError, quote
from promptpack.files import read_numbered_lines

_TOLD = 10  # fields that are named


@click.command(name="eval")
@click.argument("dataset", shell_complete=as_files)
@click.option("-s", "--sources", "shared", help="A file of sources for the questions that have none of their own.",
              shell_complete=as_files)
@click.option("-r", "--report", metavar="FILE", help="Write a Markdown report, with intervals and differences.",
              shell_complete=as_files)
@click.option("-p", "--policy", "policies", multiple=True, help="Only these (repeat); the first is the baseline.",
              shell_complete=as_names("policy"))
@click.option(
    "-k", "--top-k", type=click.IntRange(min=1), help="Sources at most, for each policy.  [4; no limit with a budget]"
)
@click.option("-b", "--budget", type=click.IntRange(min=0), help="Tokens for the texts of the sources.  [no limit]")
@click.option("-c", "--counter", default="o200k_base", show_default=True, help="How tokens are counted.",
              shell_complete=as_names("counter"))
@click.option("--json", "as_json", is_flag=True, help="Print the means and intervals as JSON.")
@reported
def evaluate(
    dataset: str, shared: str | None, report: str | None, policies: tuple[str, ...], top_k: int | None,
    budget: int | None, counter: str, as_json: bool,
) -> None:
    """Compare policies over a DATASET of questions, one a line (JSON Lines; - is standard input).

    Each line holds a `question`, its `sources` (or `retrieved`: ids, or [id, score] pairs, of --sources), and what is
    to be measured by: `relevant` ids (or a gain for each), `key_points`, `spans`, `needs`, `references`; and a
    `prediction`, or `predictions` by policy, with the `labels` that they cite.
    """
    from promptpack.evaluation import report as reports
    from promptpack.evaluation.cases import unread_fields
    from promptpack.evaluation.harness import compare, read_cases
    from promptpack.tokens import counter as counter_named

    if as_json and report == "-":
        raise OptionError("eval: --json and --report - would both go to standard output", name="report", given=report)
    counting = counter_named(counter)
    priced = cache(counting)  # each policy asks for the same texts
    numbered = read_numbered_lines(dataset)
    if not numbered:
        raise SourceError(f"{dataset}: there are no questions", field="file")
    if top_k is None and budget is None:
        top_k = 4
    unread = unread_fields(item for _, item in numbered)
    if unread:
        told = ", ".join(f"{quote(name)} ({count:,})" for name, count in list(unread.items())[:_TOLD])
        more = f" and {len(unread) - _TOLD} more" if len(unread) > _TOLD else ""
        click.echo(f"{dataset}: fields that are not read, with the questions that have them: {told}{more}", err=True)
    sources = None if shared is None else tuple(sources_of(shared))
    places = [f"{dataset}: line {number}" for number, _ in numbered]
    with _progress([item for _, item in numbered]) as shown:
        found = compare(
            read_cases(shown, sources, places), policies or None, top_k=top_k, budget=budget,
            cost=lambda source: priced(source.text),
        )
    limits = " and ".join(
        ([f"{top_k:,} source{'s' if top_k > 1 else ''}"] if top_k else [])
        + ([] if budget is None else [f"{budget:,} tokens"])
    )
    heading = (
        f"{found.count:,} question{'s' if found.count > 1 else ''} of `{dataset}`; at most {limits} for each policy; "
        f"tokens counted with {counting.name}."
    )
    if report:
        emit(reports.report(found, heading, budget=budget) + "\n", report)
    if as_json:
        emit(json.dumps(reports.as_data(found), indent=2))
    elif report != "-":
        parts = [heading, *reports.remarks(found, budget=budget), found.to_markdown(), reports.legend(found)]
        emit("\n\n".join(parts))


@contextmanager
def _progress(items: Sequence[Any]) -> Iterator[Any]:
    """Give the items, with a bar on standard error where that is a terminal."""
    if not sys.stderr.isatty():
        yield items
        return
    from rich.console import Console
    from rich.progress import track

    yield track(items, description="Evaluating", console=Console(stderr=True), transient=True)
