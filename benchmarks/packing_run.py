"""What the packing benchmarks share: the table, CPU time, and the peak memory of a fresh process."""

from __future__ import annotations

import gc
import math
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Run:
    """One run: prints a row as soon as it is known, keeps what must be said at the end."""

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds
        self.wrong: list[str] = []
        self.remarks: list[str] = []
        print("| what | n | promptpack | beside | takes | ratio | target |")
        print("| --- | ---: | ---: | --- | ---: | ---: | --- |", flush=True)

    def row(
        self, what: str, n: int, ours: float, beside: str = "", theirs: float | None = None, target: str = ""
    ) -> None:
        known = "|" if theirs is None else f"{duration(theirs)} | {ratio(theirs / ours)}"
        print(f"| {what} | {n:,} | {duration(ours)} | {beside} | {known} | {target} |", flush=True)

    def memory(self, what: str, n: int, peak: float, target: str) -> None:
        print(f"| {what}, peak of the process | {n:,} | {peak:,.0f} MB | | | | {target} |", flush=True)

    def check(self, what: str, same: bool) -> None:
        if not same:
            self.wrong.append(what)


def duration(seconds: float) -> str:
    return f"{seconds * 1000:,.1f} ms" if seconds < 1 else f"{seconds:,.2f} s"


def ratio(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.2f}"


def best(call: Callable[[], object], rounds: int) -> float:
    """The least CPU time of several rounds: the others measure what else the machine was doing."""
    least = math.inf
    for _ in range(rounds):
        gc.collect()
        begin = time.process_time()
        call()
        least = min(least, time.process_time() - begin)
    return least


def _peak() -> float:
    """The most memory that this process has held, in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # Linux hands ru_maxrss of the parent on to a child; VmHWM starts anew with the program
        return int(status.read_text("utf-8").split("VmHWM:")[1].split()[0]) / 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def _report_peak(work: Callable[[], object], send: Any) -> None:
    begin = time.process_time()
    work()
    spent = time.process_time() - begin
    send.send((spent, _peak()))


def in_fresh_process(work: Callable[[], object]) -> tuple[float, float]:
    """Return CPU seconds and peak memory in MB of a new process that does nothing else."""
    spawn = multiprocessing.get_context("spawn")
    receive, send = spawn.Pipe(duplex=False)
    process = spawn.Process(target=_report_peak, args=(work, send))
    process.start()
    send.close()
    try:
        spent, peak = receive.recv()
    except EOFError:
        process.join()
        raise SystemExit(f"the process for {work.__name__} ended with {process.exitcode}") from None
    process.join()
    return spent, peak
