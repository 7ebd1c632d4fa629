"""The `bench` commands: tables on standard output, the same on every machine."""

from __future__ import annotations

from collections.abc import Callable

import click

from promptpack.cli_common import as_files, emit, reported


@click.group()
def bench() -> None:
    """Print what folding, selecting and placing change, on seeded trials."""


def _options(command: Callable[..., None]) -> Callable[..., None]:
    command = click.option("--seed", type=int, default=7, show_default=True, help="The seed of the trials.")(command)
    return click.option("--trials", type=int, default=200, show_default=True, help="How many trials.")(command)


@bench.command()
@click.option("--items", type=int, default=21, show_default=True, help="Items in each trial.")
@click.option("--trials", type=int, default=1000, show_default=True, help="How many trials.")
@click.option("--seed", type=int, default=7, show_default=True, help="The seed of the trials.")
@reported
def edge(items: int, trials: int, seed: int) -> None:
    """Print how far the best items are from the ends of the prompt, by layout."""
    from promptpack.evaluation.bench import edge_table

    emit(edge_table(items, trials, seed))


@bench.command()
@click.option("--items", type=int, default=20, show_default=True, help="Candidates in each trial.")
@click.option("--budget", type=int, default=1024, show_default=True, help="Tokens for the sources.")
@_options
@reported
def select(items: int, budget: int, trials: int, seed: int) -> None:
    """Print what each selection makes of the same candidates."""
    from promptpack.evaluation.bench import select_table

    emit(select_table(items, trials, seed, budget))


@bench.command()
@click.option("--items", type=int, default=20, show_default=True, help="Candidates in each trial.")
@click.option("--budget", type=int, default=1024, show_default=True, help="Tokens for the sources.")
@click.option("--curve", help="A file with a measured curve; without one an illustrative curve is used.",
              shell_complete=as_files)
@_options
@reported
def position(items: int, budget: int, trials: int, seed: int, curve: str | None) -> None:
    """Print how likely the best sources are used, by placement, under an illustrative curve or one of your own."""
    from promptpack.curves import PositionCurve
    from promptpack.evaluation.bench import position_table

    emit(position_table(items, trials, seed, budget, PositionCurve.load(curve) if curve is not None else None))
