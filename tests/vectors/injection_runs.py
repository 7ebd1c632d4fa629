"""The properties of the injection cases that measure: a process of its own, a file, time."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from injection_build import Case, build, repeated, request

HERE = Path(__file__).parent
CHILD_SECONDS = 60

LEAK = re.compile(
    r"<(?:class|module|function|bound method|built-in|code|frame|generator|[\w.]+ object at 0x)|__\w+__"
    r"|root:x:|promptpack\.\w+"
)


def child(case: Case) -> dict[str, Any]:
    """Render the template in a process of its own."""
    if "child" not in case.made:
        import promptpack

        package = str(Path(promptpack.__file__).resolve().parent.parent)
        run = subprocess.run(
            [sys.executable, str(HERE / "injection_child.py")], input=json.dumps(case.asked.vector),
            env={**os.environ, "PYTHONPATH": os.pathsep.join([package, str(HERE)])},
            capture_output=True, encoding="utf-8", timeout=CHILD_SECONDS, check=False,
        )
        assert run.returncode == 0, run.stderr
        case.made["child"] = json.loads(run.stdout)
    found: dict[str, Any] = case.made["child"]
    return found


def template_safe(case: Case, argument: str) -> None:
    found = child(case)
    assert found["seconds"] <= 5
    assert found["bytes"] <= 200_000_000
    assert not LEAK.search(found.get("text", ""))


SUFFIXES = {"json-file": ".json", "jsonl-file": ".jsonl", "yaml-file": ".yaml", "toml-file": ".toml"}


def typed_load(case: Case, argument: str) -> None:
    """The command line loads the file, or says in one line why not: exit status 0 or 2, no traceback."""
    kind = case.asked.vector["as"]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"input{SUFFIXES[kind]}"
        file.write_bytes(case.asked.text.encode("utf-8", "surrogatepass"))
        run = subprocess.run(
            [sys.executable, "-m", "promptpack", "render", str(file), "--question", "q"],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=CHILD_SECONDS, check=False,
        )
    assert run.returncode in (0, 2), run.stderr
    assert b"Traceback" not in run.stderr


def seconds(call: Callable[[], object]) -> float:
    """Return the time of the processor, so that other processes count little."""
    begin = time.process_time()
    call()
    return time.process_time() - begin


def grows_linearly(whole: Callable[[], object], part: Callable[[], object], characters: int) -> None:
    """Compare the best times of a few runs; more runs only while a busy machine spoils the figures."""
    full = quarter = math.inf
    for _ in range(5):
        full, quarter = min(full, seconds(whole)), min(quarter, seconds(part))
        linear, quick = full <= max(8 * quarter, 0.25), full <= max(2 * characters / 1_000_000, 0.25)
        if linear and quick:
            return
    assert linear, f"{full:.2f} s for the whole, {quarter:.2f} s for a quarter"
    assert quick, f"{full:.2f} s for {characters} characters"


def linear(case: Case, argument: str) -> None:
    whole_size, part = request(case.asked.vector), request(case.asked.vector, 0.25)
    grows_linearly(lambda: build(whole_size), lambda: build(part), len(whole_size.text))


def linear_answer(case: Case, argument: str) -> None:
    given = case.asked.vector["answer_repeat"]
    payload, answer, part = case.payload(), repeated(given), repeated(given, 0.25)
    grows_linearly(lambda: payload.verify(answer), lambda: payload.verify(part), len(answer))
