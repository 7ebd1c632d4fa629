"""A conversation: a builder, the turns so far and the labels that were given, each turn one question and one answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Literal, get_args

from promptpack.builder import PromptBuilder
from promptpack.errors import BudgetError, OptionError, quote
from promptpack.keeping import stay
from promptpack.labels import Labels
from promptpack.messages import Message
from promptpack.payload import Payload
from promptpack.reading import read_sources

Keep = Literal["none", "found", "all"]


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation over changing sources; it never changes itself, each answer gives the next one.

    builder: what every turn shares (window, model, persona, standing sources), with the history and the labels so far.
    keep: what becomes of the sources that the last turn sent. `none`: every turn is packed and placed anew. `found`:
    those that are found again stay before the history, in their order. `all`: those that are not found again stay,
    too, as long as all that stay take at most half of the last turn's room for sources. A prompt that starts like the
    one before is read from the provider's cache; the price is that what stays stands where it stood, not where its
    rank puts it, and (with `all`) takes tokens. The report of the payload says both in numbers. Only whole passages
    with the same text as before stay; one that was merged, where its chunks make the same passage again. last: the
    payload of the turn before, which `keep` looks at.

    To go on in another process, store the messages of `history` and `labels.to_dict()`, and build
    `Conversation(builder.add_history(messages).with_labels(Labels.from_dict(stored)))`.

    Raises OptionError for a builder that has a question, since each turn brings its own.

    >>> from promptpack import PromptBuilder
    >>> chat = Conversation(PromptBuilder(window=2000))
    >>> payload = chat.ask("How long?", [{"id": "a", "text": "Returns are free for 30 days."}])
    >>> chat = chat.answered("For 30 days [S1].")
    >>> payload = chat.ask("And bulbs?", [{"id": "b", "text": "Bulbs cannot be returned."}])
    >>> list(payload.labels), [message.role for message in payload.messages]
    (['S2'], ['system', 'user', 'assistant', 'user'])
    """

    builder: PromptBuilder
    _: KW_ONLY
    keep: Keep = "none"
    last: Payload | None = None
    _asked: list[Payload] = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.builder, PromptBuilder):
            raise OptionError(
                f"builder: expected a PromptBuilder, got {quote(self.builder)}", name="builder", given=self.builder
            )
        if self.builder._content.question is not None:
            raise OptionError(
                "builder: it has a question; ask(question, sources) brings one for each turn", name="builder",
                given=self.builder,
            )
        if not isinstance(self.keep, str) or self.keep not in get_args(Keep):
            raise OptionError.unknown("keep", self.keep, get_args(Keep))
        if self.last is not None and not isinstance(self.last, Payload):
            raise OptionError(f"last: expected a Payload, got {quote(self.last)}", name="last", given=self.last)

    @property
    def history(self) -> tuple[Message, ...]:
        """The messages so far, as they were said."""
        return self.builder._content.history

    @property
    def labels(self) -> Labels:
        """Every label that the conversation has given."""
        return self.builder.labels

    def ask(self, question: str, sources: Iterable[Any] = ()) -> Payload:
        """Return the payload for the next question; `sources` as `PromptBuilder.add_sources` takes them.

        Raises OptionError for a question without text, and what `PromptBuilder.render` raises.
        """
        first, *others = self._plans(question, sources)
        try:
            return self._noted(first.builder.render(), first)
        except BudgetError:
            if not others:
                raise
            return self._noted(others[0].builder.render(), others[0])

    async def aask(self, question: str, sources: Iterable[Any] = ()) -> Payload:
        """Return what `ask` does, where the builder's reranker has to be awaited (`PromptBuilder.arender`)."""
        first, *others = self._plans(question, sources)
        try:
            return self._noted(await first.builder.arender(), first)
        except BudgetError:
            if not others:
                raise
            return self._noted(await others[0].builder.arender(), others[0])

    def answered(self, answer: str | Iterable[Any], payload: Payload | None = None) -> Conversation:
        """Return the conversation after an answer: the history has the question as it was asked, not its sources.

        answer: a text, or the messages of the answer in any shape that `add_history` takes, such as tool calls with
        their results. payload: what the answer is to; without it, what this conversation was asked. A conversation is a
        value and may be asked twice (by two users at once, or again with other sources): then the payload has to be
        named, so that no answer lands under another question.

        Raises OptionError where that is open, where the payload is another conversation's, or for an empty answer.
        """
        payload = self._answerable(payload)
        said: list[Any] = [("assistant", answer)] if isinstance(answer, str) else _listed(answer)
        if not said or (isinstance(answer, str) and not answer.strip()):
            raise OptionError(f"answer: expected a text or messages, got {quote(answer)}", name="answer", given=answer)
        builder = self.builder.add_history([("user", payload.question), *said]).with_labels(payload.carry_labels())
        new = builder._content.history[len(self.history) + 1:]
        if any(message.role == "user" for message in new):
            raise OptionError(
                "answer: expected an assistant's messages and tool results, got a user's message", name="answer",
                given=None,
            )
        return Conversation(builder, keep=self.keep, last=payload)

    def _answerable(self, payload: Payload | None) -> Payload:
        if payload is None:
            if not self._asked:
                raise OptionError("answered: nothing was asked yet; call ask first", name="payload", given=None)
            if len(self._asked) > 1:
                raise OptionError(
                    "answered: this conversation was asked more than once; say which: answered(answer, payload)",
                    name="payload", given=None,
                )
            return self._asked[0]
        if not isinstance(payload, Payload) or not payload.question:
            raise OptionError(
                f"payload: expected what ask returned, got {quote(payload)}", name="payload", given=payload
            )
        carried = payload.labels.carried
        if any(carried.get(label) != ids for label, ids in self.labels.carried.items()):
            raise OptionError(
                "payload: it is of another conversation: its labels are not those given here", name="payload",
                given=None,
            )
        return payload

    def _plans(self, question: str, sources: Iterable[Any]) -> list[_Plan]:
        """Return the builder with what stays of the last turn, where something does, and the one without."""
        if not isinstance(question, str) or not question.strip():
            raise OptionError(f"question: expected a text, got {quote(question)}", name="question", given=question)
        fresh = tuple(read_sources(sources))
        builder = self.builder.with_question(question)
        anew = _Plan(builder.add_sources(fresh))
        if self.keep == "none" or self.last is None:
            return [anew]
        kept = stay(
            self.last, fresh, builder._content.sources, builder.packing, missing=self.keep == "all",
            ranked=builder.rerank is None,
        )
        if not kept.sources:
            return [replace(anew, note=f"keep={self.keep}: {kept.note}" if kept.others else None)]
        note = "the sources of the last turn do not fit beside the rest, so that all were packed anew"
        return [
            _Plan(builder.add_sources([*kept.rest, *kept.sources]), f"keep={self.keep}: {kept.note}"),
            replace(anew, note=f"keep={self.keep}: {note}"),
        ]

    def _noted(self, payload: Payload, plan: _Plan) -> Payload:
        """Write the trade into the report, and remember what was asked."""
        if plan.note is not None:
            notes = (*payload.report.notes, plan.note)
            payload = replace(payload, report=replace(payload.report, notes=notes))
        # The first payload, and one that differs, are all that `answered` needs to know.
        if not self._asked or (len(self._asked) == 1 and payload != self._asked[0]):
            self._asked.append(payload)
        return payload


@dataclass(frozen=True, slots=True)
class _Plan:
    """A builder to render, and what the report has to say of it."""

    builder: PromptBuilder
    note: str | None = None


def _listed(answer: object) -> list[Any]:
    if not isinstance(answer, Iterable) or isinstance(answer, str | bytes | Mapping):
        raise OptionError(f"answer: expected a text or messages, got {quote(answer)}", name="answer", given=answer)
    return list(answer)
