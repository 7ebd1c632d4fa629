"""Many prompts: a file or an iterable of rows in, a payload for each out, in processes, with the bad rows apart.

Names are loaded on first use: pyarrow only by what reads or writes Arrow and Parquet,
ray only by what works with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

_HOMES = {
    "render_many": "many", "Rendered": "many", "pack_batch": "arrow", "run_batch": "run", "pack_shard": "run",
    "Options": "options", "RowError": "options", "StoppedError": "options", "Job": "job", "Columns": "rows",
    "Failure": "rows", "Shard": "shard", "shards": "shard", "Summary": "tally", "verify_results": "verify",
    "run_divided": "divided", "divide": "division", "ray_engine": "on_ray", "pack_dataset": "dataset",
    "schema_ddl": "arrow",
}

__all__ = [*_HOMES]

if TYPE_CHECKING:
    from promptpack.batch.arrow import pack_batch as pack_batch
    from promptpack.batch.arrow import schema_ddl as schema_ddl
    from promptpack.batch.dataset import pack_dataset as pack_dataset
    from promptpack.batch.divided import run_divided as run_divided
    from promptpack.batch.division import divide as divide
    from promptpack.batch.job import Job as Job
    from promptpack.batch.many import Rendered as Rendered
    from promptpack.batch.many import render_many as render_many
    from promptpack.batch.on_ray import ray_engine as ray_engine
    from promptpack.batch.options import Options as Options
    from promptpack.batch.options import RowError as RowError
    from promptpack.batch.options import StoppedError as StoppedError
    from promptpack.batch.rows import Columns as Columns
    from promptpack.batch.rows import Failure as Failure
    from promptpack.batch.run import pack_shard as pack_shard
    from promptpack.batch.run import run_batch as run_batch
    from promptpack.batch.shard import Shard as Shard
    from promptpack.batch.shard import shards as shards
    from promptpack.batch.tally import Summary as Summary
    from promptpack.batch.verify import verify_results as verify_results


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'promptpack.batch' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"promptpack.batch.{home}"), name)
