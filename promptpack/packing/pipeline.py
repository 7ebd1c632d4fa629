"""The packing: its settings, and the stages in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, Any, get_args

from promptpack.errors import OptionError, quote
from promptpack.packing.account import all_dropped
from promptpack.packing.arrange import in_order, placed_sources, unread_dates
from promptpack.packing.by_rank import ByRank, Spread
from promptpack.packing.candidate import Candidate, Dropped, DropReason, Packed
from promptpack.packing.choice import Limits
from promptpack.packing.choose import SELECTS, by_priority, choose
from promptpack.packing.curve import use_in
from promptpack.packing.intake import Validate, admit
from promptpack.packing.ranking import Tie, is_finite, rank_order
from promptpack.packing.route import Auto, placer
from promptpack.packing.select import Prices
from promptpack.protocols import Cost, Placer, Scorer, Selector
from promptpack.quick import maker
from promptpack.source import Source

if TYPE_CHECKING:
    from promptpack.packing.dedup import Dedup
    from promptpack.packing.diversity import Diversity
    from promptpack.packing.scoring import Scoring
    from promptpack.packing.spans import Spans

_candidate = maker(Candidate)
DEDUPS = ("off", "exact", "near", "sentences", "merge")


def words(source: Source, /) -> int:
    """Return the cost of a source where nothing better is known: the words of its text.

    >>> words(Source("a", "Three little words"))
    3
    """
    return len(source.text.split())


def _is_whole(value: object, least: int) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


def _is_one_of(value: object, known: Sequence[str]) -> bool:
    # Asked for a text first: an array compares with each name, and then is neither true nor false.
    return isinstance(value, str) and value in known


@dataclass(frozen=True, slots=True)
class Packing:
    """How sources are packed; each field is one stage, in the order in which they work.

    validate: "strict" refuses repeated ids and numbers that are not finite, "coerce" repairs and notes them.
    min_score: sources with a lower score, or none, are dropped; required ones are not.
    dedup: off, exact, near, sentences, merge, or a Dedup. score: ranks anew: a Scoring or Scorer, or
    "overlap" for the words shared with the question.
    diversity: a Diversity that reorders. select: top, prefix, density, optimal, priority, edges, spans (runs of
    sentences instead of whole sources), auto (spans where they pay, else top), a Spans, or a Selector.
    top_k: at most so many sources. min_sources: at least so many, even past the budget (flagged).
    max_per_document: at most so many of one document; the next best ones take the places.
    place: fold, u_curve, spread, best_first, best_last, buried, document, chronological, auto, a Curve, or a Placer.
    None: fold, or u_curve where spans place by worth; up to seven sources they are the same.
    group_by: a field by which sources are kept together, the group with the best source first.
    tie: how equal scores are ranked: by "id", so that the order of the input does not matter, or by "input".

    Raises OptionError for a value that a field cannot have.

    >>> Packing(select="prefix", top_k=5).dedup
    'exact'
    """

    validate: Validate = "strict"
    min_score: float | None = None
    score: str | Scoring | Scorer | None = None
    dedup: str | Dedup = "exact"
    diversity: Diversity | None = None
    select: str | Selector | Spans = "top"
    top_k: int | None = None
    min_sources: int | None = None
    max_per_document: int | None = None
    place: str | Placer | Auto | None = None
    group_by: str | None = None
    tie: Tie = "id"

    def __post_init__(self) -> None:
        for name, known in (("validate", get_args(Validate)), ("tie", get_args(Tie))):
            if not _is_one_of(getattr(self, name), known):
                raise OptionError.unknown(name, getattr(self, name), known)
        self._check("min_score", "a finite number", is_finite)
        for name, least in (("top_k", 0), ("min_sources", 0), ("max_per_document", 1)):
            self._check(name, f"a whole number of {least} or more", partial(_is_whole, least=least))
        if self.top_k is not None and (self.min_sources or 0) > self.top_k:
            raise OptionError(
                f"min_sources: {self.min_sources} is more than top_k={self.top_k}",
                name="min_sources", given=self.min_sources,
            )
        if isinstance(self.dedup, str) and self.dedup not in DEDUPS:
            raise OptionError.unknown("dedup", self.dedup, DEDUPS)
        if not callable(self.select) and not _is_one_of(self.select, SELECTS):
            self._check_spans()
        placer(self.place)
        self._check("group_by", "the name of a field", lambda value: isinstance(value, str) and bool(value))
        self._check_policies()

    def _check_policies(self) -> None:
        # Their modules are loaded only for a value that is not a plain name.
        if self.score is not None and not _is_one_of(self.score, ("overlap",)) and not callable(self.score):
            raise OptionError.unknown("score", self.score, ("overlap", "a Scoring", "a Scorer"))
        if not isinstance(self.dedup, str):
            from promptpack.packing.dedup import Dedup

            if not isinstance(self.dedup, Dedup):
                raise OptionError.unknown("dedup", self.dedup, (*DEDUPS, "a Dedup"))
        if self.diversity is not None:
            from promptpack.packing.diversity import Diversity

            self._check("diversity", "a Diversity", lambda value: isinstance(value, Diversity))

    def _check_spans(self) -> None:
        from promptpack.packing.spans import Spans

        if not isinstance(self.select, Spans):
            raise OptionError.unknown("select", self.select, SELECTS)

    def _check(self, name: str, expected: str, fits: Callable[[Any], bool]) -> None:
        value = getattr(self, name)
        if value is not None and not fits(value):
            message = f"{name}: expected {expected}, or None, got {quote(value)}"
            raise OptionError(message, name=name, given=value)


DEFAULT = Packing()


def pack(
    sources: Iterable[Source],
    budget: int | None = None,
    *,
    packing: Packing = DEFAULT,
    cost: Cost = words,
    question: str | None = None,
) -> Packed:
    """Choose, shorten and order sources so that their costs stay within a budget; a pure function.

    budget: tokens for the sources, None for no limit; an exact fit is taken. cost: prices a source, by
    default in words; a piece is priced as `replace(source, text=piece, tokens=None)`. It may carry `floor`
    (see `promptpack.protocols.Cost`), and for cuts at tokens `prefix` and `suffix`. question: what the
    scorer, `place="auto"` and cuts that keep what is relevant go by.

    Every source is in the result once: sent, or dropped with the reason. Only `min_sources` can pass the budget, and
    flags what does. Raises SourceError or DuplicateIdError for sources that cannot be used, OptionError for settings,
    BudgetError where required sources do not fit. n log n, beside what `cost`, `near` and `optimal` take.

    >>> hits = [Source("a", "one two three", 0.9), Source("b", "four five", 0.7), Source("c", "six", 0.5)]
    >>> packed = pack(hits, 4)
    >>> packed.ids, packed.used
    (('a', 'c'), 4)
    >>> packed.dropped[0].reason.value, packed.dropped[0].detail
    ('over_budget', 'needs 2 tokens, 1 left')
    """
    budget = _checked(budget, packing, question)
    prices = Prices(cost)
    admitted = admit(sources, packing.validate)
    notes = list(admitted.notes)
    first = _ranked(admitted.sources, packing.tie)
    prices.ahead(first, budget)
    entered, below = _above(first, packing.min_score)
    distinct, repeats, sentences = _distinct(entered, packing.dedup, notes)
    ranked = _rescored(distinct, packing, question)
    if packing.select == "priority":
        ranked = _numbered(by_priority(ranked, prices))
    place = _resolved(ranked, packing, question, notes)

    def prompt_order(candidates: Sequence[Candidate], costs: Sequence[int] | None = None) -> list[int]:
        return in_order(candidates, place, packing.group_by, costs, prices)

    by_rank = isinstance(place, ByRank | Spread) and packing.group_by is None
    choice = choose(
        ranked, budget, select=packing.select, prices=prices, question=question,
        prompt_order=None if by_rank else prompt_order,
        limits=Limits(packing.top_k, packing.max_per_document, packing.min_sources), diverse=bool(packing.diversity),
        required={source.id for source in admitted.sources if source.required or source.pinned},
    )
    if choice.by_value and packing.place is None:
        place = ByRank("u_curve")
    notes += [f"select={choice.select}"] if choice.select.startswith("spans") else []
    placed = placed_sources(choice, prompt_order(choice.chosen, choice.costs))
    return Packed(
        sources=placed,
        dropped=all_dropped(admitted.sources, ranked, below + repeats, choice, budget),
        budget=budget, used=sum(choice.costs),
        notes=tuple(notes), flagged=tuple(choice.flagged),
        sentences_sent=sentences[0], sentences_total=sentences[1],
        select=choice.select,
        use=use_in(place, placed),
    )


def _checked(budget: object, packing: object, question: object) -> int | None:
    if budget is not None and not _is_whole(budget, 0):
        message = f"budget: expected a whole number of 0 or more, or None, got {quote(budget)}"
        raise OptionError(message, name="budget", given=budget)
    if not isinstance(packing, Packing):
        raise OptionError(f"packing: expected a Packing, got {quote(packing)}", name="packing", given=packing)
    if question is not None and not isinstance(question, str):
        message = f"question: expected a text or None, got {quote(question)}"
        raise OptionError(message, name="question", given=question)
    return int(budget) if isinstance(budget, Integral) else None


def _ranked(sources: Sequence[Source], tie: Tie) -> list[Candidate]:
    order = rank_order([source.score for source in sources], [source.id for source in sources], tie)
    ranked = [sources[index] for index in order]
    return [
        _candidate(s, index, rank, s.score, s.text, (s.id,), None)
        for rank, (index, s) in enumerate(zip(order, ranked, strict=True), 1)
    ]


def _numbered(candidates: Sequence[Candidate]) -> list[Candidate]:
    return [
        c if c.rank == rank else Candidate(c.source, c.index, rank, c.score, c.text, c.chunk_ids, c.value)
        for rank, c in enumerate(candidates, 1)
    ]


def _above(
    candidates: list[Candidate], min_score: float | None
) -> tuple[list[Candidate], list[Dropped]]:
    if min_score is None:
        return candidates, []
    entered: list[Candidate] = []
    below: list[Dropped] = []
    for candidate in candidates:
        source, score = candidate.source, candidate.score
        if source.required or source.pinned or (score is not None and score >= min_score):
            entered.append(candidate)
        else:
            has = "it has no score" if score is None else f"its score {score:g} is below it"
            detail = f"min_score={min_score:g}: {has}"
            below.append(Dropped(source, candidate.rank, None, DropReason.MIN_SCORE, "admit", detail))
    return entered, below


def _distinct(
    candidates: list[Candidate], dedup: str | Dedup, notes: list[str]
) -> tuple[list[Candidate], list[Dropped], tuple[int, int]]:
    if dedup == "off":
        return candidates, [], (0, 0)
    from promptpack.packing.dedup import Dedup, deduplicate

    policy = Dedup.named(dedup) if isinstance(dedup, str) else dedup
    if policy is None:
        return candidates, [], (0, 0)
    result = deduplicate(candidates, policy)
    notes.extend(result.notes)
    return result.kept, result.dropped, (result.sentences_sent, result.sentences_total)


def _rescored(candidates: list[Candidate], packing: Packing, question: str | None) -> list[Candidate]:
    if packing.score is not None:
        from promptpack.packing.scoring import score_candidates

        # Equal new scores are ranked by id or input order, not by the old scores.
        candidates = score_candidates(candidates, packing.score, question)
        candidates.sort(key=lambda candidate: candidate.index)
        ids = [candidate.source.id for candidate in candidates]
        order = rank_order([candidate.score for candidate in candidates], ids, packing.tie)
        candidates = [candidates[index] for index in order]
    if packing.diversity is not None:
        from promptpack.packing.diversity import diversify

        candidates = diversify(_numbered(candidates), packing.diversity)
    return _numbered(candidates)


def _resolved(
    ranked: Sequence[Candidate], packing: Packing, question: str | None, notes: list[str]
) -> Placer:
    chosen = placer(packing.place)
    sources = [candidate.source for candidate in ranked]
    place = chosen.resolve(sources, question) if isinstance(chosen, Auto) else chosen
    unread = unread_dates(sources, place)
    notes += [unread] if unread else []
    return place
