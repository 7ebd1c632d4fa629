"""Divided jobs: shards made apart give what one process makes of the whole, whatever ends in between."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from processes import killed_at, leaving

from promptpack.batch import Job, Options, RowError, Shard, StoppedError, divide, pack_shard, run_batch, run_divided
from promptpack.batch.chunks import LARGEST_ROW
from promptpack.batch.codecs import open_lines
from promptpack.batch.divided import here
from promptpack.batch.division import SMALLEST
from promptpack.batch.gather import Gather
from promptpack.batch.outputs import Plan
from promptpack.batch.parts import Parts
from promptpack.batch.seen import Seen
from promptpack.batch.sinks import Folder, OneFile
from promptpack.builder import PromptBuilder
from promptpack.errors import OptionError, PromptpackError

BUILDER = PromptBuilder(2000, counter="words")
NOW = Options(workers=0)
SIZE = 3000  # bytes of a shard


def rows(n: int, name: str = "q") -> list[dict[str, Any]]:
    return [
        {"id": f"{name}{i}" if i % 5 else None, "question": f"What of {i}?",
         "sources": [{"id": f"d{i}-{j}", "text": f"Text {i} {j}."} for j in range(4)]}
        for i in range(n)
    ]


def lines(given: Sequence[Any]) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in given)


def read(path: Path) -> list[Any]:
    with open_lines(str(path)) as file:
        return [json.loads(line) for line in file]


def contents(folder: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in sorted(folder.iterdir())}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Bad rows, ids that repeat within a shard and in shards far apart, rows without ids, and a line that is cut."""
    given = rows(150)
    given[40] = {"id": "bad"}
    given[41] = given[39]
    given[130] = given[1]
    given[131] = given[1]
    path = tmp_path / "in.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + lines(given) + b'{"id": "cut')
    return path


def backwards(
    parts: Parts, shards: Sequence[Shard], job: Job, options: Options, numbers: Sequence[int]
) -> Generator[int, None, None]:
    """Make parts from the last to the first, as a cluster might."""
    yield from here(parts, shards, job, options, list(reversed(numbers)))


@pytest.mark.parametrize(("name", "form", "more"), [
    ("out.jsonl", "payload", {}), ("out.jsonl", "vllm-batch", {}), ("out.jsonl", "openai-batch", {"split": True}),
    ("out.jsonl", "payload", {"on_error": "skip"}), ("out.parquet", "parquet", {}),
    ("out.jsonl", "vllm-batch", {"dead": "d.jsonl", "beside": "l.jsonl"}),
])
def test_shards_give_what_the_whole_gives(
    source: Path, tmp_path: Path, name: str, form: str, more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Byte for byte: the files, the numbers of rows in the dead letters, the ids that repeat, the totals."""
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow", reason="the extra batch is not installed")
    job = Job(BUILDER, form, model="m")
    found = []
    for folder, run in (("whole", run_batch), ("parts", run_divided)):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        options = Options(workers=0, **more)
        if folder == "whole":
            summary = run(source, name, job, options)
        else:
            summary = run_divided(source, name, job, options, size=SIZE, engine=backwards)
        found.append((summary, contents(tmp_path / folder)))
    assert found[0] == found[1]
    assert found[0][0].failed == {"SourceError": 2, "DuplicateIdError": 3}
    assert len(divide(source, SIZE)) > 5


def test_compressed_parts_are_joined(source: Path, tmp_path: Path) -> None:
    run_batch(source, tmp_path / "whole.jsonl.gz", Job(BUILDER), NOW)
    run_divided(source, tmp_path / "out.jsonl.gz", Job(BUILDER), NOW, size=SIZE)
    assert read(tmp_path / "out.jsonl.gz") == read(tmp_path / "whole.jsonl.gz")
    (tmp_path / "empty.jsonl").write_bytes(b"")
    run_divided(tmp_path / "empty.jsonl", tmp_path / "empty.jsonl.gz", Job(BUILDER), NOW)
    assert gzip.decompress((tmp_path / "empty.jsonl.gz").read_bytes()) == b""


def test_row_groups_are_shards(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="the extra batch is not installed")
    pq = pytest.importorskip("pyarrow.parquet", reason="the extra batch is not installed")
    given = rows(60)
    given[45] = given[2]
    given[30]["question"] = given[30]["sources"] = None
    table = pa.Table.from_pylist(given, schema=pa.schema([
        ("id", pa.string()), ("question", pa.string()),
        ("sources", pa.list_(pa.struct([("id", pa.string()), ("text", pa.string())])))]))
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=13)
    assert len(divide(tmp_path / "in.parquet")) == 5
    whole = run_batch(tmp_path / "in.parquet", tmp_path / "whole.parquet", Job(BUILDER, "parquet"), NOW)
    parts = run_divided(tmp_path / "in.parquet", tmp_path / "out.parquet", Job(BUILDER, "parquet"), NOW)
    assert whole == parts
    assert pq.read_table(tmp_path / "whole.parquet").equals(pq.read_table(tmp_path / "out.parquet"))
    assert (tmp_path / "whole.dead.jsonl").read_bytes() == (tmp_path / "out.dead.jsonl").read_bytes()
    assert [one["line"] for one in read(tmp_path / "out.dead.jsonl")] == [31, 46]
    folder = run_divided(tmp_path / "in.parquet", f"{tmp_path}/many/", Job(BUILDER, "parquet"), NOW)
    assert folder == whole
    made = [row for one in sorted((tmp_path / "many").glob("*.parquet")) for row in pq.read_table(one).to_pylist()]
    assert made == pq.read_table(tmp_path / "whole.parquet").to_pylist()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "in"
    made.mkdir()
    (made / "b.jsonl.gz").write_bytes(gzip.compress(lines([*rows(30, "b"), *rows(2, "a")])))
    (made / "a.jsonl").write_bytes(lines(rows(70, "a")) + b"oops\n")
    (made / "_SUCCESS").touch()
    return made


def test_a_folder_goes_into_a_file_or_a_folder(folder: Path, tmp_path: Path) -> None:
    """Rows without ids keep names of their own, and a dead letter says in which file the row is."""
    one = run_divided(folder, tmp_path / "out.jsonl", Job(BUILDER), NOW, size=SIZE)
    assert (one.rows, one.failed) == (103, {"SourceError": 1, "DuplicateIdError": 1})
    dead = read(tmp_path / "out.dead.jsonl")
    assert [(each["file"], each["line"]) for each in dead] == [("a.jsonl", 71), ("b.jsonl.gz", 32)]
    assert dead[1]["error"]["message"] == "id: 'a1' names row 2 of a.jsonl, too"
    assert json.loads(dead[1]["row"])["id"] == "a1"
    ids = [each["id"] for each in read(tmp_path / "out.jsonl")]
    assert len(set(ids)) == len(ids) == 101
    assert {"at-a.jsonl-0", "at-b.jsonl.gz-0"} <= set(ids)
    (tmp_path / "many").mkdir()
    many = run_divided(folder, tmp_path / "many", Job(BUILDER), NOW, size=SIZE)
    assert many == one
    named = sorted(each.name for each in (tmp_path / "many").glob("part-*") if "dead" not in each.name)
    assert len(named) > 3
    assert [row for each in named for row in read(tmp_path / "many" / each)] == read(tmp_path / "out.jsonl")
    letters = sorted((tmp_path / "many").glob("*.dead.jsonl"))
    assert [row for each in letters for row in read(each)] == dead
    before = contents(tmp_path / "many")
    assert run_divided(folder, tmp_path / "many", Job(BUILDER), NOW, engine=never) == one
    assert contents(tmp_path / "many") == before


def never(*_: Any) -> Generator[int, None, None]:
    raise AssertionError("nothing was to be made")


def test_a_rerun_makes_only_what_is_not_there(source: Path, tmp_path: Path) -> None:
    """Parts that are complete are not made again, and not taken where another builder asks."""
    asked: list[list[int]] = []

    def failing(parts: Parts, shards: Any, job: Job, options: Options, numbers: Any) -> Generator[int, None, None]:
        asked.append(list(numbers))
        for count, number in enumerate(here(parts, shards, job, options, numbers)):
            yield number
            if count == 2 and len(asked) != 3:
                raise StoppedError("the cluster is gone", rows=0)

    out = tmp_path / "out.jsonl"
    for _ in range(2):
        with pytest.raises(StoppedError):
            run_divided(source, out, Job(BUILDER), NOW, size=SIZE, engine=failing)
    assert not out.exists()
    with pytest.raises(OptionError, match="other options"):
        run_divided(source, out, Job(PromptBuilder(3000, counter="words")), NOW, size=SIZE)
    run_divided(source, out, Job(BUILDER), NOW, engine=failing)  # as it was divided at first
    assert [one[0] for one in asked] == [0, 3, 6]
    run_batch(source, tmp_path / "whole.jsonl", Job(BUILDER), NOW)
    assert out.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    assert sorted(one.name for one in tmp_path.iterdir()) == [
        "in.jsonl", "out.dead.jsonl", "out.jsonl", "whole.dead.jsonl", "whole.jsonl"]
    with pytest.raises(StoppedError):
        run_divided(source, out, Job(BUILDER), NOW, size=SIZE, engine=failing)
    run_divided(source, out, Job(PromptBuilder(3000, counter="words")), Options(workers=0, restart=True))
    assert read(out)[0]["budget"]["window"] == 3000


def test_a_job_goes_on_where_its_folder_was_moved_to(folder: Path, tmp_path: Path) -> None:
    """The parts say where the input was; what counts is what it holds."""
    home = tmp_path / "home"
    home.mkdir()
    folder.rename(home / "in")
    with pytest.raises(RowError):
        run_divided(home / "in", home / "out.jsonl", Job(BUILDER), Options(workers=0, on_error="raise"), size=SIZE)
    home.rename(tmp_path / "new")
    found = run_divided(tmp_path / "new" / "in", tmp_path / "new" / "out.jsonl", Job(BUILDER), NOW, size=SIZE)
    assert (found.rows, found.failures) == (103, 2)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Python 3.12: forking beside threads
@pytest.mark.parametrize("target", ["out.jsonl", "out/"])
def test_killed_at_any_step_a_job_goes_on_to_the_same_bytes(source: Path, tmp_path: Path, target: str) -> None:
    """A part that is half written must never be taken, and one that is named never be lost or done twice."""
    job = Job(BUILDER, "vllm-batch", model="m")
    (tmp_path / "plain").mkdir()
    run_divided(source, f"{tmp_path}/plain/{target}", job, NOW, size=12_000)
    expected = below(tmp_path / "plain")
    step, alive = 0, False
    while not alive:
        folder = tmp_path / f"killed-{step}"
        folder.mkdir()
        alive = killed_at(step, lambda to: run_divided(source, to, job, NOW, size=12_000), f"{folder}/{target}")
        killed_at(step // 2, lambda to: run_divided(source, to, job, NOW, size=12_000), f"{folder}/{target}")
        run_divided(source, f"{folder}/{target}", job, NOW, size=12_000)
        assert below(folder) == expected, f"killed at step {step}"
        step += 11
    assert step > 50, "the job was not killed at the steps that it has"


def below(folder: Path) -> dict[str, bytes]:
    return {
        str(one.relative_to(folder)): one.read_bytes() for one in sorted(folder.rglob("*"))
        if one.is_file() and not one.name.endswith("lock")
    }


def test_the_first_bad_row_may_stop_the_job(source: Path, tmp_path: Path) -> None:
    """The first of the input, not the first that some worker comes to; what is made stays for the next call."""
    with pytest.raises(RowError, match=r"row 41 \('bad'\)") as caught:
        run_divided(source, tmp_path / "out.jsonl", Job(BUILDER), Options(workers=0, on_error="raise"), size=SIZE,
                    engine=backwards)
    assert caught.value.number == 41
    assert run_divided(source, tmp_path / "out.jsonl", Job(BUILDER), NOW, engine=never).payloads == 146


def test_an_input_that_breaks_off_stops_the_job(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl.gz").write_bytes(gzip.compress(lines(rows(500)))[:-3000])
    with pytest.raises(StoppedError, match="cannot be read after line"):
        run_divided(tmp_path / "in.jsonl.gz", tmp_path / "out.jsonl", Job(BUILDER), NOW)


def test_a_part_that_is_left_in_a_row_is_thrown_away(tmp_path: Path) -> None:
    """Ray ends a process by an exception in the middle of a row; the row is not bad for that, unless in a worker."""
    (tmp_path / "in.jsonl").write_text(
        "".join(json.dumps({"id": name, "question": "Why?", "sources": [f"Text {name}."]}) + "\n"
                for name in ("a", "leave")))
    parts = Parts(tmp_path / "parts")
    (shard,) = parts.begin(lambda: divide(tmp_path / "in.jsonl"), "digest", restart=False)
    job = Job(PromptBuilder(2000, counter=leaving))
    with pytest.raises(SystemExit):
        parts.make(0, shard, job)
    assert sorted(one.name for one in parts.folder.iterdir()) == ["job.json"]
    parts.make(0, shard, job, workers=1)
    assert parts.summary(0).failed == {"SystemExit": 1}
    parts.make(0, shard, job)  # it is there


@pytest.mark.parametrize("target", ["out.jsonl", "out/"])
def test_a_job_that_made_nothing_leaves_nothing(source: Path, tmp_path: Path, target: str) -> None:
    """With other options it would not go on from such a folder, and ask for --restart for no reason."""
    def refuses(*_: Any) -> Any:
        raise OptionError("workers: none", name="workers")
        yield 0

    with pytest.raises(OptionError, match="workers: none"):
        run_divided(source, f"{tmp_path}/{target}", Job(BUILDER), NOW, size=SIZE, engine=refuses)
    assert [one.name for one in tmp_path.rglob("*") if one.name not in ("in.jsonl", "out")] == []
    run_divided(source, f"{tmp_path}/{target}", Job(BUILDER, "openai-batch", model="gpt-4o"), NOW, size=SIZE)


def test_a_part_whose_files_were_cleared_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that was thought dead finishes while another clears the folder: no part may come of it."""
    from promptpack.batch import parts as module

    (tmp_path / "in.jsonl").write_bytes(lines([*rows(5), {}]))
    parts = Parts(tmp_path / "parts")
    (shard,) = parts.begin(lambda: divide(tmp_path / "in.jsonl"), "digest", restart=False)

    def cleared(*args: Any, **options: Any) -> Any:
        made = pack_shard(*args, **options)
        args[1].with_name("000000.dead.jsonl").unlink()
        return made

    monkeypatch.setattr(module, "pack_shard", cleared)
    with pytest.raises(FileNotFoundError):
        parts.make(0, shard, Job(BUILDER))
    assert not parts.complete()


def test_another_s_files_stay(source: Path, tmp_path: Path) -> None:
    """A folder that is given may hold files that are no parts of ours."""
    (tmp_path / "out.jsonl.parts").mkdir()
    (tmp_path / "out.jsonl.parts" / "letter.txt").write_text("dear")
    run_divided(source, tmp_path / "out.jsonl", Job(BUILDER), NOW, size=SIZE)
    assert [one.name for one in (tmp_path / "out.jsonl.parts").iterdir()] == ["letter.txt"]
    (tmp_path / "many").mkdir()
    (tmp_path / "many" / "part-000000.jsonl").write_text("{}\n")
    with pytest.raises(OptionError, match="from another job"):
        run_divided(source, tmp_path / "many", Job(BUILDER), NOW)
    (tmp_path / "many" / "notes.txt").write_text("dear")
    run_divided(source, tmp_path / "many", Job(BUILDER), Options(workers=0, restart=True), size=SIZE)
    assert (tmp_path / "many" / "notes.txt").exists()
    with pytest.raises(OptionError, match="from another job"):
        run_divided(source, tmp_path / "many", Job(BUILDER, "vllm-batch", model="m"), NOW)


@pytest.mark.parametrize(("given", "target", "options", "message"), [
    ("-", "out.jsonl", {}, "cannot be divided"), ("in.jsonl", "-", {}, "cannot be divided"),
    ("in.jsonl", "many/", {"split": True}, "a file for each shard"),
    ("in.jsonl", "many/", {"dead": "d.jsonl"}, "beside each part"),
    ("in.jsonl", "no/many/", {}, "no folder"), ("in.jsonl", "no/out.jsonl", {}, "no folder"),
    ("no.jsonl", "out.jsonl", {}, "cannot be read"), ("in.jsonl", "in.jsonl", {}, "are one file"),
    ("in.jsonl", "out.parquet", {}, "has the format parquet"), ("in", "in", {}, "the folder is the input"),
    ("empty", "out.jsonl", {}, "has no files"), ("odd", "out.jsonl", {}, "neither JSON Lines nor Parquet"),
])
def test_options_that_do_not_fit_are_named(
    source: Path, folder: Path, tmp_path: Path, given: str, target: str, options: dict[str, Any], message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "table.csv").touch()
    if target.endswith("parquet"):
        pytest.importorskip("pyarrow", reason="the extra batch is not installed")
    with pytest.raises(OptionError, match=message):
        run_divided(given, target, Job(BUILDER), Options(workers=0, **options))


def test_a_run_of_another_kind_is_not_written_over(source: Path, tmp_path: Path) -> None:
    with pytest.raises(RowError):
        run_batch(source, tmp_path / "out.jsonl", Job(BUILDER), Options(workers=0, on_error="raise"))
    with pytest.raises(OptionError, match="a run of another kind"):
        run_divided(source, tmp_path / "out.jsonl", Job(BUILDER), NOW)
    run_divided(source, tmp_path / "out.jsonl", Job(BUILDER), Options(workers=0, restart=True))
    (tmp_path / "out.jsonl.parts").mkdir()
    (tmp_path / "out.jsonl.parts" / "job.json").write_text("{")
    with pytest.raises(PromptpackError, match="cannot be read"):
        run_divided(source, tmp_path / "out.jsonl", Job(BUILDER), NOW)


def test_sizes_of_shards_follow_from_the_input(tmp_path: Path) -> None:
    """Another computer must divide the input as the first did."""
    path = tmp_path / "in.jsonl"
    with path.open("wb") as file:  # holes: nothing is written
        file.truncate(SMALLEST * 3 + 5)
    line = path.open("r+b")
    for at in range(0, SMALLEST * 3, 1_000_000):
        line.seek(at)
        line.write(b"\n")
    line.close()
    assert [one.start for one in divide(path)][:2] == [0, SMALLEST + 1]
    with pytest.raises(OptionError, match="number of bytes"):
        divide(path, 0)


@pytest.mark.parametrize(("size", "counted"), [(40, 4), (400, 20), (40_000, 80)])
def test_shards_are_a_share_of_the_input_within_bounds(
    tmp_path: Path, size: int, counted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small inputs would make tasks that are all start, large ones more files than a folder holds well."""
    for name, value in (("SMALLEST", 10), ("LARGEST", 500), ("_WANTED", 20)):
        monkeypatch.setattr(f"promptpack.batch.division.{name}", value)
    (tmp_path / "in.jsonl").write_bytes(b"{}    \r\n\n\n" * (size // 10))
    assert len(divide(tmp_path / "in.jsonl")) == counted
    (tmp_path / "in.jsonl.gz").write_bytes(gzip.compress(os.urandom(size)))  # to be read from the start alone
    assert len(divide(tmp_path / "in.jsonl.gz")) == 1


def test_a_row_of_another_size_than_usual_is_a_dead_letter_as_a_whole(tmp_path: Path) -> None:
    """Repeated rows are read again for their dead letters, with the bound that the job was given."""
    one = {**rows(2)[1], "pad": "x" * LARGEST_ROW}
    (tmp_path / "in.jsonl").write_bytes(lines([one, one]))
    options = Options(workers=0, largest_row=LARGEST_ROW + 1000)
    run_batch(tmp_path / "in.jsonl", tmp_path / "whole.jsonl", Job(BUILDER), options)
    run_divided(tmp_path / "in.jsonl", tmp_path / "out.jsonl", Job(BUILDER), options)
    assert (tmp_path / "out.dead.jsonl").read_bytes() == (tmp_path / "whole.dead.jsonl").read_bytes()
    assert json.loads(json.loads((tmp_path / "out.dead.jsonl").read_bytes())["row"]) == one


@pytest.mark.parametrize("target", ["out.jsonl", "out/"])
def test_dead_letters_of_a_part_are_never_all_in_memory(
    tmp_path: Path, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compressed file is one part, however large, and all of its rows may be bad."""
    import tracemalloc

    (tmp_path / "in.jsonl.gz").write_bytes(gzip.compress(lines([{"id": i, "pad": "x" * 10_000} for i in range(2000)])))
    parts = Parts(tmp_path / "parts")
    (shard,) = parts.begin(lambda: divide(tmp_path / "in.jsonl.gz"), "digest", restart=False)
    parts.make(0, shard, Job(BUILDER))
    (tmp_path / "out").mkdir()
    sink = Folder(tmp_path / "out", "plain", ".jsonl") if target == "out/" else OneFile(
        Plan(tmp_path / target, dead=tmp_path / "out.dead.jsonl"))
    with closing(Seen(None)) as seen:
        tracemalloc.start()
        try:
            Gather(parts, [shard], sink, seen).take()
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    if isinstance(sink, OneFile):
        sink.discard()
    assert parts.file(0, "dead").stat().st_size > 20_000_000 > 2 * most
