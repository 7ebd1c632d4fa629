"""The sandboxed Jinja environment that a template set is compiled in, and its errors made ours.

Autoescape is on; text arrives as `Markup` from the escaper, and a plain text that a template makes itself is
escaped by the same rules before it is printed. What is neither text nor number is refused, so no
object is ever printed. Every exception of Jinja, and every other one that a template causes, becomes a
`TemplateRenderError` with file and line.
"""

from __future__ import annotations

import difflib
import functools
import threading
import unicodedata
from collections.abc import Callable, Mapping
from copy import copy
from types import CodeType, TracebackType
from typing import Any

import jinja2
from jinja2 import meta, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup

from promptpack.errors import QUOTE_LIMIT, PromptpackError, TemplateLookupError, TemplateRenderError, quote
from promptpack.escape import LiveLabels, Rules, escape_text, reserved_names
from promptpack.escape.names import literal_text
from promptpack.escape.seams import Seams, first_parts, seams
from promptpack.restricted import SPENDING, RestrictedEnvironment, Spending, metered, refuse
from promptpack.shape import Hole, Shape, is_plain, learn, mark
from promptpack.templates import FILES, TemplateSet
from promptpack.views import View

NAMES = {
    "system.j2": ("system", "example", "prefix"),
    "source.j2": ("source", "n", "label", "text", "attributes"),
    "user.j2": ("sources", "question", "history", "system", "example", "prefix", "long"),
}


class Compiled:
    """A template set that is ready to render: three templates, the names that they reserve, their shapes.

    like: a set with the same tags. own: names that its texts take besides those of `NAMES` (see `valued`).
    """

    def __init__(self, templates: TemplateSet, *, like: Compiled | None = None, own: tuple[str, ...] = ()) -> None:
        self.set = templates
        self._own = own
        names, numbered = (like.names, like.numbered) if like else _reserved(templates)
        self.names: frozenset[str] = names
        self.numbered: frozenset[str] = numbered
        self.signs = _signs(templates)
        texts = dict(templates.files())
        loader = jinja2.FunctionLoader(lambda name: _load(templates, texts, name))
        self.environment = _environment(loader, self._escape, restricted=templates.restricted)
        self._plain: dict[str, bool] = {}
        self._used: dict[str, frozenset[str]] = {}
        self._code = self._compile_all()
        self._begin({})

    def _begin(self, values: Mapping[str, str]) -> None:
        """Make the templates of their code; nothing is known of their shapes yet."""
        known = {} if self.set.restricted else self.environment.make_globals(None)
        self._templates = {
            name: jinja2.Template.from_code(self.environment, code, {**known, **values})
            for name, code in self._code.items()
        }
        self._kept: dict[tuple[Any, ...], Any] = {}
        self._shapes: dict[tuple[str, tuple[Any, ...]], Shape | None] = {}
        self._begun = first_parts(self.names, self.numbered)
        self._blocks, self._frames, self._seams = Seams(), set[Shape](), Seams()
        self._learning = threading.Lock()  # what two threads learn at the same time must both be known

    def valued(self, values: Mapping[str, str]) -> Compiled:
        """Return this set with values for the names in `own`: the code is shared, what was learned of it is not."""
        made = copy(self)
        made._begin(values)
        return made

    def render(self, name: str, context: Mapping[str, Any]) -> str:
        """Render one file; TemplateRenderError with file and line where it fails."""
        try:
            if self.set.restricted:
                spending = Spending(name, context)
                pieces = self._templates[name].generate({**context, SPENDING: spending})
                return "".join(map(spending.output, pieces))
            return self._templates[name].render(context)
        except PromptpackError:
            raise
        except Exception as error:
            raise _ours(error, self.set.name, name) from error

    def shape(self, name: str, key: tuple[Any, ...], context: Callable[[], Mapping[str, Any]]) -> Shape | None:
        """Return the shape of a file for a context of holes (cached by `key`); None where it has none."""
        if not self._plain[name]:
            with self._learning:
                self._seams = Seams(False)
            return None
        slot = (name, key)
        known = self._shapes  # replaced, never emptied: another thread may be about to read
        if slot not in known:
            found = learn(self._templates[name], context())
            with self._learning:
                self._look_at_seams(name, found)
            if len(known) > 4096:  # as many combinations of fields as anybody has
                known = self._shapes = {}
            known[slot] = found
        return known[slot]

    @property
    def seams(self) -> Seams:
        """What is known of the fixed texts around the values, in all shapes that were learned so far."""
        return self._seams

    def _look_at_seams(self, name: str, shape: Shape | None) -> None:
        if shape is None or len(self._frames) > 256:
            self._seams = Seams(False)
        elif name == "source.j2":
            self._blocks &= seams(shape.literals, shape.gaps, begun=self._begun)
        elif name == "user.j2":
            self._frames.add(shape)
        found = [seams(one.literals, one.gaps, self._blocks, begun=self._begun) for one in self._frames]
        proven = self._seams.proven and self._blocks.proven and all(one.proven for one in found)
        self._seams = Seams(proven, tails=any(one.tails for one in (self._blocks, *found)))

    def kept(self, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """Return what is kept under a key with this set, made on first use; a few keys are kept."""
        known = self._kept  # replaced, never emptied: another thread may be about to read
        if key not in known:
            if len(known) >= 64:
                known = self._kept = {}
            known.setdefault(key, make())
        return known[key]

    def uses(self, name: str) -> frozenset[str]:
        """Return the names that a file takes from its context."""
        return self._used[name]

    def _escape(self, text: str) -> Markup:
        return escape_text(text, Rules(
            names=self.names, numbered=self.numbered, labels=LiveLabels(None), reserved=self.signs,
        ))

    def _compile_all(self) -> dict[str, CodeType]:
        """Compile the three files; all that is wrong with them in one error."""
        made: dict[str, CodeType] = {}
        faults: list[TemplateRenderError] = []
        for name, text in self.set.files():
            try:
                made[name] = self._compile(name, text)
            except TemplateRenderError as error:
                faults.append(error)
        if len(faults) == 1:
            raise faults[0]
        if faults:
            told = "\n".join(str(one) for one in faults)
            raise TemplateRenderError(told, template=faults[0].template, lineno=faults[0].lineno) from faults[0]
        return made

    def _compile(self, name: str, text: str) -> CodeType:
        where = f"{self.set.name}/{name}"
        try:
            tree = self.environment.parse(text, name, where)
            if self.set.restricted:
                refuse(tree, text, where, (*NAMES[name], *self._own))  # before anything computes its constants
            used = meta.find_undeclared_variables(tree)
            unknown = used - {*NAMES[name], *self._own} - set(self.environment.globals)
            if unknown:
                raise _unknown_names(tree, sorted(unknown), where, NAMES[name])
            self._plain[name], self._used[name] = is_plain(tree), frozenset(used)
            return self.environment.compile(metered(tree) if self.set.restricted else text, name, where)
        except PromptpackError:
            raise
        except Exception as error:
            raise _ours(error, self.set.name, name) from error


@functools.lru_cache(maxsize=64)
def compile_set(templates: TemplateSet) -> Compiled:
    """Compile a set once; equal sets share the result."""
    return Compiled(templates)


def _environment(
    loader: jinja2.BaseLoader, escape: Callable[[str], Markup], *, restricted: bool = False
) -> jinja2.Environment:
    @jinja2.pass_eval_context  # so that constants come here too, and are not printed as they are at compile time
    def finalize(_: object, value: Any) -> Any:
        if type(value) is Markup or hasattr(value, "__html__"):
            return value
        if isinstance(value, Hole):
            return Markup(mark(value))  # noqa: S704 - the mark of a gap, never text
        if isinstance(value, str):
            return escape(value)
        if isinstance(value, jinja2.Undefined):
            return str(value)  # raises: undefined values are never printed
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value
        raise TypeError(f"a template can print text and numbers, not {quote(value)}")

    kind = RestrictedEnvironment if restricted else ImmutableSandboxedEnvironment
    environment = kind(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, finalize=finalize, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=False, cache_size=16, auto_reload=False,
    )
    if not restricted:
        del environment.filters["random"], environment.globals["lipsum"]  # a payload is the same each time
    return environment


def _load(templates: TemplateSet, texts: Mapping[str, str], name: str) -> tuple[str, str, None]:
    if name not in texts:
        raise TemplateLookupError(
            f"template {templates.name!r}: there is no file {quote(name)} in the set", name=name, known=FILES,
            searched=FILES,
        )
    return texts[name], f"{templates.name}/{name}", None


def _reserved(templates: TemplateSet) -> tuple[frozenset[str], frozenset[str]]:
    plain: set[str] = set()
    numbered: set[str] = set()
    for text in (templates.source, templates.user):  # the rules of system.j2 only speak of tags
        names, with_number = reserved_names(text)
        plain.update(names)
        numbered.update(with_number)
    return frozenset(plain), frozenset(numbered)


def _signs(templates: TemplateSet) -> frozenset[str]:
    """Return the private-use characters that a set writes: they mean something there, so no text may hold them."""
    written = "".join(literal_text(text) for _, text in templates.files())
    return frozenset(char for char in set(written) if not char.isascii() and unicodedata.category(char) == "Co")


def _unknown_names(
    tree: nodes.Template, unknown: list[str], where: str, known: tuple[str, ...]
) -> TemplateRenderError:
    lines = dict.fromkeys(unknown, 0)
    for node in tree.find_all(nodes.Name):
        if node.name in lines:
            lines[node.name] = lines[node.name] or node.lineno
    told = []
    for name in unknown:
        close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
        told.append(f"{quote(name)} (line {lines[name]}" + (f", did you mean {close[0]!r}?)" if close else ")"))
    return TemplateRenderError(
        f"template {where}: unknown names: {', '.join(told)}. Known here: {', '.join(known)}",
        template=where, lineno=min(lines.values()),
    )


def _ours(error: Exception, set_name: str, name: str) -> TemplateRenderError:
    where = f"{set_name}/{name}"
    if isinstance(error, jinja2.TemplateSyntaxError):
        lineno: int | None = error.lineno
        where = error.filename if error.filename in _filenames(set_name) else where
    else:
        lineno = _line(error.__traceback__, set_name)
    place = f"{where}, line {lineno}" if lineno else where
    if isinstance(error, jinja2.TemplateError):  # speaks of the template, not of a source
        why = _brief(_plain_words(error.message or type(error).__name__), 240)
    else:
        why = f"{type(error).__name__}: {_brief(str(error), QUOTE_LIMIT)}"
    return TemplateRenderError(f"template {place}: {why}", template=where, lineno=lineno)


def _plain_words(message: str) -> str:
    """Say what is missing without the names of our classes."""
    said = f"'{View.__module__}.{View.__qualname__} object' has no attribute"
    if said not in message:
        return message
    return message.replace(said, "what is shown has no attribute") + "; a field has to be named in `fields`"


def _brief(text: str, limit: int) -> str:
    line = " ".join(text[: 4 * limit].split()).encode("utf-8", "backslashreplace").decode()
    return line if len(line) <= limit else line[:limit] + "..."


def _filenames(set_name: str) -> list[str]:
    return [f"{set_name}/{name}" for name in FILES]


def _line(trace: TracebackType | None, set_name: str) -> int | None:
    found = None
    own = _filenames(set_name)
    while trace is not None:
        if trace.tb_frame.f_code.co_filename in own:
            found = trace.tb_lineno
        trace = trace.tb_next
    return found


def left_out(compiled: Compiled, file: str, what: str) -> TemplateRenderError:
    """Build the error for a template that does not print what it has to."""
    where = f"{compiled.set.name}/{file}"
    return TemplateRenderError(f"template {where} leaves out {what}", template=where)
