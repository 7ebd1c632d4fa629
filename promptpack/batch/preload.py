"""Loaded once by the process that workers are forked from: what they share then, above all the vocabulary."""

from __future__ import annotations

import os
import threading

import promptpack.assembly
import promptpack.batch.job  # noqa: F401  # loaded for the workers, as is the one above
from promptpack.batch.worker import PRELOAD


def load(names: str) -> None:
    """Load vocabularies, their names separated by commas; what is not known is left to the worker that needs it.

    Building one takes a moment, in which the process does not yet notice that its parent has died: a thread looks out
    for that, and is gone again before anything is forked.
    """
    from promptpack.tokens import counter
    from promptpack.tokens.vocabulary import VOCABULARIES

    known = [name for name in names.split(",") if name in VOCABULARIES]
    if not known:
        return
    loaded = threading.Event()
    watch = threading.Thread(target=_end_with_parent, args=(os.getppid(), loaded), daemon=True)
    watch.start()
    try:
        for name in known:
            counter(name)("loaded")
    finally:
        loaded.set()
        watch.join()


def _end_with_parent(parent: int, loaded: threading.Event) -> None:
    while not loaded.wait(0.05):
        if os.getppid() != parent:
            os._exit(1)


load(os.environ.get(PRELOAD, ""))
