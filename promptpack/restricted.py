"""Templates from outside: what they may use, and how much.

A set from `TemplateSet.untrusted` is a small language: print a value, `if`, `for` over the parts of the payload, a few
filters and tests. Everything else is refused when the set is compiled, all findings at once, each with its
line: calls, assignments, macros, includes, arithmetic, attributes of anything but the views, `safe`, chat
markers. What is left is bounded: characters of a file, nesting, steps (loops by the size of their body), characters
that filters and comparisons look at, characters printed. So a hostile template costs about a second and some ten
megabytes at most beyond what the payload itself takes, and can read nothing but the payload.

It can still *say* anything: its literal text becomes part of the prompt. Take only the parts from outside that you want
outsiders to word; a `system` part speaks in the system message.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from jinja2 import filters, nodes, pass_context
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context, LoopContext, Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from promptpack.errors import TemplateRenderError, quote
from promptpack.escape import Rules, scan
from promptpack.escape.names import literal_text
from promptpack.views import SourceList, View, fields_of

STEPS = {"system.j2": 100_000, "source.j2": 100_000, "user.j2": 2_000_000}  # nodes visited in one rendering
LOOKED_AT = 100_000_000  # characters that filters, comparisons and subscripts may look at in one rendering
PRINTED = 1_000_000  # characters, beyond four times what came in
DEPTH, LOOPS, NODES = 40, 3, 5_000
SPENDING = "_spending"  # the name of the account in a context; no template can name it

FILTERS = (
    "abs", "capitalize", "count", "d", "default", "e", "escape", "first", "float", "indent", "int", "last", "length",
    "lower", "replace", "round", "string", "title", "tojson", "trim", "truncate", "upper", "wordcount",
)
_OF_LISTS = frozenset({"count", "d", "default", "first", "last", "length", "tojson"})  # others print
TESTS = ("boolean", "defined", "divisibleby", "even", "false", "none", "number", "odd", "string", "true", "undefined")
_LOOP = frozenset({
    "index", "index0", "revindex", "revindex0", "first", "last", "length", "depth", "depth0", "previtem", "nextitem",
})
_NODES = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.Getattr, nodes.Getitem, nodes.Slice, nodes.If,
    nodes.For, nodes.CondExpr, nodes.Compare, nodes.Operand, nodes.Const, nodes.Not, nodes.And, nodes.Or, nodes.Neg,
    nodes.Test, nodes.Filter, nodes.Tuple, nodes.List, nodes.Keyword,
)
_WORDS = {
    "Call": "a call", "Assign": "{% set %}", "AssignBlock": "{% set %}", "Macro": "a macro", "Include": "{% include %}",
    "Import": "{% import %}", "FromImport": "{% import %}", "Extends": "{% extends %}", "Block": "{% block %}",
    "FilterBlock": "{% filter %}", "CallBlock": "{% call %}", "With": "{% with %}", "Add": "+", "Sub": "-", "Mul": "*",
    "Pow": "**", "Mod": "%", "Div": "/", "FloorDiv": "//", "Concat": "~", "Dict": "a dictionary",
    "Scope": "{% autoescape %}",
}
_ATTRIBUTE = re.compile(r"[a-z][a-z0-9_-]*\Z")


class Spending:
    """What one rendering has left; SecurityError where it asks for more."""

    __slots__ = ("looked_at", "printed", "steps")

    def __init__(self, name: str, context: Mapping[str, Any]) -> None:
        self.steps = STEPS[name]
        self.looked_at = LOOKED_AT
        self.printed = PRINTED + 4 * sum(_size(value) for value in context.values())

    def step(self, weight: int) -> None:
        """Account for one turn of a loop whose body has so many nodes."""
        self.steps -= weight
        if self.steps < 0:
            raise SecurityError("the loops of an untrusted template take too many steps")

    def look_at(self, value: object) -> None:
        """Account for an operation on a value."""
        if isinstance(value, str):
            self.looked_at -= len(value) + 100
        elif isinstance(value, SourceList | View):
            self.looked_at -= 10_000
        if self.looked_at < 0:
            raise SecurityError("an untrusted template looks at too much text")

    def output(self, text: str) -> str:
        """Account for a piece of output."""
        self.printed -= len(text)
        if self.printed < 0:
            raise SecurityError("an untrusted template prints too much")
        return text


def _size(value: Any) -> int:
    if isinstance(value, str | SourceList):
        return len(str(value))
    if isinstance(value, tuple):
        return sum(_size(one) for one in value)
    return sum(_size(one) for one in fields_of(value).values()) if isinstance(value, View) else 0


class RestrictedEnvironment(ImmutableSandboxedEnvironment):
    """The sandbox without globals, with the filters and tests above, and with attributes of views alone."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.globals = {}
        self.tests = {name: self.tests[name] for name in TESTS}
        own = {f"_{name}": filters.FILTERS[name] for name in FILTERS}
        self.filters = {**own, **{name: _metered(name) for name in FILTERS}, "_weighed": _weighed, "_counted": _counted}

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Allow the fields of views and what a loop knows of itself."""
        return (isinstance(obj, View) and not attr.startswith("_")) or (isinstance(obj, LoopContext) and attr in _LOOP)

    def is_safe_callable(self, obj: Any) -> bool:
        """Allow nothing to be called."""
        return False


def _metered(name: str) -> Callable[..., Any]:
    @pass_context
    def metered(context: Context, value: Any, *args: Any, **options: Any) -> Any:
        context.resolve(SPENDING).look_at(value)
        plain = value is None or isinstance(value, str | int | float | SourceList | Undefined)
        if not plain and not (name in _OF_LISTS and isinstance(value, list | tuple)):
            raise SecurityError(f"the filter {name} takes text and numbers in an untrusted template, no objects")
        return context.environment.call_filter(f"_{name}", value, args, options, context)

    return metered


@pass_context
def _weighed(context: Context, value: Any) -> Any:
    context.resolve(SPENDING).look_at(value)
    return value


@pass_context
def _counted(context: Context, value: Any, weight: int) -> Iterator[Any]:
    if not isinstance(value, SourceList | tuple):
        raise SecurityError("an untrusted template can loop over the sources, the history and attributes, and no more")
    spending = context.resolve(SPENDING)
    for one in value:
        spending.step(weight)
        yield one


class _Metering(NodeTransformer):
    """Puts the account into loops, comparisons and subscripts."""

    def visit_For(self, node: nodes.For) -> nodes.For:  # noqa: N802 - jinja2's name
        weight = 1 + sum(1 for _ in node.find_all(nodes.Node))
        self.generic_visit(node)
        node.iter = _filtered("_counted", node.iter, nodes.Const(weight, lineno=node.lineno))
        return node

    def visit_Compare(self, node: nodes.Compare) -> nodes.Compare:  # noqa: N802 - jinja2's name
        self.generic_visit(node)
        node.expr = _filtered("_weighed", node.expr)
        for operand in node.ops:
            operand.expr = _filtered("_weighed", operand.expr)
        return node

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Getitem:  # noqa: N802 - jinja2's name
        self.generic_visit(node)
        node.node = _filtered("_weighed", node.node)
        return node


def _filtered(name: str, node: nodes.Node, *args: nodes.Expr) -> nodes.Expr:
    return nodes.Filter(node, name, list(args), [], None, None, lineno=node.lineno)


def metered(tree: nodes.Template) -> nodes.Template:
    """Return a checked tree with the account built in."""
    changed = _Metering().visit(tree)
    changed.set_environment(tree.environment)
    return changed  # type: ignore[no-any-return]


def refuse(tree: nodes.Template, text: str, where: str, names: Sequence[str]) -> None:
    """Raise TemplateRenderError with everything that a template from outside may not do, each with its line.

    names: what it finds in its context.
    """
    found = [*_findings(tree, names), *_markers(text)]
    if found:
        told = "; ".join(f"{what} (line {line})" for line, what in found[:20])
        more = f"; and {len(found) - 20} more" if len(found) > 20 else ""
        raise TemplateRenderError(
            f"template {where}: not allowed in an untrusted template: {told}{more}", template=where, lineno=found[0][0]
        )


def _findings(tree: nodes.Template, names: Sequence[str]) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    known = {"loop", *names}
    stack: list[tuple[nodes.Node, int, int]] = [(tree, 0, 0)]
    count = 0
    while stack:
        node, depth, loops = stack.pop()
        count += 1
        loops += isinstance(node, nodes.For)
        what = _fault(node)
        if isinstance(node, nodes.For):
            targets = (node.target, *node.target.iter_child_nodes())
            known.update(one.name for one in targets if isinstance(one, nodes.Name))
        elif isinstance(node, nodes.Name) and node.name not in known:
            what = f"the unknown name {quote(node.name, 40)}"
        if count > NODES or depth > DEPTH or loops > LOOPS:
            what = f"more than {NODES:,} parts, {DEPTH} levels or {LOOPS} loops in one another"
        if what:
            found.append((node.lineno or 1, what))
            if count > NODES or depth > DEPTH or loops > LOOPS:
                break
        stack += [(child, depth + 1, loops) for child in node.iter_child_nodes()]
    return sorted(dict.fromkeys(found))


def _fault(node: nodes.Node) -> str:
    if not isinstance(node, _NODES):
        kind = type(node).__name__
        return _WORDS.get(kind, kind)
    if isinstance(node, nodes.Getattr) and not _ATTRIBUTE.match(node.attr):
        return f"the attribute {quote(node.attr, 40)}"
    if isinstance(node, nodes.Const):
        number = isinstance(node.value, int | float) and not abs(node.value) <= 1_000_000
        key = isinstance(node.value, str) and node.value.startswith("__")
        return f"the constant {quote(node.value, 40)}" if number or key else ""
    if isinstance(node, nodes.For) and (node.recursive or node.test is not None):
        return "a loop that is recursive or has a condition"
    if isinstance(node, nodes.Test) and node.name not in TESTS:
        return f"the test {quote(node.name, 40)}"
    if isinstance(node, nodes.Filter):
        return _filter_fault(node)
    return ""


def _filter_fault(node: nodes.Filter) -> str:
    if node.name not in FILTERS or node.node is None:
        return f"the filter {quote(node.name, 40)}"
    given = [*node.args, *(one.value for one in node.kwargs)]
    if node.dyn_args or node.dyn_kwargs or not all(isinstance(one, nodes.Const) for one in given):
        return f"the filter {node.name} with arguments that are no constants"
    values = [one.value for one in given if isinstance(one, nodes.Const)]
    if node.name == "indent" and any((len(v) if isinstance(v, str) else int(v)) > 16 for v in values if v is not None):
        return "the filter indent by more than 16"
    if node.name == "round" and any(isinstance(v, int) and v > 20 for v in values):
        return "the filter round to more than 20 places"
    if node.name == "replace":
        plain = len(values) == 2 and not node.kwargs and all(isinstance(v, str) for v in values)
        if not (plain and len(values[0]) > 0 and len(values[1]) <= 4 * len(values[0])):
            return "the filter replace, but for two texts of which the second is at most four times as long"
    return ""


def _markers(text: str) -> Iterator[tuple[int, str]]:
    rules = Rules(names=frozenset(), numbered=frozenset())
    for line, written in enumerate(literal_text(text).splitlines(), 1):
        found = scan(written, rules)
        for sign in (*found.markers, *found.boundaries):  # without names of its own only roles are boundaries
            yield line, f"the control marker {quote(sign, 40)}"
