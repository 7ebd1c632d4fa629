"""What a template writes around its values, learned once, so that a block is filled by joining strings.

A template is rendered with a `Hole` in place of each value. Where it does nothing with a hole but print it, the
result is a `Shape`: fixed texts with named gaps. Filling a shape gives exactly what rendering
would give, some fifty times faster, and shows where the fixed text ends and the value begins, which is what exact
counting needs. A template that looks into a value (filters, comparisons, macros) has no shape and is rendered each
time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NoReturn

from jinja2 import Template, nodes

# A template of these nodes alone can only print a value or ask whether it is there.
_PLAIN = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.If, nodes.For, nodes.Tuple, nodes.Compare,
    nodes.Operand, nodes.Const, nodes.Getattr, nodes.Not, nodes.And, nodes.Or, nodes.CondExpr, nodes.Test,
)
_TESTS = ("defined", "undefined", "none")
_MARK = "\x00"  # no value can hold it: escaping replaces control characters, template files with it are refused


class HoleUsedError(Exception):
    """A template looked into a hole, so it has no shape."""


class Hole:
    """Stands for a value that is there and not empty; may be printed, and nothing else."""

    __slots__ = ("_mark",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, name: str) -> None:
        self._mark = f"{_MARK}{name}{_MARK}"

    def __bool__(self) -> bool:
        return True

    def _used(self, *_: object) -> NoReturn:
        raise HoleUsedError(self._mark)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # Python and Jinja ask for their own
            raise AttributeError(name)
        raise HoleUsedError(self._mark)  # a text has other attributes than a hole

    __str__ = __repr__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __contains__ = _used
    __len__ = __iter__ = __getitem__ = __int__ = __float__ = __index__ = __add__ = __radd__ = _used
    __mod__ = __rmod__ = __mul__ = __rmul__ = __call__ = __format__ = _used


def mark(hole: Hole) -> str:
    """Return the text that marks the hole in the rendered output.

    >>> mark(Hole("n"))
    '\\x00n\\x00'
    """
    return hole._mark


@dataclass(frozen=True, slots=True)
class Shape:
    """Fixed texts with named gaps between them: `literals[0] gap[0] literals[1] gap[1] ... literals[n]`.

    >>> Shape(("<q>", "</q>"), ("question",)).fill({"question": "Why?"})
    '<q>Why?</q>'
    """

    literals: tuple[str, ...]
    gaps: tuple[str, ...]
    _pattern: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Joining by one "%" is the quickest that Python has, and blocks are filled by the thousand.
        object.__setattr__(self, "_pattern", "%s".join(one.replace("%", "%%") for one in self.literals))

    def fill(self, values: Mapping[str, str]) -> str:
        """Return the text with a value in every gap."""
        return self._pattern % tuple([values[gap] for gap in self.gaps])

    def parted(self, gap: str) -> tuple[Shape, Shape]:
        """Return what stands before the first gap of that name, and what stands after it.

        >>> Shape(("<q>", "</q>"), ("question",)).parted("question")[1].literals
        ('</q>',)
        """
        return _parted(self, gap)

    def filler(self, order: Sequence[str]) -> Callable[..., str]:
        """Return a function that fills the gaps from values in a fixed order: the quick way for many blocks.

        >>> Shape(("<q>", "</q>"), ("question",)).filler(["label", "question"])("S1", "Why?")
        '<q>Why?</q>'
        """
        parts = [repr(self.literals[0])]
        for gap, literal in zip(self.gaps, self.literals[1:], strict=True):
            parts += [f"v{order.index(gap)}", *([repr(literal)] if literal else [])]
        # Written out: a loop over the parts would cost more than all else.
        code = f"lambda {', '.join([f'v{at}' for at in range(len(order))])}: join(({', '.join(parts)},))"
        made: Callable[..., str] = eval(code, {"join": "".join})  # noqa: S307 - our own names, and quoted texts
        return made


@lru_cache(maxsize=256)
def _parted(shape: Shape, gap: str) -> tuple[Shape, Shape]:
    at = shape.gaps.index(gap)
    return Shape(shape.literals[: at + 1], shape.gaps[:at]), Shape(shape.literals[at + 1:], shape.gaps[at + 1:])


def is_plain(tree: nodes.Template) -> bool:
    """Tell whether a parsed template can do no more with a value than print it."""
    for node in tree.find_all(nodes.Node):
        if not isinstance(node, _PLAIN) or (isinstance(node, nodes.Test) and node.name not in _TESTS):
            return False
        if isinstance(node, nodes.For) and (node.recursive or node.test is not None):
            return False
    return True


def learn(template: Template, context: Mapping[str, Any]) -> Shape | None:
    """Render a plain template whose context holds `Hole`s and return its shape; None where it has none.

    A template that fails with holes has no shape: with real values it may do well, and if not, rendering says why.
    """
    try:
        text = template.render(context)
    except Exception:  # "x in 'abc'" with a hole for x is a TypeError of Python's, and no fault of the template
        return None
    parts = text.split(_MARK)
    return Shape(tuple(parts[0::2]), tuple(parts[1::2]))
