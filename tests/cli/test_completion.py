"""Completion in the shell: click's, with file names where files are asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest
from click.shell_completion import ShellComplete

from promptpack.cli import main


def completed(args: list[str], incomplete: str) -> list[tuple[str, str]]:
    found = ShellComplete(main, {}, "promptpack", "_PROMPTPACK_COMPLETE").get_completions(args, incomplete)
    return [(one.type, one.value) for one in found]


@pytest.mark.parametrize("command", ["render", "pack", "count", "verify", "explain", "eval", "batch"])
def test_arguments_complete_to_files(command):
    """A shell that uses click's completion offers nothing at all where a parameter does not say what it is."""
    assert ("file", "pay") in completed([command], "pay")


def commands(command: click.Command) -> Iterator[click.Command]:
    if isinstance(command, click.Group):
        for one in command.commands.values():
            yield from commands(one)
    else:
        yield command


def test_every_option_that_names_a_file_completes_to_files():
    """An option that was added without it would be the one that does not complete."""
    asked, missing = 0, []
    for command in commands(main):
        for option in command.params:
            told = re.search(r"\bfile\b", getattr(option, "help", None) or "")
            if told and isinstance(option.type, click.types.StringParamType) and option.name != "chat_template":
                asked += 1
                found = option.shell_complete(click.Context(command), "x")
                if [one.type for one in found] != ["file"]:
                    missing.append(f"{command.name} --{option.name}")
    assert missing == []
    assert asked > 10


def test_commands_and_choices_complete():
    assert ("plain", "verify") in completed([], "ver")


@pytest.mark.parametrize(
    ("command", "start", "expected"),
    [
        ("render --counter", "o2", ["o200k_base"]), ("pack -c", "wo", ["words"]), ("count -c", "cl", ["cl100k_base"]),
        ("batch --counter", "est", ["estimate"]), ("eval -c", "est", ["estimate"]),
        ("render --model", "gpt-4o", ["gpt-4o"]), ("batch -m", "claude-opus-5", ["claude-opus-5"]),
        ("count -m", "mixtral-8x2", ["mixtral-8x22b"]), ("models", "gpt-4.1", ["gpt-4.1"]),
        ("templates show", "gra", ["granite"]), ("templates lint granite", "gem", ["gemini", "gemma"]),
        ("reorder --strategy", "", ["scoreSpread", "preserveOrder", "chronological", "auto"]),
        ("reorder --chronological-order", "d", ["desc"]), ("reorder --packing", "e", ["edgeAware"]),
        ("reorder --deduplicateKeep", "hi", ["highestScore"]), ("reorder --score-normalization", "z", ["zScore"]),
        ("reorder --validationMode", "c", ["coerce"]), ("reorder --tokenCounter", "gpt-4.1", ["gpt-4.1"]),
        ("reorder --token-counter", "cl1", ["cl100k_base"]), ("reorder --groupBy", "x", []),
    ],
)
def test_the_values_of_every_command_complete(command, start, expected):
    """A flag that takes one of a few names, and offers none of them, sends people to the documentation."""
    assert [value for _, value in completed(command.split(), start)] == expected


@pytest.mark.parametrize(("command", "kind"), [
    ("render -t", "dir"), ("render -c", "file"), ("templates lint", "dir"), ("reorder --tokenCounter", "file"),
])
def test_where_no_name_begins_so_a_path_may(command, kind):
    """A set of your own is a folder, and a tokenizer of your own a file: names alone would hide them."""
    assert completed(command.split(), "./my") == [(kind, "./my")]


@pytest.mark.parametrize(
    ("option", "start", "expected"),
    [
        ("--select", "sp", ["spans"]), ("--place", "best_f", ["best_first"]), ("--dedup", "mer", ["merge"]),
        ("--escape", "spot", ["spotlight"]), ("--template", "claude-", ["claude-native"]),
    ],
)
def test_values_complete_to_the_names_that_there_are(option, start, expected):
    """Names kept in a second list would go out of date."""
    assert [value for _, value in completed(["render", option], start)] == expected
