"""The questions of a data set: what was retrieved for each, and what is known to be right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from promptpack.errors import OptionError, PromptpackError, SourceError, quote
from promptpack.evaluation.policies import POLICIES
from promptpack.labels import prefix_of
from promptpack.misspelt import is_slip
from promptpack.packing.intake import REPAIRS
from promptpack.packing.ranking import is_finite
from promptpack.reading import read_sources
from promptpack.source import Source

_SPELLINGS = {
    "question": ("question", "query"), "sources": ("sources", "chunks"), "retrieved": ("retrieved", "hits"),
    "key_points": ("key_points", "keyPoints"), "spans": ("spans", "relevantSpans"),
    "relevant": ("relevant", "relevantIds", "relevant_ids", "answered_by"), "needs": ("needs", "evidence"),
    "references": ("references", "reference"), "prediction": ("prediction", "answer"),
    "predictions": ("predictions", "answers"), "labels": ("labels",),
}
_KNOWN = frozenset(key for keys in _SPELLINGS.values() for key in keys) | {"id"}
_OF_ANSWER = ("text", "labels")


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, and the chunk ids that each label in it stands for; None where that is not known."""

    text: str
    labels: Mapping[str, tuple[str, ...]] | None = field(default=None, hash=False)


@dataclass(frozen=True, slots=True)
class Case:
    """One question with what was retrieved for it, and what is known to be right; None or empty where nothing is.

    relevant: the gain of each relevant id, above 0. needs: for each piece of evidence the ids that hold it, any of
    which will do. prediction: the answer, whatever was sent; predictions: those to what a policy of this name sent.
    where: names the case in messages.

    Raises SourceError for a number of a source that is not finite.
    """

    sources: tuple[Source, ...]
    question: str | None = None
    key_points: tuple[str, ...] | None = None
    spans: tuple[str, ...] | None = None
    relevant: Mapping[str, float] | None = field(default=None, hash=False)
    needs: tuple[tuple[str, ...], ...] | None = None
    references: tuple[str, ...] | None = None
    prediction: Answer | None = None
    predictions: Mapping[str, Answer] = field(default_factory=dict, hash=False)
    where: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        for at, source in enumerate(self.sources):
            for name in REPAIRS:
                value = getattr(source, name)
                if value is not None and not is_finite(value):
                    message = f"sources[{at}] {quote(source.id)}: {name}: expected a finite number, got {quote(value)}"
                    raise SourceError(message, id=source.id, index=at, field=name)

    def answer(self, policy: str) -> Answer | None:
        """Return the answer to what a policy sends."""
        return self.predictions.get(policy, self.prediction)


def read_case(item: Any, index: int = 0, sources: Sequence[Source] | None = None, where: str | None = None) -> Case:
    """Return the case in a mapping: `sources` (or `chunks`), and what else is there; SourceError names what is wrong.

    Names: question or query; key_points or keyPoints; spans; relevant, relevantIds or answered_by (ids, or a mapping
    from id to gain); needs (lists of ids); prediction; predictions (by policy); references (an empty list: there is
    no answer). A prediction is a text, or an object with `text` and `labels` (label to chunk id or ids, or as a payload
    holds them); `labels` beside a text will do as well. sources: stand in where the mapping has none of its own.
    `retrieved` picks from the sources, in its order: ids, (id, score) pairs, or a mapping from id to score.

    Other fields are passed over (`unread_fields` counts them), but for those that look like a misspelt one of these
    where that is missing: they are an error. where: names the case in messages; None: by its index.

    >>> read_case({"query": "Why?", "chunks": ["Because."], "keyPoints": ["because"]}).key_points
    ('because',)
    """
    where = f"cases[{index}]" if where is None else where
    with _named(where, index):
        if not isinstance(item, Mapping):
            raise SourceError(f"expected an object, got {quote(item)}", field="case")
        found = {
            name: next((item[key] for key in keys if item.get(key) is not None), None)
            for name, keys in _SPELLINGS.items()
        }
        _no_slip(item, _KNOWN, {key for name, keys in _SPELLINGS.items() if found[name] is not None for key in keys})
        if found["question"] is not None and not isinstance(found["question"], str):
            raise _wrong("question", "a text", found["question"])
        own = _sources(found, sources)
        texts = {name: _texts(name, found[name]) for name in ("key_points", "spans", "references")}
        if found["predictions"] is not None and not isinstance(found["predictions"], Mapping):
            raise _wrong("predictions", "an object with an answer for each policy", found["predictions"])
        known = {source.id for source in own}
        given = found["predictions"] or {}
        by_policy = {_policy(name): _answer("predictions", one, None, known) for name, one in given.items()}
        prediction = None
        if found["prediction"] is not None:
            prediction = _answer("prediction", found["prediction"], found["labels"], known)
        return Case(
            own, found["question"], **texts, relevant=_gains(found["relevant"]), needs=_needs(found["needs"]),
            prediction=prediction, predictions=MappingProxyType(by_policy), where=where,
        )


def read_cases(
    items: Iterable[Any], sources: Sequence[Source] | None = None, places: Iterable[str] | None = None
) -> Iterator[Case]:
    """Yield the case in each item; SourceError names an item that is none by its position, or by its place."""
    named = iter(places) if places is not None else None
    for index, item in enumerate(items):
        yield read_case(item, index, sources, None if named is None else next(named, None))


def unread_fields(items: Iterable[Any]) -> dict[str, int]:
    """Return the fields that `read_case` passes over, each with how many of the items have it, in order of first use.

    >>> unread_fields([{"query": "Why?", "topic": "a"}, {"query": "How?", "topic": "b"}])
    {'topic': 2}
    """
    keys = (str(key) for item in items if isinstance(item, Mapping) for key in item)
    return dict(Counter(key for key in keys if key not in _KNOWN))


def _no_slip(item: Mapping[Any, Any], known: Collection[str], given: Set[str]) -> None:
    """Raise SourceError for a field that is none, and one slip away from a known one that is not given."""
    for key in item:
        if not isinstance(key, str) or key in known:
            continue
        said = _plain(key)
        names = sorted(set(known) - given, key=lambda name: (not is_slip(key, name), name))
        meant = next((name for name in names if said == _plain(name) or is_slip(said, _plain(name))), None)
        # A text under `source` is where a question comes from, in many data sets.
        if meant is not None and not (meant == "sources" and isinstance(item[key], str)):
            raise SourceError(f"unknown field {quote(key)}; did you mean {meant!r}?", field=key)


def _plain(name: str) -> str:
    return name[:80].lower().replace("_", "").replace("-", "").replace(" ", "")


@contextmanager
def _named(where: str, index: int) -> Iterator[None]:
    try:
        yield
    except PromptpackError as error:
        error.args = (f"{where}: {error}",)
        if isinstance(error, SourceError):
            error.index = index
        raise


def _sources(found: Mapping[str, Any], shared: Sequence[Source] | None) -> tuple[Source, ...]:
    if found["sources"] is None and shared is None:
        raise SourceError("sources: there are none, and no shared ones are given", field="sources")
    own = tuple(shared or ()) if found["sources"] is None else tuple(read_sources(found["sources"]))
    picked = found["retrieved"]
    if picked is None:
        return own
    by_id = {source.id: source for source in reversed(own)}
    kept = []
    for one in _listed("retrieved", list(picked.items()) if isinstance(picked, Mapping) else picked):
        name, score = one if isinstance(one, list | tuple) and len(one) == 2 else (one, None)
        source = by_id.get(_id("retrieved", name))
        if source is None:
            raise SourceError(f"retrieved: {quote(name)} is not among the sources", field="retrieved")
        kept.append(replace(source, score=score))
    return tuple(kept)


def _gains(given: Any) -> Mapping[str, float] | None:
    if given is None:
        return None
    if not isinstance(given, Mapping):
        return dict.fromkeys(_ids("relevant", given), 1.0)
    for name, gain in given.items():
        if not is_finite(gain) or gain < 0:
            raise _wrong("relevant", f"a gain of 0 or more for {quote(name)}", gain)
    return {_id("relevant", name): float(gain) for name, gain in given.items() if gain}


def _needs(given: Any) -> tuple[tuple[str, ...], ...] | None:
    return None if given is None else tuple(_ids("needs", one) for one in _listed("needs", given))


def _answer(name: str, given: Any, labels: Any, known: set[str]) -> Answer:
    if isinstance(given, Mapping):
        _no_slip(given, _OF_ANSWER, {key for key in _OF_ANSWER if key in given})
        given, labels = given.get("text"), given.get("labels", labels)
    if not isinstance(given, str):
        raise _wrong(name, "a text, or an object with `text` and `labels`", given)
    if labels is None:
        return Answer(given)
    if isinstance(labels, Mapping) and isinstance(labels.get("carried"), Mapping):
        labels = labels["carried"]  # as `Payload.to_dict()` has them
    if not isinstance(labels, Mapping):
        raise _wrong("labels", "an object with the chunk ids of each label", labels)
    for label in labels:
        if not isinstance(label, str):
            raise _wrong("labels", "texts as labels", label)
    found = {label: _ids("labels", ids) for label, ids in labels.items()}
    if len({prefix_of(label) for label in found}) > 1:
        raise _wrong("labels", "labels with one prefix, such as S1 and S2", ", ".join(found))
    for label, ids in found.items():
        for one in ids:
            if one not in known:
                message = f"labels: {quote(label)} stands for {quote(one)}, which is not among the sources"
                raise SourceError(message, field=name)
    return Answer(given, MappingProxyType(found))


def _policy(name: object) -> str:
    if name not in POLICIES:
        raise OptionError.unknown("predictions: policy", name, POLICIES)
    return str(name)


def _texts(name: str, value: Any) -> tuple[str, ...] | None:
    if value is None:
        return None
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list | tuple) or not all(isinstance(one, str) for one in listed):
        raise _wrong(name, "a list of texts", value)
    return tuple(listed)


def _ids(name: str, value: Any) -> tuple[str, ...]:
    return tuple(_id(name, one) for one in ([value] if isinstance(value, str | int) else _listed(name, value)))


def _id(name: str, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise _wrong(name, "ids", value)
    return str(value)


def _listed(name: str, value: Any) -> Sequence[Any]:
    if not isinstance(value, list | tuple):
        raise _wrong(name, "a list", value)
    return value


def _wrong(name: str, expected: str, given: object) -> SourceError:
    return SourceError(f"{name}: expected {expected}, got {quote(given)}", field=name)
