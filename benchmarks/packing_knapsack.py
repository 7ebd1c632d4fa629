"""The knapsack beside a plain table and OR-tools; a part of packing.py."""

from __future__ import annotations

import importlib.util
import random
from collections.abc import Sequence

from packing_run import Run, best, in_fresh_process
from packing_texts import SEED

from promptpack.packing.knapsack import optimal
from promptpack.packing.ranking import rank_gain

BUDGET = 100_000
PROFIT = 10**9  # OR-tools takes whole profits: values are given to it in billionths
LIMIT = 20      # seconds that its branch and bound may take
PROGRAMMING = "KNAPSACK_DYNAMIC_PROGRAMMING_SOLVER"
SEARCHING = "KNAPSACK_MULTIDIMENSION_BRANCH_AND_BOUND_SOLVER"


def items(n: int, alike: bool = False) -> tuple[list[int], list[float]]:
    """Chunks of 100 to 2,000 tokens in rank order, with the values that ranks have by default.

    alike: worth what they cost and a little more instead, which is hard for solvers that search.
    """
    rng = random.Random(SEED + n)
    costs = [rng.randint(100, 2000) for _ in range(n)]
    return costs, [(cost + 100) / 2000 if alike else rank_gain(at) for at, cost in enumerate(costs, 1)]


def plain_table(costs: Sequence[int], values: Sequence[float], budget: int) -> list[int]:
    import numpy as np

    row = np.zeros(budget + 1)
    taken = np.zeros((len(costs), budget + 1), bool)
    for at, (cost, value) in enumerate(zip(costs, values, strict=True)):
        if cost > budget:
            continue
        more = row[: budget + 1 - cost] + value
        taken[at, cost:] = more > row[cost:]
        row[cost:] = np.maximum(row[cost:], more)
    chosen, left = [], budget
    for at in reversed(range(len(costs))):
        if taken[at, left]:
            chosen.append(at)
            left -= costs[at]
    return chosen[::-1]


def with_ortools(kind: str, costs: Sequence[int], values: Sequence[float], budget: int) -> tuple[float, bool]:
    """Return the value that OR-tools finds, in our units, and whether it finished within its limit."""
    from ortools.algorithms.python import knapsack_solver  # type: ignore[import-untyped]

    solver = knapsack_solver.KnapsackSolver(getattr(knapsack_solver.SolverType, kind), "benchmark")
    if kind == SEARCHING:
        solver.set_time_limit(LIMIT)
    solver.init([round(value * PROFIT) for value in values], [list(costs)], [budget])
    solver.solve()
    finished = solver.is_solution_optimal()
    return sum(values[at] for at in range(len(values)) if solver.best_solution_contains(at)), finished


def large_knapsack() -> object:
    return optimal(*items(2000), BUDGET)


def knapsack(run: Run) -> None:
    solvers = {"OR-tools, dynamic programming": PROGRAMMING, "OR-tools, branch and bound": SEARCHING}
    if importlib.util.find_spec("ortools") is None:
        solvers = {}
        run.remarks.append("OR-tools is not installed (pip install ortools): its rows are left out.")
    for n, target in ((200, "at most 30 ms"), (2000, "at most 0.8 s")):
        for alike, what in ((False, "knapsack"), (True, "knapsack, values like costs")):
            costs, values = items(n, alike)
            chosen = optimal(costs, values, BUDGET)
            ours = best(lambda: optimal(costs, values, BUDGET), run.rounds + 2)  # noqa: B023 - called at once
            plain = best(lambda: plain_table(costs, values, BUDGET), run.rounds)  # noqa: B023
            run.row(what, n, ours, "plain numpy table", plain, target)
            same = chosen == plain_table(costs, values, BUDGET)
            run.check(f"{what} of {n}: the set of the plain table", same)
            value = sum(values[at] for at in chosen)
            for name, kind in solvers.items():
                if alike and kind == PROGRAMMING:
                    continue  # its time does not depend on the values
                found: list[tuple[float, bool]] = []
                theirs = best(lambda: found.append(with_ortools(kind, costs, values, BUDGET)), 1)  # noqa: B023
                worth, finished = found[0]
                run.row(what, n, ours, name if finished else f"{name}, stopped unfinished", theirs)
                # Rounding of profits moves a value by at most half a billionth an item, on either side.
                near = n / PROFIT
                run.check(f"{what} of {n}: the value of {name}", -near <= value - worth and (
                    not finished or value - worth <= near
                ))
    run.memory("knapsack", 2000, in_fresh_process(large_knapsack)[1], "under 300 MB")
