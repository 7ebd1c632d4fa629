"""The window that a BudgetError names: tried out, so that it works; only an error pays for that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from promptpack.errors import BudgetError, PromptpackError
from promptpack.window import LARGEST, Budget, Window

if TYPE_CHECKING:
    from promptpack.builder import Content, PromptBuilder
    from promptpack.payload import Payload

TRIES = 12  # renderings until a window works; where counts add up the first one does
HALVINGS = 14  # renderings to come down again, where required sources may be shortened
_PATIENT = 4  # so many tries take the number that the last one reported; later ones go further each time


def working_window(
    first: int, render: Callable[[int], Budget], *, too_small: int, shortens: bool = False
) -> Budget | None:
    """Return the account of the smallest window found that works, from `first` up; None where none was found.

    render: renders with a window of that size, and raises BudgetError, with what it would need, where it is too small.
    too_small: a size that is known not to work. shortens: what must be sent may be shortened, so that `first` may be
    more than is needed, and sizes between the two are tried as well.

    >>> def render(size: int) -> Budget:
    ...     if size < 40:
    ...         raise BudgetError("too small", needed=size + 10)
    ...     return Budget(size)
    >>> working_window(25, render, too_small=20).window
    45
    >>> working_window(75, render, too_small=20, shortens=True).window
    40
    """
    size, found = first, None
    try:
        for step in range(TRIES):
            if size > LARGEST:
                return None
            try:
                found = render(size)
                break
            except BudgetError as error:
                too_small = max(too_small, size)
                more = max(1, (error.needed or 0) - size)
                size += more << max(0, step - _PATIENT)
        for _ in range(HALVINGS if found is not None and shortens else 0):
            if size - too_small < 2:
                break
            middle = (size + too_small) // 2
            try:
                size, found = middle, render(middle)
            except BudgetError:
                too_small = middle
    except PromptpackError:  # what is wrong at a larger window is not what this error is about
        return found
    return found


class Assemble(Protocol):
    """`promptpack.assembly.assemble`, which is above this module."""

    def __call__(self, builder: PromptBuilder, content: Content, *, trying: bool = False) -> Payload:
        """Render the content by the builder."""
        ...


def trier(
    assemble: Assemble, builder: PromptBuilder, content: Content, too_small: int, shortens: bool
) -> Callable[[int], Budget | None]:
    """Return what looks for the window in which this builder renders this content; see `working_window`."""
    # A hook that sums up may cost money; what it returns never takes the room of what must be sent.
    content = replace(content, summary=None)

    def rendered(size: int) -> Budget:
        window = replace(builder.window, size=size) if isinstance(builder.window, Window) else size
        return assemble(replace(builder, window=window, on_step=None), content, trying=True).budget

    return lambda first: working_window(first, rendered, too_small=too_small, shortens=shortens)
