"""Ray Data: a dataset in, a dataset of payloads out, in order, each row once, the bad ones with an error."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from promptpack.batch import pack_batch
from promptpack.builder import PromptBuilder
from promptpack.errors import OptionError

pa = pytest.importorskip("pyarrow", reason="the extra batch is not installed")
pytest.importorskip("ray", reason="the extra ray is not installed")

BUILDER = PromptBuilder(2000, counter="words")
PROGRAM = '''
import json, sys
import ray, ray.data
from promptpack.batch import pack_dataset
from promptpack.builder import PromptBuilder

ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100_000_000)
ray.data.DataContext.get_current().enable_progress_bars = False
folder = sys.argv[1]
builder = PromptBuilder(2000, counter="words")
ways = {"parquet": (ray.data.read_parquet(folder + "/in.parquet"), {}),
        "lines": (ray.data.read_text(folder + "/in.jsonl"), {"line": "text"})}
for name, (rows, more) in ways.items():
    packed = pack_dataset(rows, builder, rows_per_block=50, batch_size=25, **more).materialize()
    with open(folder + "/" + name + ".json", "w") as file:
        json.dump([packed.num_blocks(), packed.take_all()], file)
assert not ray.data.DataContext.get_current().execution_options.preserve_order
RECIPE
with open("recipe.json", "w") as file:
    json.dump(RECIPE_OF_LINES.take_all(), file)
'''
README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
for name, engine in (("RECIPE_OF_LINES", "Ray Data, JSON Lines"), ("RECIPE", "Ray Data")):
    (code,) = re.findall(rf"^\| {engine} \| `(.+)` \|$", README, re.M)
    PROGRAM = PROGRAM.replace(name, code)


@pytest.mark.ray
def test_a_dataset_goes_in_and_out(tmp_path: Path) -> None:
    """A whole file in one block is work for one process; rows out of order cannot be matched by place."""
    pytest.importorskip("ray.data", reason="Ray Data (ray[data]) is not installed")
    pq = pytest.importorskip("pyarrow.parquet", reason="the extra batch is not installed")
    given: list[dict[str, Any]] = [
        {"id": f"q{i}", "question": f"What of {i}?", "sources": [
            {"id": f"d{i}-{j}", "text": f"Text {i} {j}.", "metadata": {"page": j or "cover"}} for j in range(3)]}
        for i in range(260)
    ]
    given[7]["question"] = given[7]["sources"] = None
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(one) + "\n" for one in given))
    expected = pack_batch(pa.table({"text": [json.dumps(one) for one in given]}), BUILDER, line="text").to_pylist()
    for one in given:
        for each in one["sources"] or ():
            each["metadata"] = json.dumps(each["metadata"])
    pq.write_table(pa.Table.from_pylist(given), tmp_path / "in.parquet")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "in.parquet").symlink_to(tmp_path / "in.parquet")
    environment = {**os.environ, "RAY_AUTH_MODE": "disabled", "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path)], cwd=tmp_path, capture_output=True,
                          env=environment, check=False, timeout=300)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    for name in ("parquet", "lines"):
        blocks, made = json.loads((tmp_path / f"{name}.json").read_text())
        assert made == expected, name
        assert blocks > 4, name
    assert [one["id"] for one in expected if one["error"]] == ["q7"]
    assert json.loads((tmp_path / "recipe.json").read_text()) == expected
    written = [row for path in (tmp_path / "out").iterdir() for row in pq.read_table(path).to_pylist()]
    assert sorted(written, key=lambda row: str(row["id"])) == sorted(expected, key=lambda row: str(row["id"]))


class Told:
    """Stands in for a dataset and keeps what it was told; what Ray makes of it the test above sees."""

    def __init__(self) -> None:
        self.said: dict[str, Any] = {}
        self.context = type("Context", (), {"execution_options": type("Options", (), {"preserve_order": False})()})()

    def repartition(self, **options: Any) -> Told:
        self.said |= options
        return self

    def map_batches(self, work: Any, **options: Any) -> Told:
        self.said |= options
        return self


def test_a_task_that_dies_is_not_tried_forever() -> None:
    from promptpack.batch import pack_dataset

    told = pack_dataset(Told(), BUILDER, num_cpus=2)
    assert told.said == {"target_num_rows_per_block": 1024, "batch_format": "pyarrow", "batch_size": 64,
                         "max_retries": 3, "num_cpus": 2}
    assert told.context.execution_options.preserve_order
    assert "target_num_rows_per_block" not in pack_dataset(Told(), BUILDER, rows_per_block=None).said


@pytest.mark.parametrize(("more", "message"), [
    ({"ds": []}, "expected a ray.data.Dataset"), ({"rows_per_block": 0}, "whole number"),
    ({"max_retries": -1}, "whole number"), ({"batch_size": None}, "whole number"), ({"columns": {"x": "y"}}, "columns"),
    ({"builder": 2000}, "expected a PromptBuilder"),
])
def test_options_are_checked_before_a_job_begins(more: dict[str, Any], message: str) -> None:
    from promptpack.batch import pack_dataset

    with pytest.raises(OptionError, match=message):
        pack_dataset(**{"ds": Told(), "builder": BUILDER, **more})
