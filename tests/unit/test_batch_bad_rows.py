"""Bad rows of every kind, through every way in: lines with and without workers, divided, Parquet, Arrow, iterables."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bad_rows import BAD, JOB, LARGEST, ODD, check_letters, delivered, good, write_all

from promptpack.batch import Options, StoppedError, pack_batch, render_many, run_batch, run_divided
from promptpack.batch.rows import parse_line

ABSENT = "the extra batch is not installed"


def ids(path: Path) -> list[str]:
    return [json.loads(line)["id"] for line in path.read_bytes().splitlines()]


@pytest.mark.parametrize("way", ["in this process", "two workers", "divided", "gzip"])
def test_bad_rows_go_to_the_dead_letters_and_all_others_are_delivered(tmp_path: Path, way: str) -> None:
    """One bad row must cost nothing but itself, and say where it is and why."""
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    lines = write_all(source)
    options = Options(workers=2 if way == "two workers" else 0, largest_row=LARGEST)
    if way == "divided":
        summary = run_divided(source, out, JOB, options, size=50_000)
    else:
        if way == "gzip":
            (tmp_path / "in.jsonl.gz").write_bytes(gzip.compress(source.read_bytes()))
            source = tmp_path / "in.jsonl.gz"
        summary = run_batch(source, out, JOB, options)
    assert ids(out) == delivered(lines)
    assert (summary.rows, summary.failures) == (len(lines), len(BAD))
    check_letters(tmp_path / "out.dead.jsonl", lines)


@pytest.mark.parametrize("workers", [0, 2])
def test_an_iterable_gives_a_result_for_each(tmp_path: Path, workers: int) -> None:
    """Rows from a program have no limit of size, may repeat ids, and are named by their places."""
    lines = write_all(tmp_path / "in.jsonl")
    made = list(render_many(lines, JOB.builder, workers=workers))
    assert [one.number for one in made] == list(range(1, len(lines) + 1))
    for number, (kind, (_, reason)) in enumerate(BAD.items()):
        error = made[2 + 2 * number].error
        if "came before" in kind or kind == "a row that is too large":
            assert error is None, kind
        elif kind == "a broken row that is too large":
            assert error is not None
            assert "broken JSON" in error.message
        else:
            assert error is not None, kind
            assert reason in error.message, kind
        assert made[3 + 2 * number].error is None, kind
    assert all(one.error is None for one in made[-len(ODD):])


@pytest.mark.parametrize("kind", ["text", "binary"])
def test_lines_in_arrow(tmp_path: Path, kind: str) -> None:
    """A bad line gives an error in its place; a column of bytes takes what is no UTF-8, too."""
    pa = pytest.importorskip("pyarrow", reason=ABSENT)
    lines = write_all(tmp_path / "in.jsonl")
    lines = [one.replace(b"\xff\xfe", b"").replace(b"\xe4", b"") if kind == "text" else one for one in lines]
    column = pa.array(lines, pa.binary())
    batch = pa.record_batch({"value": column.cast(pa.string()) if kind == "text" else column})
    made = pack_batch(batch, JOB.builder, line="value").to_pylist()
    assert len(made) == len(lines)
    for number, (name, (_, reason)) in enumerate(BAD.items()):
        error = made[2 + 2 * number]["error"]
        if "came before" in name or name == "a row that is too large" or (kind == "text" and name == "Latin-1"):
            assert error is None, name
        elif name == "a broken row that is too large":
            assert "broken JSON" in error["message"]
        elif kind == "text" and name == "not UTF-8":
            assert "no such column" in error["message"]
        else:
            assert reason in error["message"], name
            assert error["type"], name
        assert made[3 + 2 * number]["error"] is None, name
    assert [one["error"] for one in made[-len(ODD):]] == [None] * len(ODD)
    assert made[-len(ODD)]["id"] == "odd \\ud800"  # Arrow holds no lone surrogates


def table() -> tuple[Any, list[str], dict[int, str], list[str]]:
    """Return the rows as a table with the lists as JSON text, names of the kinds, the reasons, and the good ids.

    What no table can hold is left out: rows that are no objects, and texts of another type.
    """
    pa = pytest.importorskip("pyarrow", reason=ABSENT)
    rows: list[dict[str, Any]] = [{"id": "before", "question": "Q", "sources": '["a"]'}]
    reasons: dict[int, str] = {}
    names = ["before"]

    def add(name: str, reason: str, **row: Any) -> None:
        names.append(name)
        reasons[len(rows)] = reason
        rows.append({"id": "x", "question": "Q", "sources": '["a"]', **row})
        rows.append({"id": f"good-{len(rows)}", "question": "Q", "sources": '["a"]'})

    for name, (data, reason) in BAD.items():
        try:
            row = parse_line(data)
        except ValueError:
            continue
        held = isinstance(row, dict) and {"question", "sources"} <= set(row) and len(data) <= LARGEST
        if not held or not all(isinstance(row.get(one) or "", str) for one in ("id", "question", "system")):
            continue
        more = {one: json.dumps(row[one]) for one in ("sources", "history") if row.get(one) is not None}
        if "came before" in name:
            reason = "names row"
        if "Infinity" in json.dumps(row):
            reason = "Infinity is no JSON number"
        add(name, reason, **{**{one: row.get(one) for one in ("id", "question", "sources", "system")}, **more})
    add("broken JSON", "sources: broken JSON at column", sources="[{")
    add("an empty text", "sources: an empty line", sources="")
    add("NaN", "sources: NaN is no JSON number", sources='[{"text": "a", "score": NaN}]')
    add("nested too deep", "sources: JSON that is nested too deep", sources="[" * 50_000)
    add("a number too long", "sources: JSON with a number that is too long", sources="[" + "9" * 5000 + "]")
    add("broken metadata", "sources[0]: metadata: broken JSON", sources='[{"text": "a", "metadata": "{"}]')
    add("broken history", "history: broken JSON", history="[{")
    add("all null", "nothing to ask", id=None, question=None, sources=None)
    add("too large", "the most is 100,000", padding="x" * 200_000)
    kind = pa.schema([(name, pa.string()) for name in ("id", "question", "sources", "history", "system", "padding")])
    return pa.Table.from_pylist(rows, schema=kind), names, reasons, [
        one["id"] for number, one in enumerate(rows) if number not in reasons]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("divided", [False, True])
def test_bad_rows_in_parquet(tmp_path: Path, workers: int, divided: bool) -> None:
    """The same as with lines: each is told with its number, and all others come out."""
    pq = pytest.importorskip("pyarrow.parquet", reason=ABSENT)
    given, names, reasons, wanted = table()
    assert len(names) > 20
    pq.write_table(given, tmp_path / "in.parquet", row_group_size=17)
    run = run_divided if divided else run_batch
    summary = run(tmp_path / "in.parquet", tmp_path / "out.jsonl", JOB, Options(workers=workers, largest_row=LARGEST))
    assert ids(tmp_path / "out.jsonl") == wanted
    assert (summary.rows, summary.failures) == (given.num_rows, len(reasons))
    letters = [json.loads(line) for line in (tmp_path / "out.dead.jsonl").read_bytes().splitlines()]
    assert [one["line"] - 1 for one in letters] == list(reasons)
    for letter in letters:
        assert reasons[letter["line"] - 1] in letter["error"]["message"]
        row = given.slice(letter["line"] - 1, 1).to_pylist()[0]
        if "row" in letter:
            assert letter["row"] == row
        else:
            assert letter["bytes"] > 200_000
            assert json.loads(letter["row_start"]) == {key: row[key] for key in row if key != "padding"}


def test_bad_rows_in_arrow() -> None:
    given, _, reasons, _ = table()
    made = pack_batch(given, JOB.builder).to_pylist()
    assert len(made) == given.num_rows
    for number, one in enumerate(made):
        if number not in reasons or reasons[number] in ("names row", "the most is 100,000"):
            assert one["error"] is None, one
        else:
            assert reasons[number] in one["error"]["message"]


def unreadable() -> Any:
    """Return a table with texts that are no UTF-8 and a date beyond all years, as other writers leave them."""
    pa = pytest.importorskip("pyarrow", reason=ABSENT)
    question = pa.StringArray.from_buffers(
        3, pa.array([0, 4, 6, 10], pa.int32()).buffers()[1], pa.py_buffer(b"Why?\xff\xfeHow?"))
    note = pa.StringArray.from_buffers(
        3, pa.array([0, 2, 3, 4], pa.int32()).buffers()[1], pa.py_buffer(b"\xff\xfexy"))
    when = pa.array([0, 0, 2**62], pa.timestamp("us"))
    return pa.table({"id": ["a", "b", "c"], "question": question, "sources": ['["x"]'] * 3, "note": note, "when": when})


def test_values_that_python_cannot_have_cost_their_row_alone(tmp_path: Path) -> None:
    """Arrow hands over texts without looking whether they are UTF-8; one must not end the batch."""
    pq = pytest.importorskip("pyarrow.parquet", reason=ABSENT)
    made = pack_batch(unreadable(), JOB.builder).to_pylist()
    assert [(one["id"], one["error"] is None) for one in made] == [("a", True), ("b", False), ("c", True)]
    assert made[1]["error"]["message"].startswith("'question': cannot be read from Arrow: UnicodeDecodeError")
    pq.write_table(unreadable(), tmp_path / "in.parquet")
    for workers in (0, 1):  # a dead letter shows the whole row, so that all of it has to be readable
        run_batch(tmp_path / "in.parquet", tmp_path / "out.jsonl", JOB, Options(workers=workers))
        letters = [json.loads(line) for line in (tmp_path / "out.dead.jsonl").read_bytes().splitlines()]
        assert [one["line"] for one in letters] == [1, 2, 3]
        assert [json.loads(one["row_start"])["id"] for one in letters] == ["a", "b", "c"]
        assert "'when': cannot be read from Arrow" in letters[2]["error"]["message"]


def test_dead_letters_are_json_whatever_the_numbers(tmp_path: Path) -> None:
    """Other languages read them; their JSON has no NaN."""
    pa = pytest.importorskip("pyarrow", reason=ABSENT)
    pq = pytest.importorskip("pyarrow.parquet", reason=ABSENT)
    sources = [[{"text": "So.", "score": one}] for one in (float("nan"), 0.5, float("-inf"))]
    pq.write_table(pa.table({"question": ["Q"] * 3, "sources": sources}), tmp_path / "in.parquet")
    run_batch(tmp_path / "in.parquet", tmp_path / "out.jsonl", JOB, Options(workers=0))
    letters = [parse_line(line) for line in (tmp_path / "out.dead.jsonl").read_bytes().splitlines()]
    assert [one["row"]["sources"][0]["score"] for one in letters] == ["nan", "-inf"]
    assert all("score: expected a finite number" in one["error"]["message"] for one in letters)


def test_columns_of_arrow_that_are_maps_dictionaries_and_views() -> None:
    """Spark writes maps where others have structs."""
    pa = pytest.importorskip("pyarrow", reason=ABSENT)
    kind = pa.large_list(pa.struct([("text", pa.large_string()), ("metadata", pa.map_(pa.string(), pa.string()))]))
    given = pa.table({
        "id": pa.array(["a", "b"]).dictionary_encode(), "question": pa.array(["Why?", None], pa.large_string()),
        "sources": pa.array([[{"text": "So.", "metadata": [("title", "T")]}]] * 2, kind)})
    made = pack_batch(given, JOB.builder).to_pylist()
    assert [one["error"] for one in made] == [None, None]
    assert 'title="T"' in made[0]["messages"][-1]["content"]


def test_an_archive_that_breaks_off_is_told_with_the_row(tmp_path: Path) -> None:
    """What was read before it is kept, and the run can be gone on with when the file is whole."""
    lines = write_all(tmp_path / "plain.jsonl")
    whole = gzip.compress(b"".join(one + b"\n" for one in lines[:2]) + (tmp_path / "plain.jsonl").read_bytes())
    (tmp_path / "in.jsonl.gz").write_bytes(whole[:-20])
    for workers in (0, 2):
        with pytest.raises(StoppedError, match=r"stopped after \d+ rows: .*cannot be read after line"):
            run_batch(tmp_path / "in.jsonl.gz", tmp_path / "out.jsonl", JOB,
                      Options(workers=workers, largest_row=LARGEST, restart=True))
        assert not (tmp_path / "out.jsonl").exists()


SENTENCE = "The lamp has a switch. "
FIFTY = SENTENCE * (50_000_000 // len(SENTENCE) + 1)
PROGRAM = """
import re, sys
from pathlib import Path
from bad_rows import JOB
from promptpack.batch import Options, run_batch
if __name__ == "__main__":
    run_batch("in.jsonl", "out.jsonl", JOB, Options(workers=int(sys.argv[1])))
    print(re.search(r"VmHWM:\\s+([0-9]+) kB", Path("/proc/self/status").read_text())[1])
"""


@pytest.fixture(scope="module")
def fifty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A row of 50 MB that is fine but for its size, and one that is broken at its very end, between others."""
    path = tmp_path_factory.mktemp("fifty") / "in.jsonl"
    with path.open("wb") as file:
        file.write(good("a") + b"\n" + good("large", sources=["One.", {"id": "huge", "text": FIFTY}]) + b"\n")
        file.write(good("b") + b"\n" + good("broken", sources=[FIFTY])[:-2] + b"\n" + good("c"))
    yield path
    path.unlink()


@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured as Linux does")
@pytest.mark.parametrize("workers", [0, 2])
def test_rows_of_50_mb_are_told_and_never_in_memory(fifty: Path, tmp_path: Path, workers: int) -> None:
    """A row of any size costs the run its limit at most, which is 32 MB where nothing else is said."""
    (tmp_path / "in.jsonl").symlink_to(fifty)
    root = Path(__file__).parents[2]
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "program.py", str(workers)], cwd=tmp_path, capture_output=True, text=True, check=False,
        timeout=280, env={**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{root / 'tests' / 'cluster'}"})
    assert done.returncode == 0, done.stderr[-2000:]
    assert ids(tmp_path / "out.jsonl") == ["a", "b", "c"]
    letters = [json.loads(line) for line in (tmp_path / "out.dead.jsonl").read_bytes().splitlines()]
    assert [(one["line"], one["bytes"] > 50_000_000, len(one["row_start"])) for one in letters] == [
        (2, True, 1000), (4, True, 1000)]
    assert all("the most is 32,000,000 (--max-row-bytes)" in one["error"]["message"] for one in letters)
    assert int(done.stdout) < 250_000  # kB


def test_rows_of_50_mb_where_they_are_allowed(fifty: Path, tmp_path: Path) -> None:
    """Then the good one is rendered, what does not fit is told in its report, and the broken one is kept whole."""
    run_batch(fifty, tmp_path / "out.jsonl", JOB, Options(workers=0, largest_row=100_000_000))
    assert ids(tmp_path / "out.jsonl") == ["a", "large", "b", "c"]
    large = json.loads((tmp_path / "out.jsonl").read_bytes().splitlines()[1])
    assert [one["source"]["id"] for one in large["dropped"]] == ["huge"]
    (letter,) = map(json.loads, (tmp_path / "out.dead.jsonl").read_bytes().splitlines())
    assert "broken JSON at column 500" in letter["error"]["message"]
    assert letter["row"].endswith(SENTENCE + '"')


def test_rows_of_50_mb_in_parquet(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason=ABSENT)
    pq = pytest.importorskip("pyarrow.parquet", reason=ABSENT)
    sources = [json.dumps([text]) for text in ("One.", FIFTY, "Two.")]
    pq.write_table(pa.table({"id": ["a", "large", "b"], "question": ["Q"] * 3, "sources": sources}),
                   tmp_path / "in.parquet")
    run_batch(tmp_path / "in.parquet", tmp_path / "out.jsonl", JOB, Options(workers=0))
    assert ids(tmp_path / "out.jsonl") == ["a", "b"]
    (letter,) = map(json.loads, (tmp_path / "out.dead.jsonl").read_bytes().splitlines())
    assert (letter["line"], letter["bytes"] > 50_000_000) == (2, True)
    assert json.loads(letter["row_start"]) == {"id": "large", "question": "Q"}
    run_batch(tmp_path / "in.parquet", tmp_path / "out.jsonl", JOB, Options(workers=0, largest_row=100_000_000))
    assert ids(tmp_path / "out.jsonl") == ["a", "large", "b"]
