"""The examples run without a network, and the recipes of the stacks that people use say what they should."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
# What stands in the output of each: that the best is at the edges, that an answer's citations lead to its chunks.
TOLD = {
    "08_langchain_pinecone.py": ["[('S1', 'returns'), ('S2', 'returns'), ('S3', 'warranty')]", "['r1', 'r3', 'w1']"],
    "09_llamaindex_qdrant.py": ["{'chunk': '7', 'updated': '2026-03-01'}", "['3', '7']"],
    "10_openai_responses.py": ["cited: returns#1, returns#3", "[S1](https://shop.example/returns)"],
    "11_vercel_ai.py": ['{"labels": {"S1": ["returns#1"]', "[('returns#3', 0.97), ('returns#1', 0.41)]"],
    "12_langgraph_state.py": ["cited: returns#1", "['returns#1', 'warranty#1', 'returns#3']"],
    "13_haystack.py": ["('S1', 'log#2', 'log/deliveries.txt')", "['log#2', 'log#1', 'log#3']"],
    "14_reorder_and_rate.py": ["0.947 alike", "exact match 0.50, F1 0.50"],
}
# Connecting to anything is an error, whatever is imported later.
ALONE = """
import runpy, socket, sys
def refuse(*args, **kwargs):
    raise OSError("an example asked for the network")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
runpy.run_path(sys.argv[1], run_name="__main__")
"""


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_a_recipe_runs_alone_and_says_what_it_should(name: str) -> None:
    """If it fails, who copies the example gets an error, or something else than it says."""
    done = subprocess.run(
        [sys.executable, "-c", ALONE, str(EXAMPLES / name)], cwd=EXAMPLES.parent, capture_output=True, text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    for told in TOLD.get(name, ()):
        assert told in done.stdout, done.stdout


def test_what_is_expected_is_of_an_example() -> None:
    """If it fails, an example was renamed, and what it says is checked no more."""
    assert [name for name in TOLD if not (EXAMPLES / name).is_file()] == []


def test_every_stack_of_the_reference_has_a_recipe() -> None:
    """rag-chunk-reorder shows these; the numbers of the files say in which order to read them."""
    names = " ".join(path.name for path in EXAMPLES.glob("*.py"))
    stacks = ("langchain", "pinecone", "llamaindex", "qdrant", "openai_responses", "vercel", "langgraph", "haystack")
    assert [stack for stack in stacks if stack not in names] == []
