"""The builder: an immutable description of a prompt; every method returns a new one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptpack.errors import OptionError, quote
from promptpack.labels import Labels
from promptpack.message import copied
from promptpack.messages import Message, read_history
from promptpack.packing.pipeline import DEFAULT, Packing
from promptpack.profiles import profile, required_profile
from promptpack.protocols import Escaper, TokenCounter
from promptpack.reading import read_sources
from promptpack.shown import RESERVED
from promptpack.source import Source
from promptpack.templates import TemplateSet
from promptpack.tokens import counter as counter_named
from promptpack.window import Window

if TYPE_CHECKING:
    from promptpack.payload import Payload

LEVELS = ("tags", "structure", "strict", "datamark", "html", "off")
DEFAULT_FIELDS = ("chunk", "title", "section", "updated")
_FIELD = re.compile(r"[a-z][a-z0-9_-]{0,31}\Z")


@dataclass(frozen=True, slots=True)
class Content:
    """What goes into the prompt, as `PromptBuilder`'s methods collected it."""

    sources: tuple[Source, ...] = ()
    history: tuple[Message, ...] = ()
    system: str | None = None
    question: str | None = None
    tools: tuple[Mapping[str, Any], ...] = field(default=(), hash=False)

    def __post_init__(self) -> None:
        for name in ("system", "question"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise _wrong(name, "a text", value)


@dataclass(frozen=True, slots=True)
class PromptBuilder:
    """Describes a prompt: the window, how sources are packed and shown, and what goes in; `render()` makes the payload.

    window: the model's context window in tokens, or a `Window` with its reserves.
    model: a model name; sets counter, message overhead and template set where those are not given.
    template: the name of a shipped set, a folder (pathlib.Path), or a `TemplateSet`.
    counter: a counter's name or any callable from text to int; without model and counter o200k_base, exact and offline.
    packing: how sources are chosen and placed. escape: the level, or a callable that makes a text inert.
    fields: the metadata that is shown, in this order. labels: the label map to continue.
    on_step: called as on_step(step, details) while rendering; it sees, and changes nothing.

    A builder never changes: `add_...` appends, `with_...` replaces, both return a new one. Sharing one is safe.
    Raises OptionError at once for a value that cannot be.

    >>> payload = PromptBuilder(window=1000).add_sources(["Returns are free."]).with_question("Cost?").render()
    >>> payload.labels["S1"]
    ('text:7dab15293c08',)
    """

    window: int | Window
    _: KW_ONLY
    model: str | None = None
    template: str | Path | TemplateSet | None = None
    counter: str | TokenCounter | None = None
    packing: Packing = DEFAULT
    escape: str | Escaper = "tags"
    fields: tuple[str, ...] = DEFAULT_FIELDS
    labels: Labels = field(default_factory=Labels)
    on_step: Callable[[str, Mapping[str, Any]], None] | None = None
    _content: Content = field(default_factory=lambda: Content(), repr=False)

    def __post_init__(self) -> None:
        Window.of(self.window)
        found = profile(self.model)
        TemplateSet.of(self.template if self.template is not None else found.template)
        counter_named(self.counter if self.counter is not None else found.counter)
        if not isinstance(self.packing, Packing):
            raise _wrong("packing", "a Packing", self.packing)
        if self.packing.min_sources:
            raise OptionError(
                f"min_sources: {self.packing.min_sources} sources may pass the budget, and a payload always fits its "
                "window; require sources (Source.required), or call pack()",
                name="min_sources", given=self.packing.min_sources,
            )
        if isinstance(self.escape, str):
            if self.escape not in LEVELS:
                raise OptionError.unknown("escape", self.escape, LEVELS)
        elif not callable(self.escape):
            raise _wrong("escape", f"a callable or one of {', '.join(LEVELS)}", self.escape)
        if isinstance(self.fields, str) or not isinstance(self.fields, Iterable):
            raise _wrong("fields", "a tuple of field names", self.fields)
        object.__setattr__(self, "fields", tuple(self.fields))
        for name in self.fields:
            if not isinstance(name, str) or not _FIELD.match(name) or name in RESERVED:
                raise OptionError(
                    f"fields: a field is a name of lower-case letters, digits, - and _, and none of "
                    f"{', '.join(RESERVED)}; got {quote(name)}",
                    name="fields", given=name,
                )
        if len(set(self.fields)) != len(self.fields):
            raise OptionError("fields: a name occurs twice", name="fields", given=self.fields)
        if not isinstance(self.labels, Labels):
            raise _wrong("labels", "Labels", self.labels)
        if self.on_step is not None and not callable(self.on_step):
            raise _wrong("on_step", "a callable", self.on_step)

    @classmethod
    def for_model(cls, model: str, **overrides: Any) -> PromptBuilder:
        """Return a builder with the window, counter and template set of a model.

        Raises OptionError with suggestions where the name says nothing, since then no window is known.

        >>> PromptBuilder.for_model("gpt-4o").window.size
        128000
        """
        found = required_profile(model)
        size = found.window or 0
        window = overrides.pop("window", None)
        if window is None:
            window = Window(size, margin=int(size * found.margin))
        return cls(window, model=model, **overrides)

    def add_sources(self, items: Iterable[Any]) -> PromptBuilder:
        """Append sources: `Source`, texts, mappings, (item, score) pairs, or objects of LangChain, LlamaIndex,
        Haystack, Qdrant.

        SourceError names an item that cannot be read, by its position.
        """
        sources = self._content.sources
        return self._with(sources=(*sources, *read_sources(items, first=len(sources))))

    def add_history(self, messages: Iterable[Any], *, allow: Sequence[str] = ()) -> PromptBuilder:
        """Append turns of the conversation: OpenAI-shaped messages or (role, text) pairs.

        System and developer turns raise SourceError unless allow=("system",) folds their text into the system message.
        """
        old = self._content
        listed = isinstance(messages, Iterable) and not isinstance(messages, str | bytes | Mapping)
        read = read_history([*old.history, *messages] if listed else messages, allow=allow)
        system = "\n\n".join([*([old.system] if old.system else []), *read.system]) or None
        return self._with(history=read.messages, system=system)

    def with_system(self, text: str | None) -> PromptBuilder:
        """Replace who the model is; the rules of the template set always follow it."""
        return self._with(system=text)

    def with_question(self, text: str | None) -> PromptBuilder:
        """Replace the question; None leaves the question block out."""
        return self._with(question=text)

    def with_tools(self, schemas: Iterable[Mapping[str, Any]]) -> PromptBuilder:
        """Replace the tool schemas; they are not sent by the payload, but counted as JSON text."""
        if isinstance(schemas, str | Mapping) or not isinstance(schemas, Iterable):
            raise _wrong("tools", "a list of tool schemas", schemas)
        return self._with(tools=tuple(copied(list(schemas), "tools")))

    def with_template(self, template: str | Path | TemplateSet | None) -> PromptBuilder:
        """Replace the template set."""
        return replace(self, template=template)

    def with_model(self, name: str | None) -> PromptBuilder:
        """Replace the model name; the window stays."""
        return replace(self, model=name)

    def with_packing(self, **changes: Any) -> PromptBuilder:
        """Change single settings of the packing: `with_packing(select="prefix", place="chronological")`."""
        known = Packing.__dataclass_fields__
        for name in changes:
            if name not in known:
                raise OptionError.unknown("with_packing", name, known)
        return replace(self, packing=replace(self.packing, **changes))

    def with_labels(self, labels: Labels) -> PromptBuilder:
        """Replace the label map: `with_labels(previous.carry_labels())` keeps each chunk's name."""
        return replace(self, labels=labels)

    def with_window(self, window: int | Window) -> PromptBuilder:
        """Replace the window."""
        return replace(self, window=window)

    def with_fields(self, *names: str) -> PromptBuilder:
        """Replace the shown fields, in this order."""
        return replace(self, fields=names)

    def render(self, *, require_sources: bool = False) -> Payload:
        """Pack, label, escape and render; return the frozen payload.

        Raises BudgetError where what must be sent does not fit, SourceError where require_sources is True and no source
        is left, TemplateRenderError where the template fails or leaves something out.
        """
        from promptpack.assembly import assemble

        return assemble(self, self._content, require_sources=require_sources)

    def _with(self, **changes: Any) -> PromptBuilder:
        return replace(self, _content=replace(self._content, **changes))


def _wrong(name: str, expected: str, given: object) -> OptionError:
    return OptionError(f"{name}: expected {expected}, got {quote(given)}", name=name, given=given)
