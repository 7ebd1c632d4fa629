"""Which candidates repeat others: equal texts, nearly equal texts, repeated sentences, overlaps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args

from promptpack.errors import OptionError, quote
from promptpack.packing.candidate import Candidate, Dropped, DropReason
from promptpack.packing.similarity import check_share, folded, trigram_similarity

Keep = Literal["best", "first", "last"]

NEAR_THRESHOLD = 0.9


@dataclass(frozen=True, slots=True)
class Dedup:
    """What counts as a repeat, and which copy stays.

    threshold: trigram Jaccard similarity (0 to 1) from which two texts are one; 1.0 means equal text.
    keep: which copy stays: the best ranked, or the first or last of the input. A required or pinned source
        always stays: among its copies it is the one that is kept.
    sentences: also remove sentences that a better source has already sent.
    merge: also stitch overlapping and adjacent chunks of one document into one source.
    guard_numbers: texts that differ in a number or a negation are never near-duplicates.
    length_bucket: compare nearly equal texts only if their lengths (characters), divided by this and
        rounded down, differ by at most one. None compares all.
    max_candidates: at most so many comparisons for each text that opens a group of near-duplicates (None: no
        bound); where it stopped a comparison the notes say so.
    fold: compare in NFC with white space folded; False compares texts exactly as they are.

    Raises OptionError for a value that a field cannot have.

    >>> Dedup.named("exact")
    Dedup(threshold=1.0, keep='best', sentences=False, merge=False, guard_numbers=True, length_bucket=None, \
max_candidates=None, fold=True)
    """

    threshold: float = 1.0
    keep: Keep = "best"
    sentences: bool = False
    merge: bool = False
    guard_numbers: bool = True
    length_bucket: int | None = None
    max_candidates: int | None = None
    fold: bool = True

    def __post_init__(self) -> None:
        check_share("Dedup.threshold", self.threshold)
        if self.keep not in get_args(Keep):
            raise OptionError.unknown("Dedup.keep", self.keep, get_args(Keep))
        for name in ("sentences", "merge", "guard_numbers", "fold"):
            if not isinstance(getattr(self, name), bool):
                given = getattr(self, name)
                message = f"Dedup.{name}: expected True or False, got {quote(given)}"
                raise OptionError(message, name=name, given=given)
        for name in ("length_bucket", "max_candidates"):
            given = getattr(self, name)
            if given is not None and (isinstance(given, bool) or not isinstance(given, int) or given < 1):
                raise OptionError(
                    f"Dedup.{name}: expected a whole number of 1 or more, or None, got {quote(given)}",
                    name=name, given=given,
                )

    @staticmethod
    def named(name: str) -> Dedup | None:
        """Return the policy of a name: off (None), exact, near (0.9), sentences or merge.

        >>> Dedup.named("near").threshold
        0.9
        """
        if name == "off":
            return None
        known = _policies()
        policy = known.get(name) if isinstance(name, str) else None
        if policy is None:
            raise OptionError.unknown("dedup", name, ["off", *known])
        return policy


@cache
def _policies() -> dict[str, Dedup]:
    return {
        "exact": Dedup(), "near": Dedup(threshold=NEAR_THRESHOLD),
        "sentences": Dedup(sentences=True), "merge": Dedup(merge=True),
    }


@dataclass(frozen=True, slots=True)
class Deduplicated:
    """What is left, what was dropped and why.

    kept: in the order of the input. dropped: in the order of the input, `of` naming the source that stays.
    notes: bounds that were reached, merges, required repeats. sentences_sent: distinct sentences in what is
    kept; sentences_total: sentences of all candidates (both 0 unless the policy removes sentences).
    """

    kept: list[Candidate]
    dropped: list[Dropped]
    notes: list[str]
    sentences_sent: int = 0
    sentences_total: int = 0


def deduplicate(candidates: Sequence[Candidate], policy: Dedup) -> Deduplicated:
    """Return the candidates without repeats, in their order, and the repeats as Dropped.

    candidates: usually in rank order. Groups are formed in the order given: each text joins the earliest
    group whose first text it equals, or is like by at least the threshold; `keep` then picks the one that
    stays (best: lowest rank; first and last: by place in the input). Order of work: equal texts, nearly
    equal ones, merge, sentences. Exact comparison is linear; `near` see `promptpack.packing.join`.

    >>> from promptpack.source import Source
    >>> sources = [Source("a", "Same text."), Source("b", "Same  text.")]
    >>> result = deduplicate([Candidate.of(s, i, i + 1) for i, s in enumerate(sources)], Dedup())
    >>> [c.source.id for c in result.kept], result.dropped[0].detail
    (['a'], "same text as 'a'")
    """
    notes: list[str] = []
    kept, dropped = _without_copies(candidates, policy, notes)
    total = sent = 0
    if policy.merge:
        from promptpack.packing.merge import merge

        kept, merged = merge(kept, notes)
        dropped = dropped + merged
    if policy.sentences:
        from promptpack.packing.repeats import count_sentences, without_repeats

        kept, empty, sent, total = without_repeats(kept, notes)
        if policy.merge:
            total = sum(count_sentences(candidate.text) for candidate in candidates)
        else:
            total += sum(count_sentences(drop.source.text) for drop in dropped)
        dropped = dropped + empty
    if policy.merge or policy.sentences:
        place = {id(candidate.source): at for at, candidate in enumerate(candidates)}
        dropped.sort(key=lambda drop: place[id(drop.source)])
    return Deduplicated(kept, dropped, notes, sent, total)


def _without_copies(
    candidates: Sequence[Candidate], policy: Dedup, notes: list[str]
) -> tuple[list[Candidate], list[Dropped]]:
    texts = [c.text for c in candidates]
    if policy.fold:
        alike = _maybe_equal(texts) if policy.threshold == 1.0 else range(len(texts))
        if not alike:
            return list(candidates), []
        for at in alike:
            texts[at] = folded(texts[at])
    else:
        alike = range(len(texts))
    groups = _equal(texts, alike) if policy.threshold == 1.0 else _groups(texts, policy, notes)
    of: dict[int, int] = {}
    for group in groups:
        if len(group) > 1:
            stay = [group[k] for k in _chosen([candidates[at] for at in group], policy.keep)]
            of.update(dict.fromkeys(set(group).difference(stay), stay[0]))
    dropped = [_copy(candidates, texts, at, of[at]) for at in sorted(of)]
    return [candidate for at, candidate in enumerate(candidates) if at not in of], dropped


def _maybe_equal(texts: Sequence[str]) -> list[int]:
    """Return which texts have the last and first words that others have, too; the others equal none: no need to fold.

    The last words are looked at first: texts of one document open alike more often than they end alike.
    """
    last = [" ".join(_last_words(text)) for text in texts]
    closing = _shared(last)
    both = _shared([" ".join([*texts[at].split(None, 3)[:3], last[at]]) for at in closing])
    return [closing[place] for place in both]


def _last_words(text: str) -> list[str]:
    words = text[-40:].rsplit(None, 2)
    return (words if len(words) == 3 else text.rsplit(None, 2))[-2:]  # else they start further up


def _shared(keys: Sequence[str]) -> list[int]:
    """Return the places of the keys that occur more than once, in order."""
    alike = keys if "".join(keys).isascii() else [key if key.isascii() else folded(key) for key in keys]
    often = Counter(alike)
    return [at for at, key in enumerate(alike) if often[key] > 1]


def _groups(texts: list[str], policy: Dedup, notes: list[str]) -> list[list[int]]:
    """Return the groups of equal or nearly equal texts, by order of their first texts."""
    from promptpack.packing.join import near_groups

    if policy.max_candidates is not None and not policy.fold:
        # Exact texts with a bound: every copy counts as a comparison, as in the system that the
        # Reorderer reproduces.
        equal = [[at] for at in range(len(texts))]
    else:
        # A copy always joins the group of its first copy, so it need not be compared again.
        equal = _equal(texts, range(len(texts)))
    near, unseen = near_groups(
        [texts[group[0]] for group in equal], policy.threshold,
        guard=policy.guard_numbers, length_bucket=policy.length_bucket, max_candidates=policy.max_candidates,
    )
    if unseen:
        notes.append(
            f"near-duplicates: max_candidates={policy.max_candidates} left {unseen} comparisons undone; "
            "some near-duplicates may have stayed"
        )
    return [sorted(at for first in group for at in equal[first]) for group in near]


def _equal(texts: Sequence[str], places: Sequence[int]) -> list[list[int]]:
    groups: dict[str, list[int]] = {}
    for at in places:
        groups.setdefault(texts[at], []).append(at)
    return list(groups.values())


def _chosen(group: Sequence[Candidate], keep: Keep) -> list[int]:
    """Return which members of a group stay: the required ones, else the one that `keep` names."""
    members = range(len(group))
    required = [k for k in members if group[k].source.required or group[k].source.pinned]
    if keep == "best":
        order = sorted(required or members, key=lambda k: group[k].rank)
    else:
        order = sorted(required or members, key=lambda k: group[k].index, reverse=keep == "last")
    return order if required else order[:1]


def _copy(candidates: Sequence[Candidate], texts: list[str], at: int, best: int) -> Dropped:
    candidate, stays = candidates[at], candidates[best]
    name = quote(stays.source.id)
    if texts[at] == texts[best]:
        reason, detail = DropReason.DUPLICATE, f"same text as {name}"
    else:
        share = trigram_similarity(texts[at], texts[best])
        reason = DropReason.NEAR_DUPLICATE
        detail = f"nearly the text of {name}: trigram similarity {share:.3f}"
    return Dropped(candidate.source, stays.rank, None, reason, "dedup", detail, stays.source.id)
