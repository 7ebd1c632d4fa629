"""Blocks: one passage made ready, priced and rendered under its label.

Each source is escaped once and its text counted once. `Blocks.price` prices the enclosed block under the widest label
that it could get, so that whatever is packed fits; once the labels are known, `narrowed` makes the price exact.
This is the innermost loop of a payload: what a source shares with others (titles, dates, the fixed text of its
block) is escaped and counted for all of them together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import compress, repeat

from markupsafe import Markup

from promptpack.ahead import price_ahead
from promptpack.columns import Columns
from promptpack.environment import Compiled, left_out
from promptpack.errors import PromptpackError
from promptpack.escaping import Escaping
from promptpack.forms import CountMany, Form, Forms, Ready
from promptpack.labels import LAST, Labels
from promptpack.measure import Meter
from promptpack.noted import Notes
from promptpack.packing.candidate import Placed
from promptpack.protocols import TokenCounter
from promptpack.quick import maker
from promptpack.source import Source
from promptpack.tokens.custom import CallableCounter
from promptpack.views import View

Edits = tuple[str, ...]
_AROUND = 200  # tokens; few enclosures take more, and a limit that is farther off is not passed by them
_ready = maker(Ready)


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
        self.columns = Columns(fields, shown_ids, compiled.set.settings)
        self._known = labels.known()
        self._bound: Callable[[str, int], int] | None = (
            getattr(counter, "floor", None) if getattr(counter, "additive", False) else None
        )
        self._bounded = escaping.keeps_words if getattr(counter, "floors_words", False) else escaping.leaves
        self._count_fresh: CountMany | None = getattr(counter, "count_fresh", None)
        additive = getattr(counter, "additive", False)
        self._at_once = self._count_fresh is not None and escaping.custom is None and additive
        self._widest = min(LAST, labels.highest + candidates)
        self._notes = Notes(None)
        self.whole: dict[int, Ready] = {}                # by the identity of a source
        self._looked: dict[int, Ready] = {}              # likewise, where no price was asked for
        self._alive: list[object] = []                   # keeps those identities taken
        self._pieces: dict[tuple[str, str], Ready] = {}  # cut and merged versions, by id and text
        # Payloads of the same settings share the forms; a callable is wrapped anew for each builder, with its own.
        kept = fields, labels.prefix, counter, escaping.rules.level, escaping.rules.reserved
        made = partial(Forms, compiled, fields, labels.prefix, counter)
        self.form = made() if isinstance(counter, CallableCounter) else compiled.kept(kept, made)

    def limit(self, room: int) -> None:
        """Tell how many tokens there are: no label can be wider than the number of empty blocks that fit."""
        meter = self.form(("chunk",) if "chunk" in self.fields else ()).meter
        if meter is not None and meter.additive and not self.whole:
            least = max(1, meter.fixed(1))
            self._widest = min(self._widest, self.labels.highest + room // least + 1)
        if meter is None and not getattr(self.counter, "floors_words", False):
            self._bound = None  # a template that looks into a text may trim or wrap it
        if self.escaping.custom is None and not isinstance(self.counter, CallableCounter):  # those may change
            known = self.labels.prefix, *self._known.items()
            self._notes = Notes(self.fields, self.compiled, self.counter, self.escaping.rules, self._widest, known)

    def prepare(self, source: Source, text: str | None = None) -> Ready:
        """Escape a source's text and fields, once; price it. `text`: a version that was cut or merged."""
        if text is None or text is source.text:
            key = id(source)
            found = self.whole.get(key)
            if found is None:
                found = self._looked.get(key) or self._look(source)
                found = self._priced(found, found.text is source.text)
                self._notes.keep(source, found)
                self.whole[key] = found
            return found
        made = self._pieces.get((source.id, text))
        if made is None:
            made = self._made(source, text, piece=text != source.text)
            made = self._pieces[source.id, text] = self._priced(made, made.text is text)
        return made

    def prepared(self, placed: Sequence[Placed]) -> list[Ready]:
        """Return what `prepare` does for each of these passages."""
        whole = self.whole.get
        return [
            (whole(id(one.source)) if one.text is one.source.text else None) or self.prepare(one.source, one.text)
            for one in placed
        ]

    def _look(self, source: Source) -> Ready:
        # Apart from `whole`: that an earlier payload noted a price must not show in what this one says of a source.
        found = self._notes.recalled(source)
        if found is None:
            found = self._made(source, source.text)
            self._notes.keep(source, found)
        self._looked[id(source)] = found
        self._alive.append(source)
        return found

    def anticipate(self, sources: Sequence[Source], room: int) -> None:
        """Prepare and price the first sources, as many as are likely to fit into `room`, many at a time.

        What sources have in common is looked up column by column. What is left out here is prepared one by one when
        its price is asked for.
        """
        if self._at_once:
            self._alive.append(sources)
            # An error is told to who asks for that price: which sources are looked at here depends on a guess.
            with suppress(PromptpackError):
                self.form.pace = price_ahead(sources, room, self.form.pace, self._noted, self._price_all)

    def _noted(self, source: Source) -> int | None:
        """Return the price that an earlier payload of the same settings noted, None where there is none."""
        if getattr(source, "_made", None) is None:
            return None
        noted = self._notes.recalled(source)
        if noted is None or noted.price < 0:
            return None
        self.whole[id(source)] = noted
        return noted.price

    def _price_all(self, sources: list[Source]) -> int:
        """Prepare and price sources; return their tokens."""
        self._prepare_many(sources)
        return sum([(self.whole.get(id(source)) or self.prepare(source)).price for source in sources])

    def _prepare_many(self, sources: Sequence[Source]) -> None:
        """Prepare and price those sources whose parts need no escaping and have their own prices."""
        for names, group, columns in self.columns.groups(sources):
            form = self.form(names)
            if form.meter is not None and form.columnar and self._count_fresh is not None:
                self._price_many(form, form.meter, group, columns, self._count_fresh)

    def _price_many(
        self, form: Form, meter: Meter, sources: Sequence[Source], columns: list[list[str]], count: CountMany
    ) -> None:
        escaping = self.escaping
        bodies = form.bodies([source.text for source in sources], escaping.left, count)
        if any(source.tokens is not None for source in sources):
            bodies = [None if one.tokens is not None else body for one, body in zip(sources, bodies, strict=True)]
        tokens = [form.tokens(index, column, escaping.leaves_attribute) for index, column in enumerate(columns)]
        shown: Iterable[tuple[str, ...]] = zip(*columns, strict=True) if columns else repeat((), len(bodies))
        if any(None in column for column in (bodies, *tokens)):
            priced = [None not in cost for cost in zip(bodies, *tokens, strict=True)]
            sources, shown = list(compress(sources, priced)), compress(shown, priced)
            bodies, *tokens = [list(compress(column, priced)) for column in (bodies, *tokens)]
        numbers = list(map(self._assumed, sources)) if self._known else [self._widest] * len(sources)
        prices = map(sum, zip(meter.all_fixed(numbers), bodies, *tokens, strict=True))
        ready = [
            _ready(source.id, None, form, values, values, source.text, (), price, number, False, body)
            for source, values, price, number, body in zip(sources, shown, prices, numbers, bodies, strict=True)
        ]
        self.whole.update(zip(map(id, sources), ready, strict=True))
        self._notes.keep_all(sources, ready)

    def _made(self, source: Source, body: str, *, piece: bool = False) -> Ready:
        edits: Edits = ()
        if self.escaping.leaves(body):
            shown_text = body if type(body) is str else str.__str__(body)  # `Markup` would escape what it is joined to
        else:
            text = self.escaping.text(body)
            edits = tuple(getattr(text, "kinds", ()))
            shown_text = str(text)
        names, raw = self.columns.fields(source)
        shown = raw
        if not all(map(self.escaping.leaves_attribute, raw)):
            escaped = [self.escaping.attribute(value) for value in raw]
            shown = tuple([value for value, _ in escaped])
            edits += tuple([edit for _, changes in escaped for edit in changes])
        hint = None if piece else source.tokens
        return _ready(source.id, hint, self.form(names), raw, shown, shown_text, edits, -1, 0, False, -1)

    def _assumed(self, source: Source) -> int:
        return self._known.get((source.id,), self._widest)

    def price(self, source: Source, text: str | None = None) -> int:
        """Return the tokens of the enclosed block and the line break after it, under the widest label it may get."""
        return self.prepare(source, text).price

    def _priced(self, ready: Ready, same: bool) -> Ready:
        # same: its text is the very one that came. Where escaping has to look closely, it makes another object.
        if ready.price >= 0:
            return ready
        meter, hint, body = ready.form.meter, None if ready.edits else ready.hint, -1
        number = self._known.get((ready.name,), self._widest)
        if hint is not None and meter is not None:
            price = meter(ready.values, number, hint)
        elif meter is not None and ready.form.columnar and meter.alone(ready.text):  # as `_price_many` does
            count = self._count_fresh if same and self._at_once else None
            body = ready.form.body(ready.text, meter.body(""), count) if count else self.counter(meter.body(ready.text))
            price = meter(ready.values, number, body - 1)
        else:
            hint, price = None, self._count(ready, number)
        return _ready(
            ready.name, ready.hint, ready.form, ready.raw, ready.shown, ready.text, ready.edits, price, number,
            hint is not None, body,
        )

    def _count(self, ready: Ready, number: int) -> int:
        if ready.form.meter is not None:
            return ready.form.meter(ready.values, number)
        return self.counter(self.block(ready, number) + "\n")

    def floor(self, source: Source, limit: int) -> int:
        """Return a cheap lower bound of the price, without tokenising and mostly without escaping.

        Where the text alone does not tell that the limit is passed, what stands around it is added.
        """
        if source.tokens is not None or self._bound is None:
            return 0
        plain = source.text
        text = plain if self._bounded(plain) else (self._looked.get(id(source)) or self._look(source)).text
        least = self._bound(text, limit)
        return least + self._outside(source) if least <= limit < least + _AROUND else least

    def _outside(self, source: Source) -> int:
        """Return what stands around a text that is sent as it came; 0 where that is not counted by itself."""
        made = self._looked.get(id(source)) or self._look(source)
        meter = made.form.meter if made.form.columnar and made.text is source.text else None
        if meter is None or not meter.alone(made.text):  # a slash may join what is before it, and cost nothing
            return 0
        return meter({**made.values, "text": ""}, self._assumed(source), -1)

    def narrowed(self, ready: Sequence[Ready], numbers: Sequence[int]) -> list[int]:
        """Return the prices under the labels that the passages did get."""
        meters = {made.form.meter for made in ready}
        meter = meters.pop() if len(meters) == 1 else None
        if meter is not None and meter.apart:  # the usual case: one form for all
            less = meter.all_fixed([made.assumed for made in ready])
            more = meter.all_fixed(numbers)
            return [made.price - a + b for made, a, b in zip(ready, less, more, strict=True)]
        prices = []
        last: tuple[Meter | None, int] = (None, -1)
        outside = 0  # of the last meter under the last number that was assumed: mostly the same for all
        for made, number in zip(ready, numbers, strict=True):
            price, assumed, meter = made.price, made.assumed, made.form.meter
            if number != assumed:
                if meter is not None and meter.apart:
                    if (meter, assumed) != last:
                        last, outside = (meter, assumed), meter.fixed(assumed)
                    price += meter.fixed(number) - outside
                else:
                    price = self._count(made, number)
            prices.append(price)
        return prices

    def rendered(self, ready: Sequence[Ready], numbers: Sequence[int]) -> list[str]:
        """Return what `block` does for each of these passages."""
        prefix = self.labels.prefix
        return [
            fill((digits := str(number)), prefix + digits, made.text, *made.shown) if (fill := made.form.fill)
            else self.block(made, number)
            for made, number in zip(ready, numbers, strict=True)
        ]

    def block(self, ready: Ready, number: int) -> str:
        """Render one passage under its label; TemplateRenderError where the template leaves its text out."""
        digits = str(number)
        filled = ready.form.block(digits, self.labels.prefix + digits, ready.text, ready.shown)
        if filled is not None:
            return filled
        view = self.view(ready, number)
        block = self.compiled.render("source.j2", {
            "source": view, "n": number, "label": view.label, "text": view.text, "attributes": view.attributes,
        })
        if " ".join(ready.text.split()) not in " ".join(block.split()):
            raise left_out(self.compiled, "source.j2", f"the text of the source {ready.name[:80]!r}")
        return block

    def view(self, ready: Ready, number: int, block: str | None = None) -> View:
        """Return what a template sees of a passage; its rendered block where that is there already."""
        values = {name: Markup(value) for name, value in zip(ready.form.names, ready.shown, strict=True)}  # noqa: S704
        label, text = Markup(f"{self.labels.prefix}{number}"), Markup(ready.text)  # noqa: S704 - escaped
        absent = dict.fromkeys(self.fields, Markup(""))  # a field that a source lacks is there, and empty
        return View({
            **absent, **values, "n": number, "label": label, "text": text,
            "attributes": self.compiled.set.settings.pairs(values),
            **({} if block is None else {"block": Markup(block)}),  # noqa: S704 - rendered from escaped parts
        })

