"""Measuring a model's position curve: what it will cost, then the asking, then the result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from promptpack.builder import PromptBuilder
from promptpack.calibration.asking import Asking, ask
from promptpack.calibration.endpoint import Endpoint
from promptpack.calibration.journal import Journal
from promptpack.calibration.probes import WITHOUT, Probe, places, probes_of
from promptpack.calibration.questions import prepared, read_questions
from promptpack.calibration.result import Calibration
from promptpack.errors import OptionError, quote
from promptpack.packing.ranking import is_finite


@dataclass(frozen=True, slots=True)
class Plan:
    """What will be asked: the probes of every question, those without the passage first.

    at: the places that are measured. passages: how many are shown. remarks: how the questions were made ready.
    """

    probes: tuple[tuple[Probe, ...], ...]
    at: tuple[int, ...]
    passages: int
    remarks: tuple[str, ...] = ()

    def all(self) -> list[Probe]:
        """Return the probes in the order in which they are asked for."""
        return [one for row in self.probes for one in row]


def plan(
    items: Iterable[object], builder: PromptBuilder, *, passages: int = 9, positions: int = 9,
    questions: int | None = 100,
) -> Plan:
    """Return what is to be asked, for rows as `promptpack.calibration.questions` reads them.

    builder: makes the prompts; its packing is set aside, since the place of the passage is what is measured. Raises
    SourceError for a row that is wrong or does not fit the window, OptionError for a number that cannot be.
    """
    at = places(passages, positions)
    made, remarks = prepared(read_questions(items), passages, questions)
    return Plan(tuple(tuple(probes_of(one, builder, at)) for one in made), tuple(at), passages, tuple(remarks))


def calibrate(endpoint: Endpoint, plan: Plan, asking: Asking | None = None) -> Calibration:
    """Ask for everything in the plan and return what was found.

    Raises EndpointError where a probe fails for good, CalibrationError where the result makes no curve.
    """
    answers = ask(endpoint, plan.all(), asking or Asking())
    rows, without, xs, bare = [], [], [], []
    for row in plan.probes:
        named = {one.name: one for one in row}
        rows.append(tuple(answers.value(named[str(at)]) for at in plan.at))
        bare.append(named[WITHOUT])
        without.append(answers.value(bare[-1]))
        xs.append([named[str(at)].x or 0.0 for at in plan.at])
    means = tuple(sum(column) / len(column) for column in zip(*xs, strict=True))
    return Calibration(
        endpoint.model, answers.measure, plan.at, means, plan.passages, tuple(rows), tuple(without),
        (*plan.remarks, *answers.remarks), tuple(one.question for one in bare), tuple(map(answers.tokens, bare)),
    )


@dataclass(frozen=True, slots=True)
class Cost:
    """What a measurement takes at most: requests, tokens in, tokens out, and the price where one is given."""

    requests: int
    tokens_in: int
    tokens_out: int
    price: float | None = None

    def __str__(self) -> str:
        told = f"{self.requests:,} requests, {self.tokens_in:,} tokens in, at most {self.tokens_out:,} out"
        return told if self.price is None else f"{told}, {self.price:,.2f} at the given price"


def cost(
    probes: Sequence[Probe], asking: Asking, endpoint: Endpoint, price: Sequence[float] | None = None
) -> Cost:
    """Return what asking for the probes takes, those in the journal left out.

    Tokens are those of the builder's counter. price: for a million tokens in, and out. Where it is not known yet how
    the endpoint answers, its answers are taken to be as long as those of exact matches.

    >>> cost([], Asking(), Endpoint("http://localhost/v1", "m"), price=(1.0, 2.0)).price
    0.0
    """
    if price is not None and (len(price) != 2 or not all(is_finite(one) and one >= 0 for one in price)):
        raise OptionError(
            f"price: expected two numbers of 0 or more, for a million tokens in and out, got {quote(str(price))}",
            name="price", given=price,
        )
    known = set() if asking.journal is None else Journal(asking.journal, {"model": endpoint.model}).read().keys()
    missing = {one.key: one.tokens for one in probes if one.key not in known}
    tokens_in = sum(missing.values())
    tokens_out = len(missing) * (1 if asking.wanted() == "loglik" else asking.limit)
    full = None if price is None else (tokens_in * price[0] + tokens_out * price[1]) / 1e6
    return Cost(len(missing), tokens_in, tokens_out, full)
