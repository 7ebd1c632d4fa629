"""The frame: a builder's settings resolved for one payload; renders the messages and counts them.

A message whose template does no more than print its parts is counted part by part, exact to the token where counts
add up (`promptpack.measure`); else the whole message is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from promptpack.blocks import Blocks
from promptpack.cost import Cost
from promptpack.environment import left_out
from promptpack.errors import TemplateRenderError
from promptpack.guard import Guard
from promptpack.measure import joined
from promptpack.messages import Message, attached_tokens, map_text, text_pieces
from promptpack.shape import Hole
from promptpack.views import SourceList, View
from promptpack.wellformed import repaired

Around = tuple[str, str]
LONG = 8_000  # characters of all passages together, some 2,000 tokens, from where a template may repeat its rules

ENCLOSURE = 150  # characters that a block has besides its text, more or less


@dataclass(frozen=True, slots=True)
class Overhead:
    """The tokens that a message and the start of the reply cost beyond their text."""

    message: int = 3
    reply: int = 3


class Frame:
    """Renders and counts the messages of one payload; `cost` prices a source for `pack()`."""

    def __init__(self, blocks: Blocks, overhead: Overhead, *, folds: bool = False) -> None:
        self.blocks = blocks
        self.compiled = blocks.compiled
        self.counter = blocks.counter
        self.escaping = blocks.escaping
        self.guard = Guard(blocks.compiled, blocks.escaping)
        self.overhead = overhead
        self.folds = folds  # the model has no system role: that text opens the first user message
        self.cost = Cost(blocks)

    @property
    def exact(self) -> bool:
        """Whether the counter is the model's own tokenizer; a callable is taken at its word."""
        return bool(getattr(self.counter, "exact", True))

    @property
    def margin(self) -> float:
        """The share of the window that the counter asks to keep free, because it estimates."""
        return float(getattr(self.counter, "margin", 0.0))

    def system(self, persona: str | None) -> Message | None:
        """Render the system message: the persona, if there is one, and the rules of the set; None if both are empty."""
        common = self._common(persona)
        shape = self.compiled.shape("system.j2", (bool(persona), self.blocks.labels.prefix), lambda: {
            **common, "system": Hole("system") if persona else Markup(""),
        })
        content = shape.fill(common) if shape is not None else self.compiled.render("system.j2", common)
        return Message("system", content) if content.strip() else None

    def turn(self, message: Message) -> Message:
        """Escape a message of the history."""
        return self.guard.turn(map_text(message, lambda text: str(self.escaping.turn(text, message.role))))

    def user(
        self, blocks: Sequence[str], views: Callable[[], Sequence[View]], question: Markup | None,
        persona: str | None, history: Sequence[Message] = (),
    ) -> tuple[str, Around | None]:
        """Render the user message; also what stands around the blocks, where the template only prints them."""
        long = "long" in self.compiled.uses("user.j2") and sum(map(len, blocks)) >= LONG
        around = self._around(bool(blocks), question, long)
        def rendered(listed: SourceList, asked: Markup, turns: Sequence[View]) -> str:
            return self.compiled.render("user.j2", {
                **self._common(persona), "sources": listed, "question": asked, "history": turns, "long": long,
            })

        turns: Sequence[View] = ()
        if around is not None:
            # One join, because each copy of a long text costs more than all the rest of it.
            framed = [around[0], *blocks[1:]] if blocks else [around[0]]
            framed[0] += blocks[0] if blocks else ""
            framed[-1] += around[1]
            content = "\n".join(framed)
        else:
            turns = tuple(View({"role": one.role, "text": Markup(one.text)}) for one in history)  # noqa: S704 - escaped
            listed = SourceList(blocks, views())
            content = rendered(listed, question or Markup(""), turns)
            self._check_complete(content, listed, question)
        self.guard.user(content, rendered, blocks, views, question, turns, by_shape=around is not None)
        return content, around

    def bare(self, with_sources: bool, question: Markup | None, persona: str | None, *, long: bool) -> int:
        """Return the tokens of a user message without its blocks."""
        around = self._around(with_sources, question, long and with_sources)
        if around is None:
            try:
                return self.counter(self.user((), tuple, question, persona)[0])
            except TemplateRenderError:
                if with_sources:  # a template may need a source to render; the whole payload is counted later anyway
                    return 0
                raise
        return self.counter(around[0]) + self.counter(_after_break(around[1]))

    def count(self, message: Message) -> int:
        """Return the tokens of one message, its overhead included."""
        texts = sum(self.counter(piece) for piece in text_pieces(message))
        return self.overhead.message + texts + attached_tokens(message)

    def count_user(
        self, content: str, around: Around | None, blocks: Sequence[str], costs: Sequence[int], *, hinted: bool = False
    ) -> int:
        """Return the tokens of a user message's text: from the blocks' costs where that is exact, else of the whole."""
        additive = getattr(self.counter, "additive", False) and not hinted
        if additive and around is not None and blocks and joined(blocks, *around):
            return self.counter(around[0]) + sum(costs) + self.counter(_after_break(around[1]))
        return self.counter(content)

    def _around(self, with_sources: bool, question: Markup | None, long: bool) -> Around | None:
        if self.compiled.uses("user.j2") & {"system", "history"}:
            return None
        shape = self.compiled.shape(
            "user.j2", (with_sources, bool(question), self.blocks.labels.prefix, long),
            lambda: {
                **self._common(None), "sources": Hole("sources") if with_sources else SourceList((), ()),
                "question": Hole("question") if question else Markup(""), "history": (), "long": long,
            },
        )
        if shape is None:
            return None
        values = {"question": str(question or "")}
        if question and "question" not in shape.gaps:
            raise left_out(self.compiled, "user.j2", "the question")
        if not with_sources:
            return shape.fill(values), ""
        if "sources" not in shape.gaps:
            raise left_out(self.compiled, "user.j2", "the sources")
        if shape.gaps.count("sources") > 1:
            return None
        before, after = shape.parted("sources")
        return before.fill(values), after.fill(values)

    def _check_complete(self, content: str, sources: SourceList, question: Markup | None) -> None:
        """Raise where the question or the text of a source is not in the message, white space aside."""
        flat = " ".join(content.split())
        if question and " ".join(question.split()) not in flat:
            raise left_out(self.compiled, "user.j2", "the question")
        at = 0
        for view in sources:
            text = " ".join(str(view.text).split())
            found = flat.find(text, at)
            if found < 0:
                raise left_out(self.compiled, "user.j2", f"the source {view.label}, or its place in the order")
            at = found + len(text)  # a text that stands only inside of another one is not there itself

    def _common(self, persona: str | None) -> dict[str, Any]:
        prefix = self.blocks.labels.prefix
        system = Markup(repaired(persona)) if persona else Markup("")  # noqa: S704 - the developer's own words
        return {"system": system, "example": Markup(f"{prefix}1"), "prefix": Markup(prefix)}  # noqa: S704


def _after_break(after: str) -> str:
    # The line break that opens it belongs to the price of the last block.
    return after[1:] if after.startswith("\n") else after
