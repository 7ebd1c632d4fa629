"""Which escaping each part of a payload gets: passages, fields, the question, and the turns of the history.

The levels, from `PromptBuilder(escape=...)`:

* `tags` (default): the reserved tags, roles, control markers and live labels; all other text stays as it is.
* `structure`: the template's own tags and the labels only, for corpora of code about chat formats.
* `strict`: every `<` that could begin a tag, every `&` that could be a reference, all invisible characters.
* `spotlight`: as `tags`, in tags with a suffix that nobody can guess (`promptpack.spotlight`).
* `datamark`: as `tags`, with `^` for each blank between the words of a passage, so that a model sees at every word that
  it reads a source. A quarter more tokens; tell the model what the sign means (`with_system`).
* `html`: all of `& < >`, for readers that decode HTML.
* `off`: trusted text. Only what no transport takes is replaced, and fields stay inside their quotes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from markupsafe import Markup

from promptpack.errors import OptionError, quote
from promptpack.escape import (
    Escaped,
    LiveLabels,
    Rules,
    are_inert,
    escape_attribute,
    escape_text,
    is_inert,
    is_inert_attribute,
    unescape,
)
from promptpack.protocols import Escaper

_SAME_WORDS = ("tags", "structure", "strict", "spotlight", "html", "off")


class Told(Markup):
    """Text that was made inert, with the kinds of what was changed in it; it knows no places."""

    kinds: tuple[str, ...] = ()

    @classmethod
    def of(cls, text: str, kinds: tuple[str, ...]) -> Self:
        """Make one from finished text."""
        made = cls(text)
        made.kinds = kinds
        return made


@dataclass(frozen=True, slots=True)
class Escaping:
    """The rules of one payload; `custom` replaces them for running text. Attribute values always follow the rules.

    carried: the numbers of the labels that the conversation gave before; they stay live in an assistant's turns.
    """

    rules: Rules
    carried: frozenset[int] = frozenset()
    custom: Escaper | None = None

    def text(self, text: str) -> Markup:
        """Escape a passage."""
        return _escaped(text, self.rules) if self.custom is None else self._custom(text)

    def question(self, text: str) -> Markup:
        """Escape the question; it is the user's own, so that the level `datamark` does not mark it."""
        return self._unmarked().text(text)

    def leaves(self, text: str) -> bool:
        """Tell, quickly, that a passage would be left as it is."""
        return self.custom is None and is_inert(text, self.rules)

    def left(self, texts: Sequence[str]) -> list[bool]:
        """Tell what `leaves` does, of many passages."""
        return are_inert(texts, self.rules) if self.custom is None else [False] * len(texts)

    def keeps_words(self, text: str) -> bool:
        """Tell, quickly, that escaping leaves as many words, parted by white space, as there are."""
        # The white space that escaping replaces; written out, because it is asked of every text that cannot fit.
        parts = "\x1c" in text or "\x1d" in text or "\x1e" in text or "\x1f" in text
        return not parts and self.custom is None and self.rules.level in _SAME_WORDS

    def leaves_attribute(self, value: str) -> bool:
        """Tell, quickly, that the value of a field would be left as it is, whatever the labels of the payload."""
        return is_inert_attribute(value, self.rules)

    def attribute(self, value: str) -> tuple[str, tuple[str, ...]]:
        """Escape the value of a field; return it with the kinds of what was changed."""
        escaped = escape_attribute(value, self.rules)
        return str(escaped), escaped.kinds

    def turn(self, text: str, role: str) -> Markup:
        """Escape text of the history: labels are dead there, but for those that an assistant was given."""
        if self.custom is not None:
            return self._custom(text)
        keep = self.carried if role == "assistant" else frozenset()
        return _escaped(text, replace(self._unmarked().rules, labels=LiveLabels(None, keep)))

    def _unmarked(self) -> Self:
        if self.rules.level != "datamark":
            return self
        return replace(self, rules=replace(self.rules, level="tags"))

    def _custom(self, text: str) -> Markup:
        made = self.custom(text) if self.custom is not None else text
        if not isinstance(made, Markup):
            raise OptionError(
                f"escape: the callable has to return markupsafe.Markup, got {quote(made)}", name="escape", given=None
            )
        if text.strip() and not made.strip():
            raise OptionError("escape: the callable made an empty text of one that is not", name="escape", given=None)
        same = hasattr(made, "kinds") or str(made) == text
        return made if same else Told.of(str(made), ("custom",))


def kinds_of(text: str) -> tuple[str, ...]:
    """Return the kinds of what escaping changed in a text that it returned."""
    return tuple(getattr(text, "kinds", ()))


def _escaped(text: str, rules: Rules) -> Escaped:
    """Escape a text; what was escaped already, maybe by other rules, stays only if it is inert under these."""
    if isinstance(text, Escaped) and not is_inert(str(text), rules):
        text = unescape(text)
    return escape_text(text, rules)
