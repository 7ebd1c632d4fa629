"""The shapes that a user's own parts may have: counters, scorers, selectors, placers, escapers.

All are plain callables or small objects with one method; nothing has to be subclassed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Protocol, runtime_checkable

from markupsafe import Markup

from promptpack.source import Source


@runtime_checkable
class TokenCounter(Protocol):
    """Counts the tokens of a text: any callable from str to int (>= 0).

    A counter may also carry, as attributes:

    * `name: str`: how the report calls it;
    * `exact: bool`: whether its counts are those of the model's tokenizer (default False for the
      library's estimates, True for callables, which are taken at their word);
    * `additive: bool`: whether counts add up at the boundaries of `promptpack.tokens.boundary`
      (default False: then the whole payload is counted);
    * `floor(text, limit) -> int`: a cheap lower bound of the count, which may stop early once it
      passes `limit`;
    * `prefix(text, n) -> str`: the longest start of the text that costs at most n tokens.
    """

    def __call__(self, text: str, /) -> int: ...


class Cost(Protocol):
    """Prices a source in tokens, enclosure included: `Callable[[Source], int]`.

    It may carry `floor(source, limit) -> int`: a cheap lower bound of the price, asked for first, so
    that a source which cannot fit need not be tokenised. It may carry `ahead(sources, budget)`, which is told all
    sources in rank order before any price is asked for: many are counted faster together.
    """

    def __call__(self, source: Source, /) -> int: ...


class Scorer(Protocol):
    """Gives each source a score, aligned with its input; higher is better."""

    def __call__(self, sources: Sequence[Source], /) -> Sequence[float]: ...


class Reranker(Protocol):
    """Scores sources for a query: one number for each source, in the order of the input."""

    def rerank(
        self, query: str, sources: Sequence[Source]
    ) -> Sequence[float] | Awaitable[Sequence[float]]: ...


class Selector(Protocol):
    """Chooses which candidates are sent: indices into `costs`, which is in rank order, best first."""

    def __call__(
        self, costs: Sequence[int], values: Sequence[float], budget: int, /
    ) -> Sequence[int]: ...


class Placer(Protocol):
    """Orders the chosen candidates: a permutation of range(len(sources)), which are in rank order.

    It may carry `by_cost(costs, values, before, total) -> Sequence[int]`, which is asked instead: what the
    candidates cost in tokens and are worth to the selection, for `before` of all `total` tokens stand ahead of them.
    """

    def __call__(self, sources: Sequence[Source], /) -> Sequence[int]: ...


class Escaper(Protocol):
    """Makes a text inert for the payload that it goes into; the result is final (`Markup`)."""

    def __call__(self, text: str, /) -> Markup: ...

