"""The `bench` commands: what they print, that they print it again, and that the README prints the same."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from promptpack.cli import main

README = (Path(__file__).parent.parent.parent / "README.md").read_text(encoding="utf-8")
TABLES = re.findall(r"<!-- table: promptpack (bench [^>]*?) -->\n(.*?)<!-- end of table -->", README, re.S)
ROWS = {
    "edge": ["insertion order", "sorted, best first", "folded"],
    "select": ["top", "prefix", "density", "optimal", "edges"],
    "position": ["fold", "u_curve", "best_first", "best_last", "buried"],
}


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["bench", *arguments])


def table(*arguments: str) -> list[list[str]]:
    done = run(*arguments)
    assert done.exit_code == 0, done.stderr
    assert done.stderr == ""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines()]


def test_the_readme_embeds_two_of_the_tables() -> None:
    assert [command for command, _ in TABLES] == ["bench edge", "bench select"]


@pytest.mark.parametrize(("command", "shown"), TABLES, ids=[command for command, _ in TABLES])
def test_the_tables_of_the_readme_are_what_the_commands_print(command: str, shown: str) -> None:
    """If this fails, the published numbers are not those of the code: run benchmarks/embed.py."""
    assert run(*shlex.split(command)[1:]).stdout == shown


@pytest.mark.parametrize("name", ROWS)
def test_tables_are_whole_and_the_same_every_time(name: str) -> None:
    rows = table(name, "--trials", "4")
    assert [row[0] for row in rows[2:]] == ROWS[name]
    assert {len(row) for row in rows} == {len(rows[0])}
    assert table(name, "--trials", "4") == rows


@pytest.mark.parametrize("name", ROWS)
def test_another_seed_gives_other_trials(name: str) -> None:
    assert table(name, "--trials", "4") != table(name, "--trials", "4", "--seed", "8")


def test_few_items_have_few_columns() -> None:
    assert table("edge", "--items", "4", "--trials", "2")[0] == ["layout", "top-1", "top-2", "worst-ranked"]
    assert table("edge", "--items", "1", "--trials", "2")[-1] == ["folded", "0.000", "0.000"]


def test_a_budget_that_fits_nothing_gives_zeros() -> None:
    """If this fails, a small budget divides by what was not sent."""
    for name in ("select", "position"):
        for row in table(name, "--trials", "3", "--budget", "5")[2:]:
            assert {float(cell.rstrip("%")) for cell in row[1:]} == {0.0}


@pytest.mark.parametrize(("arguments", "told"), [
    (("edge", "--items", "0"), "items: expected"),
    (("edge", "--trials", "100001"), "trials: expected"),
    (("select", "--budget", "-1"), "budget: expected"),
    (("position", "--items", "few"), "--items"),
    (("place",), "No such command"),
])
def test_bad_options_are_named(arguments: tuple[str, ...], told: str) -> None:
    done = run(*arguments)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert told in done.stderr
