"""select="spans": the most valuable runs of neighbouring sentences that fit, at most one of each source.

A whole chunk is often too large a unit: what is asked for stands in one of its sentences. The options of a source are
the runs of its units (`spans_text.units`), the whole text among them. A run is worth the sum of its units
(`spans_values`), less half of its first one, which may rest on what stood before it; not where the run opens the text,
or where what stood before it is sent elsewhere. Its heading, or the first unit of the text, may go along with it: one
option more, at its price (`spans_context`). Where text was left out stands "…". A unit that occurs again within one
document counts once, in the candidate that is likeliest to hold the answer. The choice is exact (`spans_choice`).

What is worth most counts as the first in placement: it opens the prompt, as the best rank does elsewhere. Ranks stay.

Without a question, or where no candidate has a word of it, there is nothing to tell sentences apart: then what "top"
takes is taken, and runs fill what that leaves: a source sent whole is worth more than all behind it (`spans_scores`).
So with a question and without one, what is sent is worth the most that the budget allows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from promptpack.errors import OptionError, quote
from promptpack.packing.candidate import Candidate, DropReason
from promptpack.packing.ranking import is_finite
from promptpack.packing.scorers import check_finite
from promptpack.packing.select import greedy
from promptpack.packing.spans_repeats import Repeats, counted
from promptpack.packing.spans_runs import SCALE, Runs, chosen_runs
from promptpack.packing.spans_scores import before_all_behind, below_best, by_score
from promptpack.packing.spans_text import units
from promptpack.packing.spans_values import features, valued

if TYPE_CHECKING:
    from promptpack.packing.choice import Choice

SentenceScorer = Callable[[str, Sequence[str]], Sequence[float]]


@dataclass(frozen=True, slots=True)
class Spans:
    """The selection by spans, with a scorer of sentences of your own.

    scorer: called once as `scorer(question, sentences)` with the units of all candidates; gives one finite number for
    each, higher is better, on any scale: a cross-encoder, or cosines of an embedding model. weight * (number - best) /
    deviation is added to the log-odds of each unit. None: the lexical value alone, like `select="spans"`.

    edges: whether "…" also stands before and behind what is sent where text was left out, a token for each; between
    parts it always does. The ranges say it in any case.

    Scores of sources, from a retriever or a reranker, count in any case. Raises OptionError for what is no scorer, and
    for a weight that is not above 0.

    >>> Spans(lambda question, sentences: [float(len(one)) for one in sentences]).weight
    1.0
    """

    scorer: SentenceScorer | None = None
    weight: float = 1.0
    edges: bool = True

    def __post_init__(self) -> None:
        if self.scorer is not None and not callable(self.scorer):
            message = f"Spans.scorer: expected a function of a question and sentences, got {quote(self.scorer)}"
            raise OptionError(message, name="scorer", given=self.scorer)
        check_finite("Spans.weight", self.weight)
        if self.weight <= 0:
            message = f"Spans.weight: expected a number above 0, got {quote(self.weight)}"
            raise OptionError(message, name="weight", given=self.weight)
        if not isinstance(self.edges, bool):
            message = f"Spans.edges: expected True or False, got {quote(self.edges)}"
            raise OptionError(message, name="edges", given=self.edges)


def choose_spans(candidates: Sequence[Candidate], choice: Choice, select: str | Spans) -> None:
    """Take the best runs of candidates in rank order into a choice, and refuse the others; select: "spans" or a Spans.

    A candidate whose text is no longer that of its source (merged, freed of repeats) is taken whole or not at all, so
    that ranges are always those of the source. Limits in number admit candidates in rank order, those of which nothing
    fits left aside.
    """
    policy = select if isinstance(select, Spans) else Spans()
    pool, out = _admitted(candidates, choice, policy)
    spans, texts = _divided(pool)
    values: list[list[float]] = []
    matched = False
    if choice.left is not None:
        held, values, matched = _valued(choice, pool, texts, policy)
    if out and not matched and choice.left is not None:  # what "top" takes has its place first
        pool, out = _admitted(candidates, choice, policy, _as_top(candidates, choice))
        spans, texts = _divided(pool)
        values = by_score(pool, texts)
    for refused, limit in out:
        if isinstance(limit, int):
            _too_large(refused, limit, choice)
        else:
            choice.refuse(refused, *limit)
    if choice.left is None:
        choice.take_all(pool, choice.prices.all(pool))
        return
    first: set[int] = set()
    ahead: dict[int, float] = {}
    scale = 1.0
    choice.by_value = matched
    if not matched:
        costs = choice.prices.all(pool)
        first = set(greedy(range(len(pool)), costs, choice.left))
        ranked = sorted([*choice.chosen, *candidates], key=lambda one: one.rank)
        whole, scale = before_all_behind(ranked)
        ahead = dict(zip([one.index for one in ranked], whole, strict=True))
        held = [ahead[one.index] for one in choice.chosen]
    # What is required stands by its worth, too, and so does what `min_sources` may take.
    choice.chosen = [replace(one, value=value) for one, value in zip(choice.chosen, held, strict=True)]
    pool = [
        replace(one, value=min(1.0, sum(own)) if matched else ahead[one.index])
        for one, own in zip(pool, values, strict=True)
    ]
    repeats = Repeats()
    for one, text in zip(choice.chosen, choice.texts, strict=True):
        _sent(one.source.document, [text[a:b] for a, b in units(text)], repeats)
    for k in sorted(first):
        _sent(pool[k].source.document, texts[k], repeats)
        choice.take(pool[k], pool[k].text, choice.prices.whole(pool[k]))
    rest = [k for k in range(len(pool)) if k not in first]
    worth = counted(
        [values[k] for k in rest], [texts[k] for k in rest], [pool[k].source.document for k in rest], repeats
    )
    runs = [Runs(pool[k], spans[k], own, choice.prices, edges=policy.edges) for k, own in zip(rest, worth, strict=True)]
    _take(runs, choice, scale)


def _sent(document: str | None, texts: Sequence[str], repeats: Repeats) -> None:
    if document is not None:
        for text in texts:
            repeats.add(document, text, None)


def _valued(
    choice: Choice, pool: Sequence[Candidate], texts: Sequence[Sequence[str]], policy: Spans
) -> tuple[list[float], list[list[float]], bool]:
    """Return what the candidates that are required are worth, the probability of each unit of the others, and whether
    the question told anything about these.
    """
    question, held = choice.question, choice.chosen
    if question and question.strip():
        every = [*held, *pool]
        parts = [*_divided(held)[1], *texts]
        found = features(every, parts, question)
        if any(found.matched[len(held):]) or policy.scorer is not None:
            values = valued(found, None if policy.scorer is None else _scored(policy, question, parts))
            return [min(1.0, sum(own)) for own in values[:len(held)]], values[len(held):], True
    return [], by_score(pool, texts), False


def _scored(policy: Spans, question: str, texts: Sequence[Sequence[str]]) -> list[list[float]]:
    flat = [text for own in texts for text in own]
    answer = policy.scorer(question, flat) if policy.scorer is not None else ()
    try:
        numbers = [float(number) for number in answer]
    except (TypeError, ValueError, OverflowError) as error:
        message = f"Spans.scorer: expected one number for each sentence, got {quote(answer)} ({error})"
        raise OptionError(message, name="scorer", given=policy.scorer) from error
    if len(numbers) != len(flat) or not all(map(is_finite, numbers)):
        what = f"{len(numbers)} numbers for {len(flat)} sentences" if len(numbers) != len(flat) else "no finite number"
        raise OptionError(f"Spans.scorer: the scorer gave {what}", name="scorer", given=policy.scorer)
    scaled = iter(below_best(numbers))
    return [[policy.weight * next(scaled) for _ in own] for own in texts]


def _units(candidate: Candidate) -> list[tuple[int, int]]:
    """Return the units that may be sent apart: a text that is empty or changed is one."""
    text = candidate.text
    return (units(text) if text == candidate.source.text else []) or [(0, len(text))]


def _divided(pool: Sequence[Candidate]) -> tuple[list[list[tuple[int, int]]], list[list[str]]]:
    """Return the units of candidates, as places and as texts."""
    spans = [_units(one) for one in pool]
    return spans, [[one.text[a:b] for a, b in own] for one, own in zip(pool, spans, strict=True)]


# What keeps a candidate out: a limit in number, or the tokens of its least run.
Limit = tuple[DropReason, str] | int


def _admitted(
    candidates: Sequence[Candidate], choice: Choice, policy: Spans, sure: Set[int] = frozenset()
) -> tuple[list[Candidate], list[tuple[Candidate, Limit]]]:
    """Return the candidates that the limits in number admit, in rank order, and the others; sure: indices of those
    that have their places already.
    """
    limits, before = choice.limits, choice.documents.copy()
    if limits.top_k is None and limits.max_per_document is None:
        return list(candidates), []
    pool: list[Candidate] = []
    out: list[tuple[Candidate, Limit]] = []
    taken = len(sure)
    choice.documents.update(one.source.document for one in candidates if one.index in sure and one.source.document)
    for one in candidates:
        if one.index in sure:
            pool.append(one)
            continue
        limit: Limit | None = choice.limited(one, taken)
        if limit is None and choice.left is not None:
            least = Runs(one, own := _units(one), [0] * len(own), choice.prices, edges=policy.edges).least()
            limit = least if least > choice.left else None
        if limit is not None:
            out.append((one, limit))
            continue
        pool.append(one)
        taken += 1
        if one.source.document is not None:
            choice.documents[one.source.document] += 1
    choice.documents = before
    return pool, out


def _as_top(candidates: Sequence[Candidate], choice: Choice) -> Set[int]:
    """Return the indices of what "top" takes within the limits."""
    left, before = choice.left or 0, choice.documents.copy()
    taken: set[int] = set()
    for one in candidates:
        if choice.limited(one, len(taken)) is None and (cost := choice.prices.bound(one, left)[0]) <= left:
            left -= cost
            taken.add(one.index)
            if one.source.document is not None:
                choice.documents[one.source.document] += 1
    choice.documents = before
    return taken


def _too_large(candidate: Candidate, least: int, choice: Choice) -> None:
    candidate = replace(candidate, value=0.0)  # its units were not looked at
    detail = f"its least run needs {least} tokens, {choice.left} left"
    choice.refused.append((candidate, DropReason.OVER_BUDGET, choice.prices.whole(candidate), detail))


def _take(runs: Sequence[Runs], choice: Choice, scale: float) -> None:
    left = choice.left or 0
    taken = chosen_runs(runs, left)
    for run, at in zip(runs, taken, strict=True):
        candidate = run.candidate
        if at is None:
            least = run.least()
            if least > left:
                detail = f"its least run needs {least} tokens, {left} left"
                choice.refused.append((candidate, DropReason.OVER_BUDGET, run.whole, detail))
            else:
                worth = scale * run.value(0, len(run.units) - 1, 0) / SCALE
                why = f"worth {worth:.3g} whole; the runs chosen are worth more together"
                choice.refuse(candidate, DropReason.NOT_SELECTED, why)
            continue
        ranges = run.ranges(at)
        value = scale * min(1.0, run.value(*at) / SCALE)  # units are rounded one by one
        choice.take(replace(candidate, value=value), run.text(at), run.cost(at))
        if ranges != ((0, len(candidate.text)),):
            choice.ranges[candidate.index] = ranges
