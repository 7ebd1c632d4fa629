"""Inside a worker: the work is unpickled once, chunks are marked as they begin, and a dead parent ends the process."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable
from multiprocessing.connection import wait
from typing import Any

from promptpack.batch.slots import Slots

PRELOAD = "PROMPTPACK_PRELOAD"  # names the vocabularies to load, for `promptpack.batch.preload`
_work: Callable[[Any], Any] | None = None
_packed = b""
_begun: Any = None
_slots = Slots(None)


def start(packed: bytes, begun: Any, slots: Slots) -> None:
    """Set up a worker: it leaves Ctrl-C to its parent, and does not outlive it."""
    global _packed, _begun, _slots, _work
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _packed, _begun, _slots, _work = packed, begun, slots, None
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)  # nobody is left who could read a result


def run(word: Any, slot: int) -> Any:
    """Do the work on the chunk that a slot holds, and leave the result there. The slot is marked first, so that the
    parent knows what a dead worker was at.
    """
    global _work
    _begun[slot] = 1
    if _work is None:  # here, where an exception reaches the parent
        _work = pickle.loads(_packed)  # noqa: S301  # the parent's own bytes
    return _slots.put(slot, _work(_slots.get(slot, word)))


def isolated() -> bool:
    """Tell whether this process is a worker, which nobody asks to leave but what is done in it."""
    return bool(_packed)


def stops(error: BaseException) -> bool:
    """Tell whether an exception that a row or a user's callable raised is to end this process.

    Ctrl-C is, and so is `sys.exit`: a handler of a signal calls it, in the middle of a row. Not so in a worker, where
    Ctrl-C is ignored and any of these can only come from the row. All else costs the row alone, also what native code
    panics with, which is no Exception.
    """
    return isinstance(error, KeyboardInterrupt | GeneratorExit | SystemExit) and not isolated()


def alive() -> int:
    """Say that workers can start at all."""
    return os.getpid()
