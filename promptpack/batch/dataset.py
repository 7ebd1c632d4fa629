"""`pack_batch` over a dataset of Ray Data, with what that needs to be told.

This module is loaded by who asks for it; it needs `ray[data]`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from promptpack.batch.arrow import pack_batch
from promptpack.batch.rows import Columns, check_builder
from promptpack.errors import OptionError, quote

if TYPE_CHECKING:
    from promptpack.builder import PromptBuilder

ROWS = 64  # of a batch: few enough that its payloads are small beside a block
BLOCK = 1024  # rows: some seconds of work


def pack_dataset(
    ds: Any, builder: PromptBuilder, columns: Columns | Mapping[str, str] | None = None, *, line: str | None = None,
    rows_per_block: int | None = BLOCK, batch_size: int = ROWS, max_retries: int = 3, preserve_order: bool = True,
    **options: Any,
) -> Any:
    """Return the dataset with a result row for each row (`promptpack.batch.arrow.schema`); it is lazy, as all are.

    ds: a `ray.data.Dataset`. columns, line: as in `pack_batch`; `ray.data.read_text(...)` with `line="text"` is how
    JSON Lines are read without change. A bad row gives an `error`.

    rows_per_block: the dataset is divided into blocks of so many rows, since a reader may put a whole file into one,
    which one process then works on; None leaves it as it is. max_retries: of a task whose process or node died; Ray
    Data itself tries forever, so that a row that ends its process would never let the job end. With a limit it ends
    the job: where rows may do that, `promptpack batch --engine ray` loses these rows alone. preserve_order: rows come
    out in their order; it is set for this dataset and what is made of it. options: for `Dataset.map_batches`, as
    num_cpus or concurrency; an actor pool of all processors leaves none to read with, and waits forever.

    Raises OptionError for what is no dataset of Ray Data, and for options that cannot be.
    """
    if not callable(getattr(ds, "map_batches", None)) or not callable(getattr(ds, "repartition", None)):
        raise OptionError(f"ds: expected a ray.data.Dataset, got {quote(ds)}", name="ds", given=ds)
    for name, value in (("rows_per_block", rows_per_block), ("batch_size", batch_size), ("max_retries", max_retries)):
        least = 0 if name == "max_retries" else 1
        if not (value is None and name == "rows_per_block") and (
            isinstance(value, bool) or not isinstance(value, int) or value < least
        ):
            raise OptionError(f"{name}: expected a whole number from {least}, got {quote(value)}", name=name,
                              given=value)
    check_builder(builder)
    if rows_per_block is not None:
        ds = ds.repartition(target_num_rows_per_block=rows_per_block)
    if preserve_order:
        ds.context.execution_options.preserve_order = True
    work = partial(pack_batch, builder=builder, columns=Columns.of(columns), line=line)
    return ds.map_batches(
        work, batch_format="pyarrow", batch_size=batch_size, max_retries=max_retries, **options,
    )
