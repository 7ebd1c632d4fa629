"""`.ci/browser` installs a browser where it can, and never ends the run where it cannot."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SKIPPED = "the tests of the page in a browser are skipped"
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a script for a POSIX shell")


def run(folder: Path, *, user: int, apt: str | None, browser: bool = False) -> tuple[int, str, list[str]]:
    """Run the script where only these commands are there; return its code, what it says, and what apt-get was told."""
    programs = {"id": f"echo {user}", "timeout": 'shift; exec "$@"'}
    if apt is not None:
        programs["apt-get"] = f'echo "$@" >> {folder}/asked; {apt}'
    if browser:
        programs["chromium"] = "exit 3"
    for name, body in programs.items():
        (folder / name).write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        (folder / name).chmod(0o755)
    bash = shutil.which("bash")
    assert bash is not None
    done = subprocess.run(
        [bash, str(ROOT / ".ci" / "browser")], env={"PATH": str(folder)}, capture_output=True, text=True, check=False
    )
    asked = folder / "asked"
    return done.returncode, done.stdout, asked.read_text(encoding="utf-8").splitlines() if asked.exists() else []


def test_a_browser_that_is_there_is_enough(tmp_path: Path) -> None:
    assert run(tmp_path, user=0, apt="exit 0", browser=True) == (0, "", [])


def test_it_is_installed_as_root(tmp_path: Path) -> None:
    """If it fails, the tests of the page are skipped in CI for ever, and nobody sees it."""
    code, said, asked = run(tmp_path, user=0, apt="exit 0")
    assert (code, said.strip()) == (0, "Installed Chromium for the tests of the page.")
    assert [line.split()[0] for line in asked] == ["update", "install"]
    assert asked[1].split()[-1] == "chromium"


@pytest.mark.parametrize(("user", "apt"), [(1000, "exit 0"), (0, None), (0, "exit 100")])
def test_where_it_cannot_be_it_says_so_and_goes_on(tmp_path: Path, user: int, apt: str | None) -> None:
    """If it fails, a machine without root or network cannot run the tests."""
    code, said, asked = run(tmp_path, user=user, apt=apt)
    assert code == 0
    assert SKIPPED in said
    assert all(line.startswith("update") for line in asked)


def test_the_run_begins_with_it() -> None:
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert lines.index(".ci/browser") < next(at for at, line in enumerate(lines) if "pytest -q" in line)
