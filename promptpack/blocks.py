"""Blocks: one passage made ready, priced and rendered under its label.

Each source is escaped once and its text counted once. `Blocks.price` prices the enclosed block under the widest label
that it could get, so that whatever is packed fits; once the labels are known, `narrowed` makes the price exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from promptpack.environment import Compiled
from promptpack.errors import TemplateRenderError
from promptpack.escape import Escaped
from promptpack.escaping import Escaping
from promptpack.labels import LAST, Labels
from promptpack.measure import Meter
from promptpack.protocols import TokenCounter
from promptpack.shape import Hole, Shape
from promptpack.shown import shown_fields
from promptpack.source import Source
from promptpack.views import View


@dataclass(slots=True)
class Ready:
    """A source made ready.

    attributes: the shown fields, unescaped. values: the text and the fields (under "@name"), escaped. shape, meter: of
    its block; None where the template has none. edits: what escaping changed. price: under label number `assumed`; -1
    until it is asked for. hinted: the price rests on a count that came with the source.
    """

    attributes: dict[str, str]
    values: dict[str, str]
    shape: Shape | None
    meter: Meter | None
    edits: tuple[Any, ...]
    price: int = -1
    assumed: int = 0
    hinted: bool = False


class Blocks:
    """Prices and renders passages under one template set, counter, escaping and label map."""

    def __init__(
        self, *, compiled: Compiled, counter: TokenCounter, escaping: Escaping, fields: tuple[str, ...],
        labels: Labels, shown_ids: Mapping[str, str], candidates: int,
    ) -> None:
        self.compiled = compiled
        self.counter = counter
        self.escaping = escaping
        self.fields = fields
        self.labels = labels
        self._shown_ids = shown_ids
        self._absent = {name: Markup("") for name in fields}  # a field that a source lacks is there, and empty
        self._known = labels.known()
        self._widest = min(LAST, labels.highest + candidates)
        self._ready: dict[tuple[str, str], Ready] = {}
        self._attributes: dict[str, tuple[str, tuple[Any, ...]]] = {}  # titles and dates repeat
        self._meters: dict[tuple[str, ...], tuple[Shape | None, Meter | None]] = {}

    def limit(self, room: int) -> None:
        """Tell how many tokens there are: no label can be wider than the number of empty blocks that fit."""
        _, meter = self._meter(("chunk",) if "chunk" in self.fields else ())
        if meter is not None and meter.additive and not self._ready:
            least = max(1, meter.fixed(1))
            self._widest = min(self._widest, self.labels.highest + room // least + 1)

    def prepare(self, source: Source, text: str | None = None) -> Ready:
        """Escape a source's text and shown fields, once; `text` is a version of it that was cut or merged."""
        body = source.text if text is None else text
        key = (source.id, body)
        found = self._ready.get(key)
        if found is None:
            found = self._ready[key] = self._made(source, body)
        return found

    def _made(self, source: Source, body: str) -> Ready:
        attributes = shown_fields(source, self.fields, self._shown_ids.get(source.id, source.id))
        text = self.escaping.text(body)
        edits: tuple[Any, ...] = ()
        if isinstance(text, Escaped):
            edits = tuple(text.edits)
        # The unchanged text is the very object that came in: its hash is known, and equal by identity in the memo.
        values = {"text": str(text) if edits or text != body else body}
        for name, value in attributes.items():
            shown = self._attributes.get(value)
            if shown is None:
                escaped = self.escaping.attribute(value)
                shown = self._attributes[value] = (str(escaped), tuple(escaped.edits))
            values["@" + name] = shown[0]
            edits += shown[1]
        shape, meter = self._meter(tuple(attributes))
        return Ready(attributes, values, shape, meter, edits)

    def price(self, source: Source, text: str | None = None) -> int:
        """Return the tokens of the enclosed block and the line break after it, under the widest label it may get."""
        ready = self.prepare(source, text)
        if ready.price < 0:
            ready.assumed = self._known.get((source.id,), self._widest)
            known = source.tokens if source.tokens is not None and text in (None, source.text) else None
            if known is not None and ready.meter is not None and not ready.edits:
                ready.hinted = True
                ready.price = ready.meter(ready.values, ready.assumed, known)
            else:
                ready.price = self._count(ready, source, ready.assumed)
        return ready.price

    def _count(self, ready: Ready, source: Source, number: int) -> int:
        if ready.meter is not None:
            return ready.meter(ready.values, number)
        return self.counter(self.block(ready, source, number) + "\n")

    def floor(self, source: Source, limit: int) -> int:
        """Return a cheap lower bound of the price, without tokenising."""
        ready = self.prepare(source)
        if ready.price >= 0 or source.tokens is not None:
            return max(ready.price, 0)
        return ready.meter.floor(ready.values, self._widest, limit) if ready.meter is not None else 0

    def narrowed(self, ready: Ready, source: Source, text: str, number: int) -> int:
        """Return the price under the label that the source did get."""
        price = ready.price if ready.price >= 0 else self.price(source, text)
        if number == ready.assumed:
            return price
        if ready.meter is not None and ready.meter.additive:
            return price - ready.meter.fixed(ready.assumed) + ready.meter.fixed(number)
        return self._count(ready, source, number)

    def block(self, ready: Ready, source: Source, number: int) -> str:
        """Render one passage under its label; TemplateRenderError where the template leaves its text out."""
        if ready.shape is not None:
            ready.values.update(self.number(number))
            return ready.shape.fill(ready.values)
        view = self.view(ready, number)
        block = self.compiled.render("source.j2", {
            "source": view, "n": number, "label": view.label, "text": view.text, "attributes": view.attributes,
        })
        if " ".join(ready.values["text"].split()) not in " ".join(block.split()):
            raise left_out(self.compiled, "source.j2", f"the text of the source {source.id[:80]!r}")
        return block

    def view(self, ready: Ready, number: int, block: str = "") -> View:
        """Return what a template sees of a passage."""
        values = {name: Markup(ready.values["@" + name]) for name in ready.attributes}  # noqa: S704 - escaped
        text = Markup(ready.values["text"])  # noqa: S704 - escaped
        return View({
            **self._absent, **values, "n": number, "label": Markup(self.number(number)["label"]), "text": text,  # noqa: S704
            "attributes": tuple(values.items()), "block": Markup(block),  # noqa: S704 - rendered from escaped parts
        })

    def number(self, number: int) -> dict[str, str]:
        """Return the values of the two gaps that hold a label's number."""
        digits = str(number)
        return {"n": digits, "label": self.labels.prefix + digits}

    def _meter(self, names: tuple[str, ...]) -> tuple[Shape | None, Meter | None]:
        if names not in self._meters:
            shape = self.compiled.shape("source.j2", names, lambda: _holes(names, self._absent))
            if shape is not None and "text" not in shape.gaps:
                raise left_out(self.compiled, "source.j2", "the text of the source")
            meter = None if shape is None else Meter(shape, self.counter, number=self.number)
            self._meters[names] = (shape, meter)
        return self._meters[names]


class Cost:
    """The price of a source as `pack()` takes it, with the cheap bound that spares tokenising what cannot fit."""

    def __init__(self, blocks: Blocks) -> None:
        self._price = blocks.price
        self.floor = blocks.floor

    def __call__(self, source: Source, /) -> int:
        """Return the tokens of the enclosed block."""
        return self._price(source)


def left_out(compiled: Compiled, file: str, what: str) -> TemplateRenderError:
    """Build the error for a template that does not print what it has to."""
    where = f"{compiled.set.name}/{file}"
    return TemplateRenderError(f"template {where} leaves out {what}", template=where)


def _holes(names: tuple[str, ...], absent: Mapping[str, Markup]) -> dict[str, Any]:
    holes = {name: Hole("@" + name) for name in names}
    own = {"n": Hole("n"), "label": Hole("label"), "text": Hole("text"), "attributes": tuple(holes.items())}
    return {**own, "source": View({**absent, **holes, **own})}
