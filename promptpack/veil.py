"""Stand-ins for untrusted texts: a template that is rendered with them writes its own structure and nothing else.

A `Veil` behaves like the text that it stands for: it compares, slices, splits, has its length, so that a template takes
the same branches. What it prints is a sign that means nothing. So the difference between a payload and the same payload
rendered with stand-ins is what the texts brought in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from markupsafe import Markup

from promptpack.escape.fold import seen_before

_SIGN = "\ufdd0"  # a code point that is no character: no template writes it, and no shape holds it
_LETTER = "\u0436"  # stands for a letter at the end: a tag glued to a word may be a type argument
_OPERATORS = (
    "__getitem__", "__len__", "__iter__", "__contains__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__",
    "__add__", "__radd__", "__mul__", "__rmul__", "__mod__",
)


class Veil(Markup):
    """Stands for escaped text."""

    __slots__ = ("real",)
    real: str

    def __hash__(self) -> int:
        return hash(self.real)

    def __int__(self) -> int:
        return int(self.real)

    def __float__(self) -> float:
        return float(self.real)


class PlainVeil(str):
    """Stands for text that a template made without markup, and that is escaped when it is printed."""

    __slots__ = ("real",)
    real: str

    def __hash__(self) -> int:
        return hash(self.real)

    def __int__(self) -> int:
        return int(self.real)

    def __float__(self) -> float:
        return float(self.real)


def veil(text: str, keep: Iterable[tuple[int, int]] = ()) -> str:
    """Return a stand-in for a text; the spans in `keep` are printed as they are.

    >>> shown = veil(Markup("three words here"))
    >>> shown == "three words here", len(shown), shown.split()[0] == "three", str(shown)
    (True, 16, True, '\\ufdd0ж')
    """
    base: Any = Veil if isinstance(text, Markup) else PlainVeil
    real = str.__str__(text)
    if not real.strip():
        return text
    kept = "".join(real[start:end] for start, end in keep)
    glued = seen_before(real, len(real))
    # A round bracket behind a label makes it a link.
    shown = ("(" if real[0] == "(" else "") + _SIGN + kept + (_LETTER if glued.isalnum() or glued == "_" else _SIGN)
    made = str.__new__(base, shown)
    made.real = real
    return made  # type: ignore[no-any-return]


def _veiled(value: Any) -> Any:
    if isinstance(value, Veil | PlainVeil):
        return value
    if isinstance(value, str):
        return veil(value)
    if isinstance(value, list | tuple):
        return type(value)(_veiled(one) for one in value)
    return value


def _unveiled(value: Any) -> Any:
    if isinstance(value, Veil):
        return Markup(value.real)  # noqa: S704 - what it stands for is escaped
    if isinstance(value, PlainVeil):
        return value.real
    if isinstance(value, Mapping):
        return {key: _unveiled(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_unveiled(one) for one in value)
    return value


def _method(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **options: Any) -> Any:
        result = getattr(_unveiled(self), name)(*_unveiled(args), **_unveiled(options))
        return map(_veiled, result) if name == "__iter__" else _veiled(result)

    return method


for _class, _base in ((Veil, Markup), (PlainVeil, str)):
    _own = [one for one in dir(_base) if not one.startswith("_") and callable(getattr(_base, one))]
    for _name in (*_OPERATORS, *(one for one in _own if one not in ("escape", "maketrans"))):
        if hasattr(_base, _name):
            setattr(_class, _name, _method(_name))
