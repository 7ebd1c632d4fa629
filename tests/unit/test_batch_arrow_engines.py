"""The README's recipes for engines that speak Arrow, run word for word where the engine is installed.

CI installs DuckDB, Polars and Daft (the extra `engines`). It leaves out Spark (434 MB to fetch, 491 MB on disk, two
minutes, and it needs Java 17 or newer) and Hugging Face datasets (with what it needs 375 MB): these are run wherever
they are there.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from promptpack.batch import pack_batch, schema_ddl
from promptpack.builder import PromptBuilder

pa = pytest.importorskip("pyarrow", reason="the extra batch is not installed")
pq = pytest.importorskip("pyarrow.parquet", reason="the extra batch is not installed")

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BUILDER = PromptBuilder(2000, counter="words")
SOURCE = pa.struct([("id", pa.string()), ("text", pa.string()), ("score", pa.float64()), ("metadata", pa.string())])
SCHEMA = pa.schema([("id", pa.string()), ("question", pa.string()), ("sources", pa.list_(SOURCE))])
COUNT = 60


def recipe(engine: str) -> str:
    """The line of the README's table."""
    (code,) = re.findall(rf"^\| {re.escape(engine)} \| `(.+)` \|$", README, re.M)
    return str(code)


def block(word: str) -> str:
    """The block of the README that has a word."""
    (code,) = [one for one in re.findall(r"^```py\n(.*?)^```$", README, re.S | re.M) if word in one]
    return str(code)


def rows() -> list[dict[str, Any]]:
    """Rows with metadata of changing types, which engines' own readers change, and two bad ones."""
    given: list[dict[str, Any]] = [
        {"id": f"q{i}", "question": f"What of {i}?", "sources": [
            {"id": f"d{i}-{j}", "text": f"Text {i} {j}.", "score": 1.0 / (j + 1),
             "metadata": {"title": f"T{j}", "page": j if j else "cover", "tags": ["a", 0]}} for j in range(3)]}
        for i in range(COUNT)
    ]
    given[2]["question"] = given[2]["sources"] = None
    given[3]["sources"][1]["text"] = None
    return given


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The rows, as in.parquet and in.jsonl of the current folder."""
    given = rows()
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(one) + "\n" for one in given) + "{oops\n")
    for one in given:
        for source in one["sources"] or ():
            source["metadata"] = json.dumps(source["metadata"])
    made = pa.Table.from_pylist(given, schema=SCHEMA)
    pq.write_table(made, tmp_path / "in.parquet", row_group_size=25)
    monkeypatch.chdir(tmp_path)
    return made


def expected(table: Any) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = pack_batch(table, BUILDER).to_pylist()
    assert [one["id"] for one in made if one["error"]] == ["q2", "q3"]
    return made


def run(program: str, folder: Path, seconds: int = 280) -> Any:
    """Run a program in a process of its own, since engines keep threads and a JVM; return what it wrote."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable,
                   "PYSPARK_DRIVER_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    (folder / "program.py").write_text(textwrap.dedent(program))
    done = subprocess.run([sys.executable, "program.py"], cwd=folder, capture_output=True, env=environment,
                          check=False, timeout=seconds)
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-3000:]
    return json.loads((folder / "made.json").read_text())


@pytest.mark.filterwarnings("ignore")  # its own
def test_duckdb_takes_its_arrow(table: Any) -> None:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    made = eval(recipe("DuckDB"), {"duckdb": duckdb, "pack_batch": pack_batch, "builder": BUILDER})
    assert [one for batch in made for one in batch.to_pylist()] == expected(table)


def test_polars_takes_its_arrow(table: Any) -> None:
    polars = pytest.importorskip("polars", reason="polars is not installed")
    frame = polars.read_parquet("in.parquet")
    made = eval(recipe("Polars"), {"pl": polars, "pack_batch": pack_batch, "builder": BUILDER, "frame": frame})
    assert made.to_dicts() == expected(table)


@pytest.mark.filterwarnings("ignore")  # its own
def test_hugging_face_datasets_take_its_arrow(table: Any, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    ds = datasets.Dataset.from_parquet("in.parquet", cache_dir=str(tmp_path / "cache"))
    made = eval(recipe("Hugging Face datasets"), {
        "ds": ds, "partial": functools.partial, "pack_batch": pack_batch, "builder": BUILDER})
    assert list(made.with_format(None)) == expected(table)


def test_daft_takes_its_arrow_in_processes(table: Any, tmp_path: Path) -> None:
    pytest.importorskip("daft", reason="daft is not installed")
    made = run(f"""
import json, os
import daft
from promptpack.builder import PromptBuilder
builder = PromptBuilder(2000, counter="words")
df = daft.read_parquet("in.parquet")
{block("daft.func.batch")}
with open("made.json", "w") as file:
    json.dump({recipe("Daft")}.to_pylist(), file)
os._exit(0)  # threads of Daft 0.7 may abort an interpreter that is about to end
""", tmp_path)
    assert made == expected(table)


def test_spark_takes_its_arrow_and_lines(table: Any, tmp_path: Path) -> None:
    """One session for both, since its start takes longer than all else."""
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        pytest.skip("Spark needs Java")
    found, lines = run(f"""
import json
from pyspark.sql import SparkSession
from promptpack.batch import pack_batch, schema_ddl
from promptpack.builder import PromptBuilder
builder = PromptBuilder(2000, counter="words")
spark = (SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
         .config("spark.sql.execution.arrow.maxRecordsPerBatch", "20").getOrCreate())
made = []
df = spark.read.parquet("in.parquet")
made.append([one.asDict(recursive=True) for one in {recipe("Spark")}.collect()])
df = spark.read.text("in.jsonl")
made.append([one.asDict(recursive=True) for one in {recipe("Spark, JSON Lines")}.collect()])
spark.stop()
with open("made.json", "w") as file:
    json.dump(made, file)
""", tmp_path)
    assert found == expected(table)
    text = pa.table({"value": (tmp_path / "in.jsonl").read_text().splitlines()})
    assert lines == pack_batch(text, BUILDER, line="value").to_pylist()
    assert [one["id"] for one in lines if one["error"]] == ["q2", "q3", None]


def test_the_schema_for_spark_names_every_column() -> None:
    """`mapInArrow` compares what comes back with it, column by column."""
    from promptpack.batch.arrow import schema

    assert schema_ddl() == (
        "id string, custom_id string, messages array<struct<role: string, content: string, extra: string>>, "
        "labels array<struct<label: string, chunk_ids: array<string>>>, tokens bigint, report string, "
        "error struct<type: string, message: string, id: string>"
    )
    assert re.findall(r"(?:^|>, |string, |bigint, )(\w+) ", schema_ddl()) == schema().names


def test_spark_style_iterators_take_its_arrow(table: Any) -> None:
    """`mapInArrow` hands over an iterator of record batches and takes one back; without Spark."""
    class Frame:
        def mapInArrow(self, work: Any, ddl: str) -> Any:  # as Spark calls it
            return pa.Table.from_batches(list(work(iter(table.to_batches(max_chunksize=7)))))

    names = {"df": Frame(), "pack_batch": pack_batch, "builder": BUILDER, "schema_ddl": schema_ddl}
    assert eval(recipe("Spark"), names).to_pylist() == expected(table)
