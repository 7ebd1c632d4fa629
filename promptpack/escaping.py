"""Which escaping each part of a payload gets: passages, fields, the question, and the turns of the history."""

from __future__ import annotations

from dataclasses import dataclass, replace

from markupsafe import Markup

from promptpack.errors import OptionError, quote
from promptpack.escape import (
    Edit,
    LiveLabels,
    Rules,
    escape_attribute,
    escape_text,
    is_inert,
    is_inert_attribute,
)
from promptpack.protocols import Escaper


@dataclass(frozen=True, slots=True)
class Escaping:
    """The rules of one payload; `custom` replaces them for running text. Attribute values always follow the rules.

    carried: the numbers of the labels that the conversation gave before; they stay live in an assistant's turns.
    """

    rules: Rules
    carried: frozenset[int] = frozenset()
    custom: Escaper | None = None

    def text(self, text: str) -> Markup:
        """Escape a passage or the question."""
        return escape_text(text, self.rules) if self.custom is None else self._custom(text)

    def leaves(self, text: str) -> bool:
        """Tell, quickly, that a passage would be left as it is."""
        return self.custom is None and is_inert(text, self.rules)

    def leaves_attribute(self, value: str) -> bool:
        """Tell, quickly, that the value of a field would be left as it is, whatever the labels of the payload."""
        return is_inert_attribute(value, self.rules)

    def attribute(self, value: str) -> tuple[str, tuple[Edit, ...]]:
        """Escape the value of a field; return it with what was changed."""
        escaped = escape_attribute(value, self.rules)
        return str(escaped), tuple(escaped.edits)

    def turn(self, text: str, role: str) -> Markup:
        """Escape text of the history: labels are dead there, but for those that an assistant was given."""
        if self.custom is not None:
            return self._custom(text)
        keep = self.carried if role == "assistant" else frozenset()
        return escape_text(text, replace(self.rules, labels=LiveLabels(None, keep)))

    def _custom(self, text: str) -> Markup:
        made = self.custom(text) if self.custom is not None else text
        if not isinstance(made, Markup):
            raise OptionError(
                f"escape: the callable has to return markupsafe.Markup, got {quote(made)}", name="escape", given=None
            )
        if text.strip() and not made.strip():
            raise OptionError("escape: the callable made an empty text of one that is not", name="escape", given=None)
        return made
