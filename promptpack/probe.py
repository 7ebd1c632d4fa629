"""Probes: made-up passages, questions and personas that a template set is rendered with, to see what becomes of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from markupsafe import Markup

from promptpack.errors import PromptpackError
from promptpack.escape import LiveLabels, Rules
from promptpack.setforms import json_inside
from promptpack.settings import TemplateSettings
from promptpack.templates import TemplateSet
from promptpack.views import SourceList, View

PREFIX = "K"  # not the default, so that a template that types labels in is seen
NUMBERS = (7, 3, 12)  # labels as a conversation may leave them: not from 1, not in order
PERSONA = "You are the probe's Desk of Lamps."


@dataclass(frozen=True, slots=True)
class Passage:
    """A made-up passage, escaped already: what a set has to print whole, once, and under its label."""

    number: int
    text: str
    fields: dict[str, str]

    @property
    def first(self) -> str:
        """The word that it begins with, which occurs nowhere else."""
        return self.text.split(" ", 1)[0]

    @property
    def plain(self) -> str:
        """The passage under its label, as a set without faults might print it."""
        return json.dumps(f"{PREFIX}{self.number}: ")[:-1] + self.text + '"'

    def fault_in(self, text: str) -> str:
        """Say what is wrong with the passage in a rendered text; empty where it is there, whole and once."""
        flat = " ".join(text.split())
        times = flat.count(self.first)
        if times != 1:
            return f"printed {times} times"
        return "" if " ".join(self.text.split()) in flat else "not printed whole and as it is given"

    def labelled(self, text: str) -> bool:
        """Tell whether its label is in a rendered text."""
        return re.search(rf"(?<![0-9A-Za-z]){PREFIX}{self.number}(?![0-9A-Za-z])", text) is not None

    def view(self, settings: TemplateSettings, block: str | None = None) -> View:
        """Return what a template sees of it."""
        absent = {name: Markup("") for name in settings.fields}
        values = {name: Markup(value) for name, value in self.fields.items()}  # noqa: S704 - made up here
        own = {
            "n": self.number, "label": Markup(f"{PREFIX}{self.number}"), "text": Markup(self.text),  # noqa: S704
            "attributes": settings.pairs(values),
        }
        made = {} if block is None else {"block": Markup(block)}  # noqa: S704 - rendered from the above
        return View({**absent, **values, **own, **made})


@dataclass(frozen=True, slots=True)
class Case:
    """What one pair of messages was rendered from."""

    passages: tuple[Passage, ...]
    question: str
    persona: str

    def shows_example(self, text: str) -> bool:
        """Tell whether the messages show how a citation looks."""
        return f"{PREFIX}1" in re.findall(r"[0-9A-Za-z]+", text)


def is_json(text: str) -> bool:
    """Tell whether a text is one JSON value."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


class Probe:
    """Renders a template set with everything that a payload may bring, in all combinations."""

    def __init__(self, templates: TemplateSet) -> None:
        self._compiled = templates.compiled()
        self._settings = templates.settings
        self.rules = Rules(
            names=self._compiled.names, numbered=self._compiled.numbered, prefix=PREFIX, labels=LiveLabels(0)
        )
        self._passages = [self._passage(number, templates.settings.fields) for number in NUMBERS]

    def blocks(self) -> Iterator[tuple[str, PromptpackError | None, Passage]]:
        """Yield the rendered passages: with all fields, with each alone, with none."""
        names = self._settings.fields
        for number in NUMBERS:
            for shown in (names, *((name,) for name in names), ()):
                passage = self._passage(number, shown)
                try:
                    yield self._block(passage), None, passage
                except PromptpackError as error:
                    yield "", error, passage

    def messages(self, *, own: bool) -> Iterator[tuple[str, str, PromptpackError | None, Case]]:
        """Yield the system and the user message for every combination of what may be there.

        own: whether the passages are rendered by the set; else they are plain lines, to see the rest of the set.
        """
        blocks = [self._block(one) if own else one.plain for one in self._passages]
        views = [one.view(self._settings, block) for one, block in zip(self._passages, blocks, strict=True)]
        turns = (View({"role": "user", "text": Markup("Zaqhistory.")}),)
        question = "Zaqquestion: is \"x\" &lt; y,\n or not wux?"
        everything = product((0, 1, 3), (question, ""), (PERSONA, ""), (turns, ()), (False, True))
        for count, asked, persona, history, long in everything:
            case = Case(tuple(self._passages[:count]), asked, persona)
            common = {"system": Markup(persona), "example": Markup(f"{PREFIX}1"), "prefix": Markup(PREFIX)}  # noqa: S704
            try:
                system = self._compiled.render("system.j2", common)
                user = self._compiled.render("user.j2", {
                    **common, "sources": SourceList(blocks[:count], views[:count]), "question": Markup(asked),  # noqa: S704
                    "history": history, "long": long and count > 0,
                })
            except PromptpackError as error:
                yield "", "", error, case
            else:
                yield system, user, None, case

    def _passage(self, number: int, shown: Sequence[str]) -> Passage:
        text = f"Zaq{number} Opens HERE, with a \"quote\" &amp; 2 &lt; 3.\n\n  Its LAST line ends: wux{number}."
        return Passage(number, self._form(text), {name: f"Val {name} {number}" for name in shown})

    def _form(self, text: str) -> str:
        return json_inside(text) if self._settings.encoding == "json" else text

    def _block(self, passage: Passage) -> str:
        view = passage.view(self._settings)
        return self._compiled.render("source.j2", {
            "source": view, **{name: view[name] for name in ("n", "label", "text", "attributes")},
        })
