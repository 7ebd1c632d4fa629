"""Metrics of what was retrieved and where it stands: key points, spans, positions, ranking, recall.

All are pure functions of plain lists; where a mean has nothing to run over the result is 0.0.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from math import log2
from typing import Any

from promptpack.errors import OptionError, quote
from promptpack.packing.ranking import is_finite


def key_point_recall(key_points: Sequence[str], texts: Sequence[str], *, case_insensitive: bool = False) -> float:
    """Return the share of the key points that occur in at least one of the texts.

    |{p : p in some text}| / |key points|; repeated points count each time, and an empty point occurs in every text.
    Texts are compared in NFC. 0.0 without key points.

    >>> key_point_recall(["copper", "silver"], ["a copper kettle"])
    0.5
    """
    points, read = _texts("key_points", key_points, case_insensitive), _texts("texts", texts, case_insensitive)
    return _share(sum(any(point in text for text in read) for point in points), len(points))


def span_recall(spans: Sequence[str], texts: Sequence[str], *, case_insensitive: bool = False) -> float:
    """Return the share of the relevant spans that occur in at least one of the texts: `key_point_recall` of spans.

    >>> span_recall(["a copper"], ["a copper kettle"])
    1.0
    """
    return key_point_recall(spans, texts, case_insensitive=case_insensitive)


def key_point_precision(key_points: Sequence[str], texts: Sequence[str], *, case_insensitive: bool = False) -> float:
    """Return the share of the texts in which at least one key point occurs; 0.0 without texts.

    >>> key_point_precision(["copper"], ["a copper kettle", "a lamp"])
    0.5
    """
    points, read = _texts("key_points", key_points, case_insensitive), _texts("texts", texts, case_insensitive)
    return _share(sum(any(point in text for point in points) for text in read), len(read))


def position_effectiveness(priorities: Sequence[Any]) -> float:
    """Return how much of the priority stands near the edges: a mean weighted by a U over the places.

    sum(w_i p_i) / sum(w_i) with w_i = (2 i / (n - 1) - 1)^2: 1 at both ends, 0 in the exact middle; for one item its
    own priority. priorities: numbers in prompt order, or chunks: `priorityScore` of the chunk, else of its metadata,
    else 0. 0.0 for none.

    >>> position_effectiveness([1, 0, 0]), position_effectiveness([0, 1, 0])
    (0.5, 0.0)
    """
    values = [_priority(one) for one in _listed("priorities", priorities)]
    n = len(values)
    if n < 2:
        return float(sum(values))
    weights = [(2 * index / (n - 1) - 1) ** 2 for index in range(n)]
    return sum(weight * value for weight, value in zip(weights, values, strict=True)) / sum(weights)


def ndcg(scores: Sequence[float]) -> float:
    """Return the normalised discounted cumulative gain of relevances in ranked order, with linear gain.

    DCG = sum(s_i / log2(i + 2)) over places i from 0, divided by the DCG of the same scores sorted descending
    (Jarvelin and Kekalainen, 2002). Meant for scores of 0 or more, where it is 0 to 1. 0.0 where the best DCG is 0.

    >>> ndcg([3, 2, 1]), round(ndcg([0, 1]), 4), ndcg([])
    (1.0, 0.6309, 0.0)
    """
    given = _listed("scores", scores)
    for score in given:
        if not is_finite(score):
            raise OptionError(f"scores: expected finite numbers, got {quote(score)}", name="scores", given=score)
    best = _dcg(sorted(given, reverse=True))
    return _dcg(given) / best if best else 0.0


def _dcg(scores: Sequence[float]) -> float:
    return sum(score / log2(place + 2) for place, score in enumerate(scores))


def retrieval_recall_at_k(retrieved: Sequence[Any], relevant: Iterable[str], k: float | None = None) -> float:
    """Return the share of the relevant ids that are among the first k retrieved; None takes all.

    retrieved: ids, or chunks with an id. Repeated relevant ids count once; a fractional k is cut to a whole number.
    0.0 without relevant ids. Raises OptionError for a negative k.

    >>> retrieval_recall_at_k(["a", {"id": "b"}, "c"], ["b", "c"], k=2)
    0.5
    """
    ids = set(_first(retrieved, k))
    wanted = dict.fromkeys(_hashed("relevant", _listed("relevant", relevant)))
    return _share(sum(one in ids for one in wanted), len(wanted))


def retrieval_precision_at_k(retrieved: Sequence[Any], relevant: Iterable[str], k: float | None = None) -> float:
    """Return the share of the first k retrieved that are relevant; None takes all; 0.0 where nothing is retrieved.

    Arguments as for `retrieval_recall_at_k`; a list of fewer than k is divided by its own length.

    >>> retrieval_precision_at_k(["a", {"id": "b"}, "c"], ["b", "c"], k=2)
    0.5
    """
    found = _first(retrieved, k)
    wanted = set(_hashed("relevant", _listed("relevant", relevant)))
    return _share(sum(one in wanted for one in found), len(found))


def retrieval_ndcg(
    retrieved: Sequence[Any], relevant: Iterable[str] | Mapping[str, float], k: float | None = None
) -> float:
    """Return the nDCG of retrieved ids against what is relevant, retrieved or not, with linear gain.

    relevant: ids, each with the gain 1, or a mapping from id to gain (0 or more). DCG = sum(gain / log2(i + 2)) over
    the places i from 0 (Jarvelin and Kekalainen, 2002), an id counted once; divided by the DCG of the best order of
    all relevant ids, so that one that is missing costs its part. k: only so many places count, in both. From 0 to 1;
    0.0 without anything relevant. `ndcg` compares a list only with itself.

    >>> retrieval_ndcg(["a", "b"], ["a", "b"]), round(retrieval_ndcg(["x", "a"], ["a", "b"]), 4)
    (1.0, 0.3869)
    >>> round(retrieval_ndcg(["a", "b"], {"a": 1, "b": 3}), 4)
    0.7967
    """
    if not isinstance(relevant, Mapping):
        relevant = dict.fromkeys(_hashed("relevant", _listed("relevant", relevant)), 1.0)
    for gain in relevant.values():
        if not is_finite(gain) or gain < 0:
            message = f"relevant: expected gains of 0 or more, got {quote(gain)}"
            raise OptionError(message, name="relevant", given=gain)
    left = dict(relevant)
    found = [left.pop(one, 0.0) for one in _first(retrieved, k)]
    best = _dcg(sorted(relevant.values(), reverse=True)[:None if k is None else int(k)])
    return _dcg(found) / best if best else 0.0


def _first(retrieved: Sequence[Any], k: float | None) -> list[Any]:
    if k is not None and (not is_finite(k) or k < 0):
        raise OptionError(f"k: expected a number of 0 or more, or None, got {quote(k)}", name="k", given=k)
    found = _listed("retrieved", retrieved)
    return _hashed("retrieved", [_id(one) for one in (found if k is None else found[:int(k)])])


def _hashed(name: str, ids: list[Any]) -> list[Any]:
    for one in ids:
        try:
            hash(one)
        except TypeError as error:  # a list, or a tuple that holds one
            raise OptionError(f"{name}: expected ids, got {quote(one)}", name=name, given=one) from error
    return ids


def _id(one: Any) -> Any:
    return one.get("id") if isinstance(one, Mapping) else getattr(one, "id", one)


def _priority(one: Any) -> float:
    if is_finite(one):
        return float(one)
    metadata = one.get("metadata") if isinstance(one, Mapping) else getattr(one, "metadata", None)
    own = one.get("priorityScore") if isinstance(one, Mapping) else None
    for value in (own, metadata.get("priorityScore") if isinstance(metadata, Mapping) else None):
        if is_finite(value):
            return float(value)  # type: ignore[arg-type]  # a finite number
    return 0.0


def _texts(name: str, given: Sequence[str], fold: bool) -> list[str]:
    found = _listed(name, given)
    for one in found:
        if not isinstance(one, str):
            raise OptionError(f"{name}: expected texts, got {quote(one)}", name=name, given=one)
    return [unicodedata.normalize("NFC", one.lower() if fold else one) for one in found]


def _listed(name: str, given: Any) -> list[Any]:
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise OptionError(f"{name}: expected a list, got {quote(given)}", name=name, given=given)
    return list(given)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
