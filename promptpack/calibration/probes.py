"""What is sent to a model: a question with its needed passage at one place among others, or without it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from promptpack.builder import PromptBuilder
from promptpack.calibration.questions import Question
from promptpack.errors import OptionError, SourceError, quote
from promptpack.evaluation.position import chunk_positions
from promptpack.packing.pipeline import Packing
from promptpack.payload import Payload
from promptpack.source import Source

# Sources stay as they are and where they are: the place of the needed one is the only thing that changes.
AS_GIVEN = Packing(dedup="off", select="top", place="best_first", tie="input")


@dataclass(frozen=True, slots=True)
class Probe:
    """One request: the messages, and the answers to weigh.

    question: its id. name: which variant of the question this is: a place, "without", or a builder. x: the relative
    position of the needed passage by tokens; None without one. tokens: those of the payload. The `key` names a probe by
    all that decides its result but the model.
    """

    question: str
    name: str
    messages: tuple[Mapping[str, Any], ...] = field(hash=False)
    answers: tuple[str, ...]
    tokens: int
    x: float | None = None

    @property
    def key(self) -> str:
        """Return a digest of the messages and the answers."""
        data = json.dumps([list(map(dict, self.messages)), self.answers], ensure_ascii=True)
        return hashlib.blake2b(data.encode(), digest_size=12).hexdigest()


WITHOUT = "without"


def places(passages: int, positions: int) -> list[int]:
    """Return the places to measure, from 0: `positions` of them, evenly spread from the first to the last.

    >>> places(9, 5), places(9, 9) == list(range(9))
    ([0, 2, 4, 6, 8], True)
    """
    for name, value in (("positions", positions), ("passages", passages)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 2:
            raise OptionError(f"{name}: expected 2 or more, got {quote(value)}", name=name, given=value)
    if positions > passages:
        raise OptionError(
            f"positions: {positions} places need as many passages, and there are {passages}", name="positions",
            given=positions,
        )
    return [round(at * (passages - 1) / (positions - 1)) for at in range(positions)]


def probes_of(question: Question, builder: PromptBuilder, at: Sequence[int]) -> list[Probe]:
    """Return the probes of a prepared question: without its passage, then with it at each place, the last one first.

    Neighbouring probes share the start of the prompt as far as they can, which endpoints that keep it make use of.
    Raises SourceError where the passages do not fit the builder's window.
    """
    if question.needed is None:
        raise SourceError(f"question {quote(question.id)} names no passage that answers it", field="passage")
    others = [_plain(source) for source in question.others]
    needed = _plain(question.needed)
    bare = replace(builder, packing=AS_GIVEN, rerank=None).with_question(question.question)
    found = [_probe(question, WITHOUT, bare, others, None)]
    for place in sorted(at, reverse=True):
        found.append(_probe(question, str(place), bare, [*others[:place], needed, *others[place:]], place))
    return found


def _plain(source: Source) -> Source:
    """Return a source without what would move it, shorten it or keep it apart."""
    return replace(source, score=None, priority=0, required=False, pinned=False, cut=None)


def _probe(question: Question, name: str, builder: PromptBuilder, sources: list[Source], place: int | None) -> Probe:
    payload = builder.add_sources(sources).render()
    if payload.dropped:
        raise SourceError(
            f"question {quote(question.id)}: {len(payload.dropped)} of {len(sources)} passages do not fit the window "
            f"of {payload.budget.window:,} tokens; take fewer passages or a larger window", field="window",
        )
    sizes = [one.tokens for one in payload.sources]
    return probe(question, name, payload, None if place is None else chunk_positions(sizes)[place])


def probe(question: Question, name: str, payload: Payload, x: float | None = None) -> Probe:
    """Return the probe of a payload."""
    return Probe(question.id, name, tuple(payload.to_openai()), question.answers, payload.tokens, x)
