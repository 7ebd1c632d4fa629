"""The pool: order, a bounded window, workers that die, a parent that is killed, and nothing left behind."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from processes import below

from promptpack.batch import Job, Options, RowError, render_many, run_batch
from promptpack.batch.engine import ordered, worker_count
from promptpack.builder import PromptBuilder
from promptpack.errors import OptionError

REPO = Path(__file__).parents[2]
DRIVER = '''
import json, os, signal, sys
from promptpack.batch import Job, Options, run_batch
from promptpack.builder import PromptBuilder

def deadly(text):
    """Counts words, and ends its process at a poison."""
    if "POISON" in text:
        os.kill(os.getpid(), signal.SIGKILL)
    return len(text.split())

def slow(text):
    import time
    time.sleep(0.002)
    return len(text.split())

if __name__ == "__main__":
    source, target, counter, *flags = sys.argv[1:]
    counter = {"deadly": deadly, "slow": slow}.get(counter, counter)
    job = Job(PromptBuilder(2000, counter=counter), "openai-batch", model="gpt-4o")
    run_batch(source, target, job, Options(workers=2, every=0, resume="resume" in flags))
'''


def rows(n: int, **more: Any) -> list[dict[str, Any]]:
    return [
        {"id": f"q{i}", "question": f"What of {i}?", "sources": [{"id": f"d{i}-{j}", "text": f"Text {i} {j}."}
                                                                for j in range(5)], **more}
        for i in range(n)
    ]


def write(path: Path, given: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in given))
    return path


def slow(text: str) -> int:
    """What the driver counts with, without its pauses."""
    return len(text.split())


@pytest.fixture
def driver(tmp_path: Path) -> list[str]:
    (tmp_path / "driver.py").write_text(DRIVER)
    return [sys.executable, str(tmp_path / "driver.py")]


def start(driver: list[str], *arguments: str | Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*driver, *map(str, arguments)], env={**os.environ, "PYTHONPATH": str(REPO)}, stderr=subprocess.PIPE,
    )


def gone(pids: list[int], seconds: float = 20) -> bool:
    def lives(pid: int) -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except OSError:
            return False

    end = time.monotonic() + seconds
    while any(map(lives, pids)) and time.monotonic() < end:
        time.sleep(0.05)
    return not any(map(lives, pids))


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads the process table of Linux")


def test_many_equals_a_plain_loop_and_keeps_the_order() -> None:
    """Processes must not change a payload, nor the order."""
    builder = PromptBuilder(2000, counter="words")
    given = rows(75)
    made = list(render_many(given, builder, workers=2))
    assert [one.number for one in made] == list(range(1, 76))
    for one, row in zip(made, given, strict=True):
        plain = builder.with_question(row["question"]).add_sources(row["sources"]).render()
        assert one.unwrap() == plain


def test_the_window_is_bounded() -> None:
    """An input larger than memory is read no faster than it is worked on."""
    taken = 0

    def source() -> Iterator[dict[str, Any]]:
        nonlocal taken
        for row in rows(5000):
            taken += 1
            yield row

    results = render_many(source(), PromptBuilder(2000, counter="words"), workers=1)
    next(results)
    assert taken <= (2 * 1 + 2 + 1) * 32
    results.close()  # type: ignore[attr-defined]


def test_one_bad_row_is_a_result_or_an_error() -> None:
    given = [*rows(2), {"id": "x"}]
    made = list(render_many(given, PromptBuilder(2000, counter="words"), workers=0))
    assert [one.payload is None for one in made] == [False, False, True]
    with pytest.raises(RowError, match="row 3: question") as caught:
        list(render_many(given, PromptBuilder(2000, counter="words"), workers=0, on_error="raise"))
    assert caught.value.number == 3
    assert caught.value.failure.id == "x"


def test_rows_may_be_lines_and_one_that_cannot_be_sent_costs_no_other() -> None:
    given: list[Any] = [json.dumps(rows(1)[0]), {**rows(1)[0], "id": "lock", "extra": threading.Lock()}, rows(1)[0]]
    made = list(render_many(given, PromptBuilder(2000, counter="words"), workers=1))
    assert [one.error is None for one in made] == [True, False, True]
    assert "cannot be sent to another process" in str(made[1].error)


def test_a_builder_that_cannot_be_sent_is_an_error_at_once() -> None:
    with pytest.raises(OptionError, match="workers=0"):
        next(render_many(rows(1), PromptBuilder(2000, counter=lambda text: len(text)), workers=1))


def test_a_rerank_is_refused() -> None:
    from promptpack.rerank import Rerank

    with pytest.raises(OptionError, match="rerank"):
        render_many(rows(1), PromptBuilder(2000, rerank=Rerank(lambda query, texts: [0.0] * len(texts))))


@pytest.mark.parametrize("workers", [-1, True, 1.5, "2", 10_000])
def test_workers_are_checked(workers: Any) -> None:
    with pytest.raises(OptionError, match="workers"):
        worker_count(workers)


def test_an_error_of_the_work_reaches_the_caller() -> None:
    """Only rows may fail in silence; a fault of the library must not look like a dead worker."""
    from promptpack.batch.chunks import read_objects

    with pytest.raises(TypeError):
        list(ordered(read_objects(rows(1), pickled=True), "no work", 1))  # type: ignore[arg-type]


@needs_proc
def test_poison_rows_cost_nothing_but_themselves(tmp_path: Path, driver: list[str]) -> None:
    """A row that ends its process each time must be found among its neighbours, and they be delivered."""
    given = rows(100)
    for bad in (5, 6, 70):
        given[bad]["question"] = "POISON?"
    write(tmp_path / "in.jsonl", given)
    process = start(driver, tmp_path / "in.jsonl", tmp_path / "out.jsonl", "deadly")
    _, talk = process.communicate(timeout=120)
    assert process.returncode == 0, talk
    made = [json.loads(line)["custom_id"] for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert made == [f"q{i}" for i in range(100) if i not in (5, 6, 70)]
    dead = [json.loads(line) for line in (tmp_path / "out.dead.jsonl").read_text().splitlines()]
    assert [(one["line"], one["id"], one["error"]["type"]) for one in dead] == [
        (6, "q5", "WorkerDied"), (7, "q6", "WorkerDied"), (71, "q70", "WorkerDied"),
    ]


@needs_proc
@pytest.mark.parametrize("seed", range(2))
def test_killed_workers_and_parents_lose_nothing(tmp_path: Path, driver: list[str], seed: int) -> None:
    """kill -9 at random moments: the resumed output is that of a run that nobody touched, and no worker stays."""
    rng = random.Random(seed)
    write(tmp_path / "in.jsonl", [*rows(150), {"id": "bad"}, *rows(1)])
    job = Job(PromptBuilder(2000, counter=slow), "openai-batch", model="gpt-4o")
    run_batch(tmp_path / "in.jsonl", tmp_path / "plain.jsonl", job, Options(workers=0))
    names = ("{}.jsonl", "{}.labels.jsonl", "{}.dead.jsonl")
    expected = [(tmp_path / name.format("plain")).read_bytes() for name in names]
    flags: list[str] = []
    for turn in range(3):
        process = start(driver, tmp_path / "in.jsonl", tmp_path / "out.jsonl", "slow", *flags)
        flags = ["resume"]
        if turn < 2:
            end = time.monotonic() + 15  # until there are workers
            while len(below(process.pid)) < 4 and process.poll() is None and time.monotonic() < end:
                time.sleep(0.02)
            time.sleep(rng.uniform(0, 0.6))
            family = below(process.pid)[1:]
            if family and rng.random() < 0.7:
                with suppress(ProcessLookupError):
                    os.kill(rng.choice(family), signal.SIGKILL)
                time.sleep(rng.uniform(0, 0.4))
            family = below(process.pid)[1:]
            process.kill()
            process.communicate()
            assert gone(family), "workers outlive their parent"
            if not (tmp_path / "out.jsonl.journal").exists() and not (tmp_path / "out.jsonl").exists():
                flags = []
        if (tmp_path / "out.jsonl").exists() and not (tmp_path / "out.jsonl.journal").exists():
            break
        if turn == 2:
            _, talk = process.communicate(timeout=120)
            assert process.returncode == 0, talk
    assert [(tmp_path / name.format("out")).read_bytes() for name in names] == expected
    assert sorted(one.name for one in tmp_path.iterdir() if one.name.startswith("out.")) == [
        "out.dead.jsonl", "out.jsonl", "out.labels.jsonl"]


@needs_proc
def test_ctrl_c_stops_cleanly_and_the_run_goes_on(tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", rows(3000))
    command = [sys.executable, "-m", "promptpack", "batch", "in.jsonl", "out.jsonl", "-j", "1", "-c", "words"]
    options: dict[str, Any] = {"cwd": tmp_path, "stderr": subprocess.PIPE, "stdout": subprocess.PIPE,
                               "env": {**os.environ, "PYTHONPATH": str(REPO)}}
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # who starts tests in the background ignores it
    process = subprocess.Popen(command, start_new_session=True, preexec_fn=heard, **options)
    end = time.monotonic() + 30
    part = tmp_path / "out.jsonl.part"
    sizes: set[int] = set()
    while len(sizes - {0}) < 2 and time.monotonic() < end:  # with the second chunk, the first is sure to be counted
        sizes.add(part.stat().st_size if part.exists() else 0)
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: all processes of the group
    _, talk = process.communicate(timeout=60)
    assert process.returncode == 1, talk
    assert b"--resume" in talk
    assert b"Traceback" not in talk
    assert (tmp_path / "out.jsonl.journal").exists()
    assert not (tmp_path / "out.jsonl").exists()
    done = subprocess.run([*command, "--resume"], **options, check=False)
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "out.jsonl").read_bytes().splitlines()) == 3000
