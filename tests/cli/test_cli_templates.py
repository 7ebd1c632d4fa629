"""The `templates` commands: what they print, and the exit codes that a build can rely on."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from promptpack.cli import main
from promptpack.templates import root, template_names

USER = "<sources>\n{{ sources }}\n</sources>\n{% if question %}\n<question>{{ question }}</question>\n{% endif %}"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["templates", *arguments])


@pytest.mark.parametrize("arguments", [(), ("list",)])
def test_list(arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert done.exit_code == 0
    lines = done.output.splitlines()
    assert [line.split()[0] for line in lines] == list(template_names())
    assert next(line for line in lines if line.startswith("gpt ")).split() == ["gpt", "user.j2"]
    assert next(line for line in lines if line.startswith("json ")).split()[-1] == "set.toml"


def test_show_says_where_a_file_comes_from(tmp_path: Path) -> None:
    done = run("show", "gpt")
    assert done.exit_code == 0
    assert "== source.j2 (from default)\n" in done.output
    assert f"== user.j2\n{(root() / 'gpt' / 'user.j2').read_text(encoding='utf-8').rstrip()}" in done.output
    assert 'encoding = "json"' in run("show", "json").output
    (tmp_path / "user.j2").write_text(USER, encoding="utf-8")
    assert f"== user.j2\n{USER}" in run("show", str(tmp_path)).output
    assert run("show", "defualt").exit_code == 2


def test_lint_without_findings(tmp_path: Path) -> None:
    """Silence and 0, so that it can stand in a build."""
    (tmp_path / "user.j2").write_text(USER, encoding="utf-8")
    done = run("lint", str(tmp_path), "claude", "json")
    assert (done.exit_code, done.output) == (0, "")


def test_lint_prints_a_line_for_each_finding(tmp_path: Path) -> None:
    (tmp_path / "user.j2").write_text("{{ question }}\n{{ sources|safe }}\n{{ sorces }}", encoding="utf-8")
    (tmp_path / "source.j2").write_text("[S{{ n }}]\n\n{{ text }", encoding="utf-8")
    done = run("lint", str(tmp_path), "claude")
    assert done.exit_code == 1
    assert [line.split(": ")[:2] for line in done.output.splitlines()] == [
        [f"{tmp_path}/source.j2:3", "syntax"], [f"{tmp_path}/user.j2:2", "escaping"],
        [f"{tmp_path}/user.j2:3", "unknown-name"],
    ]


@pytest.mark.parametrize(
    ("file", "text", "found"),
    [
        ("set.toml", "native = 7", "set.toml:1: settings: "),
        ("set.toml", "native = ", "set.toml:1: settings: "),
        ("user.j2", "a\x00b", "user.j2:1: syntax: "),
    ],
)
def test_lint_of_files_that_cannot_be_read_as_a_set(tmp_path: Path, file: str, text: str, found: str) -> None:
    (tmp_path / file).write_text(text, encoding="utf-8")
    done = run("lint", str(tmp_path))
    assert done.exit_code == 1
    assert done.output.startswith(f"{tmp_path}/{found}")
    assert done.output.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", [("lint",), ("lint", "nowhere/at/all"), ("lint", "claud"), ("nonsense",), ("show",)]
)
def test_bad_usage(arguments: tuple[str, ...]) -> None:
    """What is no set is a mistake of the call, not a finding."""
    assert run(*arguments).exit_code == 2


def test_a_folder_without_a_set(tmp_path: Path) -> None:
    done = run("lint", str(tmp_path))
    assert done.exit_code == 2
    assert "holds none of system.j2, source.j2, user.j2" in done.output
