"""`promptpack batch --engine ray` on this computer alone: exit codes, what is said, Ctrl-C, nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from processes import ENVIRONMENT, below, contents, parts_done, rows, title, wait_for, write

pytest.importorskip("ray", reason="the extra ray is not installed")
pytestmark = [pytest.mark.ray, pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")]
OPTIONS = ("-w", "2000", "-c", "words", "-f", "openai-batch", "-m", "gpt-4o")
RAY = ("--engine", "ray", "-j", "2", "--shard-size", "40000")


def command(folder: Path, *more: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "promptpack", "batch", "in.jsonl", "out.jsonl", *OPTIONS, *more], cwd=folder,
        stderr=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True, env=ENVIRONMENT,
        # Who starts tests in the background ignores Ctrl-C, and so would this process.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_job_that_is_stopped_goes_on_and_leaves_no_process(tmp_path: Path, number: int) -> None:
    """Exit code 1 for Ctrl-C, 3 for bad rows; the result is that of the local engine, with the same words."""
    (tmp_path / "local").mkdir()
    for folder in (tmp_path, tmp_path / "local"):
        write(folder / "in.jsonl", rows(4000))
    local = command(tmp_path / "local")
    _, said = local.communicate(timeout=300)
    process = command(tmp_path, *RAY)
    assert wait_for(lambda: parts_done(tmp_path / "out.jsonl"), process)
    # Two helpers of Ray itself look only once a minute whether their node is there.
    family = {one: title(one) for one in below(process.pid) if b"Agent" not in title(one)}
    assert len(family) > 3
    if number == signal.SIGINT:
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        _, told = process.communicate(timeout=60)
        assert (process.returncode, told.splitlines()[-1]) == (1, b"stopped; the same command goes on")
    else:
        process.kill()
        process.communicate(timeout=60)
    assert not (tmp_path / "out.jsonl").exists()
    end = time.monotonic() + 60
    while any(title(pid) == name and name for pid, name in family.items()):
        assert time.monotonic() < end, "processes of Ray outlive their parent"
        time.sleep(0.2)
    process = command(tmp_path, *RAY)
    out, told = process.communicate(timeout=300)
    assert (process.returncode, out) == (3, b"")
    assert told.splitlines()[-4:] == said.splitlines()[-4:]
    assert contents(tmp_path) == contents(tmp_path / "local")
