"""What is published works away from the checkout: templates, vocabularies and the command are inside."""

from __future__ import annotations

import os
import site
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(ROOT)],
        check=True, capture_output=True,
    )
    return out


def test_the_sources_hold_what_a_rebuild_and_the_tests_need(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    for name in ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "templates/default/user.j2",
                 "templates/models.toml", "promptpack/tokens/data/o200k_base.tiktoken.gz", "tests/test_packaging.py"):
        assert name in names


def test_the_wheel_holds_templates_vocabularies_and_types(built: Path) -> None:
    names = set(zipfile.ZipFile(next(built.glob("*.whl"))).namelist())
    for name in ("promptpack/templates/default/source.j2", "promptpack/templates/models.toml", "promptpack/py.typed",
                 "promptpack/tokens/data/o200k_base.tiktoken.gz", "promptpack/tokens/data/cl100k_base.tiktoken.gz",
                 "promptpack/tokens/data/NOTICE"):
        assert name in names
    assert not [name for name in names if name.startswith(("tests/", "templates/"))]


def test_the_installed_wheel_renders_from_another_folder(built: Path, tmp_path: Path) -> None:
    """A new environment sees the dependencies of this one, but only its own promptpack."""
    home = tmp_path / "env"
    venv.create(home, with_pip=True)
    python = home / ("Scripts" if os.name == "nt" else "bin") / "python"
    wheel = next(built.glob("*.whl"))
    subprocess.run(
        [python, "-m", "pip", "install", "-q", "--no-deps", "--no-index", str(wheel)], check=True, capture_output=True
    )
    libraries = Path(subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True, capture_output=True, text=True,
    ).stdout.strip())
    here = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *site.getsitepackages()}
    (libraries / "zz_dependencies.pth").write_text("\n".join(sorted(here)) + "\n", encoding="utf-8")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "hits.jsonl").write_text('{"id": "a", "text": "Returns are free for 30 days."}\n', encoding="utf-8")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [python, "-m", "promptpack", "render", "hits.jsonl", "-q", "How long?"],
        cwd=elsewhere, env=environment, capture_output=True, text=True, check=False,
    )
    assert done.returncode == 0, done.stderr
    assert '<source_1 id="S1" chunk="a">\nReturns are free for 30 days.\n</source_1>' in done.stdout
    where = subprocess.run(
        [python, "-c", "import promptpack; print(promptpack.__file__)"],
        cwd=elsewhere, env=environment, capture_output=True, text=True, check=True,
    ).stdout.strip()
    assert Path(where).is_relative_to(home)
