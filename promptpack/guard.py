"""The check after rendering: a payload holds the structure that its templates write, and no other.

Escaping makes each value inert; a template can still undo it (`|safe` on raw text, slices, pieces that join up). Where
`promptpack.escape.seams` proves that the fixed text around the values cannot do that, nothing is left to read. All
other messages are read as a forgiving reader would, tags, control markers and labels in order, and compared with
the same template rendered with stand-ins for every untrusted text (`promptpack.veil`): what that writes is what the
template's author meant. Linear in the length of the message.

What the developer says is trusted: the persona, and the literal text of a template (but for control markers in a set
from outside, `TemplateSet.untrusted`). At the level `off` texts are trusted, too, and nothing is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from markupsafe import Markup

from promptpack.environment import Compiled
from promptpack.errors import OptionError, TemplateRenderError, quote
from promptpack.escape import HINT, Found, LiveLabels, compare, live_spans, scan
from promptpack.escape.seams import ends_closed
from promptpack.escaping import Escaping
from promptpack.messages import Message, text_pieces
from promptpack.veil import veil
from promptpack.views import SourceList, View, fields_of

LEFT = "the callable that escapes left it in a text"
Render = Callable[[SourceList, Markup, Sequence[View]], str]


class Guard:
    """Checks the messages of one payload."""

    def __init__(self, compiled: Compiled, escaping: Escaping) -> None:
        self._compiled = compiled
        self._rules = escaping.rules
        self._carried = escaping.carried
        self._off = escaping.rules.level == "off"
        self._foreign = escaping.custom is not None  # texts that somebody else made inert, or did not
    def turn(self, message: Message) -> Message:
        """Return a message of the history; OptionError where a callable of the caller's left something in it."""
        if self._foreign and not self._off:
            keep = self._carried if message.role == "assistant" else frozenset()
            rules = replace(self._rules, labels=LiveLabels(None, keep))
            for piece in text_pieces(message):
                found = scan(piece, rules)
                if found != Found():
                    left = (*found.boundaries, *found.markers, *found.labels)[0]
                    raise OptionError(
                        f"escape: the callable left {quote(left, 40)} in a turn of the history",
                        name="escape", given=None,
                    )
        return message

    def user(
        self, content: str, render: Render, blocks: Sequence[str], views: Callable[[], Sequence[View]],
        question: Markup | None, history: Sequence[View], *, by_shape: bool,
    ) -> None:
        """Check the user message; TemplateRenderError where it holds more, or less, than the templates wrote.

        by_shape: the message was filled into learned shapes, so that the proof of their seams counts.
        """
        outside = self._compiled.set.restricted
        if not outside and (self._off or (by_shape and not self._foreign and self._proven(blocks, question))):
            return
        where = f"{self._compiled.set.name}/user.j2"
        hidden = [self._veiled(view) for view in views()]
        turns = tuple(self._veiled(turn) for turn in history)  # of the same kind as those that they stand for
        asked: Any = veil(question) if question else Markup("")
        meant = scan(render(SourceList([view.block for view in hidden], hidden), asked, turns), self._rules)
        found = meant if self._off else scan(content, self._rules)  # what trusted texts hold is their own affair
        alien = [marker for marker in found.markers if marker not in self._rules.reserved] if outside else []
        if alien:
            raise TemplateRenderError(
                f"template {quote(where)}: the control marker {quote(alien[0], 40)} has no place in an untrusted set",
                template=where,
            )
        compare(found, meant, template=where, hint=LEFT if self._foreign else HINT)

    def _proven(self, blocks: Sequence[str], question: Markup | None) -> bool:
        known = self._compiled.seams
        return known.proven and (not known.tails or all(map(ends_closed, (*blocks, str(question or "")))))

    def _veiled(self, view: View) -> View:
        """Return a view with stand-ins for its texts; its block rendered from them."""
        fields = fields_of(view)
        if "role" in fields:
            # What is live in a turn was left so: labels and marks that an assistant was given.
            return View({**fields, "text": veil(fields["text"], live_spans(fields["text"], self._rules))})
        known = {name: value if name in ("n", "label") else _stand_in(value) for name, value in fields.items()}
        del known["block"]
        one = View(known)
        block = self._compiled.render("source.j2", {
            "source": one, **{name: known[name] for name in ("n", "label", "text", "attributes")},
        })
        return View({**known, "block": Markup(block)})  # noqa: S704 - of stand-ins


def _stand_in(value: Any) -> Any:
    if isinstance(value, tuple):  # the attributes
        return tuple((name, veil(one)) for name, one in value)
    return veil(value) if isinstance(value, str) else value
