"""What a batch came to: rows, tokens, what was left out and why, and what it may cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from promptpack.errors import OptionError, quote

if TYPE_CHECKING:
    from promptpack.payload import Payload


class Tally(NamedTuple):
    """The numbers of one payload. dropped: reason, sources, and their tokens as far as they were priced."""

    tokens: int
    sent: int
    kept: int
    dropped: tuple[tuple[str, int, int], ...]
    turns: int

    @classmethod
    def of(cls, payload: Payload) -> Tally:
        """Return the numbers of a payload."""
        dropped: dict[str, list[int]] = {}
        for one in payload.dropped:
            held = dropped.setdefault(str(one.reason), [0, 0])
            held[0] += 1
            held[1] += one.cost or 0
        return cls(
            payload.tokens, len(payload.sources), sum([one.tokens for one in payload.sources]),
            tuple((reason, count, cost) for reason, (count, cost) in dropped.items()), len(payload.dropped_turns),
        )


@dataclass(slots=True)
class Summary:
    """Totals of a run. rows: that came in. failed: of these without a payload, by the class of the error.

    tokens: of all payloads, which is what is sent. sources, kept: how many sources are sent, and their tokens.
    dropped: by reason, how many sources, and their tokens as far as they were priced before they were dropped. turns:
    of histories that are not sent. largest: the largest payload, in tokens.
    """

    rows: int = 0
    payloads: int = 0
    failed: dict[str, int] = field(default_factory=dict)
    tokens: int = 0
    sources: int = 0
    kept: int = 0
    dropped: dict[str, list[int]] = field(default_factory=dict)
    turns: int = 0
    largest: int = 0

    @property
    def failures(self) -> int:
        """How many rows have no payload."""
        return sum(self.failed.values())

    @property
    def came(self) -> tuple[int, int]:
        """The sources that came in with the rows that were rendered, and their tokens as far as they were priced."""
        return (
            self.sources + sum(count for count, _ in self.dropped.values()),
            self.kept + sum(tokens for _, tokens in self.dropped.values()),
        )

    def add(self, one: Tally) -> None:
        """Count a payload."""
        self.rows += 1
        self.payloads += 1
        self.tokens += one.tokens
        self.sources += one.sent
        self.kept += one.kept
        self.turns += one.turns
        self.largest = max(self.largest, one.tokens)
        for reason, count, tokens in one.dropped:
            held = self.dropped.setdefault(reason, [0, 0])
            held[0] += count
            held[1] += tokens

    def fail(self, kind: str) -> None:
        """Count a row that has no payload."""
        self.rows += 1
        self.failed[kind] = self.failed.get(kind, 0) + 1

    def merge(self, other: Summary) -> None:
        """Count what another run came to."""
        for name in ("rows", "payloads", "tokens", "sources", "kept", "turns"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.largest = max(self.largest, other.largest)
        for kind, count in other.failed.items():
            self.failed[kind] = self.failed.get(kind, 0) + count
        for reason, (count, tokens) in other.dropped.items():
            held = self.dropped.setdefault(reason, [0, 0])
            held[0] += count
            held[1] += tokens

    def cost(self, price: float) -> float:
        """Return what the input costs at a price for a million tokens; the answers come on top."""
        return self.tokens * price / 1_000_000

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Summary:
        """Read what `to_dict` wrote."""
        return cls(**data)

    def lines(self, price: float | None = None) -> list[str]:
        """Return the totals as lines of text.

        >>> print(*Summary(rows=2, payloads=2, tokens=900, sources=3, kept=700, largest=500).lines(2.5), sep="\\n")
        2 rows: 2 payloads, 0 failed
        tokens: 900 to send (largest payload 500), 700 of them in 3 sources; 3 sources of 700 tokens came in
        estimated cost of the input: 0.0022 at 2.5 per million tokens
        """
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(self.failed.items()))
        came, tokens = self.came
        found = [
            f"{self.rows:,} row{'s' * (self.rows != 1)}: {self.payloads:,} payload{'s' * (self.payloads != 1)}, "
            f"{self.failures:,} failed" + (f" ({kinds})" * bool(kinds)),
        ]
        found.append(
            f"tokens: {self.tokens:,} to send (largest payload {self.largest:,}), {self.kept:,} of them in "
            f"{self.sources:,} sources; {came:,} sources of {tokens:,} tokens came in"
        )
        for reason, (count, each) in sorted(self.dropped.items()):
            priced = f" of {each:,} tokens" if each else ", not priced"
            found.append(f"dropped, {reason}: {count:,} sources{priced}")
        if self.turns:
            found.append(f"dropped turns of histories: {self.turns:,}")
        if price is not None:
            cost = self.cost(price)
            told = f"{cost:,.2f}" if cost >= 1 else f"{cost:.2g}"
            found.append(f"estimated cost of the input: {told} at {price:g} per million tokens")
        return found


def checked_price(price: object) -> float | None:
    """Return a price for a million tokens; OptionError where it is none."""
    if price is None:
        return None
    if isinstance(price, bool) or not isinstance(price, int | float) or not 0 <= price < 1e9:
        raise OptionError(f"price: expected a number of 0 or more, got {quote(price)}", name="price", given=price)
    return float(price)
