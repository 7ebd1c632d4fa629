"""Forms: what the blocks of sources with the same shown fields have in common.

A form knows the shape of such a block, prices its parts, and remembers what plain values and texts cost in it, so that
many sources are priced column by column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

from markupsafe import Markup

from promptpack.ahead import FIRST
from promptpack.environment import Compiled, left_out
from promptpack.measure import Meter
from promptpack.protocols import TokenCounter
from promptpack.quick import keyed
from promptpack.shape import Hole, Shape
from promptpack.tokens.memo import Memo
from promptpack.views import View

CountMany = Callable[[list[str], str], list[int]]  # texts, and what stands behind each of them
_KEPT = 20_000  # values of one field


class Form:
    """The block of all sources that show the same fields.

    names: the shown fields, in order. shape, meter: None where the template has none. texts: the tokens of texts
    that are inert and stand alone in their lines, the end of the line included. columnar: whether prices add up
    field by field. fill: writes the block from number, label, text and fields, in this order; None without a shape.
    fields, gaps: make a mapping from as many values, of the names and of the gaps in the shape.
    """

    __slots__ = ("_columns", "columnar", "fields", "fill", "gaps", "meter", "names", "shape", "texts")

    def __init__(self, names: tuple[str, ...], shape: Shape | None, meter: Meter | None, texts: Memo) -> None:
        self.names = names
        self.shape = shape
        self.meter = meter
        self.texts = texts
        self.columnar = meter is not None and meter.columnar
        gaps = ["@" + name for name in names]
        self._columns: list[tuple[str, dict[str, int]]] = [(gap, {}) for gap in gaps]
        self.fill = shape.filler(["n", "label", "text", *gaps]) if shape else None
        self.fields, self.gaps = keyed(names), keyed(gaps)

    def block(self, digits: str, label: str, text: str, shown: tuple[str, ...]) -> str | None:
        """Return the block, filled; None where the template has no shape."""
        return None if self.fill is None else self.fill(digits, label, text, *shown)

    def tokens(self, index: int, values: Sequence[str], inert: Callable[[str], bool]) -> list[int | None]:
        """Return what the values of field `index` cost; None for those that have to be escaped or trimmed."""
        gap, known = self._columns[index]
        meter = self.meter
        alike = meter.all_alike(values) if meter is not None else values  # digits do not matter to the escaping, either
        found: list[int | None] = list(map(known.get, alike))
        if None in found and meter is not None:
            for at, (value, same) in enumerate(zip(values, alike, strict=True)):
                if found[at] is None and value:
                    cost = known.get(same)
                    if cost is None and value == value.strip() and inert(value):
                        cost = meter.field(gap, same)
                        if len(known) < _KEPT:
                            known[same] = cost
                    found[at] = cost
        return found

    def bodies(
        self, texts: Sequence[str], inert: Callable[[Sequence[str]], list[bool]],
        count: CountMany,
    ) -> list[int | None]:
        """Return what the texts cost, their line breaks included; None for those that have to be looked at closely."""
        known = self.texts.table.get
        found: list[int | None]
        if {str}.issuperset(map(type, texts)):
            found = list(map(known, texts))
        else:  # a text of a type of its own may print another one than it equals, and need not have a hash
            found = [known(text) if type(text) is str else None for text in texts]
        meter = self.meter
        if None in found and meter is not None:
            at = [
                index for index, text in enumerate(texts)
                if found[index] is None and type(text) is str and ("0" <= text[:1] <= "z" or meter.alone(text))
            ]
            at = list(compress(at, inert([texts[index] for index in at])))
            new = [texts[index] for index in at]
            end = meter.body("")
            counts = count(new, end)
            self.texts.put_many(new, counts)
            for index, tokens in zip(at, counts, strict=True):
                found[index] = tokens
        return found

    def body(self, text: str, end: str, count: CountMany) -> int:
        """Return what an inert text that stands alone costs, with the end of its line behind it."""
        tokens = self.texts.table.get(text)
        if tokens is None:
            tokens = count([text], end)[0]
            self.texts.put(text, tokens)
        return tokens


@dataclass(frozen=True, slots=True)
class Ready:
    """A source made ready; it does not hold the source, on which it may be noted for the next payload.

    name: the id of the source. hint: the tokens of its text, where they came with it and all of it is sent.
    form: what it has in common with others. raw, shown: the values of its fields, as they came and escaped, in the
    order of `form.names`. text: escaped. edits: the kinds of what escaping changed. price: under label number
    `assumed`; -1 where it was not asked for. hinted: the price rests on `hint`. body: what the text costs, where it was
    counted by itself; else -1.
    """

    name: str
    hint: int | None
    form: Form
    raw: tuple[str, ...]
    shown: tuple[str, ...]
    text: str
    edits: tuple[str, ...] = ()
    price: int = -1
    assumed: int = 0
    hinted: bool = False
    body: int = -1

    @property
    def values(self) -> Mapping[str, str]:
        """What fills the gaps of the block but those of the label."""
        return {"text": self.text, **self.form.gaps(*self.shown)}


class Forms:
    """The forms of a template set for one choice of fields, counter and rules, made when they are first asked for.

    made: those that there are already, by their fields.
    """

    __slots__ = ("_compiled", "_counter", "_fields", "_made", "_prefix", "pace")

    def __init__(
        self, compiled: Compiled, fields: tuple[str, ...], prefix: str, counter: TokenCounter,
    ) -> None:
        self._compiled = compiled
        self._fields = fields
        self._prefix = prefix
        self._counter = counter
        self._made: dict[tuple[str, ...], Form] = {}
        self.pace = FIRST

    def __call__(self, names: tuple[str, ...]) -> Form:
        """Return the form of sources that show these fields; TemplateRenderError where it would not show the text."""
        form = self._made.get(names)
        if form is None:
            shape = self._compiled.shape("source.j2", (names, self._fields), lambda: self._holes(names))
            if shape is not None and "text" not in shape.gaps:
                raise left_out(self._compiled, "source.j2", "the text of the source")
            meter = None if shape is None else Meter(shape, self._counter, prefix=self._prefix)
            form = self._made[names] = Form(names, shape, meter, self._texts(meter))
        return form

    def _holes(self, names: tuple[str, ...]) -> dict[str, Any]:
        holes = {name: Hole("@" + name) for name in names}
        shown = self._compiled.set.settings.pairs(holes)
        own = {"n": Hole("n"), "label": Hole("label"), "text": Hole("text"), "attributes": shown}
        return {**own, "source": View({**{name: Markup("") for name in self._fields}, **holes, **own})}

    def _texts(self, meter: Meter | None) -> Memo:
        """Return the memo of texts that all forms share in which a text stands the same way."""
        key = meter.body("") if meter is not None else ""
        made = list(self._made.values())  # in one go: another thread may be about to add a form
        alike = (form for form in made if (form.meter.body("") if form.meter else "") == key)
        found = next(alike, None)
        return Memo() if found is None else found.texts
