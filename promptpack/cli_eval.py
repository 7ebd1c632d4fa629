"""The `eval` command: policies side by side over a data set of questions."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from promptpack.cli_common import emit, reported
from promptpack.files import read_items, read_json_lines


@click.command(name="eval")
@click.argument("dataset")
@click.option("-s", "--sources", "shared", help="A file of sources for the questions that have none of their own.")
@click.option("-r", "--report", help="Write a Markdown report to this file; the table is printed all the same.")
@click.option("-p", "--policy", "policies", multiple=True, help="Compare only these (repeat).  [all]")
@click.option("-k", "--top-k", type=click.IntRange(min=1), default=4, show_default=True, help="Sources for each.")
@click.option("-b", "--budget", type=click.IntRange(min=0), help="Tokens for the sources.  [no limit]")
@click.option("-c", "--counter", default="o200k_base", show_default=True, help="How tokens are counted.")
@reported
def evaluate(
    dataset: str, shared: str | None, report: str | None, policies: tuple[str, ...], top_k: int, budget: int | None,
    counter: str,
) -> None:
    """Compare policies over a DATASET of questions, one a line (JSON Lines; - is standard input).

    Each line holds `sources` (or `chunks`), and what is to be measured by: `key_points`, `spans`, `relevant` ids,
    `prediction` and `references`; and a `question`.
    """
    from promptpack.evaluation.harness import compare, read_cases
    from promptpack.reading import read_sources
    from promptpack.tokens import counter as counter_named

    counting = counter_named(counter)
    items = read_json_lines(dataset)
    sources = None if shared is None else tuple(read_sources(read_items(shared)))
    with _progress(items) as shown:
        found = compare(
            read_cases(shown, sources), policies or None, top_k=top_k, budget=budget,
            cost=lambda source: counting(source.text),
        )
    table = found.to_markdown()
    emit(table)
    if report:
        limits = f"at most {top_k} sources" + ("" if budget is None else f" and {budget} tokens")
        emit(
            f"# Evaluation\n\n{found.count} questions of `{dataset}`; {limits} for each policy, counted with "
            f"{counting.name}. Means over the questions that a metric can be worked out for.\n\n{table}\n",
            report,
        )


@contextmanager
def _progress(items: Sequence[Any]) -> Iterator[Any]:
    """Give the items, with a bar on standard error where that is a terminal."""
    if not sys.stderr.isatty():
        yield items
        return
    from rich.console import Console
    from rich.progress import track

    yield track(items, description="Evaluating", console=Console(stderr=True), transient=True)
