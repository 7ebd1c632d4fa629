"""Two builders, or more, on the same questions: which of them has the model give the right answers sooner."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from promptpack.builder import PromptBuilder
from promptpack.calibration.asking import Asking, ask
from promptpack.calibration.endpoint import Endpoint
from promptpack.calibration.errors import CalibrationError
from promptpack.calibration.probes import Probe, probe
from promptpack.calibration.questions import read_questions
from promptpack.calibration.result import HEADS, markdown
from promptpack.calibration.statistics import Estimate, difference, intervals
from promptpack.errors import OptionError, PromptpackError, quote


@dataclass(frozen=True, slots=True)
class Comparison:
    """What the builders are worth on the same questions; the first one is what the others are compared with.

    values: for each builder, a value for each question: nats per token of the answer, or 1.0 and 0.0.
    same: for each builder, how many questions it gives the same prompt as the first. ids: those of the questions.
    tokens: how many each answer has, where that was counted.
    """

    model: str
    measure: str
    values: Mapping[str, tuple[float, ...]] = field(hash=False)
    same: Mapping[str, int] = field(hash=False)
    remarks: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    tokens: tuple[int | None, ...] = ()

    def means(self) -> dict[str, Estimate]:
        """Return each builder's mean and interval."""
        return {name: intervals([[one] for one in found])[0] for name, found in self.values.items()}

    def differences(self) -> dict[str, Estimate]:
        """Return, for each builder but the first, its mean difference to the first, question by question."""
        first, *others = self.values
        return {name: difference(self.values[name], self.values[first]) for name in others}

    def to_markdown(self) -> str:
        """Return a Markdown table with a line for each builder."""
        first, *_ = self.values
        head = ("builder", HEADS[self.measure], "95 %", f"difference to {first}", "95 %", "better", "same prompt", "")
        rows: list[Sequence[str]] = [head]
        gaps = self.differences()
        for name, mean in self.means().items():
            own: tuple[str, ...] = ("", "", "", "", "")
            if name in gaps:
                gap = gaps[name]
                own = (
                    f"{gap.mean:+.3f}", f"{gap.low:+.3f} to {gap.high:+.3f}", f"{gap.wins:.0%}", f"{self.same[name]:,}",
                    "" if gap.clear else "may be noise",
                )
            rows.append((name, f"{mean.mean:.3f}", f"{mean.low:.3f} to {mean.high:.3f}", *own))
        return markdown(rows)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, the values of each question included."""
        return {
            "model": self.model, "measure": self.measure,
            "values": {name: list(own) for name, own in self.values.items()}, "same": dict(self.same),
            "remarks": list(self.remarks), "ids": list(self.ids), "tokens": list(self.tokens),
        }


def comparison_probes(
    items: Iterable[object], builders: Mapping[str, PromptBuilder], questions: int | None = None
) -> dict[str, list[Probe]]:
    """Return the probes of each builder: its prompt for each row's `sources`, as it would be sent.

    Raises SourceError for a row that is wrong or has no sources, OptionError for fewer than two builders.
    """
    if len(builders) < 2:
        raise OptionError(f"builders: expected two or more to compare, got {len(builders)}", name="builders")
    for name, builder in builders.items():
        if not isinstance(builder, PromptBuilder):
            raise OptionError(f"builders: {quote(name)} is no PromptBuilder", name="builders", given=builder)
    rows = read_questions(items)[:questions]
    if not rows:
        raise CalibrationError("nothing to compare with: there are no questions")
    found: dict[str, list[Probe]] = {name: [] for name in builders}
    for one in rows:
        sources = one.sources or tuple(source for source in (one.needed, *one.others) if source is not None)
        for name, builder in builders.items():
            try:
                payload = builder.with_question(one.question).add_sources(sources).render()
            except PromptpackError as error:
                error.args = (f"builder {quote(name)}, question {quote(one.id)}: {error}",)
                raise
            found[name].append(probe(one, name, payload))
    return found


def compare_builders(
    items: Iterable[object], builders: Mapping[str, PromptBuilder], endpoint: Endpoint, *,
    questions: int | None = None, asking: Asking | None = None,
) -> Comparison:
    """Measure builders on questions of your own: rows with `question`, `answers` and `sources` in ranked order.

    builders: by name; the first is what the others are compared with. The prompt of each is what it would send. Equal
    prompts are asked for once. Raises what `comparison_probes` and `ask` raise.
    """
    return compared(comparison_probes(items, builders, questions), endpoint, asking)


def compared(probes: Mapping[str, list[Probe]], endpoint: Endpoint, asking: Asking | None = None) -> Comparison:
    """Ask for the probes of `comparison_probes` and return what was found."""
    rows = [one for row in zip(*probes.values(), strict=True) for one in row]
    answers = ask(endpoint, rows, asking or Asking())
    first = next(iter(probes.values()))
    return Comparison(
        endpoint.model, answers.measure, {name: tuple(map(answers.value, own)) for name, own in probes.items()},
        {name: sum(a.key == b.key for a, b in zip(own, first, strict=True)) for name, own in probes.items()},
        answers.remarks, tuple(one.question for one in first), tuple(map(answers.tokens, first)),
    )
