"""Loaded once by the process that workers are forked from: what they share then, above all the vocabulary."""

from __future__ import annotations

import os

import promptpack.assembly
import promptpack.batch.job  # noqa: F401  # loaded for the workers, as is the one above
from promptpack.batch.worker import PRELOAD


def load(names: str) -> None:
    """Load vocabularies, their names separated by commas; what is not known is left to the worker that needs it."""
    from promptpack.tokens import counter
    from promptpack.tokens.vocabulary import VOCABULARIES

    for name in names.split(","):
        if name in VOCABULARIES:
            counter(name)("loaded")


load(os.environ.get(PRELOAD, ""))
