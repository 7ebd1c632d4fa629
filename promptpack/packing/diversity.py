"""Relevance against repetition: maximal marginal relevance, with an account of documents already used.

Carbonell and Goldstein (1998): the next pick is the candidate with the greatest
`balance * relevance - (1 - balance) * (greatest similarity to a pick)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from promptpack.errors import OptionError, quote
from promptpack.packing.candidate import Candidate
from promptpack.packing.ranking import is_finite, rank_gain
from promptpack.packing.scoring import as_sent, normalized
from promptpack.packing.similarity import check_share, trigram_codes
from promptpack.source import Source

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Similarity = Callable[[Source, Source], float]
Row = Callable[[int], Any]


@dataclass(frozen=True, slots=True)
class Diversity:
    """How candidates are ranked anew so that they repeat one another less.

    relevance: 0 to 1, the weight of relevance; the rest is the weight of not being like better ones. 1 keeps
    the order.
    document_weight: taken off for each source of the same document that was picked before; 0 or more.
    field: what a document is told by: `document`, or a metadata field. Sources without it share one.
    max_candidates: only so many of the best are ranked anew, the others follow in their order; time and
    memory grow with
        the square of this number (None: of all).
    similarity: "trigram" (Jaccard over trigrams), or a callable of two sources that gives a finite number.

    Raises OptionError for a value that a field cannot have.

    >>> Diversity(relevance=0.5).similarity
    'trigram'
    """

    relevance: float = 0.7
    document_weight: float = 0.0
    field: str = "document"
    max_candidates: int | None = None
    similarity: Literal["trigram"] | Similarity = "trigram"

    def __post_init__(self) -> None:
        check_share("Diversity.relevance", self.relevance)
        weight, most = self.document_weight, self.max_candidates
        if not is_finite(weight) or weight < 0:
            message = f"Diversity.document_weight: expected a number of 0 or more, got {quote(weight)}"
            raise OptionError(message, name="document_weight", given=weight)
        if not isinstance(self.field, str) or not self.field:
            message = f"Diversity.field: expected the name of a field, got {quote(self.field)}"
            raise OptionError(message, name="field", given=self.field)
        if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 1):
            message = f"Diversity.max_candidates: expected a whole number >= 1 or None, got {quote(most)}"
            raise OptionError(message, name="max_candidates", given=most)
        if self.similarity != "trigram" and not callable(self.similarity):
            raise OptionError.unknown("Diversity.similarity", self.similarity, ["trigram", "a callable"])


def diversify(candidates: Sequence[Candidate], policy: Diversity) -> list[Candidate]:
    """Return the candidates in the order in which maximal marginal relevance picks them.

    Relevance is the score rescaled to 0..1 over those ranked anew (all equal: 1; without any scores the gain
    of the rank; a missing score counts as the least). Equal picks go by rank. Those beyond `max_candidates`
    follow in the order given.
    Scores and ranks stay as they are: the caller numbers the new order.

    >>> texts = ["the lantern is lit", "the lantern is lit!", "a ledger"]
    >>> sources = [Source(str(at), text, 0.9 - at / 10) for at, text in enumerate(texts)]
    >>> three = [Candidate.of(source, at, at + 1) for at, source in enumerate(sources)]
    >>> [candidate.text for candidate in diversify(three, Diversity(relevance=0.5))]
    ['the lantern is lit', 'a ledger', 'the lantern is lit!']
    """
    if len(candidates) < 2:
        return list(candidates)
    import numpy as np

    by_rank = sorted(range(len(candidates)), key=lambda at: candidates[at].rank)
    pool = [candidates[at] for at in by_rank[: policy.max_candidates]]
    taken = set(by_rank[: policy.max_candidates])
    documents: dict[str, int] = {}
    numbers = [documents.setdefault(_document(c.source, policy.field), len(documents)) for c in pool]
    similarity = policy.similarity
    row = trigram_rows([c.text for c in pool]) if similarity == "trigram" else _called(similarity, pool)
    gains = np.array(_relevance(pool))
    order = _picks(gains, row, policy.relevance, len(pool), policy.document_weight, np.array(numbers))
    rest = [candidate for at, candidate in enumerate(candidates) if at not in taken]
    return [pool[at] for at in order] + rest


def priorities(scores: Sequence[float], picked: int) -> list[float]:
    """Return numbers that rank sources as `diversify` ordered them, for a ranking that goes by numbers.

    scores: those before, in the new order; picked: how many of them, from the start, were ranked anew. The
    k-th of n picked ones (from 0) gets n - k plus a millionth of its score, as in rag-chunk-reorder. The others
    keep their scores where all of them are below 1, else they are lowered together until the best of them is
    0, so that they rank below the picked ones. A single source keeps its score.

    >>> priorities([9.5, 8.5, 0.1, 7.5], 2)
    [2.0000095, 1.0000085, -7.4, 0.0]
    """
    if len(scores) < 2:
        return list(scores)
    n, rest = min(picked, len(scores)), scores[picked:]
    lower = max(rest, default=0.0)
    lower = lower if lower >= 1 else 0.0
    return [n - k + score * 1e-6 for k, score in enumerate(scores[:n])] + [score - lower for score in rest]


def mmr(
    relevance: Sequence[float],
    similarity: Sequence[Sequence[float]] | Callable[[int, int], float],
    balance: float,
    k: int,
) -> list[int]:
    """Return the indices of up to k items in the order of maximal marginal relevance.

    relevance: one finite number for each item, on the scale of the similarities. similarity: n rows of n
    numbers, or a callable of two indices; for vectors see `cosine` and `cosine_matrix` of
    `promptpack.packing.similarity`, where a zero vector has similarity 0. balance: 0 (only unlike the picks)
    to 1 (only relevant). The first pick is the most relevant item whatever the balance; equal ones go by
    relevance, then by index. n * k similarities are looked at.

    Raises OptionError for numbers that are not finite, a matrix of another shape, and a k that is not a
    whole number >= 0.

    >>> mmr([0.9, 0.8, 0.1], [[1, 0.9, 0], [0.9, 1, 0], [0, 0, 1]], balance=0.3, k=2)
    [0, 2]
    """
    import numpy as np

    check_share("balance", balance)
    if isinstance(k, bool) or not isinstance(k, int) or k < 0:
        raise OptionError(f"k: expected a whole number of 0 or more, got {quote(k)}", name="k", given=k)
    gains = _numbers("relevance", relevance)
    if gains.ndim != 1:
        raise OptionError("relevance: expected one number for each item", name="relevance", given=relevance)
    n = len(gains)
    order = sorted(range(n), key=lambda at: (-gains[at], at))
    row: Row
    if callable(similarity):
        ask = similarity
        row = lambda at: _numbers("similarity", [ask(order[at], other) for other in order])  # noqa: E731
    else:
        table = _numbers("similarity", similarity)
        if table.shape != (n, n) and n:
            message = f"similarity: expected {n} rows of {n} numbers, got the shape {table.shape}"
            raise OptionError(message, name="similarity", given=table.shape)
        row = lambda at: table[order[at]][order]  # noqa: E731
    picks = _picks(gains[order], row, balance, min(k, n), 0.0, np.zeros(n, np.intp))
    return [order[at] for at in picks]


def _picks(
    relevance: NDArray[np.float64],
    row: Row,
    balance: float,
    k: int,
    weight: float,
    documents: NDArray[np.intp],
) -> list[int]:
    """Return k picks; items come in the order in which equal ones are taken."""
    import numpy as np

    nearest: NDArray[np.float64] | None = None
    used = np.zeros(len(relevance))
    open_ = np.ones(len(relevance), bool)
    picks: list[int] = []
    while len(picks) < k:
        scores = balance * relevance
        if nearest is not None:
            scores = scores - (1 - balance) * nearest - weight * used
        pick = int(np.argmax(np.where(open_, scores, -np.inf)))
        if nearest is None and balance == 0:
            pick = 0  # every score is 0 (or -0): the first item is the most relevant
        picks.append(pick)
        open_[pick] = False
        if weight:
            used[documents == documents[pick]] += 1
        if balance < 1 and len(picks) < k:
            like = row(pick)
            nearest = like if nearest is None else np.maximum(nearest, like)
        elif nearest is None:
            nearest = np.zeros(len(relevance))
    return picks


def trigram_rows(texts: Sequence[str]) -> Row:
    """Return a function that gives the trigram similarity of one of the texts to all of them.

    Holds one byte for each text and trigram that two texts share: 1,000 chunks of 200 tokens take about 10
    MB.

    >>> trigram_rows(["abcd", "abce", "x"])(0).tolist()
    [1.0, 0.3333333333333333, 0.0]
    """
    import numpy as np

    codes = [trigram_codes(text) for text in texts]
    sizes = np.array([len(code) for code in codes], np.float64)
    known, counts = np.unique(np.concatenate([*codes, trigram_codes("")]), return_counts=True)
    shared = known[counts > 1]  # a trigram of one text alone is in no intersection
    has = np.zeros((len(shared), len(texts)), np.uint8)
    own: list[NDArray[np.intp]] = []
    for at, code in enumerate(codes):
        where = np.searchsorted(shared, code)
        where = where[shared[np.minimum(where, len(shared) - 1)] == code] if len(shared) else where[:0]
        has[where, at] = 1
        own.append(where)
    first: dict[str, int] = {}
    same = np.array([first.setdefault(text, at) for at, text in enumerate(texts)])

    def row(at: int) -> NDArray[np.float64]:
        both = np.zeros(len(texts))
        for start in range(0, len(own[at]), 255):  # so many ones still fit a byte
            both += np.add.reduce(has[own[at][start : start + 255]], axis=0, dtype=np.uint8)
        either = sizes + sizes[at] - both
        likeness: NDArray[np.float64] = np.divide(both, either, out=np.zeros(len(texts)), where=either > 0)
        likeness[same == same[at]] = 1.0  # equal texts, also those too short for a trigram
        return likeness

    return row


def _called(similarity: Similarity, pool: Sequence[Candidate]) -> Row:
    sources = [as_sent(candidate) for candidate in pool]
    return lambda at: _numbers("Diversity.similarity", [similarity(sources[at], other) for other in sources])


def _numbers(name: str, values: object) -> NDArray[np.float64]:
    import numpy as np

    try:
        numbers: NDArray[np.float64] = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        message = f"{name}: expected numbers, got {quote(values)} ({error})"
        raise OptionError(message, name=name, given=values) from error
    if not np.isfinite(numbers).all():
        raise OptionError(f"{name}: expected finite numbers", name=name, given=values)
    return numbers


def _relevance(pool: Sequence[Candidate]) -> list[float]:
    scores = [candidate.score for candidate in pool]
    known = [score for score in scores if score is not None]
    if not known:
        return normalized([rank_gain(candidate.rank) for candidate in pool], "minmax")
    least = min(known)
    return normalized([least if score is None else score for score in scores], "minmax")


def _document(source: Source, field: str) -> str:
    """Return what tells the document of a source, as text; missing, empty and structured values are one."""
    value: Any = source.document if field == "document" else source.metadata.get(field)
    if value is None or value == "" or (isinstance(value, Mapping | Sequence) and not isinstance(value, str)):
        return "__unknown__"
    return str(value)
