"""Processes that the tests start, look at and kill: only ever those below the ones that they started."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ENVIRONMENT = {
    **os.environ, "RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0", "PYTHONPATH": str(HERE.parents[1]),
    "RAY_health_check_initial_delay_ms": "1000", "RAY_health_check_period_ms": "500",
    "RAY_health_check_failure_threshold": "4",
}


class Cluster:
    """A cluster in a process of its own."""

    def __init__(self, nodes: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "cluster.py"), str(nodes)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, env=ENVIRONMENT,
        )
        self._read()

    def _read(self) -> None:
        assert self.process.stdout is not None
        said = json.loads(self.process.stdout.readline())
        self.address: str = said["address"]
        self.nodes: list[list[int]] = said["nodes"]

    def add(self) -> None:
        """Add a node."""
        assert self.process.stdin is not None
        self.process.stdin.write("add\n")
        self.process.stdin.flush()
        self._read()

    def kill_node(self, index: int) -> None:
        """Kill a node and what runs on it."""
        for pid in self.nodes[index]:
            for one in [pid, *children(pid)]:
                with suppress(ProcessLookupError):
                    os.kill(one, signal.SIGKILL)

    def workers(self) -> list[int]:
        """Return the processes that are at a task of ours."""
        return [one for node in self.nodes for pid in node for one in children(pid) if b"ray::promptpack" in title(one)]

    def close(self) -> None:
        """End the cluster."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(30)
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


def children(pid: int) -> list[int]:
    with suppress(OSError):
        tasks = Path(f"/proc/{pid}/task").iterdir()
        return [int(one) for task in tasks for one in (task / "children").read_text().split()]
    return []


def below(pid: int) -> list[int]:
    """Return the process and all below it."""
    return [pid, *(deeper for one in children(pid) for deeper in below(one))]


def title(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def rows(n: int) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = [
        {"id": f"q{i}" if i % 7 else None, "question": f"What of {i}?",
         "sources": [{"id": f"d{i}-{j}", "text": f"Text {i} {j}."} for j in range(5)]}
        for i in range(n)
    ]
    made[n // 3] = {"id": "bad"}
    made[n - 2] = made[1]
    return made


def leaving(text: str) -> int:
    """Count words, and leave at a text that says so; here, where worker processes find it."""
    if "Text leave" in text:
        raise SystemExit(2)
    return len(text.split())


def write(path: Path, given: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in given))
    return path


def start(*arguments: str | Path) -> subprocess.Popen[bytes]:
    """Start the driver."""
    return subprocess.Popen(
        [sys.executable, str(HERE / "driver.py"), *map(str, arguments)], stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL, env=ENVIRONMENT,
    )


def finish(process: subprocess.Popen[bytes], seconds: float = 240) -> None:
    """Wait for the driver, which has to end well."""
    _, said = process.communicate(timeout=seconds)
    assert process.returncode == 0, said.decode(errors="replace")[-3000:]


def wait_for(true: Callable[[], Any], process: subprocess.Popen[bytes], seconds: float = 120) -> bool:
    """Wait until something is so; False where the process ends before."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return True
        if process.poll() is not None:
            return False
        time.sleep(0.02)
    raise TimeoutError


def parts_done(target: Path) -> int:
    return len(list(target.with_name(f"{target.name}.parts").glob("*.done")))


def contents(folder: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in sorted(folder.iterdir()) if one.name.startswith("out")}


def kill_some_worker(cluster: Cluster, process: subprocess.Popen[bytes], rng: random.Random) -> None:
    if wait_for(cluster.workers, process):
        with suppress(ProcessLookupError, IndexError):
            os.kill(rng.choice(cluster.workers()), signal.SIGKILL)


def killed_at(step: int, work: Callable[[Any], Any], target: str | Path) -> bool:
    """Do the work in a child that ends, without any cleaning up, at its step-th change of the disk.

    Tell whether it had fewer steps and came to its end.
    """
    child = os.fork()
    if not child:
        count = 0

        def counted(function: Any) -> Any:
            def inner(*args: Any, **options: Any) -> Any:
                nonlocal count
                if count == step:
                    os._exit(9)
                count += 1
                return function(*args, **options)

            return inner

        for owner, name in ((os, "fsync"), (Path, "replace"), (Path, "unlink"), (os, "rmdir")):
            setattr(owner, name, counted(getattr(owner, name)))
        try:
            work(target)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
