"""An answer for a page: cut at its citations, each with what it leads to, and at what a check found wrong."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from promptpack.citations.rewrite import units
from promptpack.errors import OptionError, quote
from promptpack.view.runs import literal, plain

if TYPE_CHECKING:
    from promptpack.citations import Citation, Malformed, Passage, Verification
    from promptpack.payload import Payload

WRONG_QUOTES = ("elsewhere", "missing")
MOST_TOLD = 50  # labels of one range that its description names


class AnswerRun(NamedTuple):
    """A piece of the answer. kind: text, odd, known, stale, unknown, malformed, or beside (it is not in the text).

    labels: those that it cites; first: the number of the citation, from 1, 0 for other runs. flags: what is wrong with
    the sentence or the quotation that it is part of.
    """

    kind: str
    text: str
    flags: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    number: int = 0
    title: str = ""


@dataclass(frozen=True, slots=True)
class _Atom:
    start: int
    end: int
    kind: str
    labels: tuple[str, ...] = ()
    title: str = ""


def checked(
    payload: Payload, verification: object, answer: object
) -> tuple[Verification, str] | None:
    """Return a verification with the answer that it is about; None where there is neither.

    An answer alone is verified here. Raises OptionError where one of the two is something else, or where they do not
    belong together or to this payload.
    """
    from promptpack.citations import Verification

    if answer is not None and not isinstance(answer, str):
        raise OptionError(f"answer: expected a text, got {quote(answer)}", name="answer", given=answer)
    if verification is None:
        return None if answer is None else (payload.verify(answer), answer)
    if not isinstance(verification, Verification):
        raise OptionError(
            f"verification: expected what payload.verify() returns, got {quote(verification)}",
            name="verification", given=verification,
        )
    text = verification.answer if answer is None else answer
    other = verification.answer not in ("", text)
    if other or any(text[one.start:one.end] != one.text for one in _places(verification)):
        raise OptionError("verification: it is about another answer", name="verification", given=answer)
    sent = {one.label for one in payload.sources}
    for label in (*verification.known, *verification.unused):
        if label not in sent:
            raise OptionError(
                f"verification: it is about another payload: {quote(label)} is not a label of this one",
                name="verification", given=label,
            )
    return verification, text


def _places(result: Verification) -> Iterator[Citation | Malformed | Passage]:
    yield from result.citations
    yield from result.malformed
    yield from result.uncited


def answer_runs(answer: str, result: Verification) -> list[AnswerRun]:
    """Cut an answer into runs; joined, those that are not `beside` give it again."""
    atoms = list(_atoms(result))
    beside: dict[int, dict[str, None]] = defaultdict(dict)
    for one in result.citations:
        if one.form == "native":
            beside[one.end][one.label] = None
    flagged = _flagged(result)
    cuts = sorted({at for start, end, _ in flagged for at in (start, end)} | set(beside) | {len(answer)})
    flags = _Flags(flagged)
    kinds = _kinds(result)
    found: list[AnswerRun] = []
    at = number = 0
    upcoming = iter([*atoms, _Atom(len(answer), len(answer), "end")])
    atom = next(upcoming)
    for cut in cuts:
        while at < cut:
            if at >= atom.end > atom.start:
                atom = next(upcoming)
                continue
            inside = atom.start <= at < atom.end
            until = min(cut, atom.end if inside else atom.start if atom.start > at else cut)
            text, state = answer[at:until], flags.at(at)
            if not inside:
                found += [AnswerRun(run.kind, run.text, state) for run in plain(text)]
            else:
                opens = bool(atom.labels) and at == atom.start
                number += opens
                found.append(AnswerRun(
                    atom.kind, literal(text), state, atom.labels, number if opens else 0, atom.title
                ))
            at = until
        for label in beside.get(cut, ()):
            number += 1
            found.append(AnswerRun("beside", label, (kinds.get(label, "unknown"),), (label,), number))
    return found


def _atoms(result: Verification) -> Iterator[_Atom]:
    """Yield citations and faults in order, without overlap."""
    kinds = _kinds(result)
    why = {(one.start, one.end): one.why for one in result.malformed}
    marks = units(result.citations, result.malformed)
    inside = {(item.start, item.end): item.labels for unit in marks for item in unit.items}
    at = 0
    for start, end in sorted({*inside, *why}):
        if start < at or start == end:
            continue
        labels = inside.get((start, end), ())
        if labels:
            yield _Atom(start, end, _worst(kinds.get(label, "unknown") for label in labels), labels, _told(labels))
        else:
            yield _Atom(start, end, "malformed", (), why.get((start, end), ""))
        at = end


def _told(labels: Sequence[str]) -> str:
    more = f" and {len(labels) - MOST_TOLD} more" if len(labels) > MOST_TOLD else ""
    return ", ".join(labels[:MOST_TOLD]) + more


def _kinds(result: Verification) -> Mapping[str, str]:
    groups = {"known": result.known, "stale": result.stale, "unknown": result.unknown}
    return {label: kind for kind, labels in groups.items() for label in labels}


def _worst(kinds: Iterable[str]) -> str:
    found = set(kinds)
    return next(kind for kind in ("unknown", "stale", "known") if kind in found)


def _flagged(result: Verification) -> list[tuple[int, int, str]]:
    return sorted([
        *((one.start, one.end, "uncited") for one in result.uncited),
        *((one.start, one.end, "unsupported") for one in result.unsupported),
        *((one.start, one.end, "misquoted") for one in result.quotes if one.found in WRONG_QUOTES),
    ])


class _Flags:
    """Tells which flags hold at a place; places are asked for in order."""

    def __init__(self, flagged: Sequence[tuple[int, int, str]]) -> None:
        self._flagged = flagged
        self._next = 0
        self._open: list[tuple[int, str]] = []

    def at(self, place: int) -> tuple[str, ...]:
        """Return the flags that hold at a place."""
        while self._next < len(self._flagged) and self._flagged[self._next][0] <= place:
            _, end, name = self._flagged[self._next]
            self._open.append((end, name))
            self._next += 1
        self._open = [one for one in self._open if one[0] > place]
        return tuple(sorted({name for _, name in self._open}))
