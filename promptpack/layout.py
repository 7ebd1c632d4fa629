"""The layout of a payload: which message holds what, from the static to the volatile.

The order never changes: system text and rules (tool schemas go with them), pinned sources, history, retrieved sources,
question. What a provider takes in parts of its own (documents, cache marks) is made from this record; rendered text
is never taken apart.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from promptpack.errors import OptionError, SourceError, TemplateRenderError, quote
from promptpack.escape import LiveLabels, Rules, escape_text
from promptpack.labels import prefix_of
from promptpack.message import INSTRUCTIONS
from promptpack.quick import maker

if TYPE_CHECKING:
    from markupsafe import Markup

    from promptpack.builder import PromptBuilder
    from promptpack.draft import Draft
    from promptpack.history import Fitted
    from promptpack.message import Message
    from promptpack.packing.candidate import Placed
    from promptpack.payload import PackedSource
    from promptpack.render import Frame

CACHES = ("auto",)
# What fields and ids of native documents must not close: the tags that providers and chat templates, whose own they
# are, write around documents, and the sets' citation marks.
ENCLOSURES = frozenset({
    "document", "documents", "document_content", "question", "results", "search_result", "search_results", "sources",
})
MARKS = frozenset("\ue200\ue201\ue202")
_KINDS: dict[str, Any] = {
    "question": str | None, "system": str | None, "pinned": int | None, "history": int, "stable": int, "native": bool,
    "escaped": Mapping,
}


@dataclass(frozen=True, slots=True)
class Layout:
    """Which message of a payload holds what.

    question: the last message as the template set writes it without passages: the question, escaped, with what the set
    says around it; None where that is nothing. system: the text of the system message, also where a model has no such
    role and the text opens another message. pinned: the index of the message before the history that
    holds the pinned sources, None where they open the last message. history: how many messages, right before the last
    one, come from the conversation. stable: how many characters of the last message, from its start, are pinned.
    native: whether the template set wants the passages handed over as the provider's own documents. cache: as the
    builder has it. escaped: the text of each passage (by label) that escaping changed, as it is sent.

    Raises OptionError for a cache that is not known.
    """

    question: str | None = None
    system: str | None = None
    pinned: int | None = None
    history: int = 0
    stable: int = 0
    native: bool = False
    cache: str | None = None
    escaped: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        check_cache(self.cache)
        for name, kind in _KINDS.items():
            value = getattr(self, name)
            if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
                raise OptionError(f"layout: {name}: {quote(value)} cannot be", name=name, given=value)


_layout = maker(Layout, checked=True)  # its parts are known to be right


def check_cache(cache: object) -> None:
    """Raise OptionError where `cache` is neither None nor the name of a way to cache."""
    if cache is not None and cache not in CACHES:
        raise OptionError.unknown("cache", cache, CACHES)


def laid_out(
    builder: PromptBuilder, frame: Frame, placed: Sequence[Placed], draft: Draft, system: Message | None,
    question: Markup | None, fitted: Fitted, persona: str | None,
) -> Layout:
    """Record the layout of a payload that was rendered."""
    messages, prefix, history = draft.messages, len(draft.labels.prefix), len(fitted.messages)
    blocks = [
        frame.blocks.block(frame.blocks.prepare(one.source, one.text), int(label[prefix:]))
        for one, label in zip(takewhile(_pinned, placed), draft.labels.sent, strict=False)  # they come first
    ]
    # What escaping changed is in the report, but for a callable of the user, which need not tell.
    changed = {place for place, _, _ in draft.escaped} if frame.escaping.custom is None else None
    tried = [one for one in draft.sources if changed is None or one.source.id in changed] if changed != set() else []
    settings = frame.compiled.set.settings
    plain = _decoded if settings.encoding == "json" else str
    escaped = {one.label: plain(frame.blocks.prepare(one.source, one.text).text) for one in tried}
    # Besides the history there are the system message, which some models fold into the next one, and one message with
    # all sources and the question, or two: then the pinned sources come before the history.
    around = len(messages) - history - (messages[0].role in INSTRUCTIONS)
    own = len(messages) - history - 2 if around == 2 else None
    return _layout(
        question=_alone(frame, question, persona, fitted),
        system=None if system is None else system.text,
        pinned=own,
        history=history,
        stable=_end(messages[-1].text, blocks) if own is None else 0,
        native=settings.native,
        cache=None if frame.escaping.rules.suffix else builder.cache,  # spotlight: nothing stays the same
        escaped={one.label: escaped[one.label] for one in tried if escaped[one.label] != one.text},
    )


def required_layout(layout: Layout | None, what: str) -> Layout:
    """Return the layout; SourceError where a payload has none (it was made by hand)."""
    if layout is None:
        raise SourceError(
            f"{quote(what)} needs to know which message holds what, and this payload does not say: render it with a "
            "PromptBuilder",
            field="layout",
        )
    return layout


def document_id(one: PackedSource) -> str:
    """Return what a native document is named: its chunk id, on one line and escaped where it could pose as structure.

    `Payload.verify_response` knows a passage by this name, too.
    """
    prefix = prefix_of(one.label)
    rules = Rules(names=ENCLOSURES, prefix=prefix, labels=LiveLabels(None), reserved=MARKS)
    return str(escape_text(" ".join(one.chunk_ids[0].split()), rules))


def _pinned(placed: Placed) -> bool:
    return placed.source.pinned


def _alone(frame: Frame, question: Markup | None, persona: str | None, fitted: Fitted) -> str | None:
    """Return the last message as the set writes it without passages; enclosures with nothing in them are left out."""
    try:
        text, _ = frame.user((), tuple, question, persona, fitted.messages)
    except TemplateRenderError:  # a template that needs a source: then the question stands for itself
        text = str(question or "")
    if "</" in text and frame.compiled.names:
        text = frame.compiled.kept(("hollow",), partial(_hollow, frame.compiled.names)).sub("", text)
    return text.strip() or None


def _hollow(names: Iterable[str]) -> re.Pattern[str]:
    either = "|".join(re.escape(name) for name in sorted(names))
    return re.compile(rf"<((?:{either})(?:-[0-9A-Za-z]+)?)>\s*</\1>")  # with the suffix of spotlight


def _decoded(text: str) -> str:
    """Return escaped text of a set that writes JSON, where it is the inside of a string, as it is elsewhere."""
    return str(json.loads(f'"{text}"'))


def _end(text: str, blocks: Sequence[str]) -> int:
    """Return where the last of these blocks ends, looked for one after the other; 0 where one is not there."""
    at = 0
    for block in blocks:
        found = text.find(block, at)
        if found < 0:  # a template that writes passages in its own way
            return 0
        at = found + len(block)
    return at
