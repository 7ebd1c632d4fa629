"""Fit the constants of select="spans" on the open questions of the yardstick, with cross-validation.

    python benchmarks/fit_spans.py PATH/TO/shared               # the folder with yardstick/ and data/
    python benchmarks/fit_spans.py PATH/TO/shared --write       # and writes promptpack/packing/spans.json

A conditional logit (McFadden, 1974): each question chooses among the units of its 20 candidates, and the likelihood is
the probability that the model gives to the units that hold the answer, all copies of it together. Questions with
several needs count once for each, and every track counts the same. Newton's method with a ridge of 1; five folds, by
question, where a question and its translations are in the same fold. Everything is deterministic.

`first` (the estimate that links start from) is the logit of the chunk alone, and is kept as it is in the file. So is
the weight of `dated`, and the others are fitted without it: one set of the yardstick alone has such questions, and its
fitted weight, which is printed, would make much of it everywhere.
"""

from __future__ import annotations

import argparse
import json
import sys
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from promptpack.packing.candidate import Candidate
from promptpack.packing.spans_scores import FEATURES, constants, standing
from promptpack.packing.spans_text import units
from promptpack.packing.spans_values import features
from promptpack.source import Source

FILE = Path(__file__).parent.parent / "promptpack" / "packing" / "spans.json"
FOLDS = 5
RIDGE = 1.0
BINS = (0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8)
PER_TRACK = 200  # questions of each track that are fitted on
KEPT = "dated"  # the feature whose weight is kept

Case = tuple[str, int, Any, list[Any]]  # track, fold, rows of features, for each need the rows that hold it


def yardstick(folder: Path) -> Any:
    """Import the yardstick's data module; this folder has a script of the same name, which must not be found."""
    here = str(Path(__file__).parent.resolve())
    sys.path[:] = [str(folder), *(path for path in sys.path if str(Path(path or ".").resolve()) != here)]
    from yardstick import data

    return data


def candidates_of(case: dict[str, Any]) -> list[Candidate]:
    found = []
    for index, chunk in enumerate(case["chunks"]):
        shown = {"title": chunk["title"]} if chunk["title"] else {}
        source = Source(chunk["id"], chunk["text"], chunk["score"], document=chunk["doc"], metadata=shown)
        found.append(Candidate.of(source, index, index + 1))
    return found


def holding(case: dict[str, Any], needs: Sequence[Any], spans: Sequence[Sequence[tuple[int, int]]]) -> list[Any]:
    """Return for each need the numbers of the units that hold its place, over all candidates."""
    flat = [
        (chunk, chunk["start"] + start, chunk["start"] + end)
        for chunk, own in zip(case["chunks"], spans, strict=True) for start, end in own
    ]
    found = []
    for need in needs:
        rows = [
            at for at, (chunk, start, end) in enumerate(flat)
            if any(chunk["doc"] == doc and start < e and end > s and chunk["start"] <= s and e <= chunk["end"]
                   for doc, s, e in need)
        ]
        if rows:
            found.append(np.array(rows))
    return found


def read(data: Any, track: str, limit: int) -> list[tuple[list[Candidate], list[list[str]], str, list[Any], int]]:
    named = {question["id"]: question for question in data.read(data.DATA, data.TRACKS[track][0] + ".questions")}
    out = []
    for case in data.track(track, limit=limit):
        candidates = candidates_of(case)
        spans = [units(one.text) or [(0, len(one.text))] for one in candidates]
        texts = [[one.text[a:b] for a, b in own] for one, own in zip(candidates, spans, strict=True)]
        needs = holding(case, named[case["id"]]["needs"], spans)
        if needs:
            fold = zlib.crc32(case["id"].split(".")[0].encode()) % FOLDS
            out.append((candidates, texts, case["query"], needs, fold))
    return out


def likelihood(weights: Any, cases: Sequence[Case], shares: dict[str, float]) -> tuple[float, Any, Any]:
    """Return the mean log-likelihood, its gradient and its Hessian; every track counts the same."""
    size = len(weights)
    total, slope, bend = 0.0, np.zeros(size), np.zeros((size, size))
    for track, _, rows, needs in cases:
        score = rows @ weights
        power = np.exp(score - score.max())
        p = power / power.sum()
        mean = p @ rows
        spread = (rows * p[:, None]).T @ rows - np.outer(mean, mean)
        for held in needs:
            share = shares[track] / len(needs)
            mass = p[held].sum()
            q = p[held] / mass
            inside = q @ rows[held]
            within = (rows[held] * q[:, None]).T @ rows[held] - np.outer(inside, inside)
            total += share * np.log(mass)
            slope += share * (inside - mean)
            bend += share * (within - spread)
    return total, slope, bend


def fit(cases: Sequence[Case]) -> Any:
    weights = np.zeros(cases[0][2].shape[1])
    shares = shares_of(cases)
    ridge = RIDGE / len(cases)
    best, slope, bend = likelihood(weights, cases, shares)
    for _ in range(40):
        away = bend - ridge * np.eye(len(weights))
        # Far from the top the likelihood may bend the wrong way: then the step is along the slope, damped.
        damp = max(0.0, float(np.linalg.eigvalsh(away).max()) + 1e-6)
        step = -np.linalg.solve(away - damp * np.eye(len(weights)), slope - ridge * weights)
        goal = best - ridge / 2 * weights @ weights
        while True:
            moved = weights + step
            value, new_slope, new_bend = likelihood(moved, cases, shares)
            if value - ridge / 2 * moved @ moved >= goal or np.abs(step).max() < 1e-6:
                break
            step = step / 2
        weights, best, slope, bend = moved, value, new_slope, new_bend
        if np.abs(step).max() < 1e-4:
            break
    return weights


def shares_of(cases: Sequence[Case]) -> dict[str, float]:
    tracks = [case[0] for case in cases]
    return {track: 1 / (len(set(tracks)) * tracks.count(track)) for track in set(tracks)}


def validated(cases: Sequence[Case], kept: Sequence[int]) -> float:
    """Return the mean log-likelihood of questions that were not fitted on, with some of the features."""
    told = 0.0
    taken = [(track, fold, rows[:, kept], needs) for track, fold, rows, needs in cases]
    shares = shares_of(taken)
    for fold in range(FOLDS):
        weights = fit([case for case in taken if case[1] != fold])
        told += likelihood(weights, [case for case in taken if case[1] == fold], shares)[0]
    return told


def calibration(cases: Sequence[Case]) -> list[tuple[float, float, int]]:
    """Return, for units by their probability: the mean probability, the share that hold a need, and how many there are.

    Of questions that were not fitted on. A unit of a question with two needs that holds one of them counts a half.
    """
    told: list[Any] = []
    held: list[Any] = []
    for fold in range(FOLDS):
        weights = fit([case for case in cases if case[1] != fold])
        for _, own, rows, needs in cases:
            if own == fold:
                power = np.exp(rows @ weights - (rows @ weights).max())
                told.append(power / power.sum())
                share = np.zeros(len(rows))
                for need in needs:
                    share[need] += 1 / len(needs)
                held.append(share)
    p, y = np.concatenate(told), np.concatenate(held)
    bins = np.digitize(p, BINS)
    return [
        (float(p[bins == k].mean()), float(y[bins == k].mean()), int((bins == k).sum()))
        for k in range(len(BINS) + 1) if (bins == k).any()
    ]


def arguments(purpose: str) -> argparse.ArgumentParser:
    """Return what every fit on the question sets takes."""
    parser = argparse.ArgumentParser(description=purpose)
    parser.add_argument("shared", type=Path, help="the folder with yardstick/ and data/")
    parser.add_argument("--limit", type=int, default=PER_TRACK, help="questions per track, 0 for all (default: 200)")
    return parser


def main() -> int:
    parser = arguments("Fit the constants of select=\"spans\".")
    parser.add_argument("--write", action="store_true", help="write the constants to spans.json")
    options = parser.parse_args()
    data = yardstick(options.shared)
    given = constants()
    cases: list[Case] = []
    ranked: list[Case] = []
    alone: list[Case] = []
    for track in data.TRACKS:
        for candidates, texts, question, needs, fold in read(data, track, options.limit):
            rows = np.array([row for own in features(candidates, texts, question).rows for row in own])
            cases.append((track, fold, rows, needs))
            unscored = [replace(one, score=None) for one in candidates]
            found = features(unscored, texts, question, replace(given, rank=1.0))
            ranked.append((track, fold, np.array([row for own in found.rows for row in own]), needs))
            # Scores alone tell candidates apart, not units: there the choice is among candidates.
            owner = np.array([k for k, own in enumerate(texts) for _ in own])
            chunks = [np.unique(owner[held]) for held in needs]
            alone.append((track, fold, np.array(standing(candidates))[:, None], chunks))
        print(f"{track}: {sum(case[0] == track for case in cases)} questions", flush=True)
    every = list(range(len(FEATURES)))
    others = [at for at in every if FEATURES[at] != KEPT]
    print(f"\nlog-likelihood of questions not fitted on, with {KEPT}: {validated(cases, every):.4f}", flush=True)
    print(f"  its weight, fitted with the others: {fit(cases)[FEATURES.index(KEPT)]:.2f}")
    cases, ranked = [[(*case[:2], case[2][:, others], case[3]) for case in own] for own in (cases, ranked)]
    print(f"all others: {validated(cases, range(len(others))):.4f}")
    for at, name in enumerate(others):
        kept = [k for k in range(len(others)) if k != at]
        print(f"  without {FEATURES[name]}: {validated(cases, kept):.4f}", flush=True)
    print("\nprobability told, share that holds a need, units (questions not fitted on)")
    for told, held, number in calibration(cases):
        print(f"  {told:.3f}  {held:.3f}  {number}")
    weights = fit(cases)
    by_rank = fit(ranked)
    # The other weights stay those of the scored candidates, so the rank is fitted on that scale.
    constant = {
        "sentence": {
            **{FEATURES[at]: round(float(weight), 2) for at, weight in zip(others, weights, strict=True)},
            KEPT: given.sentence[FEATURES.index(KEPT)],
        },
        "rank": round(float(by_rank[0] / weights[0]), 2),
        "score_only": round(float(fit(alone)[0]), 2),
    }
    print(json.dumps(constant, indent=2))
    if options.write:
        if min(weights) <= 0:
            print("a weight is not positive: nothing is written", file=sys.stderr)
            return 1
        known = json.loads(FILE.read_text(encoding="utf-8"))
        FILE.write_text(json.dumps(known | constant, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
