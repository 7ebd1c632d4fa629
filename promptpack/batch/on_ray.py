"""The Ray engine: a task for each shard, on this computer or on a cluster that is there.

A task makes a part, as the local engine does, and returns nothing but word of it: what it makes goes to the folder of
the parts, which on a cluster has to be one that all nodes see. Ray runs a task whose process or node died again; where
that does not help, a row is to blame, and the shard is done in processes of this computer, which lose that row alone.

A job that is stopped cancels nothing: `ray.cancel` on a task that is about to end aborts the whole process (Ray 2.60,
either kind; a check in its task manager). A connection of our own takes its tasks along; on one that was there before,
tasks that have begun end their shard, and those that have not see that they are not wanted any more.

This module is loaded by who asks for it; the extra `ray` is needed when work begins.
"""

from __future__ import annotations

import os
import platform
import signal
import socket
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from promptpack.batch.divided import Engine, here
from promptpack.batch.engine import worker_count
from promptpack.batch.job import Job
from promptpack.batch.options import Options, StoppedError
from promptpack.batch.parts import Parts
from promptpack.batch.shard import Shard
from promptpack.errors import OptionError, PromptpackError, SourceError, quote
from promptpack.version import __version__

RETRIES = 3  # of a task whose process or node died
AHEAD = 4  # tasks for each processor that are handed in: none waits, and a cluster that can grow sees the need
_AGAIN = ("", "")
_PATIENCE = 10.0  # seconds for a cluster to answer
_POLL = 1.0  # seconds after which the number of processors is looked at again
_STORE = 100_000_000  # bytes of shared memory of an own cluster: nothing but the job goes through it


def need_ray() -> Any:
    """Return ray; OptionError that names the extra where it is not installed."""
    try:
        import ray
    except ImportError as error:
        raise OptionError(
            'engine: Ray is not installed: pip install "promptpack-rag[ray]", or leave --engine out', name="engine",
            given="ray",
        ) from error
    return ray


def ray_engine(address: str | None = None) -> Engine:
    """Return the engine for `run_divided`.

    address: of a cluster, as `ray.init` takes it; None uses the cluster that this process is already connected to, or
    else one of its own, on this computer, with `Options.workers` processors, that ends with the job. On a cluster,
    `Options.workers` bounds how many tasks are handed in at once. OptionError where ray is not installed.
    """
    need_ray()
    if address is not None and (not isinstance(address, str) or not address.strip()):
        raise OptionError(f"ray_address: expected an address, got {quote(address)}", name="ray_address", given=address)
    return _Ray(None if address == "local" else address)


@dataclass(frozen=True, slots=True)
class _Ray:
    """Makes parts as tasks."""

    address: str | None

    def __call__(
        self, parts: Parts, shards: Sequence[Shard], job: Job, options: Options, numbers: Sequence[int]
    ) -> Generator[int, None, None]:
        """Yield the number of each part that is complete."""
        if not numbers:
            return
        if options.workers == 0:
            raise OptionError("workers: Ray needs at least one", name="workers", given=0)
        crashed: list[int] = []
        with _connected(self.address, options) as own:
            most = None if own else options.workers
            yield from _tasks(parts, shards, job, options, numbers, crashed, most)
        yield from here(parts, shards, job, _isolating(options), sorted(crashed))


def _isolating(options: Options) -> Options:
    return replace(options, workers=max(1, worker_count(options.workers)))


def _tasks(
    parts: Parts, shards: Sequence[Shard], job: Job, options: Options, numbers: Sequence[int], crashed: list[int],
    most: int | None,
) -> Generator[int, None, None]:
    ray = need_ray()
    task = ray.remote(num_cpus=1, max_retries=RETRIES, retry_exceptions=False)(_make)
    waiting = iter(numbers)
    running: dict[Any, int] = {}
    with parts.wanted() as wanted:
        held = ray.put((parts, job, options.largest_row, __version__, wanted))
        while True:
            room = (most or AHEAD * _processors(ray)) - len(running)
            for number in islice(waiting, max(0, room)):  # a cluster may have shrunk
                running[task.options(name=f"promptpack {number}").remote(held, number, shards[number])] = number
            if not running:
                return
            ready, _ = ray.wait(list(running), num_returns=1, timeout=_POLL)
            for one in ready:
                number = running.pop(one)
                if _finished(ray, one, number):
                    yield number
                else:
                    crashed.append(number)


def _processors(ray: Any) -> int:
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def _finished(ray: Any, task: Any, number: int) -> bool:
    """Tell whether a part is complete; False where its process was ended too often. Raises what stopped the task."""
    known = ray.exceptions
    try:
        said = ray.get(task)
    except (known.WorkerCrashedError, known.OutOfMemoryError, known.NodeDiedError):
        return False
    except known.RayError as error:
        raise StoppedError(
            f"ray: shard {number}: {type(error).__name__}: {quote(str(error).strip().splitlines()[-1], 300)}", rows=0
        ) from error
    if said == _AGAIN:
        return False
    if said is not None:
        kind, message = said
        raise {"SourceError": SourceError, "StoppedError": SourceError}.get(kind, PromptpackError)(message)
    return True


def _make(held: tuple[Parts, Job, int, str, Path], number: int, shard: Shard) -> tuple[str, str] | None:
    """Make a part, in a process of Ray; return the class and the message of an error of the library, or `_AGAIN`."""
    parts, job, largest_row, version, wanted = held
    if version != __version__:
        return "PromptpackError", f"ray: a node has promptpack {__version__}, and this job is of {version}"
    if not parts.begun():
        return "PromptpackError", (
            f"ray: the node {platform.node()} does not see {parts.folder}: input and output have to be in folders "
            "that all nodes of the cluster see under the same name"
        )
    if not wanted.exists():
        return _AGAIN
    try:
        parts.make(number, shard, job, largest_row=largest_row)
    except PromptpackError as error:
        return type(error).__name__, str(error)
    except (SystemExit, KeyboardInterrupt, GeneratorExit):
        # Ray raises the first, wherever that is, to end a process whose job is over, and the second where somebody
        # cancels a task. A row of the input that does so, too, is told by the processes of this computer, to which
        # nobody else does such a thing.
        return _AGAIN
    return None


@contextmanager
def _connected(address: str | None, options: Options) -> Iterator[bool]:
    """Connect to a cluster for as long as is needed; tell whether it is one of our own."""
    ray = need_ray()
    if ray.is_initialized():
        if address is not None:
            raise OptionError(
                "ray_address: this process is connected to a cluster already; leave the address out",
                name="ray_address", given=address,
            )
        yield False
        return
    with _signals_kept():
        try:
            if address is None:
                _own(ray, worker_count(options.workers))
            else:
                _knock(address)
                ray.init(address=address, log_to_driver=False, logging_level="ERROR")
        except (OSError, ValueError, RuntimeError, SystemExit) as error:  # the last where a cluster does not answer
            raise StoppedError(
                f"ray: {address or 'a cluster of its own'} cannot be used: {quote(str(error), 300)}", rows=0
            ) from error
    try:
        yield address is None
    finally:
        ray.shutdown()


def _knock(address: str) -> None:
    """OSError where nobody answers at an address; Ray itself would try for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), _PATIENCE).close()


def _own(ray: Any, workers: int) -> None:
    """Start a cluster on this computer: never one that a state file names, and without a token file in the home."""
    wanted = {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update({name: value for name, value in wanted.items() if before[name] is None})
    try:
        ray.init(
            address="local", num_cpus=workers, include_dashboard=False, log_to_driver=False, logging_level="ERROR",
            object_store_memory=_STORE, _system_config={"task_oom_retries": RETRIES},
        )
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Keep what SIGTERM does: connecting to Ray would change it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: Callable[..., Any] | int | None = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if before is not None:
            signal.signal(signal.SIGTERM, before)
