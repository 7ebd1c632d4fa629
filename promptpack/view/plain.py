"""A payload as plain text, without a terminal's tables: the account, the sources and their parts, what was left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptpack.shown import visible
from promptpack.view.kept import quoted, ranges, sent_part

if TYPE_CHECKING:
    from promptpack.payload import PackedSource, Payload


def explained(payload: Payload) -> str:
    """Return the account, the passages in prompt order and what was left out; for `Payload.explain`.

    Below a source that went in part stands a line for each stretch of its text, with the first words.
    """
    lines = [str(payload.budget), ""]
    for one in payload.sources:
        part = part_of(one)
        lines.append(
            f"{one.label:<5}{one.region:<7} rank {one.rank:<4} {one.tokens:>6,} tokens  "
            + ", ".join(visible(id_) for id_ in one.chunk_ids) + (f"  ({part})" if part else "")
        )
        kept = quoted(one)
        width = max((len(place) for place, _ in kept), default=0)
        lines += [f"     {place:<{width}}  {words}" for place, words in kept]
    if not payload.sources:
        lines.append("no source is sent")
    if payload.dropped:
        lines += ["", "not sent:"]
        lines += [
            f"  {visible(out.source.id)} (rank {out.rank}): {out.reason}: {out.detail}" for out in payload.dropped
        ]
    if payload.dropped_turns:
        lines += ["", "turns not sent:"]
        lines += [f"  message {one.turn.index}: {one.reason}: {one.detail}" for one in payload.dropped_turns]
    if payload.report.notes:
        lines += ["", "notes:"]
        lines += [f"  {note}" for note in payload.report.notes]
    return "\n".join(lines)


def part_of(one: PackedSource, *, words: bool = False) -> str:
    """Say which part of a source was sent, "characters 40-95 of 863"; empty for the whole.

    words: say how each stretch begins, too.

    >>> from promptpack import PromptBuilder, Source, Cut
    >>> long = Source("a", "One is here. " * 40, cut=Cut(keep="start"))
    >>> sent = PromptBuilder(100, counter="words").add_sources([long]).with_question("Why?").render().sources[0]
    >>> part_of(sent, words=True)
    'characters 0-129 of 520: "One is here. One is here. One is here. One is here. One is…"'
    """
    told = sent_part(one)
    if not told or not ranges(one):
        return told
    begins = ", ".join(begin for _, begin in quoted(one)) if words else ""
    return f"characters {told}" + (f": {begins}" if begins else "")
