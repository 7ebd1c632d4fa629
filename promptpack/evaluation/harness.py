"""Policies side by side: what each of them sends for the same questions, and what the metrics say of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum

from promptpack.errors import OptionError, PromptpackError, SourceError, quote
from promptpack.evaluation import answers, metrics
from promptpack.evaluation.cases import Answer, Case
from promptpack.evaluation.cases import read_case as read_case
from promptpack.evaluation.cases import read_cases as read_cases
from promptpack.evaluation.citations import Entails, citation_scores, cited_sentences, overlap_entails, plain_answer
from promptpack.evaluation.columns import COLUMNS
from promptpack.evaluation.intervals import intervals
from promptpack.evaluation.policies import POLICIES, Cost, Sent, sent
from promptpack.evaluation.position import answer_in_window
from promptpack.labels import prefix_of
from promptpack.source import Source

Interval = tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was measured for each policy and case; the means run over the cases that a metric can be worked out for.

    values: policy -> metric -> a value for each case, None where it cannot be worked out. relevant, unretrieved: how
    many relevant ids there are, and how many of them are not among the sources, so that no policy can send them.
    """

    count: int
    values: Mapping[str, Mapping[str, tuple[float | None, ...]]] = field(hash=False)
    relevant: int = 0
    unretrieved: int = 0

    @property
    def rows(self) -> Mapping[str, Mapping[str, float]]:
        """Policy -> metric -> mean; a metric without cases is not there."""
        return {
            policy: {metric: fsum(known) / len(known) for metric, known in self._known(policy).items()}
            for policy in self.values
        }

    def measured(self, metric: str) -> int:
        """Return for how many cases a metric could be worked out, at least for one policy."""
        found = (own.get(metric, ()) for own in self.values.values())
        return max((sum(value is not None for value in values) for values in found), default=0)

    def intervals(self) -> Mapping[str, Mapping[str, Interval]]:
        """Return an interval of 95 % for each mean (see `promptpack.evaluation.intervals`)."""
        return _each({policy: self._known(policy) for policy in self.values})

    def differences(self, baseline: str) -> Mapping[str, Mapping[str, tuple[float, Interval]]]:
        """Return for each other policy the mean difference to the baseline, case by case, and its interval."""
        if baseline not in self.values:
            raise OptionError.unknown("baseline", baseline, self.values)
        base = self.values[baseline]
        pairs: dict[str, dict[str, list[float]]] = {}
        for policy, found in self.values.items():
            own = pairs.setdefault(policy, {})
            for metric, values in found.items():
                both = zip(values, base.get(metric, ()), strict=False)
                differences = [one - other for one, other in both if one is not None and other is not None]
                if differences:
                    own[metric] = differences
        del pairs[baseline]
        ranges = _each(pairs)
        return {
            policy: {metric: (fsum(own) / len(own), ranges[policy][metric]) for metric, own in found.items()}
            for policy, found in pairs.items()
        }

    def to_markdown(self) -> str:
        """Return the means as Markdown tables: a line for each metric, a column for each policy."""
        from promptpack.evaluation.report import tables

        return tables(self)

    def _known(self, policy: str) -> dict[str, list[float]]:
        known = {name: [one for one in values if one is not None] for name, values in self.values[policy].items()}
        return {name: found for name, found in known.items() if found}


def _each(found: Mapping[str, Mapping[str, Sequence[float]]]) -> dict[str, dict[str, Interval]]:
    keys = [(policy, metric) for policy, own in found.items() for metric in own]
    ranges = intervals([found[policy][metric] for policy, metric in keys])
    result: dict[str, dict[str, Interval]] = {policy: {} for policy in found}
    for (policy, metric), one in zip(keys, ranges, strict=True):
        result[policy][metric] = one
    return result


def compare(
    cases: Iterable[Case], policies: Sequence[str] | None = None, *, top_k: int | None = 4, budget: int | None = None,
    cost: Cost = lambda source: len(source.text.split()), entails: Entails | None = None,
) -> Comparison:
    """Return what each policy sends for the same cases, measured.

    policies: names of `POLICIES`; None takes all. top_k, budget: limits for each policy alike (None: none). cost: the
    price of a source, by default in words. entails: judges what citations support, by default by shared words
    (`overlap_entails`).

    Raises OptionError for an unknown policy, SourceError where there are no cases or one is none, and what a policy
    raises for a case, with its name.

    >>> hits = [{"text": "a lamp", "score": 0.2}, {"text": "a copper pot", "score": 0.9}]
    >>> case = read_case({"sources": hits, "key_points": ["copper"]})
    >>> found = compare([case], ["retrieved", "fold"], top_k=1).rows
    >>> found["retrieved"]["key_point_recall"], found["fold"]["key_point_recall"]
    (0.0, 1.0)
    """
    given_names = tuple(POLICIES) if policies is None else tuple(policies)
    for name in given_names:
        if not isinstance(name, str) or name not in POLICIES:
            raise OptionError.unknown("policy", name, POLICIES)
    names = tuple(dict.fromkeys(given_names))
    judge = overlap_entails() if entails is None else entails
    values: dict[str, dict[str, list[float | None]]] = {name: {metric: [] for metric in COLUMNS} for name in names}
    count = relevant = unretrieved = 0
    for case in cases:
        if not isinstance(case, Case):
            message = f"cases[{count}]: expected a Case, got {quote(case)}; read_case makes one of a mapping"
            raise SourceError(message, index=count, field="case")
        count += 1
        same = _copies(case.sources)
        gains = _of_copies(case.relevant or {}, same)
        relevant += len(gains)
        there = {same.get(source.id, source.id) for source in case.sources}
        unretrieved += sum(one not in there for one in gains)
        for name in names:
            try:
                given = sent(case.sources, case.question, POLICIES[name], top_k=top_k, budget=budget, cost=cost)
                scores = _of_what_is_sent(case, given, gains, same) | _of_the_answer(case, name, given, judge)
            except PromptpackError as error:
                error.args = (f"{case.where or f'cases[{count - 1}]'}: policy {name}: {error}",)
                raise
            for metric, column in values[name].items():
                column.append(scores.get(metric))
    if not count:
        raise SourceError("cases: there are none", field="cases")
    kept = {name: {metric: tuple(column) for metric, column in found.items()} for name, found in values.items()}
    return Comparison(count, kept, relevant, unretrieved)


def _copies(sources: Sequence[Source]) -> dict[str, str]:
    """Return for each id the first one with the same text: who sends one of the copies has sent them all."""
    first: dict[str, str] = {}
    return {source.id: first.setdefault(" ".join(source.text.split()), source.id) for source in sources}


def _of_copies(relevant: Mapping[str, float], same: Mapping[str, str]) -> dict[str, float]:
    gains: dict[str, float] = {}
    for one, gain in relevant.items():
        name = same.get(one, one)
        gains[name] = max(gain, gains.get(name, 0.0))
    return gains


def _of_what_is_sent(
    case: Case, given: Sent, gains: Mapping[str, float], same: Mapping[str, str]
) -> dict[str, float]:
    texts = given.texts
    found = {"sources": float(len(texts)), "tokens": float(given.tokens)}
    if case.key_points:
        found["key_point_recall"] = metrics.key_point_recall(case.key_points, texts, case_insensitive=True)
        found["key_point_precision"] = metrics.key_point_precision(case.key_points, texts, case_insensitive=True)
    if case.spans:
        found["span_recall"] = metrics.span_recall(case.spans, texts)
    if gains:
        places = [[same.get(one, one) for one in ids] for ids in given.ids]
        order = [max(ids, key=lambda one: gains.get(one, 0.0)) for ids in places]
        best = max(gains.values())
        found["recall_at_k"] = metrics.retrieval_recall_at_k([one for ids in places for one in ids], gains.keys())
        found["precision_at_k"] = metrics.retrieval_precision_at_k(order, gains.keys())
        found["ndcg"] = metrics.retrieval_ndcg(order, gains)
        found["position_effectiveness"] = metrics.position_effectiveness([gains.get(one, 0.0) / best for one in order])
    if case.needs:
        needs = [[same.get(one, one) for one in need] for need in case.needs]
        found["answer_in_window"] = float(
            answer_in_window(needs, [same.get(one, one) for ids in given.ids for one in ids])
        )
    return found


def _of_the_answer(case: Case, policy: str, given: Sent, judge: Entails) -> dict[str, float]:
    answer = case.answer(policy)
    if answer is None:
        return {}
    prefix = _prefix(answer)
    said = plain_answer(answer.text, prefix=prefix)
    found: dict[str, float] = {}
    if answers.is_answerable(said):
        found["faithfulness"] = answers.faithfulness(said, given.texts)
        found["citation_coverage"] = answers.citation_coverage(said, given.texts)
    if case.key_points:
        found["key_points_stated"] = metrics.key_point_recall(case.key_points, [said], case_insensitive=True)
    if case.references is not None:
        # A question without an answer is answered by saying so.
        right = [plain_answer(one, prefix=prefix) for one in case.references] or [""]
        found["exact_match"] = answers.exact_match(said, right)
        found["f1"] = answers.token_f1(said, right)
        found["answerability"] = answers.answerability_match(said, right)
    if answer.labels is not None:
        sentences = cited_sentences(answer.text, prefix=prefix)
        if sentences:
            by_id = {source.id: source.text for source in reversed(case.sources)}
            passages = {label: "\n".join(by_id[one] for one in ids) for label, ids in answer.labels.items()}
            scores = citation_scores(sentences, passages, judge)
            found["citation_recall"], found["citation_precision"] = scores.recall, scores.precision
    return found


def _prefix(answer: Answer) -> str:
    return next((prefix_of(label) for label in answer.labels or ()), "S") or "S"
