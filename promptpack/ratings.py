"""What a reranker answers: one number for each source, and which of the sources it did rate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from promptpack.errors import RerankError, quote


class Scores(list[float]):
    """A reranker's answer: one number for each source, and which of them it did rate.

    rated: for each source, whether the number is the reranker's own; by default all are. The others stand for the
    score that the source came with (0 without one). behind: whether these stand behind what was rated, whatever scores
    they came with. ignored: entries of the answer that were of no use: for no source, or for one a second time.

    >>> Scores([0.9, 0.5], rated=[True, False]).rated
    (True, False)
    """

    def __init__(
        self, scores: Iterable[float] = (), rated: Iterable[bool] | None = None, *,
        behind: bool = False, ignored: int = 0,
    ) -> None:
        super().__init__(scores)
        self.rated = (True,) * len(self) if rated is None else tuple(rated)
        self.behind = behind
        self.ignored = ignored


def put_behind(scores: Scores, own: Sequence[float | None]) -> None:
    """Put what is not rated behind what is, in the order of the scores that it came with; it may stand there already.

    A service ranks what it leaves out behind what it names; the scores that sources came with are on another scale.

    >>> scores = Scores([0.0, 0.25, 0.0], rated=[False, True, False], behind=True)
    >>> put_behind(scores, [12.0, 11.0, 13.0])
    >>> scores
    [-1.75, 0.25, -0.75]
    """
    rated = [score for score, named in zip(scores, scores.rated, strict=True) if named]
    left = [at for at, named in enumerate(scores.rated) if not named]
    if not rated or not left:
        return
    lowest = min(rated)
    known = [one for one in (own[at] for at in left) if one is not None]
    if len(known) == len(left) and max(known) < lowest:
        for at, score in zip(left, known, strict=True):
            scores[at] = score
        return
    left.sort(key=lambda at: (own[at] is None, -(own[at] or 0.0)))
    for place, at in enumerate(left, 1):
        scores[at] = lowest - place


def joined(parts: Sequence[Scores], own: Sequence[float | None]) -> Scores:
    """Return the answers of batches as one; what one of them left out stands behind what all of them rated.

    That is for answers that are `behind`; others stay as they are.

    own: the scores that the sources of all batches came with.

    >>> first, second = (Scores([best, 0.8], [True, False], behind=True) for best in (0.9, 0.3))
    >>> joined([first, second], [0.5, 0.8, 0.5, 0.7])
    [0.9, -0.7, 0.3, -1.7]
    """
    scores = Scores(
        (score for part in parts for score in part), (one for part in parts for one in part.rated),
        behind=any(part.behind for part in parts), ignored=sum(part.ignored for part in parts),
    )
    if scores.behind and len(parts) > 1:  # each batch has put them behind its own
        put_behind(scores, own)
    return scores


def read_scores(answer: Any, batch: Sequence[Any]) -> Scores:
    """Return a reranker's answer as numbers; RerankError unless it is one finite number for each of the batch.

    >>> read_scores([0.5, 1], ["a", "b"])
    [0.5, 1.0]
    """
    try:
        scores = None if isinstance(answer, str | bytes | dict) else [float(score) for score in answer]
    except (TypeError, ValueError, OverflowError):
        scores = None
    if scores is None:
        raise RerankError(f"the reranker must give one number for each source, got {quote(answer)}", retryable=False)
    if len(scores) != len(batch):
        raise RerankError(f"the reranker gave {len(scores)} scores for {len(batch)} sources", retryable=False)
    for at, score in enumerate(scores):
        if not abs(score) < float("inf"):
            raise RerankError(f"the reranker gave {score} as score {at}, which is no finite number", retryable=False)
    if not isinstance(answer, Scores):
        return Scores(scores)
    if len(answer.rated) != len(scores):
        raise RerankError(
            f"the reranker says of {len(answer.rated)} sources whether it rated them, but there are {len(scores)}",
            retryable=False,
        )
    return Scores(scores, answer.rated, behind=answer.behind, ignored=answer.ignored)
