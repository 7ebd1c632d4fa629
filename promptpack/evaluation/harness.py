"""Policies side by side: what each of them sends for the same questions, and what the metrics say of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from promptpack.errors import OptionError, SourceError, quote
from promptpack.evaluation import answers, metrics
from promptpack.packing.dedup import Dedup
from promptpack.packing.diversity import Diversity
from promptpack.packing.pipeline import Packing, pack
from promptpack.reading import read_sources
from promptpack.source import Source

Cost = Callable[[Source], int]

# Each policy is a packing; "retrieved" sends the sources as they came.
POLICIES: Mapping[str, Packing | None] = {
    "retrieved": None,
    "best_first": Packing(dedup="off", place="best_first", tie="input"),
    "fold": Packing(dedup="off", place="fold", tie="input"),
    "near": Packing(dedup=Dedup(threshold=0.9), place="fold", tie="input"),
    "diverse": Packing(dedup="exact", diversity=Diversity(0.7, 0.15), place="fold", tie="input"),
    "auto": Packing(dedup="exact", place="auto", tie="input"),
}
COLUMNS = {
    "sources": "sources", "tokens": "tokens", "key_point_recall": "key point recall",
    "key_point_precision": "key point precision", "span_recall": "span recall", "recall_at_k": "recall@k",
    "position_effectiveness": "position", "ndcg": "nDCG", "faithfulness": "faithfulness",
    "citation_coverage": "coverage", "exact_match": "exact match", "f1": "F1",
}
_SPELLINGS = {
    "question": ("question", "query"), "sources": ("sources", "chunks"), "key_points": ("key_points", "keyPoints"),
    "spans": ("spans", "relevantSpans"), "relevant": ("relevant", "relevantIds", "relevant_ids", "answered_by"),
    "prediction": ("prediction", "answer"), "references": ("references", "reference"),
}


@dataclass(frozen=True, slots=True)
class Case:
    """One question with what was retrieved for it, and what is known to be right; None where nothing is."""

    sources: tuple[Source, ...]
    question: str | None = None
    key_points: tuple[str, ...] | None = None
    spans: tuple[str, ...] | None = None
    relevant: tuple[str, ...] | None = None
    prediction: str | None = None
    references: tuple[str, ...] | None = None


def read_case(item: Any, index: int = 0, sources: Sequence[Source] | None = None) -> Case:
    """Return the case in a mapping: `sources` (or `chunks`), and what else is there; SourceError names what is wrong.

    Names: question or query; key_points or keyPoints; spans; relevant, relevantIds or answered_by (ids); prediction;
    references. sources: stand in where the mapping has none of its own.

    >>> read_case({"query": "Why?", "chunks": ["Because."], "keyPoints": ["because"]}).key_points
    ('because',)
    """
    if not isinstance(item, Mapping):
        raise SourceError(f"cases[{index}]: expected an object, got {quote(item)}", index=index, field="case")
    found = {
        name: next((item[key] for key in keys if item.get(key) is not None), None) for name, keys in _SPELLINGS.items()
    }
    if found["sources"] is None and sources is None:
        raise SourceError(f"cases[{index}]: sources: there are none", index=index, field="sources")
    for name in ("question", "prediction"):
        if found[name] is not None and not isinstance(found[name], str):
            raise _wrong(index, name, "a text", found[name])
    lists = {name: _texts(index, name, found[name]) for name in ("key_points", "spans", "relevant", "references")}
    try:
        own = tuple(sources or ()) if found["sources"] is None else tuple(read_sources(found["sources"]))
    except SourceError as error:
        error.args = (f"cases[{index}]: {error}",)
        raise
    return Case(own, found["question"], prediction=found["prediction"], **lists)


def _texts(index: int, name: str, value: Any) -> tuple[str, ...] | None:
    if value is None:
        return None
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list | tuple) or not all(isinstance(one, str) for one in listed):
        raise _wrong(index, name, "a list of texts", value)
    return tuple(listed)


def _wrong(index: int, name: str, expected: str, given: object) -> SourceError:
    return SourceError(f"cases[{index}]: {name}: expected {expected}, got {quote(given)}", index=index, field=name)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The mean of each metric for each policy, over the cases that it can be worked out for.

    count: how many cases there were. rows: policy -> metric -> mean; a metric without cases is not there.
    """

    count: int
    rows: Mapping[str, Mapping[str, float]] = field(hash=False)

    def to_markdown(self) -> str:
        """Return the comparison as a Markdown table: a line for each policy, a column for each metric."""
        names = [name for name in COLUMNS if any(name in row for row in self.rows.values())]
        head = ["policy", *(COLUMNS[name] for name in names)]
        body = [[policy, *(_shown(name, row.get(name)) for name in names)] for policy, row in self.rows.items()]
        rule = ["---", *("---:" for _ in names)]
        return "\n".join("| " + " | ".join(row) + " |" for row in (head, rule, *body))


def _shown(name: str, value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.1f}" if name in ("sources", "tokens") else f"{value:.3f}"


def sent(case: Case, policy: Packing | None, *, top_k: int | None, budget: int | None, cost: Cost) -> list[Source]:
    """Return what a policy sends for a case, in prompt order: at most `top_k` sources within the budget."""
    if policy is None:
        kept: list[Source] = []
        left = budget
        for source in case.sources[:top_k]:
            price = cost(source)
            if left is not None and price > left:
                continue
            left = None if left is None else left - price
            kept.append(source)
        return kept
    chosen = replace(policy, top_k=top_k, validate="coerce")
    packed = pack(case.sources, budget, packing=chosen, cost=cost, question=case.question)
    return [placed.source for placed in packed.sources]


def scores_of(case: Case, sources: Sequence[Source], cost: Cost) -> dict[str, float]:
    """Return the metrics of what is sent for a case; only those that it holds something for."""
    texts = [source.text for source in sources]
    gains = [source.score or 0.0 for source in sources]
    found = {
        "sources": float(len(sources)), "tokens": float(sum(map(cost, sources))),
        "position_effectiveness": metrics.position_effectiveness(gains), "ndcg": metrics.ndcg(gains),
    }
    if case.key_points is not None:
        found["key_point_recall"] = metrics.key_point_recall(case.key_points, texts, case_insensitive=True)
        found["key_point_precision"] = metrics.key_point_precision(case.key_points, texts, case_insensitive=True)
    if case.spans is not None:
        found["span_recall"] = metrics.span_recall(case.spans, texts)
    if case.relevant is not None:
        found["recall_at_k"] = metrics.retrieval_recall_at_k(sources, case.relevant)
    if case.prediction is not None:
        found["faithfulness"] = answers.faithfulness(case.prediction, texts)
        found["citation_coverage"] = answers.citation_coverage(case.prediction, texts)
        if case.references is not None:
            found["exact_match"] = answers.exact_match(case.prediction, case.references)
            found["f1"] = answers.token_f1(case.prediction, case.references)
    return found


def policy_names() -> tuple[str, ...]:
    """Return the names of the policies that `compare` knows."""
    return tuple(POLICIES)


def compare(
    cases: Iterable[Case], policies: Sequence[str] | None = None, *, top_k: int | None = 4, budget: int | None = None,
    cost: Cost = lambda source: len(source.text.split()),
) -> Comparison:
    """Return what each policy sends for the same cases, measured.

    policies: names of `POLICIES`; None takes all. top_k, budget: limits for each policy alike (None: none). cost: the
    price of a source, by default in words. Raises OptionError for an unknown policy.

    >>> hits = [{"text": "a lamp", "score": 0.2}, {"text": "a copper pot", "score": 0.9}]
    >>> case = read_case({"sources": hits, "key_points": ["copper"]})
    >>> found = compare([case], ["retrieved", "fold"], top_k=1).rows
    >>> found["retrieved"]["key_point_recall"], found["fold"]["key_point_recall"]
    (0.0, 1.0)
    """
    names = tuple(POLICIES) if policies is None else tuple(policies)
    for name in names:
        if name not in POLICIES:
            raise OptionError.unknown("policy", name, POLICIES)
    sums: dict[str, dict[str, list[float]]] = {name: {} for name in names}
    count = 0
    for case in cases:
        count += 1
        for name in names:
            kept = sent(case, POLICIES[name], top_k=top_k, budget=budget, cost=cost)
            for metric, value in scores_of(case, kept, cost).items():
                sums[name].setdefault(metric, []).append(value)
    rows = {name: {metric: sum(all_) / len(all_) for metric, all_ in found.items()} for name, found in sums.items()}
    return Comparison(count, rows)


def read_cases(items: Iterable[Any], sources: Sequence[Source] | None = None) -> Iterator[Case]:
    """Yield the case in each item; SourceError names an item that is none by its position."""
    for index, item in enumerate(items):
        yield read_case(item, index, sources)
