"""Bad rows of every kind on Ray: each is told as the local engine tells it, and all others come out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from bad_rows import BAD, LARGEST, check_letters, delivered, write_all
from processes import ENVIRONMENT, contents

pytest.importorskip("ray", reason="the extra ray is not installed")
pytestmark = [pytest.mark.ray, pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")]
OPTIONS = ("-w", "2000", "-c", "words", "--max-row-bytes", str(LARGEST))
RAY = ("--engine", "ray", "-j", "2", "--shard-size", "50000")


def test_bad_rows_go_to_the_dead_letters_and_all_others_are_delivered(tmp_path: Path) -> None:
    """One bad row must cost nothing but itself, whichever computer finds it."""
    for name, more in (("ray", RAY), ("local", ("-j", "2"))):
        folder = tmp_path / name
        folder.mkdir()
        lines = write_all(folder / "in.jsonl")
        done = subprocess.run(
            [sys.executable, "-m", "promptpack", "batch", "in.jsonl", "out.jsonl", *OPTIONS, *more], cwd=folder,
            capture_output=True, env=ENVIRONMENT, timeout=280, check=False)
        assert done.returncode == 3, done.stderr.decode(errors="replace")[-2000:]
        assert f"{len(BAD)}".encode() in done.stderr
        check_letters(folder / "out.dead.jsonl", lines)
        made = [json.loads(line)["id"] for line in (folder / "out.jsonl").read_bytes().splitlines()]
        assert made == delivered(lines)
    assert contents(tmp_path / "ray") == contents(tmp_path / "local")
