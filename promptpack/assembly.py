"""From a builder to a payload: measure the fixed parts, fit the history, pack, label, render, count.

The order of steps is the order of this file. Everything is a pure function of the builder.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from promptpack.blocks import Blocks, Ready
from promptpack.errors import BudgetError, OptionError, SourceError, quote
from promptpack.escape import LiveLabels, Rules
from promptpack.escaping import Escaping
from promptpack.history import Fitted, fit_history
from promptpack.labels import LAST, Labels
from promptpack.messages import Message, Turn, turns_of
from promptpack.packing.candidate import Dropped, DropReason, Packed, Placed
from promptpack.packing.intake import keep_apart
from promptpack.packing.pipeline import pack
from promptpack.packing.place import region
from promptpack.packing.ranking import rank_order
from promptpack.payload import PackedSource, Payload, Report
from promptpack.profiles import Profile, profile
from promptpack.quick import maker
from promptpack.reading import HASH_MARK
from promptpack.render import Frame, Overhead
from promptpack.source import Source
from promptpack.templates import TemplateSet
from promptpack.tokens import counter as counter_named
from promptpack.views import View
from promptpack.window import Budget, Window, allocate, shortfall

_packed = maker(PackedSource)

if TYPE_CHECKING:
    from promptpack.builder import Content, PromptBuilder


def assemble(builder: PromptBuilder, content: Content, *, require_sources: bool = False) -> Payload:
    """Render a builder; see `PromptBuilder.render`."""
    plan = Window.of(builder.window)
    step = builder.on_step or (lambda name, details: None)
    found = profile(builder.model)
    notes: list[str] = []
    sources, empty, shown_ids = _admit(content.sources, notes)
    frame = _frame(builder, found, shown_ids, len(sources))
    step("frame", {"template": frame.compiled.set.name, "counter": _name(frame.counter), "sources": len(sources)})

    question = frame.escaping.text(content.question) if content.question and content.question.strip() else None
    system = frame.system(content.system)
    turns = [Turn(tuple(frame.turn(one) for one in turn.messages), turn.index) for turn in turns_of(content.history)]
    account = _fixed(builder, frame, content, system, question, with_sources=bool(sources))
    order = rank_order([one.score for one in sources], [one.id for one in sources], builder.packing.tie)
    frame.blocks.anticipate([sources[index] for index in order], account.sources)

    def packed_into(room: int) -> Packed:
        try:
            return pack(sources, room, packing=builder.packing, cost=frame.cost, question=content.question)
        except BudgetError as error:
            needed, what = error.needed or 0, "the required sources"
            raise shortfall(account, account.fixed + needed, what=what, required=needed, plan=plan) from error

    # What is required takes its room before the history; without turns there is nothing to keep free.
    musts = {source.id for source in sources if source.required or source.pinned}
    promised = _promised(musts, packed_into(account.sources)) if turns and musts else 0
    room = plan.history_room(account.sources - promised)
    fitted = fit_history(turns, room, lambda turn: sum(frame.count(one) for one in turn.messages))
    account = replace(
        account, history=fitted.used, sources=account.sources - fitted.used, used=account.used + fitted.used
    )
    step("history", {"kept": len(fitted.kept), "dropped": len(fitted.dropped), "tokens": fitted.used})

    packed = packed_into(account.sources)
    step("pack", {"sent": len(packed.sources), "dropped": len(packed.dropped), "tokens": packed.used})
    placed: Sequence[Placed] = packed.sources  # pinned ones first
    late: list[Dropped] = []
    room, less = account.sources, 0
    while True:
        draft = _draft(frame, placed, content, system, question, fitted, account.tools)
        excess = draft.tokens - account.input
        if excess <= 0:
            break
        placed, out = _without_weakest(placed, excess)
        late += out
        if not out:  # nothing but what is required is left: it is shortened further, where it may be
            less = max(excess, 2 * less)
            room -= less
            if room < 0 or all(one.source.cut is None for one in placed):
                raise shortfall(account, draft.tokens, what="the parts that must be sent", partial=packed, plan=plan)
            packed = packed_into(room)
            placed, late = packed.sources, []
    step("measure", {"tokens": draft.tokens, "late": len(late)})
    if require_sources and not placed:
        raise _no_source(len(content.sources), [*empty, *packed.dropped, *late])
    dropped = sorted([*empty, *packed.dropped, *late], key=lambda out: out.rank)
    return Payload(
        messages=draft.messages,
        sources=tuple(draft.sources),
        labels=draft.labels,
        dropped=tuple(dropped),
        dropped_turns=fitted.dropped,
        budget=replace(account, used=draft.tokens),
        report=_report(builder, found, frame, draft, notes, packed),
    )


def _promised(musts: Set[str], packed: Packed) -> int:
    """Return what the required sources take of a payload without history; all of it where they had to be shortened."""
    taken = [one for one in packed.sources if not musts.isdisjoint(one.chunk_ids)]
    cut = any(one.source.cut and one.cut and len(one.chunk_ids) == 1 for one in taken)
    return packed.budget or 0 if cut else sum(one.cost for one in taken)


@dataclass(frozen=True, slots=True)
class _Draft:
    """A payload that is rendered and counted, and may still be too large."""

    messages: tuple[Message, ...]
    sources: list[PackedSource]
    labels: Labels
    tokens: int
    escaped: tuple[tuple[str, str, int], ...]


def _admit(sources: Sequence[Source], notes: list[str]) -> tuple[list[Source], list[Dropped], dict[str, str]]:
    apart = keep_apart(sources)
    shown_ids = {new.id: old.id for old, new in zip(sources, apart, strict=True) if new.id != old.id}
    for new, old in shown_ids.items():
        if not old.startswith(HASH_MARK):
            notes.append(f"the id {quote(old)} occurs again and is kept apart as {quote(new)}")
    kept: list[Source] = []
    empty: list[Dropped] = []
    for index, source in enumerate(apart):
        if source.text and not source.text.isspace():
            kept.append(source)
        elif source.required or source.pinned:
            message = f"source {quote(source.id)}: text: a required source has no text"
            raise SourceError(message, id=source.id, index=index, field="text")
        else:
            empty.append(Dropped(source, len(apart), None, DropReason.EMPTY, "admit", "has no text but white space"))
    return kept, empty, shown_ids


def _frame(builder: PromptBuilder, found: Profile, shown_ids: Mapping[str, str], candidates: int) -> Frame:
    compiled = TemplateSet.of(builder.template if builder.template is not None else found.template).compiled()
    labels = builder.labels
    custom = None if isinstance(builder.escape, str) else builder.escape
    rules = Rules(
        names=compiled.names, numbered=compiled.numbered, prefix=labels.prefix,
        labels=LiveLabels(min(LAST, labels.highest + candidates)),
        level=builder.escape if isinstance(builder.escape, str) else "tags",
    )
    blocks = Blocks(
        compiled=compiled,
        counter=counter_named(builder.counter if builder.counter is not None else found.counter),
        escaping=Escaping(rules, frozenset(labels.known().values()), custom),
        fields=builder.fields, labels=labels, shown_ids=shown_ids, candidates=candidates,
    )
    blocks.limit(Window.of(builder.window).size)
    return Frame(blocks, Overhead(found.message, found.reply))


def _fixed(
    builder: PromptBuilder, frame: Frame, content: Content, system: Message | None, question: Markup | None,
    *, with_sources: bool,
) -> Budget:
    """Account for everything but history and sources; BudgetError where that alone does not fit."""
    system_tokens = frame.count(system) - frame.overhead.message if system else 0
    question_tokens = frame.counter(question) if question else 0
    user = frame.bare(with_sources, question, content.system)
    messages = 1 + bool(system)
    has_pinned = bool(content.history) and any(source.pinned for source in content.sources)
    if has_pinned:  # a message of its own before the history
        user += frame.bare(True, None, content.system)
        messages += 1
    overhead = messages * frame.overhead.message + frame.overhead.reply
    return allocate(
        builder.window, system=system_tokens, question=question_tokens, tools=_tools(content.tools, frame),
        frame=max(0, user - question_tokens) + overhead, exact=frame.exact,
    )


def _tools(tools: Sequence[Mapping[str, Any]], frame: Frame) -> int:
    if not tools:
        return 0
    try:
        return frame.counter(json.dumps(list(tools), ensure_ascii=False, separators=(",", ":")))
    except (TypeError, ValueError, RecursionError) as error:
        raise OptionError(
            f"tools: the schemas cannot be written as JSON ({type(error).__name__})", name="tools", given=None
        ) from error


def _draft(
    frame: Frame, placed: Sequence[Placed], content: Content, system: Message | None, question: Markup | None,
    fitted: Fitted, tools: int,
) -> _Draft:
    """Label, render and count what is placed."""
    blocks = frame.blocks
    labels = blocks.labels.assign([one.chunk_ids for one in placed])
    numbers = [int(label[len(labels.prefix):]) for label in labels.sent]
    n = len(placed)
    ready: list[Ready] = []
    sources: list[PackedSource] = []
    texts: list[str] = []
    for position, (one, label, number) in enumerate(zip(placed, labels.sent, numbers, strict=True)):
        source, text = one.source, one.text
        made = blocks.prepare(source, text)
        tokens = blocks.narrowed(made, source, text, number)
        ready.append(made)
        texts.append(blocks.block(made, source, number))
        sources.append(_packed(
            label, source, text, labels.carried[label], made.attributes, one.rank, position, region(position, n),
            tokens, one.value,
        ))
    history = fitted.messages
    split = sum(one.source.pinned for one in placed) if history else 0
    messages = [system] if system else []
    tokens = frame.overhead.reply + fitted.used + tools
    tokens += frame.count(system) if system else 0

    def user(first: int, last: int, asked: Markup | None) -> int:
        def views() -> list[View]:
            return [blocks.view(ready[i], numbers[i], texts[i]) for i in range(first, last)]

        text, around = frame.user(texts[first:last], views, asked, content.system, history)
        messages.append(Message("user", text))
        costs = [one.tokens for one in sources[first:last]]
        hinted = any(made.hinted for made in ready[first:last])
        return frame.overhead.message + frame.count_user(text, around, texts[first:last], costs, hinted=hinted)

    if split:  # pinned sources stand before the history, so that what is before it stays the same
        tokens += user(0, split, None)
    messages += history
    tokens += user(split, n, question)
    return _Draft(tuple(messages), sources, labels, tokens, _edits(placed, ready, question))


def _edits(
    placed: Sequence[Placed], ready: Sequence[Ready], question: Markup | None
) -> tuple[tuple[str, str, int], ...]:
    """Count what escaping changed, by place and kind."""
    places = [(one.source.id, made.edits) for one, made in zip(placed, ready, strict=True) if made.edits]
    places.append(("question", tuple(getattr(question, "edits", ()))))
    return tuple(
        (place, kind, count)
        for place, edits in places
        for kind, count in sorted(Counter(str(edit.kind) for edit in edits).items())
    )


def _without_weakest(placed: Sequence[Placed], excess: int) -> tuple[list[Placed], list[Dropped]]:
    """Take out the weakest sources until `excess` tokens are saved; none where all are required."""
    out: list[Dropped] = []
    saved = 0
    leaving: set[int] = set()
    order = sorted(range(len(placed)), key=lambda index: -placed[index].rank)
    for index in order:
        one = placed[index]
        if saved >= excess:
            break
        if one.source.required or one.source.pinned:
            continue
        leaving.add(index)
        saved += max(1, one.cost)
        out.append(Dropped(
            one.source, one.rank, one.cost, DropReason.OVER_BUDGET, "measure",
            f"the rendered payload was {excess} tokens too large and this was the weakest source",
        ))
    return [one for index, one in enumerate(placed) if index not in leaving], out


def _no_source(count: int, dropped: Sequence[Dropped]) -> SourceError:
    reasons = Counter(str(out.reason) for out in dropped)
    told = ", ".join(f"{number} {reason}" for reason, number in sorted(reasons.items())) or "none came in"
    return SourceError(f"no source is left to send: {count} came in ({told})", field="sources")


def _report(
    builder: PromptBuilder, found: Profile, frame: Frame, draft: _Draft, notes: list[str], packed: Packed
) -> Report:
    told = [*notes, *packed.notes]
    if not found.known:
        told.append(f"the model {quote(builder.model)} is not known: its tokens are estimated")
    elif not frame.exact:
        told.append(f"the counter {_name(frame.counter)} estimates; its counts may differ from the model's")
    return Report(
        counter=_name(frame.counter), exact=frame.exact, template=frame.compiled.set.name, model=builder.model,
        escaped=draft.escaped, notes=tuple(told),
    )


def _name(counter: object) -> str:
    return str(getattr(counter, "name", None) or getattr(counter, "__name__", type(counter).__name__))
