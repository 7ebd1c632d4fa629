"""The context window: the plan of who gets how much, and the account of what was used."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral

from promptpack.errors import BudgetError, OptionError, quote

LARGEST = 1_000_000_000
_PARTS = ("system", "tools", "history", "question", "frame")


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
        _check("window", self.size, least=1)
        if self.answer is not None:
            _check("answer", self.answer)
        _check("margin", self.margin)
        share = self.history
        if isinstance(share, float):
            if not 0 <= share <= 1:
                raise OptionError(
                    f"history: a share lies between 0.0 and 1.0 (a whole number means tokens), got {share}",
                    name="history", given=share,
                )
        else:
            _check("history", share)

    @classmethod
    def of(cls, value: int | Window) -> Window:
        """Return a window as it is, and a size as the plan with the default reserves."""
        return value if isinstance(value, Window) else cls(value)

    @property
    def reserve(self) -> int:
        """The tokens kept free for the answer: `answer`, or min(1024, size // 4) where it is None."""
        return min(1024, self.size // 4) if self.answer is None else self.answer

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
    of the model's tokenizer (False for estimates).

    `used <= input` always holds for a payload, and `input == window - answer - margin`.
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

    def __str__(self) -> str:
        packed = self.used - self.fixed
        rows = [
            ("system", self.system, ""),
            ("tools", self.tools, ""),
            ("history", self.history, ""),
            ("sources", packed, f"of {self.sources} available"),
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
    for name, value in zip(_PARTS, (system, tools, history, question, frame), strict=True):
        _check(name, value)
    account = Budget(
        window=plan.size, answer=plan.reserve, margin=plan.margin, system=system, history=history,
        question=question, frame=frame, exact=exact, tools=tools,
    )
    room = account.input - account.fixed
    account = replace(account, sources=max(0, room), used=account.fixed)
    if room < 0:
        raise shortfall(account, account.fixed)
    return account


def shortfall(
    account: Budget, needed: int, *, what: str = "the fixed parts", partial: object = None, required: int = 0
) -> BudgetError:
    """Build the error for an input of `needed` tokens that passes the account's limit.

    `required` is the share of it that the required sources take; `partial` is attached as it is.
    """
    smallest = needed + account.answer + account.margin
    parts = [(name, getattr(account, name)) for name in _PARTS]
    parts += [("required sources", required), ("answer reserve", account.answer), ("margin", account.margin)]
    numbers = " + ".join(f"{name} {tokens}" for name, tokens in parts if tokens)
    over = smallest - account.window
    large = sorted((part for part in parts if part[1] and part[0] != "frame"), key=lambda part: -part[1])
    advice = {
        "answer reserve": "reserve less for the answer (Window.answer)",
        "margin": "lower the margin (Window.margin)",
        "system": "shorten the system text",
        "question": "shorten the question",
        "history": "allow less history (Window.history)",
        "tools": "send fewer tool schemas",
        "required sources": "require fewer sources, or give them a Cut",
    }
    shed = "; ".join(f"{advice[name]}: {tokens} tokens" for name, tokens in large[:3])
    return BudgetError(
        f"{what} do not fit the window of {account.window} tokens: {numbers} = {smallest}, {over} too many. "
        f"The smallest window that works is {smallest}. What could be shed: {shed}.",
        budget=account, needed=smallest, partial=partial,
    )


def _check(name: str, value: object, least: int = 0) -> None:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise OptionError(f"{name}: expected a whole number of tokens, got {quote(value)}", name=name, given=value)
    if not least <= int(value) <= LARGEST:
        raise OptionError(
            f"{name}: expected {least} to {LARGEST:,} tokens, got {quote(int(value))}", name=name, given=value
        )
