"""The builder: an immutable description of a prompt; every method returns a new one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from promptpack.errors import OptionError, quote
from promptpack.fields import AUTO
from promptpack.labels import Labels
from promptpack.layout import check_cache
from promptpack.messages import ImageTokens, Message, read_history
from promptpack.packing.pipeline import Packing
from promptpack.plain_data import copied, not_finite
from promptpack.profiles import ModelsLike, Profile, planned, profile, required_profile
from promptpack.protocols import Escaper, TokenCounter
from promptpack.reading import read_sources
from promptpack.rerank import Rerank
from promptpack.shown import RESERVED
from promptpack.source import Source
from promptpack.spotlight import Spotlight
from promptpack.summary import SUMMARY_TOKENS, Hook, Summary
from promptpack.templates import TemplateSet
from promptpack.tokens import counter as counter_named
from promptpack.tokens import is_tokenizer
from promptpack.window import Window

if TYPE_CHECKING:
    from promptpack.payload import Payload

LEVELS = ("tags", "structure", "strict", "spotlight", "datamark", "html", "off")
DEFAULT_FIELDS = ("chunk", "title", "section", "updated")
PACKING = Packing(select="auto")
_FIELD = re.compile(r"[a-z][a-z0-9_-]{0,31}\Z")


@dataclass(frozen=True, slots=True)
class Content:
    """What goes into the prompt, as `PromptBuilder`'s methods collected it."""

    sources: tuple[Source, ...] = ()
    history: tuple[Message, ...] = ()
    system: str | None = None
    question: str | None = None
    tools: tuple[Mapping[str, Any], ...] = field(default=(), hash=False)
    summary: Summary | None = None
    folded: tuple[str, ...] = ()  # system turns of a history, which follow the system text

    def __post_init__(self) -> None:
        for name in ("system", "question"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise _wrong(name, "a text", value)


@dataclass(frozen=True, slots=True)
class PromptBuilder:
    """Describes a prompt: the window, how sources are packed and shown, and what goes in; `render()` makes the payload.

    window: the model's context window in tokens, or a `Window` with its reserves.
    model: a model name, or a `Profile`; sets counter, message overhead and template set where those are not given.
        Where its counter estimates and the window is a number, a share of it is kept free as margin.
    template: the name of a shipped set, a folder (pathlib.Path), or a `TemplateSet`.
    counter: a counter's name or any callable from text to int; without model and counter o200k_base, exact and offline.
    packing: how sources are chosen and placed. Without one select="auto" holds: where a question is given and what was
        found does not fit into little room, runs of sentences are sent, not whole sources, and the report says so.
    escape: the level, a `Spotlight`, or a callable that makes a text inert.
    fields: the metadata that is shown, in this order; "auto" leaves out what is equal or missing in all sources.
    labels: the label map to continue.
    cache: "auto" sets the provider's marks for prompt caching; see `promptpack.caching`.
    rerank: a `Rerank`, which scores the sources for the question before they are packed; then `arender()` is to await.
    on_step: called as on_step(step, details) while rendering; it sees, and changes nothing.

    A builder never changes: `add_...` appends, `with_...` replaces, both return a new one. Sharing one is safe.
    Raises OptionError at once for a value that cannot be.

    >>> payload = PromptBuilder(window=1000).add_sources(["Returns are free."]).with_question("Cost?").render()
    >>> payload.labels["S1"]
    ('text:7dab15293c08',)
    """

    window: int | Window
    _: KW_ONLY
    model: str | Profile | None = None
    template: str | Path | TemplateSet | None = None
    counter: str | Path | TokenCounter | None = None
    packing: Packing = PACKING
    escape: str | Spotlight | Escaper = "tags"
    fields: tuple[str, ...] | Literal["auto"] = DEFAULT_FIELDS
    labels: Labels = field(default_factory=Labels)
    cache: str | None = None
    rerank: Rerank | None = None
    on_step: Callable[[str, Mapping[str, Any]], None] | None = None
    _content: Content = field(default_factory=lambda: Content(), repr=False)

    def __post_init__(self) -> None:
        Window.of(self.window)
        found = profile(self.model)
        TemplateSet.of(self.template if self.template is not None else found.template)
        if self.counter is not None and is_tokenizer(self.counter):  # copied once, not by each payload
            object.__setattr__(self, "counter", counter_named(self.counter))
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
            if self.escape == "spotlight":
                object.__setattr__(self, "escape", Spotlight())  # drawn once, here
        elif not callable(self.escape) and not isinstance(self.escape, Spotlight):
            raise _wrong("escape", f"a callable or one of {', '.join(LEVELS)}", self.escape)
        if self.fields != AUTO:
            if isinstance(self.fields, str) or not isinstance(self.fields, Iterable):
                raise _wrong("fields", "a tuple of field names, or 'auto'", self.fields)
            object.__setattr__(self, "fields", tuple(self.fields))
        for name in () if self.fields == AUTO else self.fields:
            if not isinstance(name, str) or not _FIELD.match(name) or name in RESERVED:
                raise OptionError(
                    f"fields: a field is a name of lower-case letters, digits, - and _, and none of "
                    f"{', '.join(RESERVED)}; got {quote(name)}",
                    name="fields", given=name,
                )
        if self.fields != AUTO and len(set(self.fields)) != len(self.fields):
            raise OptionError("fields: a name occurs twice", name="fields", given=self.fields)
        if not isinstance(self.labels, Labels):
            raise _wrong("labels", "Labels", self.labels)
        check_cache(self.cache)
        if self.rerank is not None and not isinstance(self.rerank, Rerank):
            raise _wrong("rerank", "a Rerank", self.rerank)
        if self.on_step is not None and not callable(self.on_step):
            raise _wrong("on_step", "a callable", self.on_step)

    @classmethod
    def for_model(cls, model: str | Profile, *, models: ModelsLike | None = None, **overrides: Any) -> PromptBuilder:
        """Return a builder with the window, counter and template set of a model.

        models: rows of your own, tried before those of the package: a TOML file's path or a mapping of the same form
        (see `promptpack.modelrows.Row`). Where the counter estimates, a share of the window is kept free as margin.
        Raises OptionError with suggestions where the name says nothing, since then no window is known.

        >>> PromptBuilder.for_model("gpt-4o").window.size
        128000
        """
        found = required_profile(model, models)
        window, counter = overrides.pop("window", None), overrides.get("counter")
        if window is None:
            margin = found.margin if counter is None else getattr(counter, "margin", 0.0)
            window = Window.of(planned(found.window or 0, margin))
        return cls(window, model=model if models is None else found, **overrides)

    def add_sources(self, items: Iterable[Any]) -> PromptBuilder:
        """Append sources: `Source`, texts, mappings, (item, score) pairs, or objects of LangChain, LlamaIndex,
        Haystack, Qdrant.

        SourceError names an item that cannot be read, by its position.
        """
        sources = self._content.sources
        return self._with(sources=(*sources, *read_sources(items, first=len(sources))))

    def add_history(
        self, messages: Iterable[Any], *, allow: Sequence[str] = (), image_tokens: ImageTokens | None = None,
        summarise: Hook | None = None, summary_tokens: int = SUMMARY_TOKENS,
    ) -> PromptBuilder:
        """Append turns of the conversation: messages of OpenAI (chat or Responses), Anthropic, Gemini, LangChain,
        LlamaIndex, Haystack, or (role, text) pairs.

        System and developer turns raise SourceError unless allow=("system",) folds their text into the system message,
        behind that of `with_system`, and escaped like every other text of a history.
        image_tokens: what each image of these messages counts (default 1,600; `promptpack.message`), or a callable that
        gives it for an image or file. summarise: a hook for the turns that leave for want of room, with at most
        summary_tokens kept free for what it returns (`promptpack.summary.Summary`).
        """
        old = self._content
        read = read_history(messages, allow=allow, image_tokens=image_tokens, before=old.history)
        summary = old.summary if summarise is None else Summary(summarise, summary_tokens)
        return self._with(history=read.messages, folded=(*old.folded, *read.system), summary=summary)

    def with_system(self, text: str | None) -> PromptBuilder:
        """Replace who the model is; the rules of the template set always follow it."""
        return self._with(system=text)

    def with_question(self, text: str | None) -> PromptBuilder:
        """Replace the question; None leaves the question block out."""
        return self._with(question=text)

    def with_tools(self, schemas: Iterable[Mapping[str, Any]]) -> PromptBuilder:
        """Replace the tool schemas: counted as JSON text, and sent by `Payload.request` in the provider's form.

        OptionError for what is no schema, and for NaN or an infinity in one, with its place.
        """
        if isinstance(schemas, str | Mapping) or not isinstance(schemas, Iterable):
            raise _wrong("tools", "a list of tool schemas", schemas)
        listed = list(schemas)
        for one in listed:
            if not isinstance(one, Mapping) or not one:
                raise _wrong("tools", "tool schemas, each a mapping that is not empty", one)
        tools = copied(listed, "tools")
        found = not_finite(tools, "tools")
        if found is not None:
            place, number = found
            raise OptionError(f"{place}: JSON has no form for {number}", name="tools", given=number)
        return self._with(tools=tuple(tools))

    def with_template(self, template: str | Path | TemplateSet | None) -> PromptBuilder:
        """Replace the template set."""
        return replace(self, template=template)

    def with_model(self, name: str | Profile | None, *, models: ModelsLike | None = None) -> PromptBuilder:
        """Replace the model; the window stays. models: as in `for_model`."""
        return replace(self, model=name if models is None else profile(name, models))

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
        """Replace the shown fields, in this order; `with_fields("auto")` shows what tells the sources apart."""
        return replace(self, fields="auto") if names == (AUTO,) else replace(self, fields=names)

    def with_rerank(self, rerank: Rerank | Any | None) -> PromptBuilder:
        """Replace the reranker: a `Rerank`, or what is to be called (`rerank(query, sources)`); None takes it away.

        The payload is then to be made with `await builder.arender()`.
        """
        return replace(self, rerank=rerank if rerank is None or isinstance(rerank, Rerank) else Rerank(rerank))

    def render(self, *, require_sources: bool = False) -> Payload:
        """Pack, label, escape and render; return the frozen payload.

        Raises BudgetError where what must be sent does not fit, SourceError where require_sources is True and no source
        is left, TemplateRenderError where the template fails or leaves something out.
        """
        if self.rerank is not None:
            raise OptionError(
                "rerank: a reranker is to be awaited; use `await builder.arender()`", name="rerank", given=self.rerank
            )
        from promptpack.assembly import assemble

        return assemble(self, self._content, require_sources=require_sources)

    async def arender(self, *, require_sources: bool = False) -> Payload:
        """Rerank the sources for the question, then render; only the reranker is awaited."""
        from promptpack.reranked import arender

        return await arender(self, require_sources=require_sources)

    def _with(self, **changes: Any) -> PromptBuilder:
        return replace(self, _content=replace(self._content, **changes))


def _wrong(name: str, expected: str, given: object) -> OptionError:
    return OptionError(f"{name}: expected {expected}, got {quote(given)}", name=name, given=given)
