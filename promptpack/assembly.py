"""From a builder to a payload: measure the fixed parts, fit the history, pack, label, render, count.

The order of steps is the order of this file. Everything is a pure function of the builder.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from promptpack.blocks import Blocks
from promptpack.caching import cache_notes
from promptpack.draft import Draft, draft_of, without_weakest
from promptpack.edits import text_edits
from promptpack.errors import BudgetError, OptionError, SourceError, quote
from promptpack.escape import LiveLabels, Rules
from promptpack.fields import AUTO, joined_notes, telling_fields
from promptpack.folding import BREAK, fold_system, saved_tokens
from promptpack.labels import LAST
from promptpack.layout import laid_out
from promptpack.messages import Message, turns_of
from promptpack.packing.candidate import Dropped, DropReason, Packed, Placed
from promptpack.packing.curve import Use, use_in
from promptpack.packing.intake import keep_apart
from promptpack.packing.pipeline import pack
from promptpack.payload import Payload, Report
from promptpack.profiles import Profile, estimate_note, planned, profile
from promptpack.quick import maker
from promptpack.reading import HASH_MARK
from promptpack.render import ENCLOSURE, LONG, Frame, Overhead
from promptpack.setforms import escaping_for
from promptpack.settings import DEFAULT_FIELDS
from promptpack.smallest import trier
from promptpack.source import Source
from promptpack.spotlight import resolved
from promptpack.summary import fit_turns, unsized
from promptpack.templates import TemplateSet
from promptpack.tokens import counter as counter_named
from promptpack.window import Budget, Window, allocate, shortfall

if TYPE_CHECKING:
    from promptpack.builder import Content, PromptBuilder


_budget = maker(Budget, checked=True)


def assemble(
    builder: PromptBuilder, content: Content, *, require_sources: bool = False, trying: bool = False
) -> Payload:
    """Render a builder; see `PromptBuilder.render`. trying: for another error's sake, so that none is tried for it."""
    step = builder.on_step or (lambda name, details: None)
    found = profile(builder.model)
    notes: list[str] = []
    sources, empty, shown_ids = _admit(content.sources, notes)
    frame = _frame(builder, found, shown_ids, sources, content.question)
    plan = planned(builder.window, found.margin if builder.counter is None else frame.margin)
    if builder.fields == AUTO:
        notes.append(f"fields auto shows {', '.join(frame.blocks.fields) or 'none'}")
    elif sources and tuple(builder.fields) != DEFAULT_FIELDS:
        notes += [
            f"fields: no source has {quote(name)}"
            for name in frame.blocks.fields if name != "chunk" and not any(frame.blocks.columns.column(name, sources))
        ]
    step("frame", {"template": frame.compiled.set.name, "counter": _name(frame.counter), "sources": len(sources)})

    given = content
    if content.folded:
        told = [content.system] if content.system else []
        told += [str(frame.escaping.turn(text, "system")) for text in content.folded]
        content = replace(content, system="\n\n".join(told), folded=())
    question = frame.escaping.question(content.question) if content.question and content.question.strip() else None
    system = frame.system(content.system)
    turns = turns_of(content.history)
    # Pinned sources stand before the history, and where a cache is to keep them, before the question that changes.
    apart = bool(content.history or builder.cache) and any(source.pinned for source in sources)
    must = [source for source in sources if source.required or source.pinned]

    def too_large(needed: int, what: str, required: int = 0, partial: Packed | None = None) -> BudgetError:
        works = None if trying else trier(assemble, builder, given, plan.size, any(source.cut for source in must))
        return shortfall(account, needed, what=what, required=required, partial=partial, plan=plan, works=works)

    def packed_into(room: int, least: int = 0) -> Packed:
        try:
            return pack(sources, room, packing=builder.packing, cost=frame.cost, question=content.question)
        except BudgetError as error:
            needed, both = error.needed or 0, account.fixed > account.input
            what = "the fixed parts and the required sources" if both else "the required sources"
            raise too_large(max(account.fixed + needed, least), what, needed) from error

    try:
        account = _fixed(plan, frame, content, system, question, with_sources=bool(sources), apart=apart)
    except BudgetError as error:
        if not isinstance(error.budget, Budget):
            raise
        account = error.budget
        if must:
            packed_into(0)  # fails with the room that they take, too, unless they take none
        raise too_large(account.fixed, "the fixed parts") from None

    # What is required takes its room before the history; without turns there is nothing to keep free.
    promised = _promised({one.id for one in must}, packed_into(account.sources)) if turns and must else 0
    room = plan.history_room(account.sources - promised)
    fitted = fit_turns(turns, room, frame.count, frame.turn, content.summary)
    guessed = unsized(fitted)
    notes += [*fitted.notes, *guessed]
    if turns:
        account = replace(
            account, history=fitted.used, sources=account.sources - fitted.used, used=account.used + fitted.used,
            exact=account.exact and not guessed,
        )
    step("history", {"kept": len(fitted.kept), "dropped": len(fitted.dropped), "tokens": fitted.used})

    edits, dead = text_edits(given.system, given.folded, fitted, frame.escaping)
    notes += dead
    packed = packed_into(account.sources)
    step("pack", {"sent": len(packed.sources), "dropped": len(packed.dropped), "tokens": packed.used})
    placed: Sequence[Placed] = packed.sources  # pinned ones first
    late: list[Dropped] = []
    room, less = account.sources, 0
    while True:
        draft = draft_of(frame, placed, content, system, question, fitted, account.tools, apart=apart)
        if frame.folds:
            saved = saved_tokens(draft.messages, frame.counter, frame.overhead.message)
            draft = replace(draft, messages=fold_system(draft.messages), tokens=draft.tokens - saved)
        excess = draft.tokens - account.input
        if excess <= 0:
            break
        placed, out = without_weakest(placed, excess, {one.id: one for one in sources})
        late += out
        if not out:  # nothing but what is required is left: it is shortened further, where it may be
            less = max(excess, 2 * less)
            room -= less
            if room < 0 or all(one.source.cut is None for one in placed):
                raise too_large(draft.tokens, "the parts that must be sent", partial=packed)
            packed = packed_into(room, draft.tokens)
            placed, late = packed.sources, []
    step("measure", {"tokens": draft.tokens, "late": len(late)})
    if not draft.sources and sources:
        notes.append(f"no source is sent, of {len(sources):,} that came in (see dropped)")
    elif not sources and question is None:
        notes.append("neither a source nor a question came in; a builder never changes, each call returns a new one")
    if require_sources and not placed:
        raise _no_source(len(content.sources), [*empty, *packed.dropped, *late])
    draft = replace(draft, escaped=(*draft.escaped, *edits)) if edits else draft
    dropped: Sequence[Dropped] = packed.dropped
    if empty or late:
        dropped = sorted([*empty, *dropped, *late], key=lambda out: out.rank)
    return Payload(
        messages=draft.messages,
        sources=tuple(draft.sources),
        labels=draft.labels,
        dropped=tuple(dropped),
        dropped_turns=fitted.dropped,
        budget=_settled(account, draft),
        report=_report(builder, found, frame, draft, [*notes, *cache_notes(builder, account, draft.sources)], packed,
                       account.margin, use_in(builder.packing.place, placed) if late else packed.use),
        tools=content.tools,
        question=content.question,
        layout=laid_out(builder, frame, placed, draft, system, question, fitted, content.system),
    )


def _promised(musts: Set[str], packed: Packed) -> int:
    """Return what the required sources take of a payload without history; all of it where they had to be shortened."""
    taken = [one for one in packed.sources if not musts.isdisjoint(one.chunk_ids)]
    cut = any(one.source.cut and one.cut and len(one.chunk_ids) == 1 for one in taken)
    return packed.budget or 0 if cut else sum(one.cost for one in taken)


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


def _frame(
    builder: PromptBuilder, found: Profile, shown_ids: Mapping[str, str], sources: Sequence[Source],
    question: str | None,
) -> Frame:
    templates = TemplateSet.of(builder.template if builder.template is not None else found.template)
    labels, candidates = builder.labels, len(sources)
    compiled, level, suffix, custom = resolved(builder.escape, templates, question, sources)
    rules = _rules(
        compiled.names, compiled.numbered, labels.prefix, min(LAST, labels.highest + candidates), level, suffix,
        compiled.signs,
    )
    settings = compiled.set.settings
    fields = settings.fields if builder.fields in (DEFAULT_FIELDS, AUTO) else tuple(builder.fields)
    counter = counter_named(builder.counter if builder.counter is not None else found.counter)
    blocks = Blocks(
        compiled=compiled, counter=counter,
        escaping=escaping_for(compiled)(rules, frozenset(labels.known().values()), custom),
        fields=telling_fields(fields, sources) if builder.fields == AUTO else fields,
        labels=labels, shown_ids=shown_ids, candidates=candidates,
    )
    blocks.limit(Window.of(builder.window).size)
    overhead = Overhead(found.message, found.reply + getattr(counter, "overhead", 0))
    return Frame(blocks, overhead, folds=not found.system_role)


@lru_cache(maxsize=256)  # they check themselves, which takes longer than to find them
def _rules(
    names: frozenset[str], numbered: frozenset[str], prefix: str, top: int, level: str, suffix: str,
    reserved: frozenset[str],
) -> Rules:
    return Rules(names, numbered, prefix, LiveLabels(top), level, suffix, reserved=reserved)


def _fixed(
    plan: Window, frame: Frame, content: Content, system: Message | None, question: Markup | None,
    *, with_sources: bool, apart: bool,
) -> Budget:
    """Account for everything but history and sources; BudgetError where that alone does not fit."""
    system_tokens = frame.counter(system.text + BREAK * frame.folds) if system else 0
    question_tokens = frame.counter(question) if question else 0
    # Whether a template repeats its rules is known when the passages are; a wrong guess costs a source, no more.
    long = sum([len(one.text) + ENCLOSURE for one in content.sources]) >= LONG
    user = frame.bare(with_sources, question, content.system, long=long)
    messages = 1 + bool(system and not frame.folds)
    if apart:  # a message of its own for the pinned sources
        user += frame.bare(True, None, content.system, long=long)
        messages += 1
    overhead = messages * frame.overhead.message + frame.overhead.reply
    return allocate(
        plan, system=system_tokens, question=question_tokens, tools=_tools(content.tools, frame),
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


def _settled(account: Budget, draft: Draft) -> Budget:
    """Return the account of what is sent: the frame is what nothing else takes."""
    others = account.fixed - account.frame
    frame = max(0, draft.tokens - others - sum([one.tokens for one in draft.sources]))
    return _budget(
        window=account.window, answer=account.answer, margin=account.margin, system=account.system,
        history=account.history, question=account.question, frame=frame,
        sources=max(0, account.input - others - frame), used=draft.tokens, exact=account.exact, tools=account.tools,
        enclosures=draft.enclosures, metadata=draft.metadata,
    )


def _no_source(count: int, dropped: Sequence[Dropped]) -> SourceError:
    reasons = Counter(str(out.reason) for out in dropped)
    told = ", ".join(f"{number} {reason}" for reason, number in sorted(reasons.items())) or "none came in"
    return SourceError(f"no source is left to send: {count} came in ({told})", field="sources")


def _report(
    builder: PromptBuilder, found: Profile, frame: Frame, draft: Draft, notes: list[str], packed: Packed, margin: int,
    use: Use | None,
) -> Report:
    told = [*notes, *packed.notes, *joined_notes(frame.blocks.fields, [one.source for one in draft.sources])]
    told += [str(use)] if use else []
    if not frame.exact:
        told.append(estimate_note(found, _name(frame.counter), plain=builder.counter is None, margin=margin))
    return Report(
        counter=_name(frame.counter), exact=frame.exact, template=frame.compiled.set.name, model=found.model,
        escaped=draft.escaped, notes=tuple(told), select=packed.select or _name(builder.packing.select), use=use,
    )


def _name(counter: object) -> str:
    if isinstance(counter, str):
        return counter
    return str(getattr(counter, "name", None) or getattr(counter, "__name__", type(counter).__name__))
