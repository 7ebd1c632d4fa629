"""A divided job whose output finds no room, or cannot be had: it stops in order, and the same call goes on."""

from __future__ import annotations

import errno
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from promptpack.batch import Job, Options, StoppedError, run_divided
from promptpack.batch import divided as module
from promptpack.batch.outputs import Outputs
from promptpack.batch.parts import Parts
from promptpack.batch.seen import Seen
from promptpack.batch.sinks import Folder, OneFile
from promptpack.builder import PromptBuilder

NOW = Options(workers=0)
JOB = Job(PromptBuilder(2000, counter="words"))


def contents(path: Path) -> dict[str, bytes]:
    if path.is_file():
        return {"": path.read_bytes()}
    return {one.name: one.read_bytes() for one in path.iterdir() if one.name != "_summary.json"}


@pytest.mark.parametrize("error", [
    OSError(errno.ENOSPC, "No space left on device"), PermissionError(errno.EACCES, "Permission denied", "the-file"),
    sqlite3.OperationalError("database or disk is full"),
])
@pytest.mark.parametrize(("target", "owner", "step", "made"), [
    ("out", Folder, "put", True), ("out", Folder, "finish", True), ("out.jsonl", OneFile, "put", True),
    ("out.jsonl", OneFile, "finish", True), ("out", Seen, "commit", True),
    ("out.jsonl", Parts, "make", False), ("out", Parts, "begin", False), ("out.jsonl", Parts, "clear", True),
])
def test_what_finds_no_room_stops_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, target: str, owner: Any, step: str, made: bool
) -> None:
    source = tmp_path / "in.jsonl"
    rows = [{"id": f"q{n}", "question": "How?", "sources": [f"Text {n}."]} for n in range(40)]
    source.write_bytes(b"".join(json.dumps(one).encode() + b"\n" for one in rows))
    for name in ("whole", "out") if target == "out" else ():
        (tmp_path / name).mkdir()
    whole = tmp_path / target.replace("out", "whole")
    run_divided(source, whole, JOB, NOW, size=700)

    def full(*_: Any, **__: Any) -> None:
        raise error

    parts = tmp_path / ("out/.parts" if target == "out" else "out.jsonl.parts")
    with monkeypatch.context() as patch:
        if step == "clear":  # when all is joined, and not when the folder is set up
            joined = module.OneFile.finish
            patch.setattr(OneFile, "finish", lambda sink: (joined(sink), patch.setattr(Parts, "clear", full)))
        else:
            patch.setattr(owner, step, full)
            if owner is OneFile:  # then what is joined so far cannot be deleted, either
                patch.setattr(Outputs, "discard", lambda _: Path(tmp_path / "in.jsonl" / "x").unlink())
        with pytest.raises(StoppedError, match=r"^stopped after [0-9]+ rows: .+: .+") as found:
            run_divided(source, tmp_path / target, JOB, NOW, size=700)
        assert (getattr(error, "filename", None) or str(tmp_path / target)) in str(found.value)
        assert bool(found.value.rows) == made == bool(list(parts.glob("*.done")))
    run_divided(source, tmp_path / target, JOB, NOW, size=700)
    assert contents(tmp_path / target) == contents(whole)
    assert not parts.exists()
