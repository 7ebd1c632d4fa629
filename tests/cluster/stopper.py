"""Jobs on Ray that are stopped again and again in a process that stays connected; run as a program by the tests.

    python stopper.py IN OUT ADDRESS TIMES

Prints a line of JSON: for each stop the parts that were there, and those two seconds after the first. The tasks of the
first and the last job take their time; those between are short, so that some end in the moment of the stop. The last
job, with another model, begins at once, and is not stopped.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import ray
from processes import parts_done

from promptpack.batch import Job, Options, ray_engine, run_divided
from promptpack.builder import PromptBuilder


class Enough(Exception):
    """What a caller's own code raises."""


def slow(text: str) -> int:
    """Count words, in a while."""
    time.sleep(0.001)
    return len(text.split())


def stop(state: Any, total: int) -> None:
    raise Enough


def cancel(*_: Any, **__: Any) -> None:
    """Stand for what aborts this process where it meets a task that ends, which is not in every run of the test."""
    raise SystemExit("a task was cancelled")


def main(source: str, out: Path, address: str, times: int) -> None:
    ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    ray.cancel = cancel
    told: dict[str, Any] = {"stops": []}
    for number in range(times + 1):
        last = number == times
        counter = slow if number in (0, times) else "words"
        job = Job(PromptBuilder(2000, counter=counter), "openai-batch", model="gpt-4o" if last else "gpt-4")
        try:
            run_divided(source, out, job, Options(restart=True), size=4000, engine=ray_engine(),
                        watch=None if last else stop)
        except Enough:
            told["stops"].append(parts_done(out))
            if not number:
                time.sleep(2)
                told["later"] = parts_done(out)
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
