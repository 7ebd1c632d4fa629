"""A comparison to read: Markdown tables with the policies side by side, and a report that explains them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from promptpack.evaluation.columns import COLUMNS, Column
from promptpack.evaluation.policies import MEANINGS

if TYPE_CHECKING:
    from promptpack.evaluation.harness import Comparison, Interval

NOTHING, SAME = "-", "="
ANSWERS = (
    "A question with one `prediction` has the same answer for each policy; then only faithfulness and coverage can "
    "differ. Answers to what each policy sends go into `predictions`, by its name."
)
BOLD = (
    "In bold: the interval leaves out 0, so that chance alone is an unlikely reason; of twenty cells without any "
    "difference it still does so in one. =: the same for each question."
)


def tables(found: Comparison) -> str:
    """Return the means: a table of what is sent and, where there are answers, one of these.

    "questions" is for how many of them a metric could be worked out; a dash stands where there is nothing to show.
    """
    cells = {
        policy: {metric: _with(value, None, COLUMNS[metric]) for metric, value in own.items()}
        for policy, own in found.rows.items()
    }
    parts = [_table(found, cells, answers=False)]
    if _has_answers(found):
        parts.append(_table(found, cells, answers=True))
    return "\n\n".join(parts)


def legend(found: Comparison) -> str:
    """Return what each policy and each row means, and which fields a row needs that no question has."""
    return f"{_policies(found)}\n\n{_rows(found)}"


def report(found: Comparison, heading: str, *, budget: int | None) -> str:
    """Return the whole report: what was compared (`heading`), tables with intervals, differences, and the legend."""
    rows, ranges = found.rows, found.intervals()
    cells = {
        policy: {metric: _with(value, ranges[policy][metric], COLUMNS[metric]) for metric, value in own.items()}
        for policy, own in rows.items()
    }
    parts = ["# Evaluation", heading, *remarks(found, budget=budget)]
    parts += ["## What is sent", _table(found, cells, answers=False)]
    if _has_answers(found):
        parts += ["## Answers", ANSWERS, _table(found, cells, answers=True)]
    baseline, *others = found.values
    if others:
        parts += [
            f"## Difference from {baseline}",
            f"The mean of the differences question by question: each policy minus {baseline}. {BOLD}",
            _differences(found, baseline),
        ]
    parts += ["## Policies", _policies(found), "## Rows", _rows(found)]
    parts.append(
        "In brackets: 95 % intervals by the bootstrap over questions (percentiles, fixed seed). They are wide for few "
        "questions, and say nothing of questions of another kind."
    )
    return "\n\n".join(parts)


def remarks(found: Comparison, *, budget: int | None) -> list[str]:
    """Return what has to be known beside the numbers."""
    said = []
    if found.unretrieved:
        said.append(
            f"{found.unretrieved} of {found.relevant} relevant ids are not among the sources of their question: no "
            "policy can send them, and recall@k and nDCG stay below 1."
        )
    if budget is None and "spans" in found.values:
        said.append("Without a budget the policy spans sends whole sources: there is nothing to choose.")
    return said


def as_data(found: Comparison) -> dict[str, Any]:
    """Return the comparison as plain data, for JSON: for each policy and metric the mean and its interval."""
    rows, ranges = found.rows, found.intervals()
    return {
        "questions": found.count, "relevant": found.relevant, "unretrieved": found.unretrieved,
        "measured": {metric: found.measured(metric) for metric in COLUMNS},
        "policies": {
            policy: {
                metric: None if metric not in own else
                {"mean": own[metric], "interval": ranges[policy][metric]}
                for metric in COLUMNS
            }
            for policy, own in rows.items()
        },
    }


def _has_answers(found: Comparison) -> bool:
    return any(found.measured(metric) for metric, column in COLUMNS.items() if column.answers)


def _table(found: Comparison, cells: Mapping[str, Mapping[str, str]], *, answers: bool) -> str:
    lines = [["mean", "questions", *cells]]
    for metric, column in COLUMNS.items():
        if column.answers == answers:
            shown = (own.get(metric, NOTHING) for own in cells.values())
            lines.append([column.title, str(found.measured(metric)), *shown])
    return _markdown(lines)


def _differences(found: Comparison, baseline: str) -> str:
    apart = found.differences(baseline)
    lines = [["mean difference", *apart]]
    for metric, column in COLUMNS.items():
        if not found.measured(metric):
            continue
        line = [column.title]
        for own in apart.values():
            value, interval = own.get(metric, (None, None))
            if value is None:
                line.append(NOTHING)
                continue
            if value == 0 and interval in (None, (0.0, 0.0)):
                line.append(SAME)
                continue
            shown = _with(value, interval, column, sign="+")
            sure = interval is not None and (interval[0] > 0 or interval[1] < 0)
            line.append(f"**{shown}**" if sure else shown)
        lines.append(line)
    return _markdown(lines)


def _with(value: float, interval: Interval, column: Column, sign: str = "") -> str:
    shown = f"{value:{sign}.{column.digits}f}"
    if interval is None:
        return shown
    low, high = (f"{one:{sign}.{column.digits}f}" for one in interval)
    return f"{shown} [{low}, {high}]"


def _policies(found: Comparison) -> str:
    return "\n".join(f"* **{policy}**: {MEANINGS[policy]}" for policy in found.values)


def _rows(found: Comparison) -> str:
    lines = []
    for metric, column in COLUMNS.items():
        way = {1: "more is better", -1: "less is better", 0: ""}[column.better]
        needs = "" if found.measured(metric) else f"no question has what it needs: {column.needs}"
        more = "; ".join(part for part in (way, needs) if part)
        lines.append(f"* **{column.title}**: {column.meaning}" + (f" ({more})" if more else ""))
    return "\n".join(lines)


def _markdown(lines: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table that is aligned, so that it can be read as it stands."""
    widths = [max(len(line[at]) for line in lines) for at in range(len(lines[0]))]
    head, *body = (
        [line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))]
        for line in lines
    )
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, rule, *body))
