"""What escaping changed in the texts beside the passages: the system text and the history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from promptpack.escaping import Escaping, kinds_of
from promptpack.history import Fitted
from promptpack.messages import Message, text_pieces
from promptpack.wellformed import encodes

Edit = tuple[str, str, int]  # place, kind, count


def text_edits(
    persona: str | None, folded: Sequence[str], fitted: Fitted, escaping: Escaping
) -> tuple[tuple[Edit, ...], tuple[str, ...]]:
    """Return (place, kind, count) of what was changed, and what the report has to say of it besides.

    persona: the system text of the builder, of which only lone surrogates are replaced. folded: the system turns of
    the history. Of the history only messages that were changed are escaped again, to count. O(length).
    """
    if not (persona or folded or fitted.messages):
        return (), ()
    system = [] if persona is None or encodes(persona) else ["hidden"]
    system += [kind for text in folded for kind in kinds_of(escaping.turn(text, "system"))]
    edits = list(_counted("system", system))
    dead = 0
    for (place, said), sent in zip(fitted.said, fitted.messages, strict=True):
        if said != sent:
            found = _kinds(said, escaping)
            edits += _counted(place, found)
            dead += found.count("label") if said.role == "assistant" else 0
    marks = "1 citation mark" if dead == 1 else f"{dead} citation marks"
    note = (
        f"{marks} in the answers of the history {'stands' if dead == 1 else 'stand'} for no label that is carried, so "
        "that escaping took the sign away; with_labels(previous.carry_labels()) keeps those of earlier turns"
    )
    return tuple(edits), (note,) if dead else ()


def _kinds(message: Message, escaping: Escaping) -> list[str]:
    texts = text_pieces(message) if message.native is None else message.native.changeable()
    return [kind for text in texts for kind in kinds_of(escaping.turn(text, message.role))]


def _counted(place: str, kinds: Sequence[str]) -> Iterator[Edit]:
    return ((place, kind, count) for kind, count in sorted(Counter(kinds).items() if kinds else ()))
