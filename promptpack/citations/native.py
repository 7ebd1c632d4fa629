"""Citations that a provider gives beside the text, resolved to the labels that were sent.

The result is the same `Verification` that the marks in a text give, and both may occur in one answer. A citation is
resolved by the first of these that finds a source: the names that it gives (chunk id, label, or what is shown of the
source: document, address, title; a title alone may also open with the label), then its place among the documents or
search results of the request where the cited words stand in that source, then the only source that holds the cited
words. Nothing is guessed: what none of these finds is `unknown`. A name that several sources share, such as that of a
file, is narrowed by the cited words; where there are none, every passage of it is cited.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from promptpack.citations.extra import Extra
from promptpack.citations.parse import Citation, Malformed, chunk_ids_of
from promptpack.citations.responses import Among, Beside, read_response
from promptpack.citations.verification import Verification
from promptpack.citations.verify import verify_citations

_LONGEST = 80  # characters of a name that stands for a label which nobody gave
_LED = re.compile(r"\[?([A-Za-z]{1,12}[0-9]{1,4})\]?:?(?=\s|\Z)")


@dataclass(frozen=True, slots=True)
class Target:
    """A passage that may be cited: its label, the names that it goes by, and its text as it was sent."""

    label: str
    names: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sent:
    """What was sent, for resolving: the passages, and their order among the documents and the search results.

    order: for `document` and `search_result` the label at each place, None for what is no passage, such as a document
    in the history. A kind that is not there stands in the order of the passages.
    """

    targets: tuple[Target, ...] = ()
    order: Mapping[Among, Sequence[str | None]] = field(default_factory=dict, hash=False)


def verify_response(
    response: object,
    labels: Mapping[str, str | Sequence[str]],
    sent: Sent | None = None,
    *,
    carried: Mapping[str, str | Sequence[str]] | None = None,
    **options: Any,
) -> Verification:
    """Check a whole response: the marks in its text, and the citations beside it.

    response: see `promptpack.citations.responses.read_response`. labels, carried and options (prefix, texts,
    min_support, judge, ...): as `verify_citations` takes them. sent: the passages; without it only labels and chunk ids
    are names. A citation beside the text has the form `native`, its span is the part of the answer that it backs (or
    the provider's own link behind it), and `cited_text` holds the words of the source where the provider gives them.
    A span outside of the text, and a citation of no source, are `malformed`. Where the provider says that the model
    declined, `refusal` is true. Every claim that the span touches counts as cited. Cited words are looked for in all
    texts at most once each.

    Raises OptionError for what is no response.

    >>> block = {"type": "text", "text": "It is 30 days.", "citations": [{"type": "search_result_location",
    ...     "source": "a#1", "search_result_index": 0, "cited_text": "within 30 days"}]}
    >>> found = verify_response({"content": [block]}, {"S1": "a#1", "S2": "b#1"})
    >>> found.known, found.citations[0].chunk_id, found.citations[0].cited_text, found.coverage
    (('S1',), 'a#1', 'within 30 days', 1.0)
    """
    answer = read_response(response)
    if not (answer.beside or answer.faults or answer.refused):
        return verify_citations(answer.text, labels, carried=carried, **options)
    now, earlier = chunk_ids_of(labels), chunk_ids_of(carried or {}, "carried")
    resolver = _Resolver(now, earlier, sent or Sent(tuple(Target(label) for label in now)))
    citations: list[Citation] = []
    for found in answer.beside:
        span = (found.start, found.end)
        for label in resolver.labels(found):
            ids = now.get(label, earlier.get(label, ()))
            citations.append(Citation(label, *span, answer.text[slice(*span)], "native", span, ids, found.cited_text))
    marks = frozenset((one.start, one.end) for one in answer.beside if one.mark)
    faults = tuple(Malformed(answer.text[start:end], start, end, why) for start, end, why in answer.faults)
    extra = Extra(tuple(citations), marks, faults, answer.refused, answer.refusals)
    return verify_citations(answer.text, labels, carried=carried, extra=extra, **options)


class _Resolver:
    """Finds the labels that a citation means."""

    def __init__(
        self, now: Mapping[str, tuple[str, ...]], earlier: Mapping[str, tuple[str, ...]], sent: Sent
    ) -> None:
        self._targets = {one.label: one for one in sent.targets}
        self._texts = {one.label: [_flat(text) for text in one.texts] for one in sent.targets}
        self._order = sent.order
        self._plain_order = tuple(self._targets)
        self._chunks: dict[str, dict[str, None]] = {}
        self._names: dict[str, dict[str, None]] = {}
        self._labels = {*now, *earlier}
        self._holders: dict[str, str | None] = {}
        for group in (now, earlier):  # a chunk that is sent now goes before the same one of an earlier turn
            for label, ids in group.items():
                for id_ in ids:
                    self._chunks.setdefault(id_, {})[label] = None
        for one in sent.targets:
            for name in one.names:
                self._names.setdefault(name, {})[one.label] = None

    def labels(self, one: Beside) -> tuple[str, ...]:
        """Return the labels; where there are none, the name that nobody knows."""
        for at, name in enumerate(one.names):
            # The titles that a payload gives its documents open with the label; beside an id that nobody knows, a title
            # is one that somebody else gave.
            found = self._named(name) or (self._led(name) if at == 0 else ())
            if found:
                return self._narrowed(found, one.cited_text)
        placed = self._placed(one)
        if placed is not None:
            return (placed,)
        name = one.names[0] if one.names else f"{one.among} {one.index}" if one.index is not None else "unnamed source"
        return (name[:_LONGEST],)

    def _named(self, name: str) -> tuple[str, ...]:
        if name in self._chunks:
            return tuple(self._chunks[name])
        if name in self._labels:
            return (name,)
        return tuple(self._names.get(name, ()))

    def _led(self, name: str) -> tuple[str, ...]:
        led = _LED.match(name)
        return (led[1],) if led and led[1] in self._labels else ()

    def _narrowed(self, found: tuple[str, ...], cited: str | None) -> tuple[str, ...]:
        if len(found) == 1 or cited is None:
            now = tuple(label for label in found if label in self._targets)
            return now or found
        return tuple(label for label in found if self._holds(label, cited)) or found

    def _placed(self, one: Beside) -> str | None:
        order = self._order.get(one.among, self._plain_order)
        label = order[one.index] if one.index is not None and one.index < len(order) else None
        if one.cited_text is None:
            return label
        if label is not None and self._holds(label, one.cited_text):
            return label
        if one.cited_text not in self._holders:
            found = [label for label in self._targets if self._holds(label, one.cited_text)]
            self._holders[one.cited_text] = found[0] if len(found) == 1 else None
        return self._holders[one.cited_text]

    def _holds(self, label: str, cited: str) -> bool:
        wanted = _flat(cited)
        return any(wanted in text for text in self._texts.get(label, ()))


def _flat(text: str) -> str:
    return " ".join(text.split())
