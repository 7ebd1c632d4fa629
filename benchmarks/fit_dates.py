"""Whether dates would help select="spans": the likelihood of held-out questions with each feature more, and without.

    python benchmarks/fit_dates.py PATH/TO/shared               # the folder with yardstick/ and data/; some minutes

The fit and its folds are those of `fit_spans.py`. A feature earns its place where the gain is some 0.005 or more beside
the six of `spans_values.py` that count a date's words already (its seventh, `dated`, is `month` here). All are 0 where
the question, or what is looked at, names no date.

    same      the share of the question's years that the unit names
    near      1 / (1 + years) between a year of the question and the nearest one of the unit
    within    a year of the question lies between two years of the unit ("from 2001 to 2005" for 2003)
    heading   the same as near, with the years of the chunk's title
    document  1 / (1 + months) between the question's month, or the middle of its year, and the date of the document
    month     the question's month and year are those of the document's date
    recency   the date of the document on a scale from the oldest candidate, 0, to the latest, 1; for every question
    latest    recency where the question asks for what is latest, or current
"""

from __future__ import annotations

import re
import zlib
from calendar import month_name
from collections.abc import Sequence
from datetime import date
from typing import Any

import numpy as np
from fit_spans import FOLDS, Case, arguments, candidates_of, fit, holding, likelihood, shares_of, yardstick

from promptpack.packing.spans_scores import FEATURES
from promptpack.packing.spans_text import units
from promptpack.packing.spans_values import features

EXTRA = ("same", "near", "within", "heading", "document", "month", "recency", "latest")
MONTHS = tuple(name.lower() for name in month_name[1:])
_YEAR = re.compile(r"(?<!\d)(1[0-9]{3}|20[0-9]{2})(?!\d)")
_MONTH = re.compile(rf"\b({'|'.join(MONTHS)})\b(?:\s+\d{{1,2}})?,?\s+(?:of\s+)?(1[0-9]{{3}}|20[0-9]{{2}})")
_LATEST = re.compile(r"\b(latest|last|most recent|current(?:ly)?|now|today|newest)\b")


def years(text: str) -> list[int]:
    return [int(year) for year in _YEAR.findall(text)]


def near(asked: Sequence[int], found: Sequence[int]) -> float:
    return max((1 / (1 + abs(one - other)) for one in asked for other in found), default=0.0)


def rows_of(question: str, chunks: Sequence[dict[str, Any]], texts: Sequence[Sequence[str]]) -> Any:
    """Return the extra features of each unit, over all chunks, in the order of EXTRA."""
    low = question.casefold()
    asked, named = years(question), _MONTH.search(low)
    month = (int(named[2]), MONTHS.index(named[1]) + 1) if named else None
    when = month or ((asked[0], 6) if asked else None)
    dates = [date.fromisoformat(one["date"]) if one["date"] else None for one in chunks]
    known = [one.toordinal() for one in dates if one is not None]
    first, last = (min(known), max(known)) if known else (0, 0)
    latest = float(_LATEST.search(low) is not None)
    rows = []
    for chunk, day, own in zip(chunks, dates, texts, strict=True):
        months = abs((day.year - when[0]) * 12 + day.month - when[1]) if day and when else None
        recency = (day.toordinal() - first) / (last - first) if day and last > first else 0.0
        of_document = [
            near(asked, years(chunk["title"] or "")), 0.0 if months is None else 1 / (1 + months),
            float(month is not None and months == 0), recency, recency * latest,
        ]
        for text in own:
            found = years(text)
            rows.append([
                len(set(asked).intersection(found)) / len(set(asked)) if asked else 0.0, near(asked, found),
                float(any(min(found) <= year <= max(found) for year in asked)) if found else 0.0, *of_document,
            ])
    return np.array(rows)


def held_out(cases: Sequence[Case], kept: Sequence[int]) -> dict[str, float]:
    """Return the mean log-likelihood of questions that were not fitted on, by track."""
    told = dict.fromkeys([case[0] for case in cases], 0.0)
    taken = [(track, fold, rows[:, kept], needs) for track, fold, rows, needs in cases]
    shares = shares_of(taken)
    for fold in range(FOLDS):
        weights = fit([case for case in taken if case[1] != fold])
        for track in told:
            own = [case for case in taken if case[:2] == (track, fold)]
            told[track] += likelihood(weights, own, shares)[0] if own else 0.0
    return {track: value * len(told) for track, value in told.items()}


def main() -> None:
    parser = arguments("Whether dates would help select=\"spans\".")
    parser.add_argument("--beside-dated", action="store_true", help="beside `dated`, too")
    options = parser.parse_args()
    data = yardstick(options.shared)
    cases: list[Case] = []
    for track in data.TRACKS:
        named = {one["id"]: one for one in data.read(data.DATA, data.TRACKS[track][0] + ".questions")}
        for case in data.track(track, limit=options.limit):
            candidates = candidates_of(case)
            spans = [units(one.text) or [(0, len(one.text))] for one in candidates]
            texts = [[one.text[a:b] for a, b in own] for one, own in zip(candidates, spans, strict=True)]
            needs = holding(case, named[case["id"]]["needs"], spans)
            if needs:
                known = [row for own in features(candidates, texts, case["query"]).rows for row in own]
                rows = np.hstack([np.array(known), rows_of(case["query"], case["chunks"], texts)])
                fold = zlib.crc32(case["id"].split(".")[0].encode()) % FOLDS
                cases.append((track, fold, rows, needs))
    every = [at for at, name in enumerate(FEATURES) if name != "dated" or options.beside_dated]
    base = held_out(cases, every)
    mean = sum(base.values()) / len(base)
    print(f"{len(cases)} questions; log-likelihood of those not fitted on: {mean:.4f}\n", flush=True)
    print("| feature | likelihood | the tracks that it changes most | weight |\n| --- | ---: | --- | ---: |")
    for at, name in enumerate(EXTRA):
        kept = [*every, len(FEATURES) + at]
        found = held_out(cases, kept)
        gain = sum(found.values()) / len(found) - mean
        most = sorted(base, key=lambda track: -abs(found[track] - base[track]))[:3]
        told = ", ".join(f"{track} {found[track] - base[track]:+.3f}" for track in most)
        weight = fit([(case[0], case[1], case[2][:, kept], case[3]) for case in cases])[-1]
        print(f"| {name} | {gain:+.4f} | {told} | {weight:+.2f} |", flush=True)


if __name__ == "__main__":
    main()
