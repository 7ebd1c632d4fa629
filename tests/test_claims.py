"""CLAIMS.md names a test for every promise, and every test it names is there."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CLAIMS = (ROOT / "CLAIMS.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
ROWS = [
    tuple(cell.strip() for cell in line.strip("|").split("|"))
    for line in CLAIMS.splitlines()
    if line.startswith("| ") and "::" in line
]


@cache
def functions_of(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize(("claim", "test"), ROWS, ids=[claim[:40] for claim, _ in ROWS])
def test_the_test_of_a_claim_exists(claim: str, test: str) -> None:
    path, name = test.split("::")
    assert (ROOT / path).is_file(), path
    assert name.startswith("test_")
    assert name in functions_of(ROOT / path), test


def test_every_promise_of_the_readme_has_a_test() -> None:
    promises = re.findall(r"^\* (\*\*[^*]+\*\*)", README.split("## Try it")[0], re.M)
    assert len(promises) == 6
    for promise in promises:
        assert any(claim.startswith(promise) for claim, _ in ROWS), promise


def test_every_recipe_of_the_readme_has_a_test() -> None:
    headings = re.findall(r"^### (.+)$", README.split("## Recipes")[1].split("## Measured")[0], re.M)
    assert len(headings) >= 10
    for heading in headings:
        assert any(claim.startswith(f"**{heading}.**") for claim, _ in ROWS), heading
        anchor = re.sub("[^a-z0-9 -]", "", heading.lower()).replace(" ", "-")
        assert f"](#{anchor})" in README, f"{heading}: not in the index"


def test_every_limit_of_the_readme_has_a_test_or_the_reason_why_not() -> None:
    limits = re.findall(r"^\* (.+)", README.split("## Honest limits")[1], re.M)
    untested = re.findall(r"^\* (.+)", CLAIMS.split("## What no test here can keep")[1], re.M)
    assert len(limits) >= 6
    for limit in limits:
        start = " ".join(limit.split()[:4])
        assert any(line.startswith(start) for line in [*(claim for claim, _ in ROWS), *untested]), limit


def test_claims_promise_nothing_that_the_readme_does_not() -> None:
    for claim, _ in ROWS:
        if claim.startswith("**"):
            assert claim.split("**")[1].removesuffix(".") in README, claim
