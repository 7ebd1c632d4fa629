"""The payload: exactly what to send, where each passage came from, what was left out, and the account."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from promptpack.errors import OptionError, SourceError, quote
from promptpack.labels import Labels
from promptpack.layout import Layout
from promptpack.messages import Message
from promptpack.packing.candidate import Dropped, Region
from promptpack.packing.spans_parts import places
from promptpack.shown import visible
from promptpack.source import Source
from promptpack.window import Budget

if TYPE_CHECKING:
    from promptpack.caching import PrefixDiff
    from promptpack.citations import Verification
    from promptpack.citations.support import Judge
    from promptpack.history import DroppedTurn
    from promptpack.packing.curve import Use


@dataclass(frozen=True, slots=True)
class PackedSource:
    """One passage of the payload.

    label: how the model cites it. text: what was sent of it, unescaped. chunk_ids: the chunks that it is made of.
    attributes: the shown fields, unescaped, in their order. rank: from 1, before any drop. position: its place in the
    prompt, from 0; region: start, middle or end. tokens: its cost, enclosure included. value: what the selection took
    it to be worth. ranges: the (start, end) offsets in `source.text` that were sent, where `select="spans"` took parts.
    """

    label: str
    source: Source
    text: str
    chunk_ids: tuple[str, ...]
    attributes: Mapping[str, str] = field(hash=False)
    rank: int
    position: int
    region: Region
    tokens: int
    value: float
    ranges: tuple[tuple[int, int], ...] = ()

    def part(self) -> str:
        """Say which part of the source's text was sent: "characters 40-95 of 863"; empty where `ranges` is."""
        told = ", ".join(f"{start}-{end}" for start, end in self.ranges)
        return told and f"characters {told} of {len(self.source.text)}"

    def in_source(self, start: int, end: int) -> tuple[tuple[int, int], ...]:
        """Return where `text[start:end]` stands in `source.text`: a range for each part, none if it cannot be told.

        Raises OptionError for what are no offsets in `text`.
        """
        if not all(isinstance(at, int) for at in (start, end)) or not 0 <= start <= end <= len(self.text):
            message = f"in_source: expected offsets from 0 to {len(self.text)}, got {quote(start)} and {quote(end)}"
            raise OptionError(message, name="start", given=(start, end))
        return places(self.text, self.source.text, self.ranges, start, end)


@dataclass(frozen=True, slots=True)
class Report:
    """How the payload came about: what was counted with, and what was changed on the way.

    counter, exact: the counter's name, and whether it is the model's own tokenizer. model, template: as resolved.
    escaped: (place, kind, count) of the edits that escaping made; the texts are not repeated here.
    notes: what was repaired, bounded, renamed or estimated, one plain sentence each.
    select: the selection; of "auto" what it came to, and why: "spans: a question is given, 812 of 4,210 tokens fit".
    use: what the order of the sources is worth under the position curve that placed them; None without one.
    """

    counter: str
    exact: bool
    template: str
    model: str | None = None
    escaped: tuple[tuple[str, str, int], ...] = ()
    notes: tuple[str, ...] = ()
    select: str = ""
    use: Use | None = None


@dataclass(frozen=True, slots=True)
class Payload:
    """The exact payload for one question; a pure function of the builder that made it.

    messages: in the order to send them. sources: the passages, in prompt order. labels: label to chunk ids, and what is
    carried from earlier turns. dropped: the sources that are not sent, by rank. dropped_turns: the turns of the
    history that are not sent, oldest first. budget: the account. report: how it came about. tools: the tool schemas, as
    they came in. layout: which message holds what. question: as it was asked; None where there was none.

    `payload["S1"]` is the passage with that label.
    """

    messages: tuple[Message, ...]
    sources: tuple[PackedSource, ...]
    labels: Labels
    dropped: tuple[Dropped, ...]
    dropped_turns: tuple[DroppedTurn, ...]
    budget: Budget
    report: Report
    tools: tuple[Mapping[str, Any], ...] = field(default=(), hash=False)
    layout: Layout | None = None
    question: str | None = None

    @property
    def tokens(self) -> int:
        """The tokens of everything that is sent, message overhead included."""
        return self.budget.used

    @property
    def text(self) -> str:
        """The whole payload as plain text, each message under its role in capitals."""
        return self.to_text()

    def __getitem__(self, label: str) -> PackedSource:
        for source in self.sources:
            if isinstance(label, str) and source.label == label:
                return source
        known = ", ".join(source.label for source in self.sources[:20]) or "none"
        raise SourceError(f"label {quote(label)} is not in this payload; sent: {known}", id=None, field="label")

    def __contains__(self, label: object) -> bool:
        return any(source.label == label for source in self.sources)

    def why(self, chunk_id: str) -> str:
        """Say in one sentence what became of a chunk: where it is and how what is sent of it begins, or why it is not.

        `chunk_id` is a source's id or a label. SourceError where no such source came in.
        """
        if not isinstance(chunk_id, str):
            raise SourceError(f"why: expected the id of a source, got {quote(chunk_id)}", field="id")
        from promptpack.view.plain import part_of

        name = visible(chunk_id)
        told = []
        for one in self.sources:
            if chunk_id in one.chunk_ids or chunk_id == one.label:
                of = f" (one of {len(one.chunk_ids)} chunks of it)" if len(one.chunk_ids) > 1 else ""
                part = part_of(one, words=True)
                told.append(
                    f"{name}: sent as {one.label}{of}: rank {one.rank}, place {one.position + 1} of "
                    f"{len(self.sources)} ({one.region}), {one.tokens} tokens{', ' if part else ''}{part}"
                )
        for out in self.dropped:
            if out.source.id == chunk_id:
                told.append(f"{name}: not sent: {out.reason}: {out.detail} (rank {out.rank}, stage {out.stage})")
        if not told:
            raise SourceError(f"no source with the id {quote(chunk_id)} came in", field="id")
        return "; ".join(told)

    def explain(self) -> str:
        """Return the account, the passages in prompt order and what was left out, as plain text.

        Of a source that went in part each stretch that was sent is shown by its first words.
        """
        from promptpack.view.plain import explained

        return explained(self)

    def verify(
        self, answer: str, *, min_support: float | None = None, judge: Judge | None = None,
        zero_padded: bool = False, superscripts: bool = False,
    ) -> Verification:
        """Check the citations of an answer against the labels of this payload, and its quotations against the texts.

        See `promptpack.citations.verify_citations` for what counts as known, stale, unknown, covered and supported. The
        text behind a label is what was sent of the passage, with its shown fields.
        """
        from promptpack.citations import verify_citations

        return verify_citations(
            answer, self.labels, carried=self.labels.stale, prefix=self.labels.prefix, texts=self._texts(),
            min_support=min_support, judge=judge, zero_padded=zero_padded, superscripts=superscripts,
        )

    def _texts(self) -> dict[str, str]:
        return {
            one.label: "\n".join([one.text, *(value for name, value in one.attributes.items() if name != "chunk")])
            for one in self.sources
        }

    def verify_response(
        self, response: object, *, min_support: float | None = None, judge: Judge | None = None
    ) -> Verification:
        """Check a provider's whole response: its text, and the citations that it brings in a form of its own.

        An object of an SDK or a mapping, from Anthropic, Cohere, OpenAI (chat or Responses), or any with a text. See
        `promptpack.citations.native`; the options are those of `verify`.
        """
        from promptpack.citations.native import verify_response
        from promptpack.targets import sent_passages

        return verify_response(
            response, self.labels, sent_passages(self), carried=self.labels.stale, prefix=self.labels.prefix,
            texts=self._texts(), min_support=min_support, judge=judge,
        )

    def carry_labels(self) -> Labels:
        """Return the labels for the next turn, so that each chunk keeps its name."""
        return self.labels.carry()

    def to_openai(self, *, role: str = "system", model: str | None = None) -> list[dict[str, Any]]:
        """Return the messages as OpenAI's chat completions take them; see `promptpack.providers.openai`."""
        from promptpack.providers.openai import to_openai

        return to_openai(self, role=role, model=model)

    def to_openai_responses(self, *, role: str = "instructions", model: str | None = None) -> dict[str, Any]:
        """Return `instructions` and `input` of OpenAI's Responses; see `promptpack.providers.responses`."""
        from promptpack.providers.responses import to_responses

        return to_responses(self, role=role, model=model)

    def to_anthropic(self, citations: str | None = None) -> dict[str, Any]:
        """Return `system` and `messages` of Anthropic's Messages; see `promptpack.providers.anthropic`."""
        from promptpack.providers.anthropic import to_anthropic

        return to_anthropic(self, citations)

    def to_gemini(self) -> dict[str, Any]:
        """Return `contents` and `systemInstruction` of Gemini; see `promptpack.providers.gemini`."""
        from promptpack.providers.gemini import to_gemini

        return to_gemini(self)

    def to_cohere(self, *, documents: bool = True) -> dict[str, Any]:
        """Return `messages` and `documents` of Cohere's chat v2; see `promptpack.providers.cohere`."""
        from promptpack.providers.cohere import to_cohere

        return to_cohere(self, documents=documents)

    def to_bedrock(self, citations: str | None = None, *, model: str | None = None) -> dict[str, Any]:
        """Return `system`, `messages` and `toolConfig` of Bedrock's Converse; see `promptpack.providers.bedrock`."""
        from promptpack.providers.bedrock import to_bedrock

        return to_bedrock(self, citations, model=model)

    def to_chat_template(self, tokenizer: Any = None) -> dict[str, Any]:
        """Return the arguments of `apply_chat_template`; see `promptpack.providers.huggingface`."""
        from promptpack.providers.huggingface import to_chat_template

        return to_chat_template(self, tokenizer)

    def request(self, provider: str, *, model: str | None = None, **options: Any) -> dict[str, Any]:
        """Return the keyword arguments of the provider's SDK call; see `promptpack.providers.request`."""
        from promptpack.providers.request import request

        return request(self, provider, model=model, **options)

    def prefix_hash(self) -> str:
        """Return a hash of all that stands before what each question changes; see `promptpack.caching`."""
        from promptpack.caching import prefix_hash

        return prefix_hash(self)

    def diff_prefix(self, previous: Payload) -> PrefixDiff:
        """Compare with the payload sent before: what a provider's cache can serve of it; see `promptpack.caching`."""
        from promptpack.caching import diff_prefix

        return diff_prefix(self, previous)

    def to_text(self) -> str:
        """Return the messages as one text, each under its role in capitals."""
        return "\n\n".join(f"{message.role.upper()}\n{message.text}" for message in self.messages)

    def to_html(self, verification: Verification | None = None, answer: str | None = None) -> str:
        """Return one self-contained page: the window, the sources in place, what was left out, and a checked answer.

        See `promptpack.view.html.page`. An answer without a verification is verified.
        """
        from promptpack.view.html import page

        return page(self, verification, answer)

    def _repr_html_(self) -> str:
        """Return the short form that notebooks show."""
        from promptpack.view.compact import compact

        return compact(self)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that JSON can hold; `from_dict` gives an equal payload, also in another process."""
        from promptpack.stored import payload_to_dict

        return payload_to_dict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Payload:
        """Read what `to_dict` wrote; SourceError where it is something else."""
        from promptpack.stored import payload_from_dict

        return payload_from_dict(data)
