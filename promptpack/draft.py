"""A payload on trial: labelled, rendered and counted, and still to be found too large or not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from promptpack.enclosure import around
from promptpack.forms import Ready
from promptpack.history import Fitted
from promptpack.labels import Labels
from promptpack.messages import Message
from promptpack.packing.candidate import Dropped, DropReason, Placed
from promptpack.packing.place import regions
from promptpack.payload import PackedSource
from promptpack.quick import maker
from promptpack.render import Frame
from promptpack.source import Source
from promptpack.views import View

if TYPE_CHECKING:
    from promptpack.builder import Content

_packed = maker(PackedSource)


@dataclass(frozen=True, slots=True)
class Draft:
    """A payload that is rendered and counted, and may still be too large."""

    messages: tuple[Message, ...]
    sources: list[PackedSource]
    labels: Labels
    tokens: int
    enclosures: int
    metadata: int
    escaped: tuple[tuple[str, str, int], ...]


def draft_of(
    frame: Frame, placed: Sequence[Placed], content: Content, system: Message | None, question: Markup | None,
    fitted: Fitted, tools: int, *, apart: bool,
) -> Draft:
    """Label, render and count what is placed; `apart` gives pinned sources a message of their own."""
    blocks = frame.blocks
    labels = blocks.labels.assign([one.chunk_ids for one in placed])
    digits = len(labels.prefix)
    numbers = [int(label[digits:]) for label in labels.sent]
    n, carried = len(placed), labels.carried
    ready = blocks.prepared(placed)
    prices = blocks.narrowed(ready, numbers)
    texts = blocks.rendered(ready, numbers)
    sources = [
        _packed(
            label, one.source, one.text, carried[label], made.form.fields(*made.raw), one.rank,
            position, third, price, one.value, one.ranges,
        )
        for position, (one, label, made, third, price) in enumerate(
            zip(placed, labels.sent, ready, regions(n), prices, strict=True)
        )
    ]
    outside, fields = around(blocks, ready, numbers, prices)
    history = fitted.messages
    split = sum([one.source.pinned for one in placed]) if apart else 0
    messages = [system] if system else []
    tokens = frame.overhead.reply + fitted.used + tools
    tokens += frame.count(system) if system else 0

    def user(first: int, last: int, asked: Markup | None) -> int:
        def views() -> list[View]:
            return [blocks.view(ready[i], numbers[i], texts[i]) for i in range(first, last)]

        text, frame_around = frame.user(texts[first:last], views, asked, content.system, history)
        messages.append(Message("user", text))
        costs = [one.tokens for one in sources[first:last]]
        hinted = any(made.hinted for made in ready[first:last])
        return frame.overhead.message + frame.count_user(text, frame_around, texts[first:last], costs, hinted=hinted)

    if split:  # pinned sources stand before the history, so that what is before it stays the same
        tokens += user(0, split, None)
    messages += history
    tokens += user(split, n, question)
    return Draft(tuple(messages), sources, labels, tokens, outside, fields, _edits(placed, ready, question))


def _edits(
    placed: Sequence[Placed], ready: Sequence[Ready], question: Markup | None
) -> tuple[tuple[str, str, int], ...]:
    """Count what escaping changed, by place and kind."""
    places = [(one.source.id, made.edits) for one, made in zip(placed, ready, strict=True) if made.edits]
    places.append(("question", tuple(getattr(question, "kinds", ()))))
    return tuple(
        (place, kind, count)
        for place, edits in places if edits
        for kind, count in sorted(Counter(edits).items())
    )


def without_weakest(
    placed: Sequence[Placed], excess: int, sources: Mapping[str, Source]
) -> tuple[list[Placed], list[Dropped]]:
    """Take out the weakest sources until `excess` tokens are saved; none where all are required.

    sources: all that came in, by id: of a passage that was merged, every chunk is listed.
    """
    out: list[Dropped] = []
    saved = 0
    leaving: set[int] = set()
    # By value: for spans that is not the rank; elsewhere it falls with it.
    order = sorted(range(len(placed)), key=lambda index: (placed[index].value, -placed[index].rank))
    for index in order:
        one = placed[index]
        if saved >= excess:
            break
        if one.source.required or one.source.pinned:
            continue
        leaving.add(index)
        saved += max(1, one.cost)
        why = f"the rendered payload was {excess} tokens too large and this was the weakest source"
        out += [
            Dropped(sources[id_], one.rank, one.cost, DropReason.OVER_BUDGET, "measure", why) for id_ in one.chunk_ids
        ]
    return [one for index, one in enumerate(placed) if index not in leaving], out
