"""What users' callables raise beside Exceptions: it costs its row, but what is to end the process ends it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from promptpack.batch import Job, Options, divide, pack_batch, render_many, run_batch
from promptpack.batch.parts import Parts
from promptpack.builder import PromptBuilder

ROWS = [{"id": one, "question": "Why?", "sources": [f"Text {one}."]} for one in ("a", "panics", "c")]


class Panic(BaseException):
    """What native code panics with."""


def panicking(text: str) -> int:
    """Count words, and panic in one row."""
    if "panics" in text:
        raise Panic("in native code")
    return len(text.split())


def interrupted(text: str) -> int:
    """Count words, and do as Ctrl-C does in one row."""
    if "panics" in text:
        raise KeyboardInterrupt
    return len(text.split())


def closed(text: str) -> int:
    """Count words, and do as a generator that is closed in one row."""
    if "panics" in text:
        raise GeneratorExit
    return len(text.split())


def leaving(text: str) -> int:
    """Count words, and leave in one row."""
    if "panics" in text:
        raise SystemExit(1)
    return len(text.split())


def source(folder: Path) -> Path:
    path = folder / "in.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in ROWS))
    return path


def test_a_panic_costs_its_row_alone_in_arrow_as_elsewhere() -> None:
    """If this fails, one row ends a job of Spark or Ray Data that `render_many` would have finished."""
    pa = pytest.importorskip("pyarrow", reason="the extra batch is not installed")
    builder = PromptBuilder(2000, counter=panicking)
    made = pack_batch(pa.Table.from_pylist(ROWS), builder).to_pylist()
    assert [one["error"] and one["error"]["type"] for one in made] == [None, "Panic", None]
    assert [one.error and one.error.type for one in render_many(ROWS, builder, 0)] == [None, "Panic", None]


@pytest.mark.parametrize(("counter", "kind"), [
    (interrupted, KeyboardInterrupt), (closed, GeneratorExit), (leaving, SystemExit),
])
def test_what_ends_a_process_ends_the_caller_s_and_costs_a_worker_its_row(
    tmp_path: Path, counter: Any, kind: type[BaseException]
) -> None:
    """If this fails, Ctrl-C makes a bad row here, or one row there ends the run with a traceback of another process."""
    pa = pytest.importorskip("pyarrow", reason="the extra batch is not installed")
    path, job = source(tmp_path), Job(PromptBuilder(2000, counter=counter))
    with pytest.raises(kind):
        pack_batch(pa.Table.from_pylist(ROWS), job.builder)
    with pytest.raises(kind):
        run_batch(path, tmp_path / "out.jsonl", job, Options(workers=0))
    summary = run_batch(path, tmp_path / "out.jsonl", job, Options(workers=1))
    assert (summary.payloads, summary.failed) == (2, {kind.__name__: 1})
    found = list(render_many(ROWS, job.builder, 1))
    assert [one.error and one.error.type for one in found] == [None, kind.__name__, None]


@pytest.mark.parametrize("counter", [interrupted, closed, leaving])
def test_in_a_task_of_ray_it_is_left_to_this_computer_to_tell(tmp_path: Path, counter: Any) -> None:
    """If this fails, such a row ends the whole job on the cluster."""
    import promptpack.batch.on_ray as module

    parts = Parts(tmp_path / "parts")
    (shard,) = parts.begin(lambda: divide(source(tmp_path)), "digest", restart=False)
    job = Job(PromptBuilder(2000, counter=counter))
    with parts.wanted() as wanted:
        assert module._make((parts, job, 10**6, module.__version__, wanted), 0, shard) == module._AGAIN
    assert not parts.complete()


class Odd:
    """A row that cannot be sent to another process."""

    def __reduce__(self) -> Any:
        raise Panic("while it was pickled")


def test_a_row_that_panics_when_it_is_sent_costs_itself_alone() -> None:
    """If this fails, one object among the rows ends the loop over all of them."""
    rows: list[Any] = [ROWS[0], {**ROWS[2], "more": Odd()}]
    found = list(render_many(rows, PromptBuilder(2000, counter="words"), 1))
    assert [one.payload is not None for one in found] == [True, False]
