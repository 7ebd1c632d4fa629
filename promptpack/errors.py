"""The exceptions of the library: what went wrong, where, and what would be right.

Every error is a `PromptpackError`, and also the built-in class that a caller would expect
(`ValueError`, `LookupError`, `RuntimeError`), so existing handlers keep working. All of them
survive pickling, which process pools need. Messages quote at most 80 characters of a source.
"""

from __future__ import annotations

import difflib
import pickle
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

QUOTE_LIMIT = 80


def quote(value: object, limit: int = QUOTE_LIMIT) -> str:
    """Return `value` as one short, printable line for an error message.

    At most `limit` characters of the value are shown; lone surrogates and control characters are
    written as escapes, so the message can always be encoded.

    >>> quote("a" * 200, 10)
    "'aaaaaaaaaa...'"
    >>> quote(3.5)
    '3.5'
    """
    if isinstance(value, str):
        shown = repr(value[:limit])
        return shown if len(value) <= limit else shown[:-1] + "..." + shown[-1]
    if value is None or isinstance(value, bool | int | float):
        small = not isinstance(value, int) or abs(value) < 10**40
        text = str(value) if small else "a very large integer"
        return text[:limit]
    return f"a value of type {type(value).__name__}"


class PromptpackError(Exception):
    """Base class of every error that the library raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Subclasses take keyword arguments; the default would call them with the message alone.
        return _rebuild, (type(self), self.args, {name: _portable(value) for name, value in self.__dict__.items()})

    def __copy__(self) -> PromptpackError:
        return _rebuild(type(self), self.args, self.__dict__)

    def __deepcopy__(self, memo: dict[int, Any]) -> PromptpackError:
        return self.__copy__()  # what is attached belongs to the caller and is never changed


def _portable(value: object) -> object:
    """Return the value, or its description where it cannot be pickled: what was given must not hide the error."""
    try:
        pickle.dumps(value)
    except Exception:  # pickle raises what it likes, and so does a foreign __reduce__
        return quote(value)
    return value


def _rebuild(cls: type[PromptpackError], args: tuple[Any, ...], state: dict[str, Any]) -> PromptpackError:
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class SourceError(PromptpackError, ValueError):
    """A source (or message) that came in is not usable: says which one, which field and why.

    `id` is the source's id where known, `index` its position in the input where known, `field` the
    name of the field at fault.
    """

    def __init__(
        self, message: str, *, id: str | None = None, index: int | None = None, field: str | None = None
    ) -> None:
        super().__init__(message)
        self.id = id
        self.index = index
        self.field = field


class DuplicateIdError(SourceError):
    """Two sources have one id, so that they could not be told apart; `id` says which."""


class OptionError(PromptpackError, ValueError):
    """An option has a value that it cannot have: `name`, the `given` value and the `known` ones.

    `context` holds the numbers of the message where a program may want them.
    """

    def __init__(
        self, message: str, *, name: str, given: object = None, known: Sequence[str] = (),
        context: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.name = name
        self.given = given
        self.known = tuple(known)
        self.context = dict(context or {})

    @classmethod
    def unknown(cls, name: str, given: object, known: Iterable[str]) -> OptionError:
        """Build the error for a name that is not among the known ones, with a suggestion.

        >>> str(OptionError.unknown("place", "fild", ["fold", "best_first"]))
        "place: unknown value 'fild'; did you mean 'fold'? Known: best_first, fold"
        """
        names = sorted(known)
        close = difflib.get_close_matches(given.lower(), names, n=1, cutoff=0.6) if isinstance(given, str) else []
        if not close and isinstance(given, str) and given:
            close = [one for one in names if one.startswith(given.lower())][:1]
        hint = f"; did you mean {close[0]!r}?" if close else "."
        return cls(
            f"{name}: unknown value {quote(given)}{hint} Known: {', '.join(names)}",
            name=name, given=given, known=names,
        )


class BudgetError(PromptpackError, ValueError):
    """The parts that must be sent do not fit the window.

    The message prints the account, the smallest window that works and what to shed. `budget` is the
    account as far as it was known, `needed` the smallest window that works, `partial` what had been
    packed by then (None where nothing was).
    """

    def __init__(
        self, message: str, *, budget: object = None, needed: int | None = None, partial: object = None
    ) -> None:
        super().__init__(message)
        self.budget = budget
        self.needed = needed
        self.partial = partial


class TokenizerError(PromptpackError, RuntimeError):
    """A counter cannot count: its vocabulary is missing or damaged, or a callable misbehaved."""

    def __init__(self, message: str, *, name: str) -> None:
        super().__init__(message)
        self.name = name


class TemplateLookupError(OptionError, LookupError):
    """A template set, or a file of one, was not found: its `name`, the `known` ones, the places `searched`."""

    def __init__(
        self, message: str, *, name: str, known: Sequence[str] = (), searched: Sequence[str] = ()
    ) -> None:
        super().__init__(message, name=name, given=name, known=known)
        self.searched = tuple(searched)


class TemplateRenderError(PromptpackError, ValueError):
    """A template cannot be compiled or rendered, or its output breaks a promise of the payload."""

    def __init__(self, message: str, *, template: str | None = None, lineno: int | None = None) -> None:
        super().__init__(message)
        self.template = template
        self.lineno = lineno


class RerankError(PromptpackError, RuntimeError):
    """A reranker failed or answered something that cannot be used.

    `status` is the status of its HTTP answer where there was one, `body` the start of what it said, `retryable`
    whether it is worth another try: by default without a status, and for 408, 429 and 500 or more.
    """

    def __init__(
        self, message: str, *, status: int | None = None, retryable: bool | None = None, body: str | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retryable = (status is None or status in (408, 429) or status >= 500) if retryable is None else retryable
        self.body = body


class CitationError(PromptpackError, ValueError):
    """An answer cites what was not sent; `verification` holds the whole result."""

    def __init__(self, message: str, *, verification: object = None) -> None:
        super().__init__(message)
        self.verification = verification
