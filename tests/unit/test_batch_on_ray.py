"""The Ray engine without Ray: what a task says, what is asked for, and what is checked before anything is started."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from promptpack.batch import Job, Options, StoppedError, divide, ray_engine, run_divided
from promptpack.batch import on_ray as module
from promptpack.batch.parts import Parts
from promptpack.builder import PromptBuilder
from promptpack.errors import OptionError
from promptpack.version import __version__

JOB = Job(PromptBuilder(2000, counter="words"))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.jsonl"
    path.write_text("".join(
        json.dumps({"id": i, "question": "Why?", "sources": ["Because."]}) + "\n" for i in range(8)))
    return path


def test_the_extra_is_named_where_ray_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    gone: Any = None
    monkeypatch.setitem(sys.modules, "ray", gone)
    with pytest.raises(OptionError, match=r"promptpack-rag\[ray\]"):
        ray_engine()


def test_a_task_makes_a_part_or_says_why_not(source: Path, tmp_path: Path) -> None:
    """A node with another version would mix two kinds of prompts; one that does not see the folder loses its work."""
    parts = Parts(tmp_path / "parts")
    (shard,) = divide(source)
    assert "does not see" in str(module._make((parts, JOB, 10**6, __version__, source), 0, shard))
    parts.begin(lambda: [shard], "digest", restart=False)
    with parts.wanted() as wanted:
        assert "a node has promptpack" in str(module._make((parts, JOB, 10**6, "0.0.0", wanted), 0, shard))
        held = (parts, JOB, 10**6, __version__, wanted)
        assert module._make(held, 0, shard) is None
        assert parts.complete() == {0}
        source.unlink()
        said = module._make(held, 1, shard)
    assert said is not None
    assert "cannot be read" in said[1]
    assert module._make(held, 1, shard) == module._AGAIN  # nobody waits for it: the file is not even looked for


def leaving(text: str) -> int:
    """Count words, and leave: what Ray does in the middle of a row to a process whose job is over."""
    raise SystemExit(1)


def test_a_process_that_is_ended_in_a_row_makes_no_dead_letter(source: Path, tmp_path: Path) -> None:
    """The task of a killed driver would leave a part behind that lacks a good row."""
    parts = Parts(tmp_path / "parts")
    (shard,) = parts.begin(lambda: divide(source), "digest", restart=False)
    job = Job(PromptBuilder(2000, counter=leaving))
    with parts.wanted() as wanted:
        assert module._make((parts, job, 10**6, __version__, wanted), 0, shard) == module._AGAIN
    assert not parts.complete()


class Stub:
    """As much of ray as the engine uses; tasks are done at once. fate: what becomes of each, by its number."""

    def __init__(self, processors: int, fate: dict[int, BaseException]) -> None:
        self.processors, self.fate = processors, fate
        self.most, self.ended = 0, False
        self.waiting: list[Any] = []
        self.exceptions = type("Known", (), {
            "RayError": RuntimeError, **{
                name: type(name, (RuntimeError,), {}) for name in
                ("WorkerCrashedError", "OutOfMemoryError", "NodeDiedError")}})

    def is_initialized(self) -> bool:
        return False

    def init(self, **options: Any) -> None:
        self.options = options

    def shutdown(self) -> None:
        self.ended = True

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": self.processors}

    def put(self, value: Any) -> Any:
        return value

    def remote(self, **options: Any) -> Any:
        assert options == {"num_cpus": 1, "max_retries": 3, "retry_exceptions": False}
        return lambda function: Task(self, function)

    def wait(self, tasks: list[Any], **_: Any) -> tuple[list[Any], list[Any]]:
        self.most, self.waiting = max(self.most, len(tasks)), tasks[:-1]
        return tasks[-1:], tasks[:-1]

    def get(self, task: Any) -> Any:
        held, number, shard = task.arguments
        if number in self.fate:
            raise self.fate[number]
        return module._make(held, number, shard)


class Task:
    """A task, and what it was handed."""

    def __init__(self, stub: Stub, function: Any, arguments: Any = ()) -> None:
        self.stub, self.function, self.arguments = stub, function, arguments

    def options(self, name: str) -> Task:
        return self

    def remote(self, *arguments: Any) -> Task:
        return Task(self.stub, self.function, arguments)


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Stub:
    made = Stub(1, {})
    monkeypatch.setitem(sys.modules, "ray", made)  # type: ignore[arg-type]
    return made


@pytest.mark.parametrize(("workers", "most"), [(None, 4), (2, 2)])
def test_four_tasks_for_each_processor_are_handed_in(
    source: Path, tmp_path: Path, stub: Stub, workers: int | None, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All at once would be a queue of a million tasks; one for each would leave processors waiting."""
    monkeypatch.setattr(module, "_knock", lambda address: None)
    run_divided(source, tmp_path / "out.jsonl", JOB, Options(workers=workers), size=1, engine=ray_engine("host:1"))
    assert (stub.most, stub.ended, stub.options["address"]) == (most, True, "host:1")
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 8


def test_a_cluster_of_its_own_is_local_and_bounded(source: Path, tmp_path: Path, stub: Stub) -> None:
    """Without the word local, Ray joins whatever cluster its state file names."""
    run_divided(source, tmp_path / "out.jsonl", JOB, Options(workers=3), engine=ray_engine())
    assert (stub.options["address"], stub.options["num_cpus"]) == ("local", 3)
    assert stub.options["_system_config"] == {"task_oom_retries": 3}


def test_no_worker_is_none_and_leaves_nothing(source: Path, tmp_path: Path, stub: Stub) -> None:
    with pytest.raises(OptionError, match="Ray needs at least one"):
        run_divided(source, tmp_path / "out.jsonl", JOB, Options(workers=0), size=1, engine=ray_engine())
    assert [one.name for one in tmp_path.iterdir()] == ["in.jsonl"]


def test_what_crashed_is_done_by_this_computer(source: Path, tmp_path: Path, stub: Stub) -> None:
    stub.fate = {2: stub.exceptions.WorkerCrashedError("gone"), 5: stub.exceptions.OutOfMemoryError("gone")}
    run_divided(source, tmp_path / "out.jsonl", JOB, Options(workers=1), size=1, engine=ray_engine())
    assert [json.loads(line)["id"] for line in (tmp_path / "out.jsonl").read_text().splitlines()] == list("01234567")


def test_a_cluster_that_is_lost_stops_the_job(source: Path, tmp_path: Path, stub: Stub) -> None:
    """Its work must not be done by one computer without a word; what is made stays, and what waits is not done."""
    stub.fate = {1: RuntimeError("the head is gone")}
    with pytest.raises(StoppedError, match="the head is gone"):
        run_divided(source, tmp_path / "out.jsonl", JOB, Options(workers=1), size=1, engine=ray_engine())
    assert stub.ended
    made = Parts(tmp_path / "out.jsonl.parts").complete()
    assert made
    stub.fate = {}
    assert [stub.get(one) for one in stub.waiting] == [module._AGAIN]
    assert Parts(tmp_path / "out.jsonl.parts").complete() == made


@pytest.mark.parametrize("address", ["", "  ", 7])
def test_an_address_is_a_text(stub: Stub, address: Any) -> None:
    with pytest.raises(OptionError, match="expected an address"):
        ray_engine(address)
