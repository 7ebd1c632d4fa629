"""The context window: the plan of who gets how much, and the account of what was used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from operator import attrgetter

from promptpack.errors import BudgetError, OptionError, quote

LARGEST = 1_000_000_000
DEFAULT_ANSWER = 1024  # the reserve for the answer of a large window; a quarter of a small one
_PARTS = ("system", "tools", "history", "question", "frame")
_NUMBERS = ("window", "answer", "margin", *_PARTS, "sources", "used", "enclosures", "metadata")
_numbers = attrgetter(*_NUMBERS)


@dataclass(frozen=True, slots=True)
class Window:
    """The plan: how large the window is and what is kept free of it (all in tokens).

    size: the model's context window, input and output together.
    answer: the reserve for the answer; None takes min(1024, size // 4); 0 is a value.
    history: the most that the history may take: a whole number of tokens, or a float from 0 to 1, the
    share of what is left after every other reserve. What it does not use flows to the sources.
    margin: a safety distance, for counters that estimate.

    Raises OptionError for a value that no window can have.

    >>> Window(8192).reserve, Window(2048, answer=500).reserve
    (1024, 500)
    """

    size: int
    answer: int | None = None
    history: int | float = 0.5
    margin: int = 0

    def __post_init__(self) -> None:
        # Plain numbers are kept, so that numpy's compare, pickle and print like the others.
        object.__setattr__(self, "size", _whole("window", self.size, least=1))
        if self.answer is not None:
            object.__setattr__(self, "answer", _whole("answer", self.answer))
        object.__setattr__(self, "margin", _whole("margin", self.margin))
        object.__setattr__(self, "history", _share(self.history))

    @classmethod
    def of(cls, value: int | Window) -> Window:
        """Return a window as it is, and a size as the plan with the default reserves."""
        return value if isinstance(value, Window) else cls(value)

    @property
    def reserve(self) -> int:
        """The tokens kept free for the answer: `answer`, or min(1024, size // 4) where it is None."""
        return min(DEFAULT_ANSWER, self.size // 4) if self.answer is None else self.answer

    def history_room(self, left: int) -> int:
        """Return the most that the history may take where `left` tokens remain after all other reserves.

        >>> Window(1000, history=0.5).history_room(301), Window(1000, history=200).history_room(150)
        (150, 150)
        """
        want = int(left * self.history) if isinstance(self.history, float) else self.history
        return max(0, min(want, left))


@dataclass(frozen=True, slots=True)
class Budget:
    """The account of one payload, in tokens; printing it gives the table.

    window, answer, margin: as planned. system, tools, history, question: what these parts take.
    frame: what the template writes around them, and the roles of the messages. sources: the room for the
    sources, enclosures included. used: everything that is sent. exact: whether the counts are those
    of the model's tokenizer (False for estimates). enclosures: what the sources that are sent cost besides their
    texts, and metadata: how much of that their shown fields do.

    `used <= input` always holds for a payload, and `input == window - answer - margin`. Raises OptionError for a
    number that is none.
    """

    window: int
    answer: int = 0
    margin: int = 0
    system: int = 0
    history: int = 0
    question: int = 0
    frame: int = 0
    sources: int = 0
    used: int = 0
    exact: bool = True
    tools: int = 0
    enclosures: int = 0
    metadata: int = 0

    def __post_init__(self) -> None:
        values = _numbers(self)
        if set(map(type, values)) != {int} or min(values) < 0:  # asked for each payload, and mostly all is well
            for name, value in zip(_NUMBERS, values, strict=True):
                object.__setattr__(self, name, _whole(f"budget: {name}", value, most=None))
        if not isinstance(self.exact, bool):
            raise OptionError(
                f"budget: exact: expected True or False, got {quote(self.exact)}", name="exact", given=self.exact
            )

    @property
    def input(self) -> int:
        """The most that may be sent: the window without the answer reserve and the margin."""
        return self.window - self.answer - self.margin

    @property
    def fixed(self) -> int:
        """What is sent besides the sources."""
        return self.system + self.tools + self.history + self.question + self.frame

    @property
    def left(self) -> int:
        """What could still be sent."""
        return self.input - self.used

    def _around(self) -> str:
        shown = f", {self.metadata:,} of them for metadata" if self.metadata else ""
        return f"; {self.enclosures:,} around the texts{shown}" if self.enclosures else ""

    def __str__(self) -> str:
        packed = self.used - self.fixed
        rows = [
            ("system", self.system, ""),
            ("tools", self.tools, ""),
            ("history", self.history, ""),
            ("sources", packed, f"of {self.sources} available{self._around()}"),
            ("question", self.question, ""),
            ("frame", self.frame, "template and roles"),
            ("used", self.used, f"of {self.input} allowed" + ("" if self.exact else ", estimated")),
            ("free", self.left, ""),
            ("margin", self.margin, ""),
            ("answer", self.answer, "reserved"),
            ("window", self.window, ""),
        ]
        shown = [row for row in rows if row[1] or row[0] not in ("tools", "history", "margin")]
        wide = max(len(f"{row[1]:,}") for row in shown)
        return "\n".join(f"{name:<9}{tokens:>{wide},}  {note}".rstrip() for name, tokens, note in shown)


def allocate(
    window: int | Window,
    *,
    system: int = 0,
    history: int = 0,
    question: int = 0,
    frame: int = 0,
    tools: int = 0,
    exact: bool = True,
) -> Budget:
    """Return the account after the fixed parts: what the sources may take, in tokens.

    sources = size - answer - margin - system - tools - history - question - frame; 0 is allowed.
    Raises BudgetError where that is below 0, with every number, the smallest window that works and what to
    shed; OptionError for a negative part.

    >>> allocate(Window(2048, answer=500), system=350, question=40).sources
    1158
    """
    plan = Window.of(window)
    given = {"system": system, "tools": tools, "history": history, "question": question, "frame": frame}
    parts = {name: _whole(name, value) for name, value in given.items()}
    fixed = sum(parts.values())
    room = plan.size - plan.reserve - plan.margin - fixed
    account = Budget(
        window=plan.size, answer=plan.reserve, margin=plan.margin, sources=max(0, room), used=fixed, exact=exact,
        **parts,
    )
    if room < 0:
        raise shortfall(account, account.fixed, plan=plan)
    return account


def shortfall(
    account: Budget, needed: int, *, what: str = "the fixed parts", partial: object = None, required: int = 0,
    plan: Window | None = None, works: Callable[[int], Budget | None] | None = None,
) -> BudgetError:
    """Build the error for an input of `needed` tokens that passes the account's limit.

    `required` is the share of it that the required sources take; `partial` is attached as it is. `plan` tells
    whether the answer reserve grows with the window; without it that is read off the account. `works` tries the window
    that follows from the numbers and larger ones: it returns the account of one that works, or None.
    """
    smallest = _smallest(account, needed, plan)
    answer, margin = smallest - needed - account.margin, account.margin
    found = works(smallest) if works else None
    if found is not None:
        smallest, answer, margin = found.window, found.answer, found.margin
    named = f"{smallest}" if found is not None or works is None else f"at least {smallest}"
    every = {
        **{name: getattr(account, name) for name in _PARTS},
        "required sources": max(required, needed - account.fixed),
        "answer reserve": account.answer, "margin": account.margin,
    }
    parts = [(name, tokens) for name, tokens in every.items() if tokens]
    numbers = " + ".join(f"{name} {tokens}" for name, tokens in parts)
    total = needed + account.answer + account.margin
    more = [f"an answer reserve of {answer}"] if answer != account.answer else []
    more += [f"a margin of {margin}"] if margin != account.margin else []
    grown = f" (with {' and '.join(more)})" if more else ""
    large = sorted(parts, key=lambda part: -part[1])
    shed = "; ".join(f"{_ADVICE[name]}: {tokens} tokens" for name, tokens in large[:3])
    return BudgetError(
        f"{what} do not fit the window of {account.window} tokens: {numbers} = {total}, {total - account.window} too "
        f"many. The smallest window that works is {named}{grown}. What could be shed: {shed}.",
        budget=account, needed=smallest, partial=partial,
    )


_ADVICE = {
    "answer reserve": "reserve less for the answer (Window.answer)",
    "margin": "lower the margin (Window.margin)",
    "system": "shorten the system text",
    "question": "shorten the question",
    "history": "allow less history (Window.history)",
    "tools": "send fewer tool schemas",
    "frame": "take a template set that writes less",
    "required sources": "require fewer sources, or give them a Cut",
}


def _smallest(account: Budget, needed: int, plan: Window | None) -> int:
    """Return the smallest size s with needed + margin + reserve(s) <= s."""
    default = plan.answer is None if plan else account.answer == min(DEFAULT_ANSWER, account.window // 4)
    rest = needed + account.margin
    if not default:
        return rest + account.answer
    # A quarter is rounded down, so s - s // 4 >= rest means s > 4 * (rest - 1) / 3.
    return max(1, min(rest + DEFAULT_ANSWER, 4 * (rest - 1) // 3 + 1))


def _whole(name: str, value: object, least: int = 0, most: int | None = LARGEST) -> int:
    """Return the value as a plain int; OptionError where it is none, or outside of least to most."""
    if type(value) is int:
        number = value
    elif isinstance(value, bool) or not isinstance(value, Integral):
        raise OptionError(f"{name}: expected a whole number of tokens, got {quote(value)}", name=name, given=value)
    else:
        number = int(value)
    if number < least or (most is not None and number > most):
        known = f"{least} or more" if most is None else f"{least} to {most:,}"
        raise OptionError(f"{name}: expected {known} tokens, got {quote(number)}", name=name, given=value)
    return number


def _share(value: object) -> int | float:
    """Return what `Window.history` means: a float is a share, a whole number is tokens."""
    if isinstance(value, bool | Integral) or not isinstance(value, Real):
        return _whole("history", value)
    share = float(value)
    if not 0 <= share <= 1:
        raise OptionError(
            f"history: a share lies between 0.0 and 1.0 (a whole number means tokens), got {quote(share)}",
            name="history", given=value,
        )
    return share
