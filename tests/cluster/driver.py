"""A job on Ray with counters that take their time, or end their process; run as a program by the tests.

    python driver.py IN OUT [--address A] [--engine ray|local] [--size BYTES] [--resume]
"""

from __future__ import annotations

import argparse
import os
import signal
import time

from promptpack.batch import Job, Options, ray_engine, run_batch, run_divided
from promptpack.builder import PromptBuilder


def slow(text: str) -> int:
    """Count words, in a while."""
    time.sleep(0.001)
    if "POISON" in text:
        os.kill(os.getpid(), signal.SIGKILL)
    return len(text.split())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--address")
    parser.add_argument("--engine", default="ray")
    parser.add_argument("--size", type=int, default=8000)
    parser.add_argument("--resume", action="store_true")
    given = parser.parse_args()
    job = Job(PromptBuilder(2000, counter=slow), "openai-batch", model="gpt-4o")
    if given.engine == "local":
        run_batch(given.source, given.target, job, Options(workers=2, every=0, resume=given.resume))
    else:
        run_divided(given.source, given.target, job, Options(workers=2 if given.address is None else None),
                    size=given.size, engine=ray_engine(given.address))


if __name__ == "__main__":
    main()
