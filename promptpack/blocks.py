"""Blocks: one passage made ready, priced and rendered under its label.

Each source is escaped once and its text counted once. `Blocks.price` prices the enclosed block under the widest label
that it could get, so that whatever is packed fits; once the labels are known, `narrowed` makes the price exact.
This is the innermost loop of a payload: what a source shares with others (titles, dates, the fixed text of its
block) is escaped and counted for all of them together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from promptpack.environment import Compiled
from promptpack.errors import TemplateRenderError
from promptpack.escaping import Escaping
from promptpack.labels import LAST, Labels
from promptpack.measure import Meter
from promptpack.protocols import TokenCounter
from promptpack.shape import Hole, Shape
from promptpack.shown import OWN, shown_field
from promptpack.source import Source
from promptpack.tokens.custom import CallableCounter
from promptpack.views import View

Edits = tuple[Any, ...]
Column = tuple[str, str, bool, dict[str, tuple[str, str, Edits]]]
_KEPT = 20_000  # values of one field
_AT_ONCE = 64  # texts that are counted in one go: enough to be quick, few enough not to count in vain


@dataclass(slots=True)
class Ready:
    """A source made ready.

    attributes: the shown fields, unescaped. values: the text and the fields (under "@name"), escaped. shape, meter: of
    its block; None where the template has none. edits: what escaping changed. price: under label number `assumed`; -1
    until it is asked for. hinted: the price rests on a count that came with the source.
    """

    source: Source
    attributes: dict[str, str]
    values: dict[str, str]
    shape: Shape | None
    meter: Meter | None
    edits: Edits
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
        self.whole: dict[int, Ready] = {}                # by the identity of a source, which `Ready` keeps alive
        self._pieces: dict[tuple[str, str], Ready] = {}  # cut and merged versions, by id and text
        # Payloads of the same settings share what does not depend on their sources. For each field: its name, its gap,
        # whether it is the source's own, and what its values look like; for each set of fields the shape and its meter.
        self._columns: list[Column] = compiled.kept(
            (fields, escaping.rules.level, escaping.rules.reserved),
            lambda: [(name, "@" + name, name in OWN, {}) for name in fields],
        )
        # A callable is wrapped anew for each builder; what belongs to it goes with it.
        self._meters: dict[tuple[str, ...], tuple[Shape | None, Meter | None]] = (
            {} if isinstance(counter, CallableCounter) else compiled.kept((fields, labels.prefix, counter), dict)
        )
        self._every = self._meters.get(fields)  # of a source that has all the fields

    def limit(self, room: int) -> None:
        """Tell how many tokens there are: no label can be wider than the number of empty blocks that fit."""
        _, meter = self._meter(("chunk",) if "chunk" in self.fields else ())
        if meter is not None and meter.additive and not self.whole:
            least = max(1, meter.fixed(1))
            self._widest = min(self._widest, self.labels.highest + room // least + 1)

    def prepare(self, source: Source, text: str | None = None) -> Ready:
        """Escape a source's text and shown fields, once; `text` is a version of it that was cut or merged."""
        if text is None or text is source.text:
            found = self.whole.get(id(source))
            if found is None or found.source is not source:
                found = self.whole[id(source)] = self._made(source, source.text)
            return found
        made = self._pieces.get((source.id, text))
        if made is None:
            made = self._pieces[source.id, text] = self._made(source, text)
        return made

    def anticipate(self, sources: Sequence[Source], room: int) -> None:
        """Count the texts of the first sources, as many as can fit into `room`, in one go.

        A tokenizer is up to twice as fast where nothing else runs between its texts, and the engine of the extra
        `fast` takes many at once. What is counted here is found in the counter's memo when the price is asked for.
        """
        many = getattr(self.counter, "count_many", None)
        if many is None or not getattr(self.counter, "additive", False):
            return
        first: list[Source] = []
        guess = 0
        for source in sources:
            guess += len(source.text) // 5  # few tokens are longer, so that not too few are counted
            if guess > room:
                break
            first.append(source)
        left = room
        for at in range(0, len(first), _AT_ONCE):
            batch = [(source, self.prepare(source)) for source in first[at: at + _AT_ONCE]]
            many([
                ready.meter.body(ready.values["text"])
                for source, ready in batch if ready.meter is not None and source.tokens is None
            ])
            left -= sum([self.price(source) for source, _ in batch])
            if left < 0:
                break

    def _made(self, source: Source, body: str) -> Ready:
        edits: Edits = ()
        if self.escaping.leaves(body):
            # The very object that came in: its hash is known, and the counter's memo finds it by identity.
            values = {"text": body}
        else:
            text = self.escaping.text(body)
            edits = tuple(getattr(text, "edits", ()))
            values = {"text": str(text)}
        attributes: dict[str, str] = {}
        metadata = source.metadata
        for name, gap, own, seen in self._columns:
            if name == "chunk":
                value: Any = self._shown_ids.get(source.id, source.id)
            else:
                value = getattr(source, name) if own else None
                if value is None:
                    value = metadata.get(name)
                    if value is None:
                        continue
            shown = seen.get(value) if type(value) is str else None
            if shown is None:
                shown = self._shown(source, name, value, seen)
            if shown[0]:
                attributes[name] = shown[0]
                values[gap] = shown[1]
                if shown[2]:
                    edits += shown[2]
        if len(attributes) == len(self._columns) and self._every is not None:
            shape, meter = self._every
        else:
            shape, meter = self._meter(tuple(attributes))
            if len(attributes) == len(self._columns):
                self._every = shape, meter
        return Ready(source, attributes, values, shape, meter, edits)

    def _shown(
        self, source: Source, name: str, value: Any, seen: dict[str, tuple[str, str, Edits]]
    ) -> tuple[str, str, Edits]:
        text = value.strip() if type(value) is str else shown_field(source, name, value)
        if not self.escaping.leaves_attribute(text):
            # Not kept for the next payload: whether "[S9]" has to be escaped depends on the labels of each.
            return (text, *self.escaping.attribute(text))
        shown = (text, text, ())
        if type(value) is str and len(seen) < _KEPT:
            seen[value] = shown
        return shown

    def price(self, source: Source, text: str | None = None) -> int:
        """Return the tokens of the enclosed block and the line break after it, under the widest label it may get."""
        ready = self.prepare(source, text)
        if ready.price < 0:
            ready.assumed = self._known.get((source.id,), self._widest) if self._known else self._widest
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
            values = ready.values
            values["n"] = digits = str(number)
            values["label"] = self.labels.prefix + digits
            return ready.shape.fill(values)
        view = self.view(ready, number)
        block = self.compiled.render("source.j2", {
            "source": view, "n": number, "label": view.label, "text": view.text, "attributes": view.attributes,
        })
        if " ".join(ready.values["text"].split()) not in " ".join(block.split()):
            raise left_out(self.compiled, "source.j2", f"the text of the source {source.id[:80]!r}")
        return block

    def view(self, ready: Ready, number: int, block: str | None = None) -> View:
        """Return what a template sees of a passage; its rendered block where that is there already."""
        values = {name: Markup(ready.values["@" + name]) for name in ready.attributes}  # noqa: S704 - escaped
        text = Markup(ready.values["text"])  # noqa: S704 - escaped
        return View({
            **self._absent, **values, "n": number, "label": Markup(self.number(number)["label"]), "text": text,  # noqa: S704
            "attributes": tuple(values.items()),
            **({} if block is None else {"block": Markup(block)}),  # noqa: S704 - rendered from escaped parts
        })

    def number(self, number: int) -> dict[str, str]:
        """Return the values of the two gaps that hold a label's number."""
        digits = str(number)
        return {"n": digits, "label": self.labels.prefix + digits}

    def _meter(self, names: tuple[str, ...]) -> tuple[Shape | None, Meter | None]:
        if names not in self._meters:
            shape = self.compiled.shape("source.j2", (names, self.fields), lambda: _holes(names, self._absent))
            if shape is not None and "text" not in shape.gaps:
                raise left_out(self.compiled, "source.j2", "the text of the source")
            meter = None if shape is None else Meter(shape, self.counter, prefix=self.labels.prefix)
            self._meters[names] = (shape, meter)
        return self._meters[names]


class Cost:
    """The price of a source as `pack()` takes it, with the cheap bound that spares tokenising what cannot fit."""

    def __init__(self, blocks: Blocks) -> None:
        self._price = blocks.price
        self._known = blocks.whole.get
        self.floor = blocks.floor

    def __call__(self, source: Source, /) -> int:
        """Return the tokens of the enclosed block."""
        ready = self._known(id(source))
        if ready is not None and ready.source is source and ready.price >= 0:
            return ready.price
        return self._price(source)


def left_out(compiled: Compiled, file: str, what: str) -> TemplateRenderError:
    """Build the error for a template that does not print what it has to."""
    where = f"{compiled.set.name}/{file}"
    return TemplateRenderError(f"template {where} leaves out {what}", template=where)


def _holes(names: tuple[str, ...], absent: Mapping[str, Markup]) -> dict[str, Any]:
    holes = {name: Hole("@" + name) for name in names}
    own = {"n": Hole("n"), "label": Hole("label"), "text": Hole("text"), "attributes": tuple(holes.items())}
    return {**own, "source": View({**absent, **holes, **own})}
