"""The payload as one self-contained page: the window, the sources in place, what was left out, and a checked answer.

The page asks for nothing from elsewhere, works without its script, and takes every text of a source, a question or an
answer as text.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from promptpack.packing.curve import described
from promptpack.stored_values import as_plain
from promptpack.version import __version__
from promptpack.view.account import further, window_parts
from promptpack.view.answer import WRONG_QUOTES, AnswerRun, answer_runs, checked
from promptpack.view.curve import drawing, points
from promptpack.view.facts import facts, kept_back, tip, worth
from promptpack.view.kept import sent_part, stretches
from promptpack.view.runs import Run, labelled, line, runs, said
from promptpack.view.templating import assets, environment

if TYPE_CHECKING:
    from promptpack.citations import Verification
    from promptpack.message import Message
    from promptpack.payload import PackedSource, Payload

_BACK = 20    # places of an answer that a source leads back to
_TITLE = 60   # characters of the question in the page's title
_ASKED = 600  # and at its head
_OPEN = 3     # so few sources are shown open


@dataclass(frozen=True, slots=True)
class _Passage:
    """A source as the page shows it.

    stretches: its text, (sent or not, runs), where only a part was sent. sent: the text as escaping left it, where that
    is another.
    """

    one: PackedSource
    anchor: str
    tip: str
    runs: list[Run]
    stretches: list[tuple[bool, list[Run]]]
    sent: list[Run]
    facts: tuple[tuple[str, str], ...]
    worth: str
    kept_back: tuple[str, ...]
    part: str
    cited: Sequence[int]
    more_cited: int


def page(payload: Payload, verification: Verification | None = None, answer: str | None = None) -> str:
    """Return a payload as one HTML page, the same for the same payload and answer.

    verification: what `payload.verify(answer)` or `verify_response` returned; then the answer stands on the page with
    its citations as links to their sources, and with what the check found wrong. An answer alone is verified. What a
    source keeps to itself (metadata that is not among the shown fields) is named, its values are not on the page.

    Raises OptionError where the verification is about another answer or another payload.

    >>> from promptpack import PromptBuilder
    >>> payload = PromptBuilder(window=1000).add_sources(["Returns are free."]).with_question("Free?").render()
    >>> page(payload, answer="Yes [S1].").startswith("<!doctype html>")
    True
    """
    found = checked(payload, verification, answer)
    use = payload.report.use
    curve = drawing(use.curve if use else None)
    placed = points(payload.sources, curve)
    anchors = {one.label: f"source-{number}" for number, one in enumerate(payload.sources, 1)}
    pieces = answer_runs(found[1], found[0]) if found else []
    cited = _cited(pieces)
    passages = [
        _passage(payload, point.source, anchors, cited, tip(point.source, len(placed), point.chance))
        for point in placed
    ]
    asked = payload.question
    shortened = asked is not None and len(asked) > _ASKED
    context = {
        **assets(),
        "version": __version__,
        "title": line(asked or "", _TITLE),
        "question": [] if asked is None else runs(line(asked, _ASKED) if shortened else asked),
        "shortened": shortened,
        "payload": payload,
        "parts": window_parts(payload.budget),
        "further": further(payload.budget),
        "points": list(zip(placed, passages, strict=True)),
        "curve": curve,
        "use": use,
        "measured": described(use.curve) if use else None,
        "passages": passages,
        "open": len(passages) <= _OPEN,
        "anchors": anchors,
        "dropped": list(_dropped(payload)),
        "messages": list(_messages(payload)),
        "tools": [runs(_pretty(one)) for one in payload.tools],
        "answer": _answer(found[0], pieces, cited) if found else None,
        "anchor_of": lambda labels: next((anchors[one] for one in labels if one in anchors), None),
    }
    return environment().get_template("page.j2").render(context)


def _passage(
    payload: Payload, one: PackedSource, anchors: Mapping[str, str], cited: Mapping[str, Sequence[int]], told: str
) -> _Passage:
    prefix = payload.labels.prefix
    escaped = _escaped(payload).get(one.label)
    numbers = cited.get(one.label, ())
    return _Passage(
        one, anchors[one.label], told, runs(one.text, said(one.text, prefix)),
        [(piece.sent, runs(piece.text, said(piece.text, prefix))) for piece in stretches(one)],
        [] if escaped is None else runs(escaped), facts(one.source), worth(one), kept_back(one), sent_part(one),
        numbers[:_BACK], max(0, len(numbers) - _BACK),
    )


def _dropped(payload: Payload) -> Iterator[dict[str, Any]]:
    """Yield what is not sent, with the label of the source that has its text."""
    holders = {id_: one.label for one in payload.sources for id_ in one.chunk_ids}
    for out in payload.dropped:
        text = out.source.text
        yield {
            "out": out, "runs": runs(text, said(text, payload.labels.prefix)),
            "holder": holders.get(out.of) if out.of is not None else None,
        }


def _messages(payload: Payload) -> Iterator[dict[str, Any]]:
    """Yield each message with its labels marked: those of the library, not those that a passage may speak of."""
    escaped = _escaped(payload)
    passages = [escaped.get(one.label, one.text) for one in payload.sources]
    labels = list(payload.labels.carried)
    at = 0
    for message in payload.messages:
        text = message.text
        apart, at = _apart(text, passages, at)
        yield {
            "role": message.role, "size": len(text), "runs": runs(text, labelled(text, labels, apart)),
            "more": list(_more(message)),
        }


def _escaped(payload: Payload) -> dict[str, str]:
    """Return the passages that escaping changed; what a layout from elsewhere has that is no text is left out."""
    given = payload.layout.escaped if payload.layout else {}
    return {label: text for label, text in given.items() if isinstance(text, str)}


def _apart(text: str, passages: Sequence[str], at: int) -> tuple[list[tuple[int, int]], int]:
    """Return where the passages from `at` on stand in a message, one after the other, and which comes next.

    The first that is not there ends the search, so that a message is read twice at most.
    """
    spans: list[tuple[int, int]] = []
    end = 0
    while at < len(passages):
        forms = (passages[at], json.dumps(passages[at], ensure_ascii=False)[1:-1])  # as a text, and inside of JSON
        start, form = next(((place, form) for form in forms if (place := text.find(form, end)) >= 0), (-1, ""))
        if start < 0:
            break
        end = start + len(form)
        spans.append((start, end))
        at += 1
    return spans, at


def _more(message: Message) -> Iterator[tuple[str, list[Run]]]:
    """Yield what a message holds besides its text, by name."""
    if message.tool_calls:
        yield "tool calls", runs(_pretty(list(message.tool_calls)))
    if message.tool_call_id is not None:
        yield "answers the call", runs(message.tool_call_id)
    for part in message.content if isinstance(message.content, tuple) else ():
        if part.get("type") != "text":
            yield f"part of type {line(str(part.get('type')), _TITLE)}", runs(line(_pretty(part), 10 * _TITLE))


def _answer(result: Verification, pieces: Sequence[AnswerRun], cited: Mapping[str, Sequence[int]]) -> dict[str, Any]:
    chunks = {one.label: one.chunk_ids for one in result.citations}
    rows = [
        {"label": label, "kind": kind, "chunks": chunks.get(label, ()), "times": len(cited.get(label, ()))}
        for kind in ("known", "stale", "unknown") for label in getattr(result, kind)
    ]
    return {
        "runs": pieces, "rows": rows, "result": result,
        "misquoted": [one for one in result.quotes if one.found in WRONG_QUOTES],
    }


def _cited(pieces: Sequence[AnswerRun]) -> dict[str, list[int]]:
    """Return the numbers of the citations that name a label."""
    found: dict[str, list[int]] = defaultdict(list)
    for piece in pieces:
        if piece.number:
            for label in piece.labels:
                found[label].append(piece.number)
    return dict(found)


def _pretty(value: Any) -> str:
    return json.dumps(as_plain(value), ensure_ascii=False, indent=2)
