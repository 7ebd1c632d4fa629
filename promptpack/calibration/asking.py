"""Asking for all probes of a measurement: several at once, each written down as it comes, none of them twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from promptpack.calibration.endpoint import Endpoint, Post
from promptpack.calibration.errors import EndpointError
from promptpack.calibration.forms import PLAIN, ChatForm
from promptpack.calibration.journal import Journal, begun_with, write
from promptpack.calibration.measures import ExactMatch, LogLikelihood, Measured
from promptpack.calibration.probes import Probe
from promptpack.curves import Measure
from promptpack.errors import OptionError, quote

MEASURES = ("auto", "loglik", "exact")
Asker = LogLikelihood | ExactMatch
Done = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Asking:
    """How probes are asked for.

    measure: "loglik", "exact", or "auto", which takes log-likelihoods where the endpoint gives them. form: how messages
    become one text for log-likelihoods. limit: the most tokens of an answer for exact matches. concurrency: requests at
    once. journal: the file that keeps the answers; None keeps none. on_done: called as on_done(done, all) after each.
    """

    measure: str = "auto"
    form: ChatForm = PLAIN
    limit: int = 64
    concurrency: int = 1
    journal: Path | None = None
    on_done: Done | None = None

    def __post_init__(self) -> None:
        if self.measure not in MEASURES:
            raise OptionError.unknown("measure", self.measure, MEASURES)
        for name in ("limit", "concurrency"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise OptionError(f"{name}: expected 1 or more, got {quote(value)}", name=name, given=value)

    def wanted(self) -> str:
        """Return the measure: where that is "auto", the one with which the journal was begun."""
        begun = None if self.journal is None or self.measure != "auto" else begun_with(self.journal)
        return begun or self.measure


@dataclass(frozen=True, slots=True)
class Answers:
    """What came back: results by the key of the probe, which measure was taken, and remarks on why and how."""

    found: Mapping[str, Measured]
    measure: Measure
    remarks: tuple[str, ...] = ()
    asked: int = 0

    def value(self, probe: Probe) -> float:
        """Return the value of a probe."""
        return self.found[probe.key].value

    def tokens(self, probe: Probe) -> int | None:
        """Return how many tokens the answer of a probe has; None where they were not counted."""
        return self.found[probe.key].tokens


def ask(endpoint: Endpoint, probes: Sequence[Probe], asking: Asking) -> Answers:
    """Return the results of all probes; those in the journal are not asked for again.

    Probes with the same messages and answers are asked once. Raises EndpointError where one of them fails for good;
    what was answered by then is in the journal.
    """
    remarks: list[str] = []
    with endpoint.connected() as post:
        measure, first = _chosen(endpoint, post, probes, asking, remarks)
        journal = None if asking.journal is None else Journal(asking.journal, _job(endpoint, measure))
        found = {} if journal is None else journal.read()
        keys = {one.key: one for one in probes}
        missing = [one for key, one in keys.items() if key not in found]
        with ExitStack() as stack:
            file = None if journal is None else stack.enter_context(journal.writing())
            _ask_missing(measure, post, missing, asking, file, found, len(keys), first)
    if isinstance(measure, LogLikelihood) and measure.form.source == PLAIN.source:
        remarks.append(
            "prompts were written as plain text; a chat model's own chat template measures what it reads in a chat"
        )
    if isinstance(measure, ExactMatch):
        remarks.extend(f"the endpoint refuses {name}; it was asked without" for name in measure.changed)
    return Answers(found, measure.name, tuple(remarks), len(missing))


def _ask_missing(
    measure: Asker, post: Post, missing: Sequence[Probe], asking: Asking, file: TextIO | None,
    found: dict[str, Measured], total: int, first: Measured | None,
) -> None:
    """Keep `concurrency` requests on their way; the first that fails ends it, once the others are written down.

    first: the result of the first probe, where that was asked for already.
    """
    left = iter(missing)
    done = total - len(missing)

    def keep(one: Probe, result: Measured) -> None:
        nonlocal done
        found[one.key] = result
        done += 1
        if file is not None:
            write(file, one, result)
        if asking.on_done is not None:
            asking.on_done(done, total)

    if first is not None and missing:
        keep(next(left), first)
    running: dict[Future[Measured], Probe] = {}
    failed: BaseException | None = None
    with ThreadPoolExecutor(asking.concurrency) as pool:
        while True:
            while failed is None and len(running) < asking.concurrency and (one := next(left, None)) is not None:
                running[pool.submit(measure, post, one.messages, one.answers)] = one
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                one = running.pop(future)
                if (error := future.exception()) is None:
                    keep(one, future.result())
                else:
                    failed = failed or error
    if failed is not None:
        if isinstance(failed, EndpointError) and file is not None:
            failed.args = (f"{failed}; {done:,} of {total:,} probes are answered and kept",)
        raise failed


def _chosen(
    endpoint: Endpoint, post: Post, probes: Sequence[Probe], asking: Asking, remarks: list[str]
) -> tuple[Asker, Measured | None]:
    """Return the measure, and the first probe's result where it was asked for to find out.

    "auto" goes on as the journal began; without one it tries, and says why where log-likelihoods cannot be had.
    """
    exact = ExactMatch(endpoint, asking.limit)
    likelihood = LogLikelihood(endpoint, asking.form)
    wanted = asking.wanted()
    if wanted == "exact":
        if asking.measure == "auto":
            remarks.append("exact matches are counted, as when the journal was begun")
        return exact, None
    if wanted == "loglik" or not probes:
        return likelihood, None
    try:
        return likelihood, likelihood(post, probes[0].messages, probes[0].answers)
    except EndpointError as error:
        if not error.unsupported:
            raise
        remarks.append(f"no log-probabilities of a given answer ({error}); exact matches are counted instead")
        return exact, None


def _job(endpoint: Endpoint, measure: Asker) -> dict[str, Any]:
    held: dict[str, Any] = {"model": endpoint.model, "measure": measure.name}
    if isinstance(measure, LogLikelihood):
        held["form"] = measure.form.source
    else:
        held["limit"] = measure.limit
    return held
